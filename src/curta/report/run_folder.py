"""A run as a report reads it: the content of its folder, and the problems of its training."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curta.config.errors import UserError
from curta.config.task import Span
from curta.evaluation.results import Evaluation, SliceResult, SliceSummary
from curta.probes.base import ProbeTable, read_probes
from curta.problems.operations import OPERATIONS
from curta.programs.machine import store
from curta.runs.folders import Folder, layout_in
from curta.runs.info import Metric, RunInfo

if TYPE_CHECKING:
    from curta.layouts import Layout

NOT_EVALUATED = Evaluation(seed=0, lengths=[], examples=[])

SIZE = re.compile(r"(?:(\d+)x)?(\d+)(?:/(\d+))?")
"""A size of problems: `20`, `50/25` or `20x5`."""


class Trained(NamedTuple):
    """The lengths of one operator's training problems; `operands` is None for the usual number."""

    first: Span
    others: Span
    operands: Span | None

    @property
    def lengths(self) -> Span:
        """The digits of the shortest and of the longest operand."""
        return min(self.first[0], self.others[0]), max(self.first[1], self.others[1])

    def covers(self, row: SliceResult | SliceSummary) -> bool:
        """Return whether a row is in-distribution: of a size of training, in the same layout."""
        size = SIZE.fullmatch(row.size)
        if size is None:  # a table of all operands, of which some problems were held out
            return "," not in row.slice_name
        count, first, others = (int(digits) if digits else 0 for digits in size.groups())
        operation = OPERATIONS.get(row.operator)
        usual = operation.least if operation else count or (self.operands or (1, 1))[0]
        spans = (self.first, self.others, self.operands or (usual, usual))
        sizes = (first, others or first, count or usual)
        return all(low <= n <= high for n, (low, high) in zip(sizes, spans, strict=True))

    def cells(self, digits: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the indices of the first and of the second operand's lengths in training."""
        (low, high), (least, most) = self.first, self.others
        first = [index for index, length in enumerate(digits) if low <= length <= high]
        return first, [index for index, length in enumerate(digits) if least <= length <= most]


@dataclass(frozen=True)
class RunData:
    """The content of a run's folder; `evaluation` has no lengths before there is one.

    `further` are evaluations with other settings.
    """

    folder: Folder
    info: RunInfo
    recipe: str
    metrics: list[Metric]
    evaluation: Evaluation
    further: list[Evaluation]
    probes: dict[str, ProbeTable]

    @property
    def name(self) -> str:
        """The name of the folder, which may have been copied or renamed."""
        return self.folder.name

    @property
    def several(self) -> bool:
        """Whether there are several members, and so a median."""
        return len(self.info.seeds) > 1

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The task tables of the recipe; none if it is not valid TOML."""
        tasks = self._fields.get("task", [])
        return tasks if isinstance(tasks, list) else [tasks]

    @cached_property
    def trained(self) -> dict[str, Trained]:
        """The training problems by operator; run.json has only the widest range of all operators.

        A recipe omits `second` and `operands` where they are the default.
        """
        by_operator = dict[str, Trained]()
        for task in self.tasks:
            if "values" in task:
                low, high = (len(str(value)) for value in task["values"])
                trained = Trained((low, high), (low, high), None)
            else:
                first, others, operands = task["digits"], task.get("second"), task.get("operands")
                trained = Trained(
                    span(first), span(others or first), span(operands) if operands else None
                )
            by_operator[task["operator"]] = trained
        return by_operator

    @property
    def counted_in_training(self) -> str:
        """The unit of exact match in a training step: `windows` or `problems`."""
        positions = self._fields.get("positions", {})
        return "windows" if positions.get("name") == "window" else "problems"

    @property
    def extended_at(self) -> list[int]:
        """The steps at which training had ended before it was extended."""
        steps: list[int] = self._fields.get("training", {}).get("extended_at", [])
        return steps

    @cached_property
    def _fields(self) -> dict[str, Any]:
        """The tables of the recipe; empty if it is not valid TOML."""
        try:
            return tomllib.loads(self.recipe)
        except tomllib.TOMLDecodeError:
            return {}


def read_run(path: Path, evaluation: str = "") -> RunData:
    """Read the folder of a run; only `run.json` must exist.

    Shows the recipe's evaluation, or the further evaluation of the given name.
    """
    folder = Folder(path)
    others = [name for name in folder.evaluation_names() if name != evaluation]
    return RunData(
        folder=folder,
        info=folder.read_info().at_rest(),
        recipe=folder.read_recipe_text(),
        metrics=folder.read_metrics(),
        evaluation=folder.read_evaluation(evaluation) or NOT_EVALUATED,
        further=[other for name in others if (other := folder.read_evaluation(name))],
        probes=read_probes(folder),
    )


def read_layout(path: Path) -> "Layout":
    """Return the layout of a run's folder.

    A program that does not come with Curta leaves only its machine: its code is not run.
    """
    try:
        return layout_in(Folder(path))
    except UserError:
        from curta.layouts.program import ProgramLayout

        return ProgramLayout(*store.read(path / "machine.json", path.name))


def span(bounds: list[int]) -> Span:
    """Return the two bounds of a list from TOML."""
    low, high = bounds
    return low, high
