"""A finished run, made longer: `curta resume RUN --steps N`.

Its recipe gets more steps and says where it had ended. A training of that recipe from its first
step comes to the same weights, so an extended run is no other kind of run.
"""

from dataclasses import replace

from curta.config import files
from curta.config.errors import UserError
from curta.config.limits import STEPS
from curta.config.recipe import Recipe, dump
from curta.runs import checkpoints, evaluations, folders, ownership
from curta.runs.folders import Folder
from curta.runs.life import FILES
from curta.runs.results import STAGES, RunInfo, Stage


def extend(folder: Folder, steps: int) -> None:
    """Makes a finished run one of so many steps, which is still to be trained from its last one on.

    What followed its training is to follow again; its evaluation is kept as one of that step.
    Raises UserError for a run that cannot be trained on, and for too few steps.
    """
    with ownership.owned(folder.path):
        info, recipe = folder.read_info(), folder.read_recipe()
        _check(folder, info, recipe, steps)
        _keep_evaluation(folder)
        files.write(folder.recipe, dump(_longer(recipe, info.steps, steps)))
        wanted = _following(folder, info)
        folder.update(status="interrupted", steps=steps, wanted=wanted, done=())


def _check(folder: Folder, info: RunInfo, recipe: Recipe, steps: int) -> None:
    where = f"run {folder.name!r}"
    if folders.is_comparison(str(folder.path.parent)):
        raise UserError(f"{where} is one of a comparison, whose runs all have the same steps")
    if info.status == "stopped":
        raise UserError(f"{where} has stopped: the loss of every member was no longer finite")
    if not info.over:
        raise UserError(f"{where} is not finished: `curta resume {folder.address}` trains it first")
    if info.ended is not None:
        raise UserError(
            f"{where} ended at step {info.ended:,}, as it was right on training.stop_at"
            f" {recipe.training.stop_at:g}: train one without that"
        )
    if not info.steps < steps <= STEPS:
        raise UserError(f"{where} has {info.steps:,} steps: give it more, up to {STEPS:,}")
    if checkpoints.newest_whole(folder.checkpoints) != info.checkpoint:
        raise UserError(
            f"{where} has lost its last checkpoint: `curta verify {folder.address}` says more"
        )


def _longer(recipe: Recipe, ended: int, steps: int) -> Recipe:
    """The recipe of a run that ended at a step, with more of them.

    What an extension that was killed has left in it is of no account.
    """
    earlier = tuple(end for end in recipe.training.extended_at if end < ended)
    training = replace(recipe.training, steps=steps, extended_at=(*earlier, ended))
    return replace(recipe, training=training)


def _keep_evaluation(folder: Folder) -> None:
    """Moves the run's own evaluation to those beside it, unless that was evaluated before."""
    found = folder.read_evaluation()
    if found is None:
        return
    kept = replace(found, changes={"step": found.step})
    if not evaluations.path_of(folder.path, evaluations.named(kept.changes)).exists():
        folder.save_evaluation(kept)
    folder.evaluation.unlink()


def _following(folder: Folder, info: RunInfo) -> tuple[Stage, ...]:
    """The stages after training that were wanted, or whose results would be of other weights."""
    after = STAGES[1:]
    return tuple(one for one in after if one in info.wanted or (folder.path / FILES[one]).exists())
