"""What a report says first: exact match in-distribution, and beside it out-of-distribution."""

from collections.abc import Sequence
from typing import NamedTuple

from curta.config.table import sized
from curta.evaluation.results import Grid, SliceResult
from curta.report.figures import cells_trained_on
from curta.report.run_folder import Run, Trained
from curta.report.summary import by_operator, by_size, finite, hardest


class Score(NamedTuple):
    """The share of every member, and of what.

    It is no exact match of `problems` where it is a share of windows, of which a problem has many.
    No member was trained on problems that are `held_out`.
    """

    members: list[float]
    of: str
    problems: bool = True
    held_out: bool = False


class Headline(NamedTuple):
    """One operator's exact match on both sides of what was trained on; None if not measured."""

    operator: str
    inside: Score | None
    outside: Score | None


def headlines(run: Run) -> list[Headline]:
    """A line for each operator of the evaluation: the largest size of each side."""
    return [_headline(run, *one) for one in by_operator(run.evaluation.lengths).items()]


def _headline(run: Run, operator: str, rows: Sequence[SliceResult]) -> Headline:
    """In-distribution are sizes of training; where none was evaluated, what comes next to it:
    problems held out, the grid, the last steps of training.
    """
    trained = run.trained.get(operator)
    sides: dict[bool, list[SliceResult]] = {True: [], False: []}
    for row in rows:
        sides[trained is not None and trained.covers(row)].append(row)
    held_out = [
        Score(gap.held_out.exact_match, f"{gap.problems}, held out", held_out=True)
        for gap in run.evaluation.gaps
        if gap.operator == operator
    ]
    inside = _largest(sides[True]) or next(iter(held_out), None)
    inside = inside or _on_grid(run, operator, trained) or _in_training(run)
    return Headline(operator, inside, _largest(sides[False]))


def _largest(rows: Sequence[SliceResult]) -> Score | None:
    """The hardest slice of the largest size."""
    if not rows:
        return None
    size, largest = list(by_size(rows).items())[-1]
    name = f"operands {size}" if ".." in size else sized(size)
    among = f", the hardest of {len(largest)} slices" if len(largest) > 1 else ""
    return Score(hardest(largest), name + among)


def _on_grid(run: Run, operator: str, trained: Trained | None) -> Score | None:
    """The lowest pair of operand lengths that were trained on."""
    grids = [grid for grid in run.evaluation.grids if grid.operator == operator]
    if trained is None or not grids:
        return None
    cells = _cells(grids[0], trained)
    if not all(cells):
        return None
    return Score(list(map(min, cells)), f"the hardest of {len(cells[0])} pairs of lengths")


def _cells(grid: Grid, trained: Trained) -> list[list[float]]:
    """Of every member the cells whose operands both have a length that was trained on."""
    up, across = cells_trained_on(grid.digits, trained)
    return [[member[a][b] for a in up for b in across] for member in grid.exact_match]


def _in_training(run: Run) -> Score | None:
    """The last records of training: a mean over all operators."""
    last = {line.member: line.exact_match for line in sorted(run.metrics, key=lambda one: one.step)}
    found, counted = finite(last.values()), run.counted_in_training
    of = f"{counted} of the last training steps"
    return Score(found, of, counted == "problems") if found else None
