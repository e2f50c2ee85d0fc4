"""The windows of a run, and which of them each member met in training or in repair.

runs/NAME/shown.safetensors    the windows, their targets, and since when each member trains on them

The list of a run grows: windows that come up in an evaluation or a question are added to it, and
the certificate checks them, too.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import Bool, Int

from curta.config import files
from curta.config.errors import UserError
from curta.problems.problem import Problem
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.recording import Recording, WindowIndex, WindowTable, recorded_windows
from curta.programs.machine.survey import Recorder

FILE = "shown.safetensors"

SAMPLE = 4096
"""The most windows that a validation tests: as many as one pass takes."""

NEVER = -1
"""Takes the place of a round if the member never trained on a window."""


WindowRows = Int[np.ndarray, "windows cells"]
"""One window in each row: the token of the query, then those of its neighbours."""

WindowTargets = Int[np.ndarray, " windows"]
"""The correct token after each window."""


@dataclass
class TrainingWindows:
    """Distinct windows, their targets, and since when each member trains on them."""

    rows: WindowRows
    """The windows."""
    targets: WindowTargets
    """The correct token after each window."""
    since: Int[np.ndarray, "members windows"]
    """0 for windows of training, N for those that the Nth round of repair added, or NEVER."""
    counts: Int[np.ndarray, "members windows"] | None = None
    """How often each window occurs in a member's problems, if windows are drawn by frequency."""
    wrong: list[Bool[np.ndarray, "members windows"]] = field(default_factory=list)
    """For each round of repair, the windows that a member got wrong before it and trains on."""
    wrong_counts: list[Int[np.ndarray, " members"]] = field(default_factory=list)
    """For each round of repair, the number of all windows that a member got wrong before it."""
    met: int = 0
    """The number of windows, at the end of the list, that were added after training began."""
    examples: dict[int, Problem] = field(default_factory=dict)
    """A problem that contains the window, by the window's number, for windows not listed before."""

    def trained_since(
        self, rows: Int[np.ndarray, "queries cells"]
    ) -> Int[np.ndarray, "members queries"]:
        """Return the round since which each member trains on these windows, or NEVER."""
        number = self.index.find(rows)
        return np.where(number < 0, NEVER, self.since[:, number])

    def sample(self) -> Int[np.ndarray, " sample"]:
        """Return the numbers of the windows that a validation tests: all, or SAMPLE at even steps.

        They stay the same when windows are added to the list.
        """
        count = len(self.rows) - self.met
        return np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64)

    def rounds(self, member: int) -> list[int]:
        """Return the number of windows that a member got wrong before each of its repair rounds."""
        return [int(counts[member]) for counts in self.wrong_counts if counts[member]]

    @cached_property
    def index(self) -> WindowIndex:
        """The index from a window to its number in this list."""
        index = WindowIndex(self.rows.shape[1])
        index.enter(self.rows)
        return index

    def with_windows(
        self, rows: WindowRows, targets: WindowTargets, examples: Sequence[Problem]
    ) -> "TrainingWindows":
        """Return the list with further windows, on which no member trained, and their problems."""
        new, before = len(rows), len(self.rows)
        # Arrays of members and windows get columns for the new windows.
        wider = lambda array, value: np.pad(array, ((0, 0), (0, new)), constant_values=value)
        return replace(
            self,
            rows=np.concatenate([self.rows, rows]),
            targets=np.concatenate([self.targets, targets]),
            since=wider(self.since, NEVER),
            counts=None if self.counts is None else wider(self.counts, 1),
            wrong=[wider(wrong, value=False) for wrong in self.wrong],
            met=self.met + new,
            examples=self.examples | dict(enumerate(examples, before)),
        )

    def with_texts(
        self, machine: Machine, windows: Windows, recorder: Recorder, problems: Sequence[Problem]
    ) -> "TrainingWindows":
        """Return the list with all windows in the correct texts of some problems added."""
        table = WindowTable(self.rows.shape[1])
        texts = [recorder.record(problem.operator, problem.operands) for problem in problems]
        table.add(recorded_windows(machine, Recording.of(texts), windows))
        new = np.flatnonzero(self.index.find(table.rows) < 0)
        examples = [problems[text] for text in table.example[new].tolist()]
        return self.with_windows(table.rows[new], table.targets[new], examples)


def save(folder: Path, windows: TrainingWindows) -> None:
    """Write the windows into a run's folder."""
    examples = [
        [number, problem.operator, [f"{value:x}" for value in problem.operands], problem.base]
        for number, problem in windows.examples.items()
    ]
    shape = (len(windows.wrong), *windows.since.shape)  # rounds members windows
    arrays: dict[str, np.ndarray] = {
        "rows": windows.rows.astype(np.int32, order="C"),
        "targets": windows.targets.astype(np.int32),
        "since": windows.since.astype(np.int16, order="C"),
        "wrong": np.packbits(np.array(windows.wrong, bool).reshape(shape), axis=-1),
        "wrong_counts": np.array(windows.wrong_counts, np.int64).reshape(-1, len(windows.since)),
        "met": np.array([windows.met], np.int64),
        "examples": np.frombuffer(json.dumps(examples).encode(), np.uint8),
    }
    if windows.counts is not None:
        arrays["counts"] = windows.counts
    files.write(folder / FILE, safetensors.numpy.save(arrays))


def read(folder: Path) -> TrainingWindows | None:
    """Read the windows in a run's folder; None if it has none.

    Raises UserError if they are damaged.
    """
    try:
        arrays = safetensors.numpy.load(files.read_bytes(folder / FILE, 1 << 36))
        count = len(arrays["rows"])
        examples = json.loads(arrays["examples"].tobytes())
        wrong = np.unpackbits(arrays["wrong"], axis=-1, count=count).astype(bool)
        return TrainingWindows(
            rows=arrays["rows"],
            targets=arrays["targets"],
            since=arrays["since"],
            counts=arrays.get("counts"),
            wrong=list(wrong),
            wrong_counts=list(arrays["wrong_counts"]),
            met=int(arrays["met"][0]),
            examples={
                number: Problem(operator, tuple(int(value, 16) for value in operands), base)
                for number, operator, operands, base in examples
            },
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"run {folder.name!r} is damaged: {FILE}: {error.strerror}") from None
    except (safetensors.SafetensorError, LookupError, TypeError, ValueError):
        raise UserError(f"run {folder.name!r} is damaged: {FILE} has changed") from None
