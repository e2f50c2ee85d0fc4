"""What the sections of a run's report show, as values for their templates.

A section is None where there is no data for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby, repeat, takewhile, zip_longest
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from curta.config.table import sized
from curta.evaluation.results import Evaluation, Example, FirstError, Generated, SliceResult
from curta.evaluation.statistics import of_slice, wilson
from curta.programs.machine.paper import CARRIES
from curta.report.run_folder import RunData
from curta.report.summary import (
    MISSING,
    by_operator,
    by_size,
    counted,
    finite,
    hardest,
    percent,
    size_name,
    trained_on,
)
from curta.report.tables import seeds_table

LEARNED = 0.99
"""Exact match from which problems count as learned."""

MEMORISED = 0.1
"""Gap between trained and held-out problems from which an operator counts as memorised."""

EXAMPLES = 24
"""Most examples that are shown."""

AROUND = 12
"""Tokens that are shown on both sides of the first wrong one."""

SizeRows = tuple[str, list[SliceResult]]
"""The name of a size and its rows; or a name for several sizes, and one row for all of them."""

# The headline: exact match in-distribution, and beside it out-of-distribution.


class Score(NamedTuple):
    """The share of every member, and a description of the problems.

    `problems` is False for a share of windows, which is no exact match: a problem has many of
    them. `held_out` problems are those that no member was trained on.
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


def headlines(run: RunData) -> list[Headline]:
    """Return for each operator the hardest slice at the largest size, on both sides of training.

    In-distribution are the sizes of training. Where none of them was evaluated, the nearest
    measurement takes its place: held-out problems, the lowest trained cell of the grid, or the last
    steps of training.
    """

    def largest(rows: Sequence[SliceResult]) -> Score | None:
        if not rows:
            return None
        size, slices = list(by_size(rows).items())[-1]
        among = f", the hardest of {len(slices)} slices" if len(slices) > 1 else ""
        return Score(hardest(slices), _problems(size) + among)

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
            ordered = sorted(run.metrics, key=lambda line: line.step)
            last = finite({line.member: line.exact_match for line in ordered}.values())
            units = run.counted_in_training
            if last:
                name = f"{units} of the last training steps"
                inside = Score(last, name, units == "problems")
        lines.append(Headline(operator, inside, largest(sides[False])))
    return lines


def conclusion(run: RunData) -> list[str]:
    """Return a sentence per operator: learned, memorised, or the size at which it fails.

    A size counts as right if the median member has at least `LEARNED` exact match in its hardest
    slice.
    """
    sentences = list[str]()
    median_member = "the median member is" if run.several else "the model is"
    for operator, rows in by_operator(run.evaluation.lengths).items():
        gap = next((gap for gap in run.evaluation.gaps if gap.operator == operator), None)
        if gap is not None:
            seen, unseen = median(gap.trained.exact_match), median(gap.held_out.exact_match)
            if seen - unseen > MEMORISED:
                sentences.append(
                    f"{operator} is memorised, not learned: {median_member} right on"
                    f" {percent(seen)}% of the problems of training, and on {percent(unseen)}% of"
                    " held-out ones."
                )
                continue
        sizes = {size: median(hardest(slices)) for size, slices in by_size(rows).items()}
        right = [size for size, _ in takewhile(lambda item: item[1] >= LEARNED, sizes.items())]
        if len(right) == len(sizes):
            sentences.append(
                f"{operator} is learned: {median_member} right at every size tested, up to"
                f" {_problems(right[-1])}."
            )
            continue
        failing = list(sizes)[len(right)]
        until = f"right up to {_problems(right[-1])} and fails at" if right else "wrong already at"
        trained = run.trained.get(operator)
        spans = f" (training: {trained_on(trained)})" if trained else ""
        sentences.append(
            f"{operator} {'is learned in part' if right else 'is not learned'}: {median_member}"
            f" {until} {_problems(failing)}, {percent(sizes[failing])}% exact match{spans}."
        )
    return sentences


def _problems(size: str) -> str:
    """`20 digits`, or `operands 0..99` for a table."""
    return f"operands {size}" if ".." in size else sized(size)


# Exact match by operator, size and slice; sizes that are perfect throughout share one row.


def results(
    rows: Sequence[SliceResult], seeds: Sequence[int], plots: Mapping[str, Markup]
) -> dict[str, Any] | None:
    """Return the section on exact match; None without an evaluation.

    `rows` are all rows by operator; `folded` merges perfect ones, or is None where that is no
    shorter. `most_wrong` is the smallest number of problems that a member has all right, and the
    share of wrong ones that it may have nevertheless.
    """
    if "lengths" not in plots:
        return None
    whole, folded = sizes_of(rows), folded_sizes(rows)
    in_order = [row for sizes in whole.values() for _, group in sizes for row in group]
    all_right = min((row.count for row in rows if 1 in row.exact_match), default=None)
    return {
        "plot": plots["lengths"],
        "bars": plots.get("held-out"),
        "rows": whole,
        "folded": None if folded == whole else folded,
        "intervals": seeds_table({"": [of_slice(row, seeds) for row in in_order]}),
        "most_wrong": all_right and (all_right, 1 - wilson(all_right, all_right).low),
    }


def further(
    evaluations: Sequence[Evaluation],
) -> list[tuple[Evaluation, dict[str, list[SizeRows]]]] | None:
    """Return evaluations with other settings, their perfect rows merged."""
    return [(other, folded_sizes(other.lengths)) for other in evaluations] or None


def sizes_of(rows: Sequence[SliceResult]) -> dict[str, list[SizeRows]]:
    """Return the sizes of every operator with their rows."""
    return {name: list(by_size(mine).items()) for name, mine in by_operator(rows).items()}


