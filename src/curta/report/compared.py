"""What the report of a comparison reads: comparison.json, and the runs that it names."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.report.run_folder import Run, Trained, read_run
from curta.report.summary import Range, finite, range_of
from curta.runs import folders
from curta.runs.info import ComparisonResults, ComparisonRow

RangeCurve = dict[int, Range]
"""Ranges by training step, or by digits."""


@dataclass(frozen=True)
class Compared:
    """A comparison as read from its folder, with the run of every row that has one."""

    results: ComparisonResults
    runs: dict[str, Run]

    @property
    def rows(self) -> list[ComparisonRow]:
        return self.results.rows

    @property
    def seeds(self) -> list[int]:
        return self.results.seeds

    @property
    def several(self) -> bool:
        """Whether any entry has several members, so that there is a median."""
        return any(run.several for run in self.runs.values())

    @cached_property
    def sizes(self) -> dict[str, list[str]]:
        """The sizes at which each operator is evaluated, by their digits."""
        known = [one for row in self.rows for one in asked(row)]
        sizes: dict[str, list[str]] = {one.operator: [] for one in known}
        for one in sorted(known, key=lambda one: one.digits):
            if one.size not in sizes[one.operator]:
                sizes[one.operator].append(one.size)
        return sizes

    def trained(self, row: ComparisonRow, operator: str) -> Trained | None:
        """What an entry's run was trained on, if there is one."""
        run = self.runs.get(row.name)
        return run.trained.get(operator) if run else None

    def lengths(self, row: ComparisonRow, operator: str) -> tuple[int, int] | None:
        """Fewest and most digits in training."""
        trained = self.trained(row, operator)
        return trained.lengths if trained else None

    def mean(self, row: ComparisonRow, inside: bool) -> list[float]:
        """Every member's exact match, the mean over sizes and slices of one side of training.

        One side, `inside`, is in-distribution, the other out-of-distribution. There the sizes count
        as 0 that were left out after a size at which all was wrong: without them the mean would be
        higher than that of an entry which is right there.
        """
        side = list[SliceSummary]()
        for one in row.lengths:
            trained = self.trained(row, one.operator)
            if (trained is not None and trained.covers(one)) == inside:
                side.append(one)
        slices = Counter((one.operator, one.size) for one in row.lengths)
        zeros = [0.0] * sum(
            max((n for (operator, _), n in slices.items() if operator == one.operator), default=1)
            for one in ([] if inside else row.unevaluated)
        )
        return [fmean([*finite(values), *zeros]) for values in by_member(side) if finite(values)]


def read_comparison(folder: Path) -> Compared:
    """Reads the folder of a comparison."""
    found = folders.read_comparison(folder)
    return compared_of(found, {row.name: folder / row.run for row in found.rows})


def compared_of(
    results: ComparisonResults, folders: Mapping[str, Path], evaluation: str = ""
) -> Compared:
    """The results of a comparison with its runs; one that has not begun is left out.

    The runs have the recipes' evaluations, or those of a name.
    """
    begun = {name: path for name, path in folders.items() if (path / "run.json").exists()}
    return Compared(results, {name: read_run(path, evaluation) for name, path in begun.items()})


def asked(row: ComparisonRow) -> list[SliceSummary | UnevaluatedSize]:
    """All that an entry was evaluated on, or was not."""
    return [*row.lengths, *row.unplaced, *row.unevaluated]


def why_missing(row: ComparisonRow, operator: str, size: str) -> str:
    """Why an entry has no figures at a size: `no positions`, `not evaluated`; empty if unknown."""
    for reason, sizes in (("no positions", row.unplaced), ("not evaluated", row.unevaluated)):
        if (operator, size) in {(one.operator, one.size) for one in sizes}:
            return reason
    return ""


def slices_of(row: ComparisonRow, operator: str, size: str) -> list[SliceSummary]:
    """Every slice of one size."""
    return [one for one in row.lengths if (one.operator, one.size) == (operator, size)]


def hardest(slices: Iterable[SliceSummary]) -> Range:
    """Every member in its hardest slice; median, least and greatest of them."""
    return range_of(min(finite(values)) for values in by_member(slices) if finite(values))


def by_digits(row: ComparisonRow, operator: str) -> RangeCurve:
    """Hardest slice by digits of the longest operand."""
    groups: dict[int, list[SliceSummary]] = {}
    for one in sorted(row.lengths, key=lambda one: one.digits):
        if one.operator == operator:
            groups.setdefault(one.digits, []).append(one)
    return {digits: hardest(slices) for digits, slices in groups.items()}


def by_step(members: Mapping[int, Mapping[int, float]]) -> RangeCurve:
    """Members' learning curves as one of ranges; a member counts while it trains."""
    steps = sorted({step for curve in members.values() for step in curve})
    return {step: range_of(c[step] for c in members.values() if step in c) for step in steps}


def by_member(slices: Iterable[SliceSummary]) -> list[tuple[float | None, ...]]:
    """Exact match, member by member."""
    return list(zip(*(one.exact_match.members for one in slices), strict=True))
