"""The life of a run: what it is doing or how it ended, and what it still has to do.

created -> training -> evaluating -> certifying -> reporting -> finished

Any of the four stages may be `interrupted`, or end `failed`; a training of which no member is
left has `stopped`. What was done stands in `run.json`, so that `train --resume` does what is
missing. A stage whose process is gone was interrupted: nothing has to be written for that.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.runs import interrupts, ownership
from curta.runs.folders import Folder
from curta.runs.info import STAGES, RunInfo, Stage

FILES: dict[str, str] = {
    "evaluating": "evaluation.json",
    "certifying": "certificate.json",
    "reporting": "report.html",
}
"""What a stage leaves behind, without which it is not done."""


Ending = Literal["done", "interrupted", "stopped"]


@dataclass
class Outcome:
    """How a stage ended: done, unless it says otherwise."""

    status: Ending = "done"


def after_training(recipe: Recipe) -> list[Stage]:
    """The stages that follow where all is wanted."""
    if recipe.evaluation.certificate and isinstance(recipe.positions, Window):
        return ["evaluating", "certifying", "reporting"]
    return ["evaluating", "reporting"]


def missing(folder: Folder, info: RunInfo) -> list[Stage]:
    """What a run still has to do, in order; nothing where no member is left."""
    if info.status == "stopped":
        return []
    if "training" not in info.done:
        return [stage for stage in STAGES if stage in ("training", *info.wanted)]
    return [one for one in STAGES if one in info.wanted and not _is_done(folder, info, one)]


@contextmanager
def stage(folder: Folder, name: Stage) -> Iterator[Outcome]:
    """One stage of a run, which this process owns meanwhile; UserError if another does.

    Signals are noted until a safe point of it.
    """
    with interrupts.deferred(), ownership.owned(folder.path):
        interrupts.check()
        _begin(folder, name)
        outcome = Outcome()
        try:
            yield outcome
        except BaseException as error:
            with suppress(UserError):  # a full disk: what went wrong first is the error
                _broken(folder, error)
            raise
        _ended(folder, name, outcome)


@contextmanager
def beside(folder: Folder) -> Iterator[None]:
    """Work on a run that is no stage of its life, which this process owns meanwhile.

    As `stage`, but run.json stays as it is.
    """
    with interrupts.deferred(), ownership.owned(folder.path):
        interrupts.check()
        yield


def _begin(folder: Folder, name: Stage) -> None:
    """Training makes all that came after it out of date."""
    done = folder.read_info().done
    kept = () if name == "training" else tuple(one for one in done if one != name)
    folder.update(status=name, done=kept, failure="")


def _broken(folder: Folder, error: BaseException) -> None:
    interrupted = isinstance(error, KeyboardInterrupt | SystemExit)
    reason = "" if interrupted else f"{type(error).__name__}: {error}".partition("\n")[0][:300]
    folder.update(status="interrupted" if interrupted else "failed", failure=reason)


def _ended(folder: Folder, name: Stage, outcome: Outcome) -> None:
    if outcome.status != "done":
        folder.update(status=outcome.status)
        return
    info = folder.read_info()
    info = replace(info, done=(*info.done, name))
    if not info.alive:
        folder.update(done=info.done, status="stopped")
        return
    more = bool(missing(folder, info))
    resting = name if ownership.is_shared(folder.path) else "interrupted"
    folder.update(done=info.done, status=resting if more else "finished")


def _is_done(folder: Folder, info: RunInfo, name: Stage) -> bool:
    return name in info.done and (folder.path / FILES[name]).exists()
