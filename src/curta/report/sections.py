"""What the sections of a run's report show, as values for their templates.

A section is None where there is no data for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, repeat, zip_longest
from statistics import median
from typing import NamedTuple

from markupsafe import Markup

from curta.config.table import Table, sized
from curta.evaluation.results import (
    Evaluation,
    Example,
    FirstError,
    Generated,
    SliceResult,
    WrongAnswer,
)
from curta.evaluation.statistics import of_slice, wilson
from curta.programs.machine.paper import CARRIES
from curta.report.run_folder import Run
from curta.report.summary import MISSING, by_operator, by_size, counted, finite, hardest, size_name
from curta.report.tables.statistics import over_seeds
from curta.runs.info import Metric

EXAMPLES = 24
"""Most examples that are shown."""

AROUND = 12
"""Tokens that are shown on both sides of the first wrong one."""

# The headline: exact match in-distribution, and beside it out-of-distribution.


class Score(NamedTuple):
    """The share of every member, and of which problems.

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
    """Return a line for each operator of the evaluation: the hardest slice of the largest size.

    In-distribution are sizes of training; where none was evaluated, what comes next to it: problems
    held out, the lowest trained pair of lengths of the grid, the last steps of training.
    """

    def largest(rows: Sequence[SliceResult]) -> Score | None:
        if not rows:
            return None
        size, slices = list(by_size(rows).items())[-1]
        name = f"operands {size}" if ".." in size else sized(size)
        among = f", the hardest of {len(slices)} slices" if len(slices) > 1 else ""
        return Score(hardest(slices), name + among)

    lines = list[Headline]()
    for operator, rows in by_operator(run.evaluation.lengths).items():
        trained = run.trained.get(operator)
        sides: dict[bool, list[SliceResult]] = {True: [], False: []}
        for row in rows:
            sides[trained is not None and trained.covers(row)].append(row)
        inside = largest(sides[True])
        for gap in run.evaluation.gaps:
            if inside is None and gap.operator == operator:
                name = f"{gap.problems}, held out"
                inside = Score(gap.held_out.exact_match, name, held_out=True)
        for grid in run.evaluation.grids:
            if inside is None and trained is not None and grid.operator == operator:
                first, second = trained.cells(grid.digits)
                cells = [[rows[a][b] for a in first for b in second] for rows in grid.exact_match]
                if all(cells):
                    name = f"the hardest of {len(cells[0])} pairs of lengths"
                    inside = Score(list(map(min, cells)), name)
        if inside is None:
            ordered = sorted(run.metrics, key=lambda one: one.step)
            last = finite({line.member: line.exact_match for line in ordered}.values())
            units = run.counted_in_training
            if last:
                name = f"{units} of the last training steps"
                inside = Score(last, name, units == "problems")
        lines.append(Headline(operator, inside, largest(sides[False])))
    return lines


# Exact match by operator, size and slice; sizes that are perfect throughout share one row.


class Size(NamedTuple):
    """The rows of one size, or one row that stands for the perfect rows of several."""

    name: str
    rows: list[SliceResult]


@dataclass(frozen=True)
class Results:
    """The plots, and the rows of every operator: all of them, and folded where that is shorter.

    `intervals` says how sure each row is; `most_wrong` is the fewest problems of which a member has
    all right, and the share of wrong ones that there may be all the same.
    """

    plot: Markup
    bars: Markup | None
    rows: dict[str, list[Size]]
    folded: dict[str, list[Size]] | None
    intervals: Table
    most_wrong: tuple[int, float] | None


def results(
    rows: Sequence[SliceResult], seeds: Sequence[int], plots: Mapping[str, Markup]
) -> Results | None:
    """Return the section on exact match; None without an evaluation."""
    if "lengths" not in plots:
        return None
    whole, short = sizes_of(rows), folded_sizes(rows)
    in_order = [row for sizes in whole.values() for size in sizes for row in size.rows]
    all_right = min((row.count for row in rows if 1 in row.exact_match), default=None)
    return Results(
        plots["lengths"],
        plots.get("held-out"),
        whole,
        None if short == whole else short,
        over_seeds({"": [of_slice(row, seeds) for row in in_order]}),
        None if all_right is None else (all_right, 1 - wilson(all_right, all_right).low),
    )


