"""What the report of a comparison reads: comparison.json, and the runs that it names."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

from curta.config.table import MISSING
from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.evaluation.statistics import TO_DRAW, Range, of_difference, range_of
from curta.report.run_folder import RunData, Trained, read_run
from curta.report.summary import finite, percent
from curta.runs import folders
from curta.runs.info import ComparisonResults, ComparisonRow

LEAST = 0.05
"""Exact match below which nothing counts as learned."""

RangeCurve = dict[int, Range]
"""Ranges by training step, or by digits."""


@dataclass(frozen=True)
class ComparisonData:
    """A comparison as read from its folder, with the run of every row that has begun."""

    results: ComparisonResults
    runs: dict[str, RunData]

    @property
    def several(self) -> bool:
        """Whether any entry has several members, so that there is a median."""
        return any(run.several for run in self.runs.values())

    @cached_property
    def sizes(self) -> dict[str, list[str]]:
        """The sizes at which each operator is evaluated, in order of their digits."""
        every = [size for row in self.results.rows for size in evaluated_sizes(row)]
        sizes: dict[str, list[str]] = {size.operator: [] for size in every}
        for size in sorted(every, key=lambda size: size.digits):
            if size.size not in sizes[size.operator]:
                sizes[size.operator].append(size.size)
        return sizes

    def trained(self, row: ComparisonRow, operator: str) -> Trained | None:
        """Return the problems that an entry's run was trained on; None before it has begun."""
        run = self.runs.get(row.name)
        return run.trained.get(operator) if run else None

    def mean(self, row: ComparisonRow, inside: bool) -> list[float]:
        """Return each member's mean exact match, in-distribution (`inside`) or out-of-distribution.

        The mean is over sizes and slices. Sizes that were left out, since all shorter problems were
        wrong, count as 0 out-of-distribution: without them an entry that fails early would have a
        higher mean than one that goes further.
        """
        side = list[SliceSummary]()
        for summary in row.lengths:
            trained = self.trained(row, summary.operator)
            if (trained is not None and trained.covers(summary)) == inside:
                side.append(summary)
        slices = Counter((summary.operator, summary.size) for summary in row.lengths)
        zeros = [0.0] * sum(
            max((n for (operator, _), n in slices.items() if operator == size.operator), default=1)
            for size in ([] if inside else row.unevaluated)
        )
        return [fmean([*finite(values), *zeros]) for values in by_member(side) if finite(values)]

    def conclusion(self) -> list[str]:
        """Return in sentences which entry does best, and by how much over the next one.

        Means are over members, sizes and slices; sizes without positions count as 0. Members of
        one seed are compared in pairs. An interval takes five seeds, see `statistics.of_mean`; it
        is not adjusted for the number of entries. Where it holds 0, no entry is called best.
        Entries that learned nothing are left out.
        """
        sentences, unlearned = list[str](), self.unlearned()
        for inside, where in ((True, "In-distribution"), (False, "Out-of-distribution")):
            by_entry = {
                row.name: self.mean(
                    replace(row, unevaluated=(*row.unevaluated, *row.unplaced)), inside
                )
                for row in self.results.rows
                if row.name not in unlearned
            }
            ranked = sorted(
                (name for name, means in by_entry.items() if means),
                key=lambda name: -fmean(by_entry[name]),
            )
            if len(ranked) < 2:
                continue
            first, second = (by_entry[name] for name in ranked[:2])
            best, next_best = fmean(first), fmean(second)
            if best < LEAST:
                continue
            if best - next_best < 0.005:
                sentences.append(
                    f"{where}, {ranked[0]} and {ranked[1]} are equally good:"
                    f" {percent(next_best)} % of the problems are right."
                )
                continue
            paired = len(first) == len(second) == len(self.results.seeds)
            interval = of_difference(first, second, paired)
            over = f"{100 * (best - next_best):.1f} points"
            if interval:
                over += f" (95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f})"
            elif len(self.results.seeds) < TO_DRAW:
                over += f" (fewer than {TO_DRAW} seeds: no interval)"
            if interval and interval.low <= 0:
                begin = f"{where}, the seeds do not tell {ranked[0]} and {ranked[1]} apart:"
                shares = f"{percent(best)} % and {percent(next_best)} % of the problems are right;"
            else:
                begin = (
                    f"{where}, {ranked[0]} is best: on average over sizes and slices,"
                    f" {percent(best)} % of the problems are right."
                )
                shares = f"{ranked[1]} follows with {percent(next_best)} %;"
            sentences.append(f"{begin} {shares} the difference is {over}.")
        return sentences

    def unlearned(self) -> list[str]:
        """Return the finished entries that are below `LEAST` in the hardest slice of every size."""
        return [
            row.name
            for row in self.results.rows
            if row.status == "finished"
            and row.lengths
            and all(
                fmean(hardest(s for s in row.lengths if (s.operator, s.size) == size) or [0])
                < LEAST
                for size in {(summary.operator, summary.size) for summary in row.lengths}
            )
        ]

    def unlearned_note(self) -> str:
        """Return what to do about entries that learned nothing; empty if all learned something."""
        names = ", ".join(self.unlearned())
        return names and (
            f"Nothing learned: {names}. In the hardest slice of every size, fewer than"
            f" {100 * LEAST:.0f} % of the problems are right. This says nothing about the method:"
            " train longer, or with another learning rate."
        )


