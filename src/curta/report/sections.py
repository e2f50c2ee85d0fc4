"""What the sections of a run's report show, as values for their templates.

A section is None where there is no data for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby, repeat, takewhile
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from curta.config.table import MISSING, sized
from curta.evaluation.results import (
    HELD_OUT,
    TRAINED,
    Example,
    FirstError,
    SliceResult,
    WrongAnswer,
)
from curta.evaluation.statistics import of_slice, wilson
from curta.programs.machine.paper import CARRIES
from curta.report.figures import Members, curves, watched
from curta.report.run_folder import RunData
from curta.report.summary import by_operator, by_size, collapse, hardest, percent, trained_on
from curta.report.tables import seeds_table

LEARNED = 0.99
"""Exact match from which problems count as learned."""

MEMORISED = 0.1
"""Gap between trained and held-out problems from which an operator counts as memorised."""

EXAMPLES = 24
"""Most examples that are shown."""

AROUND = 12
"""Tokens that are shown on both sides of the first wrong one."""

# The headline: exact match in-distribution, on held-out problems, and out-of-distribution.


class Score(NamedTuple):
    """Every member's exact match, and a description of the problems."""

    members: list[float]
    of: str


class Headline(NamedTuple):
    """One operator's exact match, None if it was not measured."""

    operator: str
    inside: Score | None
    held_out: Score | None
    outside: Score | None


