"""Trained runs for other programs. A new form is one file and one line here."""

from pathlib import Path

import jax
import jax.numpy as jnp

from curta.config.errors import UserError, unknown
from curta.export.adderboard import AdderBoard
from curta.export.base import Exported, Exporter, Importer
from curta.export.huggingface import HuggingFace
from curta.export.onnx import Onnx
from curta.model.transformer import parameters
from curta.runs import checkpoints, folders
from curta.runs.folders import Folder
from curta.runs.session import Session
from curta.runs.summary import summary
from curta.training import trainer
from curta.training.trainer import Member

EXPORTERS: dict[str, Exporter] = {
    exporter.name: exporter for exporter in (AdderBoard(), HuggingFace(), Onnx())
}

IMPORTERS: dict[str, Importer] = {
    name: form for name, form in EXPORTERS.items() if isinstance(form, Importer)
}

__all__ = ["EXPORTERS", "IMPORTERS", "Exported", "Exporter", "import_run", "write"]


def write(run: Session, to: str, out: Path | None = None, member: int = 0) -> Path:
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


def import_run(form: str, path: Path, name: str | None = None) -> Folder:
    """A new run of one member from files of that form, as if it were trained to its end.

    Raises UserError if they are not such files, or the run exists already.
    """
    if form not in IMPORTERS:
        raise unknown("form", form, IMPORTERS)
    found = IMPORTERS[form].read(path)
    seeds, steps = folders.seeds_of([found.seed]), found.recipe.training.steps
    layout = found.model.layout
    folder = folders.create(found.recipe, layout, folders.checked(found.run), seeds, name)
    checkpoints.save(folder.checkpoints, steps, _finished(found))
    origin = {"form": form, "path": str(path), "run": found.run}
    folder.update(status="finished", parameters=parameters(found.model), imported=origin)
    return folder


def _finished(found: Exported) -> Member:
    """The state of a run whose only member is this one."""
    state = trainer.init(found.recipe, found.model.layout, jnp.array([found.seed]))
    model = jax.tree.map(lambda leaf: leaf[None], found.model)
    best = None if state.best is None else state.best._replace(model=model)
    return state._replace(model=model, best=best)