def read_comparison(folder: Path) -> ComparisonData:
    """Read the folder of a comparison."""
    results = folders.read_comparison(folder)
    return compared_of(results, {row.name: folder / row.run for row in results.rows})


def compared_of(
    results: ComparisonResults, folders: Mapping[str, Path], evaluation: str = ""
) -> ComparisonData:
    """Return the results of a comparison with its runs; a run that has not begun is left out.

    Runs show the recipe's evaluation, or the further evaluation of the given name.
    """
    begun = {name: path for name, path in folders.items() if (path / "run.json").exists()}
    runs = {name: read_run(path, evaluation) for name, path in begun.items()}
    return ComparisonData(results, runs)


def evaluated_sizes(row: ComparisonRow) -> list[SliceSummary | UnevaluatedSize]:
    """Return all slices and sizes that an entry was, or should have been, evaluated on."""
    return [*row.lengths, *row.unplaced, *row.unevaluated]


def exact_match_at(row: ComparisonRow, operator: str, size: str) -> Range | str:
    """Return exact match in the hardest slice of a size, or why there is none."""
    slices = [s for s in row.lengths if (s.operator, s.size) == (operator, size)]
    if slices:
        return range_of(hardest(slices))
    for reason, sizes in (("no positions", row.unplaced), ("not evaluated", row.unevaluated)):
        if (operator, size) in {(missing.operator, missing.size) for missing in sizes}:
            return reason
    if row.lengths:
        return MISSING
    return "not evaluated" if row.status == "finished" else row.status


def hardest(slices: Iterable[SliceSummary]) -> list[float]:
    """Return each member's exact match in its hardest slice, for members that have any."""
    return [min(finite(values)) for values in by_member(slices) if finite(values)]


def members_by_digits(row: ComparisonRow, operator: str) -> dict[int, list[float]]:
    """Return each member's hardest slice by digits of the longest operand."""
    groups: dict[int, list[SliceSummary]] = {}
    for summary in sorted(row.lengths, key=lambda summary: summary.digits):
        if summary.operator == operator:
            groups.setdefault(summary.digits, []).append(summary)
    return {digits: hardest(slices) for digits, slices in groups.items()}


def by_member(slices: Iterable[SliceSummary]) -> list[tuple[float | None, ...]]:
    """Return the exact match of every slice, member by member."""
    return list(zip(*(summary.exact_match.members for summary in slices), strict=True))
