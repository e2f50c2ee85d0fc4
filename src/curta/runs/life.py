"""The life of a run: what it is doing or how it ended, and what it still has to do.

created -> training -> evaluating -> certifying -> reporting -> finished

Any of the four stages may be `interrupted`, or end `failed`; a training of which no member is
left has `stopped`. `run.json` lists the stages that are done, so that resuming a run carries out
the others. A stage whose process is gone was interrupted: nothing has to be written for that.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Literal

from curta.config import files
from curta.config.errors import UserError, shortened
from curta.config.limits import LETTERS, STEPS
from curta.config.positions import Window
from curta.config.recipe import Recipe, dump
from curta.evaluation.results import CERTIFICATE, WINDOWS
from curta.runs import checkpoints, interrupts, ownership
from curta.runs.folders import COMPARISON, Folder, evaluation_name
from curta.runs.info import STAGES, RunInfo, Stage
from curta.training import processes
from curta.training.processes import PeerError

FILES: dict[str, str] = {
    "evaluating": "evaluation.json",
    "certifying": "certificate.json",
    "reporting": "report.html",
}
"""The file of a stage, without which it is not done."""


Ending = Literal["done", "interrupted", "stopped"]


@dataclass
class Outcome:
    """How a stage ended: done, unless it says otherwise."""

    status: Ending = "done"


def after_training(recipe: Recipe) -> list[Stage]:
    """Return all stages that can follow a training."""
    if recipe.evaluation.certificate and isinstance(recipe.positions, Window):
        return ["evaluating", "certifying", "reporting"]
    return ["evaluating", "reporting"]


def missing(folder: Folder, recipe: Recipe) -> list[Stage]:
    """Return the stages that a run of this recipe still has to carry out, in order.

    Training is one of them again where the checkpoint that it ended with is damaged, or the recipe
    has more steps by now.
    """
    info, training = folder.read_info(), recipe.training
    if info.over:
        extended = bool(training.extended_at) and info.checkpoint < training.steps
        if extended or checkpoints.newest_whole(folder.checkpoints) != info.checkpoint:
            info = replace(info, done=())
    return _missing(folder, info)


def _missing(folder: Folder, info: RunInfo) -> list[Stage]:
    """Return the stages that are not done; none if no member is left."""
    if info.status == "stopped":
        return []
    done = info.done if "training" in info.done else ()
    return [
        stage
        for stage in STAGES
        if (stage in info.wanted or stage == "training")
        and not (stage in done and (folder.path / FILES.get(stage, ".")).exists())
    ]


@contextmanager
def stage(folder: Folder, name: Stage | None = None) -> Iterator[Outcome]:
    """Carry out a stage of a run, owned meanwhile; UserError if another process owns it.

    Signals are noted until a safe point. Training makes all later stages out of date. Without a
    name, and in any process but process 0, run.json stays as it is.
    """
    outcome, is_first = Outcome(), processes.is_first()
    with interrupts.deferred(), ownership.owned(folder.path) if is_first else nullcontext():
        if is_first and name != "training":  # whose loop checks before its first step, in all
            interrupts.check()
        if name is None or not is_first:
            yield outcome
            return
        done = tuple(stage for stage in folder.read_info().done if stage != name)
        folder.update(status=name, done=() if name == "training" else done, failure="")
        try:
            yield outcome
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt | SystemExit | PeerError)
            status = "interrupted" if interrupted else "failed"
            line = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            with suppress(UserError):  # a full disk: what went wrong first is the error
                folder.update(status=status, failure="" if interrupted else line)
            raise
        info = folder.read_info()
        if outcome.status != "done":
            folder.update(status=outcome.status)
        elif not info.alive:
            folder.update(done=(*info.done, name), status="stopped")
        else:
            info = replace(info, done=(*info.done, name))
            # In a block that owns the run the next stage follows; else it reads as interrupted.
            folder.update(done=info.done, status=name if _missing(folder, info) else "finished")


# Extension: `curta train --resume RUN training.steps=N` trains a finished run on. Its recipe gets
# more steps and remembers the step at which it had ended. A training of that recipe from its first
# step comes to the same weights, up to rounding, so an extended run is no other kind of run.

SUFFIX = r"; trained on to [\d,]+ steps$"
"""The end of the summary of a recipe that was extended."""


def extended_recipe(folder: Folder, steps: int) -> Recipe:
    """Return the recipe of a finished run with so many steps, or of one that awaits them already.

    Raises UserError for a run that cannot be trained on, and for too few or too many steps.
    """
    info, recipe = folder.read_info(), folder.read_recipe()
    training, where = recipe.training, f"run {folder.name!r}"
    if not info.over and training.extended_at and training.steps == steps:
        return recipe
    if (folder.path.resolve().parent / COMPARISON).exists():
        raise UserError(f"{where} is one of a comparison, which says how many steps it has")
    if info.status == "stopped":
        raise UserError(f"{where} has stopped: the loss of every member was no longer finite")
    if not info.over and training.extended_at[-1:] != (info.checkpoint,):
        raise UserError(
            f"{where} is not finished: `curta train --resume {folder.argument}` trains it first"
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
    if checkpoints.newest_whole(folder.checkpoints) != info.checkpoint:
        raise UserError(
            f"{where} has lost its last checkpoint: `curta runs {folder.argument}` says more"
        )
    earlier = tuple(end for end in training.extended_at if end < info.checkpoint)
    training = replace(training, steps=steps, extended_at=(*earlier, info.checkpoint))
    summary = f"{re.sub(SUFFIX, '', recipe.summary)}; trained on to {steps:,} steps"
    return replace(recipe, training=training, summary=shortened(summary, LETTERS))


def extend(folder: Folder, steps: int) -> None:
    """Make a finished run one of so many steps, which is still to be trained from its last one on.

    What followed its training is to follow again. Its evaluations are kept as those of that step,
    its certificate is not. The recipe is written before anything goes: wherever this is broken off,
    the run is whole, and resuming it trains it as far as its recipe says. Raises UserError as
    `extended_recipe`.
    """
    with stage(folder):
        info, recipe = folder.read_info(), extended_recipe(folder, steps)
        if recipe == folder.read_recipe() and not info.over:
            return
        out_of_date = [folder.path / CERTIFICATE, folder.path / WINDOWS]
        for name in ("", *folder.evaluation_names()):
            evaluation = folder.read_evaluation(name)
            if evaluation is None or "step" in evaluation.changes:
                continue
            changes = evaluation.changes | {"step": evaluation.step}
            if not folder.evaluation_path(evaluation_name(changes)).exists():
                folder.save_evaluation(replace(evaluation, changes=changes))
            out_of_date.append(folder.evaluation_path(name))
        # what was wanted after training, or has results of the former weights
        stages = (s for s in STAGES[1:] if s in info.wanted or (folder.path / FILES[s]).exists())
        folder.update(wanted=tuple(stages))
        files.write(folder.recipe, dump(recipe))
        folder.update(status="interrupted", steps=steps, done=())
        for path in out_of_date:
            path.unlink(missing_ok=True)
