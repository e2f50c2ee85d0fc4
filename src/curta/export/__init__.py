"""Trained runs for other programs. A new form is one file and one line here."""

from pathlib import Path

import jax
import jax.numpy as jnp

from .. import checkpoints, runs, training
from ..errors import UserError, unknown
from ..model import parameters
from ..session import Run
from ..summary import summary
from ..training import Member
from .adderboard import AdderBoard
from .base import Exported, Exporter, Importer
from .huggingface import HuggingFace
from .onnx import Onnx

EXPORTERS: dict[str, Exporter] = {
    exporter.name: exporter for exporter in (AdderBoard(), HuggingFace(), Onnx())
}

IMPORTERS: dict[str, Importer] = {
    name: form for name, form in EXPORTERS.items() if isinstance(form, Importer)
}

__all__ = ["EXPORTERS", "IMPORTERS", "Exported", "Exporter", "bring", "write"]


def write(run: Run, to: str, out: Path | None = None, member: int = 0) -> Path:
    """One member of a run in the form `to`, by default in the run's folder; returns where.

    Raises UserError if that form cannot express it.
    """
    if to not in EXPORTERS:
        raise unknown("form", to, EXPORTERS)
    exporter = EXPORTERS[to]
    reason = exporter.refuse(run.recipe)
    if reason:
        raise UserError(f"{to} cannot express run {run.name!r}: {reason}")
    model, path = run.model(member), out or run.folder.path / exporter.file.format(member=member)
    about = summary(run.folder)
    exporter.write(Exported(run.name, run.seeds[member], run.recipe, model, member, about), path)
    return path


def bring(form: str, path: Path, name: str | None = None) -> Run:
    """A new run of one member from files of that form, as if it were trained to its end.

    Raises UserError if they are not such files, or the run exists already.
    """
    if form not in IMPORTERS:
        raise unknown("form", form, IMPORTERS)
    found = IMPORTERS[form].read(path)
    seeds, steps = runs.seeds_of([found.seed]), found.recipe.training.steps
    layout = found.model.layout
    folder = runs.create(found.recipe, layout, runs.checked(found.run), seeds, name)
    checkpoints.save(folder.checkpoints, steps, _finished(found))
    origin = {"form": form, "path": str(path), "run": found.run}
    folder.update(status="finished", parameters=parameters(found.model), imported=origin)
    return Run(folder)


def _finished(found: Exported) -> Member:
    """The state of a run whose only member is this one."""
    state = training.init(found.recipe, found.model.layout, jnp.array([found.seed]))
    model = jax.tree.map(lambda leaf: leaf[None], found.model)
    best = None if state.best is None else state.best._replace(model=model)
    return state._replace(model=model, best=best)