def further(
    evaluations: Sequence[Evaluation],
) -> list[tuple[Evaluation, dict[str, list[Size]]]] | None:
    """Return evaluations with other settings, with their rows in short."""
    return [(one, folded_sizes(one.lengths)) for one in evaluations] or None


def sizes_of(rows: Sequence[SliceResult]) -> dict[str, list[Size]]:
    """Return the sizes of every operator."""
    operators = by_operator(rows).items()
    return {name: [Size(*one) for one in by_size(mine).items()] for name, mine in operators}


def folded_sizes(rows: Sequence[SliceResult]) -> dict[str, list[Size]]:
    """Return the sizes of every operator, perfect ones that follow each other as one row.

    It has the counts added up; of every member the greatest perplexity, and the least speed.
    """

    def is_perfect(row: SliceResult) -> bool:
        shares = [*row.exact_match, *row.token_accuracy, *row.generated.exact_match]
        return row.generated.agrees and all(share == 1 for share in shares)

    def fold(sizes: Sequence[Size]) -> Size:
        rows = [row for size in sizes for row in size.rows]
        if len(rows) == 1:
            return sizes[0]
        first, last, generated = sizes[0].name, sizes[-1].name, [row.generated for row in rows]
        total = SliceResult(
            operator=rows[0].operator,
            size=rows[0].size,
            digits=rows[0].digits,
            slice_name=f"all {counted(len(rows), 'row')}",
            count=sum(row.count for row in rows),
            exact_match=rows[0].exact_match,
            token_accuracy=rows[0].token_accuracy,
            perplexity=[max(each) for each in zip(*(row.perplexity for row in rows), strict=True)],
            generated=Generated(
                count=sum(one.count for one in generated),
                exact_match=generated[0].exact_match,
                agrees=True,
                tokens_per_second=min(one.tokens_per_second for one in generated),
            ),
            errors=[],
        )
        return Size(first if first == last else f"{first} to {last}", [total])

    folded = dict[str, list[Size]]()
    for operator, sizes in sizes_of(rows).items():
        folded[operator] = []
        for perfect, group in groupby(sizes, lambda size: all(map(is_perfect, size.rows))):
            same = list(group)
            folded[operator] += [fold(same)] if perfect else same
    return folded


# Errors: for every size and slice a problem, and the first wrong token in it.


class Place(NamedTuple):
    """The first wrong token, what stands around it, and what would be right there."""

    token: int
    before: str
    wrote: str
    after: str
    right: str


class ErrorRow(NamedTuple):
    """The problem that stands for a size and slice, and how many of the members have any wrong."""

    size: str
    slice_name: str
    wrong: float
    members: int
    of: int
    error: WrongAnswer
    place: Place


def errors(rows: Sequence[SliceResult]) -> dict[str, list[ErrorRow]] | None:
    """Return the errors of every operator that has any, each that of the weakest member."""
    if not rows:
        return None
    by_name = dict[str, list[ErrorRow]]()
    for operator, mine in by_operator(rows).items():
        for row in mine:
            if row.errors:
                exact = row.exact_match
                one = min(row.errors, key=lambda error: exact[error.member])
                wrong, count, place = 1 - median(exact), len(exact), place_of(one.first_error)
                error = ErrorRow(
                    size_name(row), row.slice_name, wrong, len(row.errors), count, one, place
                )
                by_name.setdefault(operator, []).append(error)
    return by_name


def place_of(first_error: FirstError) -> Place:
    """Return where a text goes wrong; blanks become signs that can be seen."""

    def symbol(text: str, at: int) -> str:
        """The symbol that begins there, with the carry above it; nothing behind the end."""
        end = at + 1
        while end < len(text) and text[end] in CARRIES:
            end += 1
        return text[at:end]

    text, expected = (one.replace(" ", "␣") for one in (first_error.written, first_error.expected))
    at = first_error.at - first_error.start
    wrote, first = symbol(text, at), max(0, at - AROUND)
    stop = at + len(wrote)
    before = "…" * bool(first_error.start + first) + text[first:at]
    after = text[stop : stop + AROUND] + "…" * (len(text) > stop + AROUND)
    return Place(first_error.token + 1, before, wrote, after, symbol(expected, at))


