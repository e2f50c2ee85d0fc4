"""What trackers have kept of a run, read from their files."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curta.runs.run import Run

Kept = dict[tuple[int, str, int], float]
"""Values by step, metric and seed."""

Found = dict[str, Any]
"""What was found, by its name."""


def in_tensorboard(run: Run) -> Kept:
    """The metrics in the event files of the seeds."""
    return {
        (event.step, value.tag, seed): value.simple_value
        for seed in run.seeds
        for event in _events(run.folder.path / "tensorboard" / f"seed-{seed}")
        for value in event.summary.value
    }


def found_in_tensorboard(run: Run) -> Found:
    """The findings in all event files: those of a seed in its folder, others in one for all."""
    found = {}
    for folder in (run.folder.path / "tensorboard").iterdir():
        column = "" if folder.name == "members" else f"/{folder.name}"
        for event in _events(folder):
            for value in event.summary.value:
                if value.tag.startswith(("evaluation", "certificate")):
                    found[value.tag.removesuffix("/text_summary") + column] = _value(value)
                    assert event.step == 20
    return found


def _value(value: Any) -> Any:
    """A scalar, or what a text stands for."""
    texts = [text.decode() for text in value.tensor.string_val]
    words = {"True": True, "False": False} | {text: int(text) for text in texts if text.isdigit()}
    return words.get(texts[0], texts[0]) if texts else value.simple_value


def _events(folder: Path) -> Iterator[Any]:
    """The events in a folder, by tensorboardX's own messages."""
    from tensorboardX.proto.event_pb2 import Event

    for path in folder.iterdir():
        yield from map(Event.FromString, _records(path.read_bytes()))


def _records(content: bytes) -> Iterator[bytes]:
    """The records of a TensorFlow file: length, checksum, content, checksum."""
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield content[12 : 12 + length]
        content = content[12 + length + 4 :]


class WandB:
    """Stands for wandb's runs: remembers how they were begun, their rows and their summaries."""

    begun: list[dict[str, Any]]
    rows: list[tuple[int, dict[str, float]]]
    summary: dict[str, Any]

    def __init__(self, **settings: Any) -> None:
        self.begun.append(settings)

    def log(self, metrics: dict[str, float], step: int) -> None:
        self.rows.append((step, metrics))

    def finish(self) -> None:
        """Send what is left."""


def in_wandb(run: Run) -> Kept:
    return {_place(step, key): value for step, row in WandB.rows for key, value in row.items()}


def found_in_wandb(run: Run) -> Found:
    """The summary, of one run that was begun several times."""
    assert len({settings["id"] for settings in WandB.begun}) == 1
    return WandB.summary


def in_trackio(run: Run) -> Kept:
    """The metrics in the database."""
    return {
        _place(row["step"], key): value
        for row in _trackio(run)
        for key, value in row.items()
        if "/" in key
    }


def found_in_trackio(run: Run) -> Found:
    """The findings in the database, which are those of the last step."""
    last = [row for row in _trackio(run) if row["step"] == 20]
    return {key: value for row in last for key, value in row.items() if "/" in key}


def _trackio(run: Run) -> list[dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    return SQLiteStorage.get_logs("curta", run.name)


def _place(step: int, key: str) -> tuple[int, str, int]:
    name, _, seed = key.partition("/seed-")
    return step, name, int(seed)
