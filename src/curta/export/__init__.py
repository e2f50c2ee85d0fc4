"""Trained runs for other programs, pages, data sets. A new form is one file and one line here."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from curta.config.errors import UserError
from curta.config.registry import Registry
from curta.runs import folders, ownership
from curta.runs.folders import Folder
from curta.runs.info import Origin

if TYPE_CHECKING:
    from curta.export.base import Exported, Exporter, Importer
    from curta.runs.session import Session
    from curta.training.trainer import Member

EXPORTERS: "Registry[Exporter]" = Registry(
    "form",
    {
        "adderboard": "curta.export.adderboard:AdderBoard",
        "huggingface": "curta.export.huggingface:HuggingFace",
        "onnx": "curta.export.onnx:Onnx",
    },
    load=lambda exporter: exporter(),
)

IMPORTERS: "Registry[Importer]" = Registry(
    "form",
    {"huggingface": "curta.export.huggingface:HuggingFace"},
    load=lambda importer: importer(),
)


def write(run: "Session", to: str, out: Path | None = None, member: int = 0) -> Path:
    """One member of a run in the form `to`, by default in the run's folder; returns where.

    Raises UserError if that form cannot express it.
    """
    EXPORTERS.check(to)
    from curta.export.base import Exported
    from curta.runs.summary import summary

    exporter = EXPORTERS[to]
    reason = exporter.refuse(run.recipe)
    if reason:
        raise UserError(f"{to} cannot express run {run.name!r}: {reason}")
    model, path = run.model(member), out or run.folder.path / exporter.file.format(member=member)
    about = summary(run.folder)
    exported = Exported(run.name, run.seeds[member], run.recipe, model, member, about)
    with ownership.owned(run.folder.path) if out is None else nullcontext():
        exporter.write(exported, path)
    return path


def import_run(form: str, path: Path, name: str | None = None) -> Folder:
    """A new run of one member from files of that form, as if it were trained to its end.

    Raises UserError if they are not such files, or the run exists already.
    """
    IMPORTERS.check(form)
    from curta.model.transformer import parameters
    from curta.runs import checkpoints
    from curta.training import devices

    devices.configure()
    found = IMPORTERS[form].read(path)
    seeds, steps = folders.seeds_of([found.seed]), found.recipe.training.steps
    layout = found.model.layout
    folder = folders.create(found.recipe, layout, folders.checked(found.run), seeds, name)
    owner = checkpoints.owner(folder.read_recipe(), seeds, steps)
    checkpoints.save(folder.checkpoints, steps, _finished(found), owner)
    folder.update(
        status="finished",
        done=("training",),
        checkpoint=steps,
        parameters=parameters(found.model),
        imported=Origin(form, str(path), found.run),
    )
    return folder


def _finished(found: "Exported") -> "Member":
    """The state of a run whose only member is this one."""
    import jax
    import jax.numpy as jnp

    from curta.training import trainer

    state = trainer.init(found.recipe, found.model.layout, jnp.array([found.seed]))
    model = jax.tree.map(lambda leaf: leaf[None], found.model)
    best = None if state.best is None else state.best._replace(model=model)
    return state._replace(model=model, best=best)
