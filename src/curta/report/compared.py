"""What the report of a comparison reads: comparison.json, and the runs that it names."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple, NotRequired, TypedDict

from curta.report.run_folder import Run, read_run
from curta.report.summary import finite


class Spread(TypedDict):
    """A value of every member; median, least and greatest where any member has one."""

    members: list[float | None]
    median: NotRequired[float]
    min: NotRequired[float]
    max: NotRequired[float]


class Exam(Spread):
    """Exact match for one operator, size and category."""

    operator: str
    size: str
    digits: int
    category: str
    count: int


class Unplaced(TypedDict):
    """A size that the models of an entry cannot be given, and why."""

    operator: str
    size: str
    digits: int
    reason: str


class Row(TypedDict):
    """An entry of the comparison; what is only known after training may be absent."""

    name: str
    run: str
    recipe: str
    changes: dict[str, Any]
    structure: str
    status: str
    exams: list[Exam]
    unplaced: list[Unplaced]
    steps: NotRequired[int]
    parameters: NotRequired[int | None]
    training_seconds: NotRequired[float | None]
    stopped: NotRequired[dict[str, int]]
    loss: NotRequired[Spread]
    exact: NotRequired[Spread]


class Range(NamedTuple):
    """Median, least and greatest over members."""

    median: float
    least: float
    most: float


Curve = dict[int, Range]
"""Ranges by training step, or by digits."""


@dataclass(frozen=True)
class Compared:
    """A comparison as read from its folder, with the run of every row that has one."""

    name: str
    title: str
    summary: str
    seeds: list[int]
    swept: list[str]
    rows: list[Row]
    runs: dict[str, Run]

    @cached_property
    def sizes(self) -> dict[str, list[str]]:
        """The sizes at which each operator is examined, by their digits."""
        known = [exam for row in self.rows for exam in (*row["exams"], *row["unplaced"])]
        sizes: dict[str, list[str]] = {exam["operator"]: [] for exam in known}
        for exam in sorted(known, key=lambda exam: exam["digits"]):
            if exam["size"] not in sizes[exam["operator"]]:
                sizes[exam["operator"]].append(exam["size"])
        return sizes

    def lengths(self, row: Row, operator: str) -> tuple[int, int] | None:
        """Fewest and most digits in training."""
        run = self.runs.get(row["name"])
        trained = run.trained.get(operator) if run else None
        return trained.lengths if trained else None

    def mean(self, row: Row, beyond: bool) -> list[float]:
        """Every member's exact match, the mean over sizes and categories of one side of training.

        One side are operands as long as in training, the other those that are longer.
        """
        sides = [exam for exam in row["exams"] if self._longer(row, exam) == beyond]
        return [fmean(finite(values)) for values in _members(sides) if finite(values)]

    def _longer(self, row: Row, exam: Exam) -> bool:
        trained = self.lengths(row, exam["operator"])
        return trained is not None and exam["digits"] > trained[1]


def read_comparison(folder: Path) -> Compared:
    """Reads the folder of a comparison."""
    content = json.loads((folder / "comparison.json").read_text("utf-8"))
    return compared_of(content, {row["name"]: folder / row["run"] for row in content["rows"]})


def compared_of(content: Mapping[str, Any], folders: Mapping[str, Path]) -> Compared:
    """A table as comparison.json has it, with its runs; one that has not begun is left out."""
    begun = {name: path for name, path in folders.items() if (path / "run.json").exists()}
    kept = {key: content[key] for key in ("name", "title", "summary", "seeds", "swept", "rows")}
    return Compared(**kept, runs={name: read_run(path) for name, path in begun.items()})


def exams_of(row: Row, operator: str, size: str) -> list[Exam]:
    """Every category of one size."""
    return [e for e in row["exams"] if (e["operator"], e["size"]) == (operator, size)]


def hardest(exams: Iterable[Exam]) -> Range:
    """Every member in its hardest category; median, least and greatest of them."""
    return range_of(min(finite(values)) for values in _members(exams) if finite(values))


def by_digits(row: Row, operator: str) -> Curve:
    """Hardest category by digits of the longest operand."""
    groups: dict[int, list[Exam]] = {}
    for exam in sorted(row["exams"], key=lambda exam: exam["digits"]):
        if exam["operator"] == operator:
            groups.setdefault(exam["digits"], []).append(exam)
    return {digits: hardest(exams) for digits, exams in groups.items()}


def by_step(members: Mapping[int, Mapping[int, float]]) -> Curve:
    """Members' learning curves as one of ranges; a member counts while it trains."""
    steps = sorted({step for curve in members.values() for step in curve})
    return {step: range_of(c[step] for c in members.values() if step in c) for step in steps}


def range_of(values: Iterable[float]) -> Range:
    known = list(values)
    return Range(median(known), min(known), max(known))


def _members(exams: Iterable[Exam]) -> list[tuple[float | None, ...]]:
    """The exams' values, member by member."""
    return list(zip(*(exam["members"] for exam in exams), strict=True))
