"""The life of a run: what it is doing or how it ended, and what it still has to do.

created -> training -> evaluating -> certifying -> reporting -> finished

Any of the four stages may be `interrupted`, or end `failed`; a training of which no member is
left has `stopped`. `run.json` lists the stages that are done, so that resuming a run carries out
the others. A stage whose process is gone was interrupted: nothing has to be written for that.
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
    """Return the stages that follow a training, where all are wanted."""
    if recipe.evaluation.certificate and isinstance(recipe.positions, Window):
        return ["evaluating", "certifying", "reporting"]
    return ["evaluating", "reporting"]


def missing(folder: Folder, info: RunInfo) -> list[Stage]:
    """Return what a run still has to do, in order; nothing where no member is left."""
    if info.status == "stopped":
        return []
    if "training" not in info.done:
        return [stage for stage in STAGES if stage in ("training", *info.wanted)]
    return [
        stage
        for stage in STAGES
        if stage in info.wanted
        and not (stage in info.done and (folder.path / FILES[stage]).exists())
    ]


@contextmanager
def stage(folder: Folder, name: Stage) -> Iterator[Outcome]:
    """Carry out a stage of a run, owned meanwhile; UserError if another process owns it.

    Signals are noted until a safe point. Training makes all later stages out of date.
    """
    with beside(folder):
        done = tuple(stage for stage in folder.read_info().done if stage != name)
        folder.update(status=name, done=() if name == "training" else done, failure="")
        outcome = Outcome()
        try:
            yield outcome
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt | SystemExit)
            status = "interrupted" if interrupted else "failed"
            line = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            with suppress(UserError):  # a full disk: what went wrong first is the error
                folder.update(status=status, failure="" if interrupted else line)
            raise
        if outcome.status != "done":
            folder.update(status=outcome.status)
            return
        info = folder.read_info()
        info = replace(info, done=(*info.done, name))
        status = "finished"
        if not info.alive:
            status = "stopped"
        elif missing(folder, info):  # within a block that owns the run, the next stage follows
            status = name if ownership.is_shared(folder.path) else "interrupted"
        folder.update(done=info.done, status=status)


@contextmanager
def beside(folder: Folder) -> Iterator[None]:
    """Work on a run, owned meanwhile, without a stage: run.json stays as it is.

    Raises UserError if another process owns it. Signals are noted until a safe point.
    """
    with interrupts.deferred(), ownership.owned(folder.path):
        interrupts.check()
        yield