def headlines(run: RunData) -> list[Headline]:
    """Return for each operator the hardest slice at the largest size, on both sides of training.

    In-distribution are the sizes of training; where none of them was evaluated, the lowest trained
    cell of the grid takes their place.
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
        inside, held_out = largest(sides[True]), None
        for gap in run.evaluation.gaps:
            if gap.operator == operator:
                held_out = Score(gap.held_out.exact_match, gap.problems)
        for grid in run.evaluation.grids:
            if inside is None and trained is not None and grid.operator == operator:
                first, second = trained.cells(grid.digits)
                cells = [[rows[a][b] for a in first for b in second] for rows in grid.exact_match]
                if all(cells):
                    name = f"the hardest of {len(cells[0])} pairs of lengths"
                    inside = Score(list(map(min, cells)), name)
        lines.append(Headline(operator, inside, held_out, largest(sides[False])))
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
        verdict = "is learned in part" if right else "is not learned"
        # where no size of training was evaluated, nobody knows whether it was learned
        if trained and not right and not any(map(trained.covers, rows)):
            verdict = "fails beyond training"
        sentences.append(
            f"{operator} {verdict}: {median_member} {until} {_problems(failing)},"
            f" {percent(sizes[failing])}% exact match{spans}."
        )
    return sentences


def _problems(size: str) -> str:
    """`20 digits`, or `operands 0..99` for a table."""
    return f"operands {size}" if ".." in size else sized(size)


def generalisation(run: RunData) -> list[str]:
    """Return for each operator and seed the step from which it is right in training, and held out.

    That is the first step with at least `LEARNED` exact match on the watched problems
    (`training.evaluate_every`), or on validation problems if these are held out. Empty if neither
    was recorded.
    """
    sides_of: dict[str, list[Members]] = {
        f"{operator}: ": [by_kind[TRAINED], by_kind[HELD_OUT]]
        for operator, by_kind in watched(run.metrics).items()
        if HELD_OUT in by_kind
    }
    held_out = run.tasks and all(task.get("held_out") or task.get("rows") for task in run.tasks)
    if held_out and not sides_of:
        sides_of[""] = [
            {member: curve for member, curve in curves(run.metrics, key).items() if curve}
            for key in ("exact_match", "validation_exact_match")
        ]

    def since(curve: Mapping[int, float]) -> str:
        step = min((step for step, share in curve.items() if share >= LEARNED), default=None)
        return f"not within {max(curve):,} steps" if step is None else f"from step {step:,}"

    several, goal = len(sides_of) > 1, f"{LEARNED:.0%} exact match"
    return [
        f"{operator if several else ''}seed {seed}: training at {goal}"
        f" {since(trained[member])}, held out {since(unseen[member])}"
        for operator, (trained, unseen) in sides_of.items()
        for member, seed in enumerate(run.info.seeds)
        if member in trained and member in unseen
    ]


# Exact match by operator, size and slice.


def results(
    rows: Sequence[SliceResult], seeds: Sequence[int], plots: Mapping[str, Markup]
) -> dict[str, Any] | None:
    """Return the section on exact match; None without an evaluation.

    `collapsed` merges the perfect slices of a size, or is None where there are none to merge.
    `most_wrong` is the smallest number of problems that a member has all right, and the share of
    wrong ones that it may have nevertheless.
    """
    if "lengths" not in plots:
        return None
    collapsed = collapse(rows)
    in_order = [row for mine in by_operator(rows).values() for row in mine]
    all_right = min((row.count for row in rows if 1 in row.exact_match), default=None)
    return {
        "plot": plots["lengths"],
        "bars": plots.get("held-out"),
        "rows": rows,
        "collapsed": collapsed if len(collapsed) < len(rows) else None,
        "intervals": seeds_table({"": [of_slice(row, seeds) for row in in_order]}),
        "most_wrong": all_right and (all_right, 1 - wilson(all_right, all_right).low),
    }


# Errors: for every size and slice a problem, and the first wrong token in it.


def weakest_error(row: SliceResult) -> WrongAnswer:
    """Return the wrong answer of the member with the lowest exact match."""
    return min(row.errors, key=lambda error: row.exact_match[error.member])


def place_of(first_error: FirstError) -> dict[str, Any]:
    """Return the first wrong token, its surroundings, and the right one; blanks are visible."""

    def symbol(text: str) -> str:
        """Return a symbol with the carry above it, nothing behind the end."""
        return text[:1] + "".join(takewhile(lambda character: character in CARRIES, text[1:]))

    text, expected = (t.replace(" ", "␣") for t in (first_error.written, first_error.expected))
    start = first_error.at - first_error.start
    wrote, first = symbol(text[start:]), max(0, start - AROUND)
    stop = start + len(wrote)
    return {
        "token": first_error.token + 1,
        "before": "…" * bool(first_error.start + first) + text[first:start],
        "wrote": wrote,
        "after": text[stop : stop + AROUND] + "…" * (len(text) > stop + AROUND),
        "right": symbol(expected[start:]),
    }


# Examples: problems with the answers of the members, and which digits are wrong.


def examples(every: Sequence[Example]) -> dict[str, Any] | None:
    """Return a selection of the examples, wrong ones first, spread evenly over all of them."""
    if not every:
        return None

    wrong = [example for example in every if example.answer != example.truth]
    selection = list[Example]()
    for some in (wrong, [example for example in every if example.answer == example.truth]):
        count = min(EXAMPLES - len(selection), len(some))
        selection += [some[index * len(some) // count] for index in range(count)]
    return {"selection": selection, "total": len(every), "wrong": len(wrong)}


def marked(answer: str, truth: str) -> list[tuple[str, bool]]:
    """Return the answer in pieces, and whether each of them is right.

    Digits count their places from the ones: in 102 for 1012, the 2 and the 0 are right.

    >>> def wrong(answer, truth):
    ...     pieces = marked(answer, truth)
    ...     return "".join(text if right else f"<{text}>" for text, right in pieces)
    >>> [wrong(answer, "112") for answer in ("102", "12", "-12", "-13")]
    ['1<0>2', '12', '<->12', '<->1<3>']
    >>> wrong("-12", "-12"), wrong("12", "-12"), wrong("-1", "-11")
    ('-12', '12', '-1')
    >>> wrong("16.25", "16.5"), wrong("16.5", "16.25"), wrong("-6.5", "16.5")
    ('16.<25>', '16.<5>', '<->6.5')
    >>> wrong("true", "true"), wrong("true", "false"), wrong("", "7,8")
    ('true', '<true>', '')
    >>> wrong("7,210,33", "7,33,210"), wrong("7,33", "7,33,210"), wrong("7,33,210", "7")
    ('7,<210>,<33>', '7,33', '7,<33>,<210>')
    """
    pieces = list[tuple[str, bool]]()
    for number, true in zip(answer.split(","), chain(truth.split(","), repeat("")), strict=False):
        if number.isalpha():
            pieces += [(",", True), (number, number == true)]
            continue
        whole, point, below = number.removeprefix("-").partition(".")
        true_whole, _, true_below = true.removeprefix("-").partition(".")
        expected = (
            true_whole.rjust(len(whole))[-len(whole) :] + point + true_below.ljust(len(below), "0")
        )
        pieces.append((",", True))
        if number.startswith("-"):
            pieces.append(("-", true.startswith("-")))
        pieces += [
            (digit, digit == right)
            for digit, right in zip(whole + point + below, expected, strict=False)
        ]
    runs = groupby(pieces[1:], key=lambda piece: piece[1])
    return [("".join(text for text, _ in run), right) for right, run in runs]


def learning(run: RunData, plots: Mapping[str, Markup]) -> dict[str, Any]:
    """Return the curves of training, and the last record and validation of every member."""
    ordered = sorted(run.metrics, key=lambda line: (line.member, line.step))
    validation = {line.member: line for line in ordered if line.validation_loss is not None}
    seeds, stopped = dict(enumerate(run.info.seeds)), run.info.stopped
    members = [
        {"seed": seeds.get(member, MISSING), "last": line, "validation": validation.get(member),
         "stopped": stopped.get(member)}
        for member, line in {line.member: line for line in ordered}.items()
    ]  # fmt: skip
    figures = {"plot": plots.get("learning"), "linear": plots.get("learning-linear")}
    return figures | {"members": members, "validated": bool(validation)}
