"""A run as a report has it: what its folder says, and what it was trained on."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from curta.config.task import Span
from curta.evaluation.results import Evaluation, SliceResult, SliceSummary
from curta.probes import results as probes
from curta.probes.results import ProbeTable
from curta.problems.operations import OPERATIONS
from curta.runs.folders import Folder
from curta.runs.info import Metric, RunInfo

NOT_EVALUATED = Evaluation(seed=0, lengths=[], examples=[])

SIZE = re.compile(r"(?:(\d+)x)?(\d+)(?:/(\d+))?")
"""A size of problems: `20`, `50/25` or `20x5`."""


class Trained(NamedTuple):
    """The problems of one operator that were trained on; without `operands`, as many as usual."""

    first: Span
    others: Span
    operands: Span | None

    @property
    def lengths(self) -> Span:
        """Digits of the shortest and of the longest operand."""
        return min(self.first[0], self.others[0]), max(self.first[1], self.others[1])

    def covers(self, row: SliceResult | SliceSummary) -> bool:
        """Whether a row is in-distribution: of sizes that were trained on, in the same layout."""
        size = SIZE.fullmatch(row.size)
        if size is None:  # a table of all operands, of which some problems were held out
            return "," not in row.slice_name
        count, first, others = (int(part) if part else None for part in size.groups())
        assert first is not None
        known = OPERATIONS.get(row.operator)
        usual = known.least if known else count or (self.operands or (1, 1))[0]
        return (
            _within(first, self.first)
            and _within(others or first, self.others)
            and _within(count or usual, self.operands or (usual, usual))
        )


@dataclass(frozen=True)
class Run:
    """A run as read from its folder; its evaluation has no lengths until there is one.

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
        """That of its folder, which may have been copied or renamed."""
        return self.folder.name

    @property
    def several(self) -> bool:
        """Whether it has several members, so that there is a median."""
        return len(self.info.seeds) > 1

    @property
    def trained(self) -> dict[str, Trained]:
        """What was trained on, by operator: run.json knows only the widest range of all."""
        found = self._fields.get("task", [])
        tasks = found if isinstance(found, list) else [found]
        return {task["operator"]: _trained(task) for task in tasks}

    @property
    def counted_in_training(self) -> str:
        """What the exact match of a training step is a share of: `windows` or `problems`."""
        positions = self._fields.get("positions", {})
        return "windows" if positions.get("name") == "window" else "problems"

    @property
    def extended_at(self) -> list[int]:
        """The steps at which training had ended before it was made longer."""
        found: list[int] = self._fields.get("training", {}).get("extended_at", [])
        return found

    @cached_property
    def _fields(self) -> dict[str, Any]:
        """The tables of the recipe; none where it is no TOML."""
        try:
            return tomllib.loads(self.recipe)
        except tomllib.TOMLDecodeError:
            return {}


def read_run(path: Path, evaluation: str = "") -> Run:
    """Reads the folder of a run; only `run.json` must exist.

    Its evaluation is the recipe's, or a further one by its name.
    """
    folder = Folder(path)
    others = [name for name in folder.evaluation_names() if name != evaluation]
    return Run(
        folder=folder,
        info=folder.read_info().at_rest(),
        recipe=folder.read_recipe_text(),
        metrics=folder.read_metrics(),
        evaluation=folder.read_evaluation(evaluation) or NOT_EVALUATED,
        further=[found for name in others if (found := folder.read_evaluation(name))],
        probes=probes.read(folder),
    )


def _trained(task: Mapping[str, Any]) -> Trained:
    """The recipe leaves out `second` and `operands` where they are as usual."""
    if "values" in task:
        low, high = (len(str(value)) for value in task["values"])
        return Trained((low, high), (low, high), None)
    first, others, operands = task["digits"], task.get("second"), task.get("operands")
    return Trained(_span(first), _span(others or first), _span(operands) if operands else None)


def _within(count: int, span: Span) -> bool:
    return span[0] <= count <= span[1]


def _span(bounds: list[int]) -> Span:
    low, high = bounds
    return low, high