def folded_sizes(rows: Sequence[SliceResult]) -> dict[str, list[SizeRows]]:
    """Return the sizes of every operator, with neighbouring perfect ones merged into one row.

    A merged row has the sum of the counts, each member's greatest perplexity, and the least speed.
    """

    def is_perfect(row: SliceResult) -> bool:
        shares = [*row.exact_match, *row.token_accuracy, *row.generated.exact_match]
        return row.generated.agrees and all(share == 1 for share in shares)

    def fold(sizes: Sequence[SizeRows]) -> SizeRows:
        rows = [row for _, group in sizes for row in group]
        if len(rows) == 1:
            return sizes[0]
        first, last, generated = sizes[0][0], sizes[-1][0], [row.generated for row in rows]
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
                count=sum(sample.count for sample in generated),
                exact_match=generated[0].exact_match,
                agrees=True,
                tokens_per_second=min(sample.tokens_per_second for sample in generated),
            ),
            errors=[],
        )
        return first if first == last else f"{first} to {last}", [total]

    folded = dict[str, list[SizeRows]]()
    for operator, sizes in sizes_of(rows).items():
        folded[operator] = []
        for perfect, group in groupby(sizes, lambda size: all(map(is_perfect, size[1]))):
            same = list(group)
            folded[operator] += [fold(same)] if perfect else same
    return folded


# Errors: for every size and slice a problem, and the first wrong token in it.


class WrongToken(NamedTuple):
    """The first wrong token of a text, its surroundings, and the right token."""

    token: int
    before: str
    wrote: str
    after: str
    right: str


def errors(rows: Sequence[SliceResult]) -> dict[str, list[dict[str, Any]]] | None:
    """Return by operator a wrong answer for each size and slice, that of the weakest member."""
    if not rows:
        return None
    by_name = dict[str, list[dict[str, Any]]]()
    for operator, mine in by_operator(rows).items():
        for row in mine:
            if row.errors:
                exact = row.exact_match
                error = min(row.errors, key=lambda error: exact[error.member])
                by_name.setdefault(operator, []).append(
                    {
                        "size": size_name(row),
                        "slice_name": row.slice_name,
                        "wrong": 1 - median(exact),
                        "members": len(row.errors),
                        "of": len(exact),
                        "error": error,
                        "place": place_of(error.first_error),
                    }
                )
    return by_name


def place_of(first_error: FirstError) -> WrongToken:
    """Return where a text goes wrong; blanks become visible characters."""

    def symbol(text: str, start: int) -> str:
        """The symbol that begins there with the carry above it; empty behind the end."""
        end = start + 1
        while end < len(text) and text[end] in CARRIES:
            end += 1
        return text[start:end]

    text, expected = (t.replace(" ", "␣") for t in (first_error.written, first_error.expected))
    start = first_error.at - first_error.start
    wrote, first = symbol(text, start), max(0, start - AROUND)
    stop = start + len(wrote)
    before = "…" * bool(first_error.start + first) + text[first:start]
    after = text[stop : stop + AROUND] + "…" * (len(text) > stop + AROUND)
    return WrongToken(first_error.token + 1, before, wrote, after, symbol(expected, start))


# Examples: problems with the answers of the members, and which digits are wrong.


def examples(every: Sequence[Example]) -> dict[str, Any] | None:
    """Return a selection of the examples, wrong ones first, spread evenly over all of them."""
    if not every:
        return None

    def evenly(some: Sequence[Example], count: int) -> list[Example]:
        count = min(count, len(some))
        return [some[index * len(some) // count] for index in range(count)]

    wrong = [example for example in every if example.answer != example.truth]
    right = [example for example in every if example.answer == example.truth]
    selection = evenly(wrong, EXAMPLES)
    selection += evenly(right, EXAMPLES - len(selection))
    return {"selection": selection, "total": len(every), "wrong": len(wrong)}


def marked(answer: str, truth: str) -> list[tuple[str, bool]]:
    """Return the answer in pieces, and whether each of them is right.

    Digits count their places from the ones: in 102 for 1012, the 2 and the 0 are right.
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
    """Return `right`, `invalid`, or how many places of the answer are wrong.

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
        digits, others = (_with_places(text.removeprefix("-"), most) for text in (number, true))
        wrong += sum(a != b for a, b in zip_longest(reversed(digits), reversed(others)))
        wrong += number.startswith("-") != true.startswith("-")
    return f"{counted(wrong, 'place')} wrong"


def _places(number: str) -> int:
    """Return how many digits follow a point."""
    return len(number.partition(".")[2])


def _with_places(number: str, count: int) -> str:
    """Return a number with `count` digits after its point, padded with zeros or cut."""
    whole, point, below = number.partition(".")
    return f"{whole}.{below[:count].ljust(count, '0')}" if point and count else number


def learning(run: RunData, plots: Mapping[str, Markup]) -> dict[str, Any]:
    """Return the curves of training, and the last record and validation of every member."""
    ordered = sorted(run.metrics, key=lambda line: (line.member, line.step))
    last = {line.member: line for line in ordered}
    validation = {line.member: line for line in ordered if line.validation_loss is not None}
    seeds, stopped = dict(enumerate(run.info.seeds)), run.info.stopped
    members = [
        {
            "seed": seeds.get(member, MISSING),
            "last": line,
            "validation": validation.get(member),
            "stopped": stopped.get(member),
        }
        for member, line in last.items()
    ]
    return {
        "plot": plots.get("learning"),
        "linear": plots.get("learning-linear"),
        "members": members,
        "validated": bool(validation),
    }
