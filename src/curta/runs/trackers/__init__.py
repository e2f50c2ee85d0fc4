"""Where metrics may go besides metrics.jsonl. A new tracker is one file and one line here."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from curta.config.errors import UserError, unknown
from curta.config.optional import module
from curta.runs.trackers.base import Tracked, Tracker
from curta.runs.trackers.tensorboard import TensorBoard
from curta.runs.trackers.trackio import Trackio
from curta.runs.trackers.wandb import WandB

TRACKERS: dict[str, type[Tracker]] = {
    tracker.name: tracker for tracker in (TensorBoard, WandB, Trackio)
}

__all__ = ["TRACKERS", "Tracked", "Tracker", "checked", "opened"]


def checked(names: str | Sequence[str]) -> list[str]:
    """Names of trackers, in one text or several; UserError if one is unknown or not installed."""
    parts = names.split(",") if isinstance(names, str) else list(names)
    for name in parts:
        if name not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        if parts.count(name) > 1:
            raise UserError(f"tracker {name!r} is named twice")
        module(TRACKERS[name].library, name)
    return parts


@contextmanager
def opened(names: Sequence[str], run: Tracked) -> Iterator[list[Tracker]]:
    """Trackers of a run, closed at the end whatever happens."""
    checked(names)
    with ExitStack() as stack:
        trackers = [TRACKERS[name](run) for name in names]
        for tracker in trackers:
            stack.callback(tracker.close)
        yield trackers
