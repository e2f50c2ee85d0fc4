"""Trained runs for other programs, pages, data sets. A new format is one file and one line here."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from curta.config.errors import Registry, UserError
from curta.runs import checkpoints, folders, metrics, ownership
from curta.runs.folders import Folder
from curta.runs.info import Origin, slice_summary

if TYPE_CHECKING:
    from curta.export.base import Exporter
    from curta.runs.run import Run

EXPORTERS: "Registry[Exporter]" = Registry(
    "format",
    {
        "adderboard": "curta.export.adderboard:AdderBoard",
        "huggingface": "curta.export.huggingface:HuggingFace",
        "onnx": "curta.export.onnx:Onnx",
    },
    load=lambda exporter: exporter(),
)


def write(run: "Run", to: str, out: Path | None = None, member: int = 0) -> Path:
    """Write one member of a run in the format `to`; return the path.

    Writes into the run's folder by default. Raises UserError if the format cannot express the run.
    """
    EXPORTERS.check(to)
    from curta.export.base import Exported

    exporter = EXPORTERS[to]
    reason = exporter.refuse(run.recipe)
    if reason:
        raise UserError(f"{to} cannot express run {run.name!r}: {reason}")
    model, path = run.model(member), out or run.folder.path / exporter.file.format(member=member)
    evaluation = run.folder.read_evaluation()
    last_rows = metrics.read_last(run.folder.metrics, len(run.seeds))
    steps = max((row.step for row in last_rows), default=0)
    rows = [slice_summary(row) for row in evaluation.lengths] if evaluation else []
    exported = Exported(run.name, run.seeds[member], run.recipe, model, member, steps, rows)
    with ownership.owned(run.folder.path) if out is None else nullcontext():
        exporter.write(exported, path)
    return path


def import_run(form: str, path: Path, name: str | None = None) -> Folder:
    """Create a finished run of one member from exported files.

    Raises UserError if the files are not of this format, or the run exists already.
    """
    if form != "huggingface":
        raise UserError(f"only huggingface exports can be imported (got {form!r})")
    import jax
    import jax.numpy as jnp

    from curta.export.huggingface import HuggingFace
    from curta.model.transformer import parameters
    from curta.training import devices, trainer

    devices.configure()
    imported = HuggingFace().read(path)
    seeds, steps = folders.seeds_of([imported.seed]), imported.recipe.training.steps
    layout = imported.model.layout
    folder = folders.create(imported.recipe, layout, folders.checked(imported.run), seeds, name)
    owner = checkpoints.owner(folder.read_recipe(), seeds, steps)
    # the state of a run whose only member is this one
    state = trainer.init(imported.recipe, layout, jnp.array([imported.seed]))
    model = jax.tree.map(lambda leaf: leaf[None], imported.model)
    best = None if state.best is None else state.best._replace(model=model)
    checkpoints.save(folder.checkpoints, steps, state._replace(model=model, best=best), owner)
    folder.update(
        status="finished",
        done=("training",),
        checkpoint=steps,
        parameters=parameters(imported.model),
        imported=Origin(form, str(path), imported.run),
    )
    return folder
