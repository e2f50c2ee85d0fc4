"""Where metrics and findings may go besides the run's folder.

A new tracker is one file and one line here.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from curta.config.errors import UserError, notify, unknown
from curta.config.registry import optional_module
from curta.runs.info import AS_USUAL, Tracking
from curta.runs.trackers.base import Findings, Tracked, Tracker
from curta.runs.trackers.tensorboard import TensorBoard
from curta.runs.trackers.trackio import Trackio
from curta.runs.trackers.wandb import WandB

TRACKERS: dict[str, type[Tracker]] = {
    tracker.name: tracker for tracker in (TensorBoard, WandB, Trackio)
}

__all__ = ["TRACKERS", "Findings", "Tracked", "Tracker", "checked", "installed", "opened"]


def checked(names: str | Sequence[str], tracking: Tracking = AS_USUAL) -> list[str]:
    """Return the names of trackers, in one text or several.

    Raises UserError if one is unknown or not installed, or none of them uses what `tracking` sets.
    """
    chosen = names.split(",") if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        if chosen.count(name) > 1:
            raise UserError(f"tracker {name!r} is named twice")
        optional_module(TRACKERS[name].library, name)
    for field, value in vars(tracking).items():
        users = [name for name, tracker in TRACKERS.items() if field in tracker.takes]
        if value and not set(users) & set(chosen):
            raise UserError(f"--{field} is for --track {' or '.join(users)}")
    return chosen


def installed(names: Sequence[str]) -> list[str]:
    """Return those whose library is here; a line tells that the others are given nothing.

    A run may be evaluated elsewhere than it was trained, and that is not to be refused.
    """
    usable = []
    for name in names:
        try:
            usable += checked([name])
        except UserError as error:
            notify(f"{name} is not given what was found: {error}")
    return usable


@contextmanager
def opened(names: Sequence[str], run: Tracked) -> Iterator[list[Tracker]]:
    """Open the trackers of a run, to be closed at the end whatever happens."""
    checked(names)
    with ExitStack() as stack:
        trackers = list[Tracker]()
        for name in names:
            tracker = TRACKERS[name](run)
            stack.callback(tracker.close)
            trackers.append(tracker)
        yield trackers