# Examples: problems with the answers of the members, and which digits are wrong.


class Examples(NamedTuple):
    """The examples that a report shows, wrong ones first, of all that were kept."""

    shown: list[Example]
    total: int
    wrong: int


def examples(kept: Sequence[Example]) -> Examples | None:
    """Return some of the examples, from every part: they come by operator, size and member."""
    if not kept:
        return None

    def evenly(some: Sequence[Example], count: int) -> list[Example]:
        count = min(count, len(some))
        return [some[index * len(some) // count] for index in range(count)]

    wrong = [one for one in kept if one.answer != one.truth]
    shown = evenly(wrong, EXAMPLES)
    shown += evenly([one for one in kept if one.answer == one.truth], EXAMPLES - len(shown))
    return Examples(shown, len(kept), len(wrong))


def marked(answer: str, truth: str) -> list[tuple[str, bool]]:
    """Return the answer in pieces, and whether each of them is right.

    Digits count their places from the ones: of 102 for 1012 the 2 and the 0 are right.
    """
    places = list[tuple[str, bool]]()
    for number, true in zip(answer.split(","), chain(truth.split(","), repeat("")), strict=False):
        places.append((",", True))
        if number.isalpha():
            places += [(letter, number == true) for letter in number]
            continue
        digits, expected = number.removeprefix("-"), true.removeprefix("-")
        expected = _with_places(expected, _places(digits)).rjust(len(digits))
        aligned = expected[len(expected) - len(digits) :]
        if number.startswith("-"):
            places.append(("-", true.startswith("-")))
        places += [(digit, digit == right) for digit, right in zip(digits, aligned, strict=True)]
    runs = groupby(places[1:], key=lambda place: place[1])
    return [("".join(digit for digit, _ in run), right) for right, run in runs]


def verdict(answer: str | None, truth: str) -> str:
    """Return `right`, `invalid`, or how much of the answer is wrong.

    A sign counts as one more place.
    """
    if answer is None:
        return "invalid"
    if answer == truth:
        return "right"
    numbers, expected = answer.split(","), truth.split(",")
    if len(numbers) != len(expected):
        return f"{counted(len(numbers), 'number')} for {len(expected)}"
    if answer.isalpha() or truth.isalpha():
        return "wrong"
    wrong = 0
    for number, true in zip(numbers, expected, strict=True):
        most = max(_places(number), _places(true))
        digits, others = (_with_places(one.removeprefix("-"), most) for one in (number, true))
        wrong += sum(a != b for a, b in zip_longest(reversed(digits), reversed(others)))
        wrong += number.startswith("-") != true.startswith("-")
    return f"{counted(wrong, 'place')} wrong"


def _places(number: str) -> int:
    """Return how many digits stand after a point."""
    return len(number.partition(".")[2])


def _with_places(number: str, count: int) -> str:
    """Return a number with so many digits after its point: zeros more, or the last ones less."""
    whole, point, below = number.partition(".")
    return f"{whole}.{below[:count].ljust(count, '0')}" if point and count else number


# Learning: the curves of training, and where every member stands.


class LearningMember(NamedTuple):
    """A member's last record and last validation, and the step at which it stopped."""

    seed: int | str
    last: Metric
    validation: Metric | None
    stopped: int | None


class Learning(NamedTuple):
    """The curves, on both axes of the loss, and all members; `validated` if any validation is."""

    plot: Markup | None
    linear: Markup | None
    members: list[LearningMember]
    validated: bool


def learning(run: Run, plots: Mapping[str, Markup]) -> Learning:
    """Return the section on training; without plots while no step is recorded."""
    ordered = sorted(run.metrics, key=lambda line: (line.member, line.step))
    last = {line.member: line for line in ordered}
    validation = {line.member: line for line in ordered if line.validation_loss is not None}
    seeds, stopped = dict(enumerate(run.info.seeds)), run.info.stopped
    members = [
        LearningMember(seeds.get(n, MISSING), line, validation.get(n), stopped.get(n))
        for n, line in last.items()
    ]
    linear = plots.get("learning-linear")
    return Learning(plots.get("learning"), linear, members, bool(validation))
