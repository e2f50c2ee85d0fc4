"""A finished run, made longer: `curta train --resume RUN training.steps=N`.

Its recipe gets more steps and says where it had ended. A training of that recipe from its first
step comes to the same weights, up to rounding, so an extended run is no other kind of run.
"""

import re
from dataclasses import replace

from curta.config import files
from curta.config.errors import UserError, shortened
from curta.config.limits import EXTENSIONS, LETTERS, STEPS
from curta.config.recipe import Recipe, dump
from curta.evaluation.results import CERTIFICATE, WINDOWS
from curta.runs import checkpoints, evaluations, life
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import STAGES, RunInfo
from curta.runs.life import FILES

SUFFIX = r"; trained on to [\d,]+ steps$"
"""What follows a recipe's summary once it has more steps."""


def longer(folder: Folder, steps: int) -> Recipe:
    """Return the recipe of a finished run with so many steps, or of one that awaits them already.

    Raises UserError for a run that cannot be trained on, and for too few or too many steps.
    """
    info, recipe = folder.read_info(), folder.read_recipe()
    if not info.over and recipe.training.extended_at and recipe.training.steps == steps:
        return recipe
    _check(folder, info, recipe, steps)
    earlier = tuple(end for end in recipe.training.extended_at if end < info.checkpoint)
    training = replace(recipe.training, steps=steps, extended_at=(*earlier, info.checkpoint))
    summary = f"{re.sub(SUFFIX, '', recipe.summary)}; trained on to {steps:,} steps"
    return replace(recipe, training=training, summary=shortened(summary, LETTERS))


def extend(folder: Folder, steps: int) -> None:
    """Make a finished run one of so many steps, which is still to be trained from its last one on.

    What followed its training is to follow again. Its evaluations are kept as those of that step,
    its certificate is not. The recipe is written before anything goes: wherever this is broken off,
    the run is whole, and resuming it trains it as far as its recipe says. Raises UserError as
    `longer`.
    """
    with life.beside(folder):
        info, recipe = folder.read_info(), longer(folder, steps)
        if recipe == folder.read_recipe() and not info.over:
            return
        out_of_date = [folder.path / CERTIFICATE, folder.path / WINDOWS]
        for name in ("", *folder.evaluation_names()):
            evaluation = folder.read_evaluation(name)
            if evaluation is None or "step" in evaluation.changes:
                continue
            changes = evaluation.changes | {"step": evaluation.step}
            if not evaluations.path_of(folder.path, evaluations.named(changes)).exists():
                folder.save_evaluation(replace(evaluation, changes=changes))
            out_of_date.append(evaluations.path_of(folder.path, name))
        # what was wanted after training, or has results of the former weights
        wanted = (s for s in STAGES[1:] if s in info.wanted or (folder.path / FILES[s]).exists())
        folder.update(wanted=tuple(wanted))
        files.write(folder.recipe, dump(recipe))
        folder.update(status="interrupted", steps=steps, done=())
        for path in out_of_date:
            path.unlink(missing_ok=True)


def _check(folder: Folder, info: RunInfo, recipe: Recipe, steps: int) -> None:
    where, training = f"run {folder.name!r}", recipe.training
    if (folder.path.resolve().parent / COMPARISON).exists():
        raise UserError(f"{where} is one of a comparison, which says how many steps it has")
    if info.status == "stopped":
        raise UserError(f"{where} has stopped: the loss of every member was no longer finite")
    if not info.over and training.extended_at[-1:] != (info.checkpoint,):
        raise UserError(
            f"{where} is not finished: `curta train --resume {folder.address}` trains it first"
        )
    if info.ended is not None:
        raise UserError(
            f"{where} ended at step {info.ended:,}, as it was right on training.stop_at"
            f" {training.stop_at:g}: train one without that"
        )
    if info.imported is not None:
        raise UserError(f"{where} was imported, without the state that its optimiser had")
    if info.checkpoint > training.steps:
        raise UserError(f"{where} was trained on by rounds of repair: train one with more steps")
    if not info.checkpoint < steps <= STEPS:
        raise UserError(f"{where} has {info.checkpoint:,} steps: give it more, up to {STEPS:,}")
    if len(training.extended_at) >= EXTENSIONS:
        raise UserError(f"{where} was extended {EXTENSIONS} times, and can be no more")
    if checkpoints.newest_whole(folder.checkpoints) != info.checkpoint:
        raise UserError(
            f"{where} has lost its last checkpoint: `curta runs {folder.address}` says more"
        )
