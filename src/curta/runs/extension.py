"""A finished run, made longer: `curta resume RUN --steps N`.

Its recipe gets more steps and says where it had ended. A training of that recipe from its first
step comes to the same weights, so an extended run is no other kind of run.
"""

from dataclasses import replace

from curta.config import files
from curta.config.errors import UserError
from curta.config.limits import EXTENSIONS, STEPS
from curta.config.recipe import Recipe, dump
from curta.evaluation.results import CERTIFICATE, WINDOWS
from curta.runs import checkpoints, evaluations, life
from curta.runs.folders import COMPARISON, Folder
from curta.runs.life import FILES
from curta.runs.results import STAGES, RunInfo, Stage

SUFFIX = "; trained on to "
"""What follows a recipe's summary once it has more steps."""


def longer(folder: Folder, steps: int) -> Recipe:
    """The recipe of a finished run with so many steps, or of one that has them to come already.

    Raises UserError for a run that cannot be trained on, and for too few or too many steps.
    """
    info, recipe = folder.read_info(), folder.read_recipe()
    if not info.over and recipe.training.extended_at and recipe.training.steps == steps:
        return recipe
    _check(folder, info, recipe, steps)
    earlier = tuple(end for end in recipe.training.extended_at if end < info.checkpoint)
    training = replace(recipe.training, steps=steps, extended_at=(*earlier, info.checkpoint))
    summary = f"{recipe.summary.partition(SUFFIX)[0]}{SUFFIX}{steps:,} steps"
    return replace(recipe, training=training, summary=summary)


def extend(folder: Folder, steps: int) -> None:
    """Makes a finished run one of so many steps, which is still to be trained from its last one on.

    What followed its training is to follow again. Its evaluation is kept as one of that step, its
    certificate is not. The recipe is written before anything goes: wherever this is broken off, the
    run is whole, and resuming it trains it as far as its recipe says. Raises UserError as `longer`.
    """
    with life.beside(folder):
        info, recipe = folder.read_info(), longer(folder, steps)
        if recipe == folder.read_recipe() and not info.over:
            return
        _copy_evaluation(folder)
        files.write(folder.recipe, dump(recipe))
        wanted = _following(folder, info)
        folder.update(status="interrupted", steps=steps, wanted=wanted, done=())
        for name in ("evaluation.json", CERTIFICATE, WINDOWS):
            (folder.path / name).unlink(missing_ok=True)


def _check(folder: Folder, info: RunInfo, recipe: Recipe, steps: int) -> None:
    where, training = f"run {folder.name!r}", recipe.training
    if (folder.path.resolve().parent / COMPARISON).exists():
        raise UserError(f"{where} is one of a comparison, whose runs all have the same steps")
    if info.status == "stopped":
        raise UserError(f"{where} has stopped: the loss of every member was no longer finite")
    if not info.over and training.extended_at[-1:] != (info.checkpoint,):
        raise UserError(f"{where} is not finished: `curta resume {folder.address}` trains it first")
    if info.ended is not None:
        raise UserError(
            f"{where} ended at step {info.ended:,}, as it was right on training.stop_at"
            f" {training.stop_at:g}: train one without that"
        )
    if info.imported is not None:
        raise UserError(f"{where} was imported, without the state that its optimiser had")
    if not info.checkpoint < steps <= STEPS:
        raise UserError(f"{where} has {info.checkpoint:,} steps: give it more, up to {STEPS:,}")
    if len(training.extended_at) >= EXTENSIONS:
        raise UserError(f"{where} was extended {EXTENSIONS} times, and can be no more")
    if checkpoints.newest_whole(folder.checkpoints) != info.checkpoint:
        raise UserError(
            f"{where} has lost its last checkpoint: `curta verify {folder.address}` says more"
        )


def _copy_evaluation(folder: Folder) -> None:
    """Puts the run's own evaluation among those beside it, unless that is there already."""
    found = folder.read_evaluation()
    if found is None:
        return
    kept = replace(found, changes={"step": found.step})
    if not evaluations.path_of(folder.path, evaluations.named(kept.changes)).exists():
        folder.save_evaluation(kept)


def _following(folder: Folder, info: RunInfo) -> tuple[Stage, ...]:
    """The stages after training that were wanted, or whose results are of the former weights."""
    after = STAGES[1:]
    return tuple(s for s in after if s in info.wanted or (folder.path / FILES[s]).exists())
