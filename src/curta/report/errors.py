"""What goes wrong: for every size and slice a problem, and the first wrong token in it."""

from statistics import median

from curta.evaluation.results import FirstError, SliceResult
from curta.programs.machine.tokens import CARRIES
from curta.report.examples import folded, marked, number_cell, watch
from curta.report.markup import Markup, cells, element, heading_cells, table
from curta.report.run_folder import Run
from curta.report.summary import by_operator, counted, percent, size_name

AROUND = 12
"""Tokens that are shown on both sides of the first wrong one."""

SHOWN = 30
"""Most rows of one operator; the shortest problems come first, as they are the easiest to read."""


def errors(run: Run) -> Markup:
    """A table for every operator that has any errors; nothing without an evaluation."""
    rows = run.evaluation.lengths
    if not rows:
        return Markup()
    wrong = {name: [r for r in mine if r.errors] for name, mine in by_operator(rows).items()}
    tables = [_table(run, operator, mine) for operator, mine in wrong.items() if mine]
    says = (
        "One problem of each size and slice that is not all right, as the weakest of the "
        "members that have it wrong writes it. The first wrong token is marked; what comes after "
        "it follows from a text that is wrong already."
    )
    if not tables:
        says = "There are none: every member wrote every problem of the evaluation right."
    return element("section", element("h2", "Errors"), element("p", says), *tables)


def _table(run: Run, operator: str, rows: list[SliceResult]) -> Markup:
    names = ("Wrong, %", "Problem", "Truth", "Answer")
    head = element(
        "tr",
        heading_cells("Digits"),
        element("th", "Slice", class_="word", scope="col"),
        heading_cells(*names),
        element("th", "What was written", class_="word", scope="col"),
        heading_cells("Member", "See it"),
    )
    more = f", the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
    caption = f"Errors of {operator} by digits and slice{more}"
    return table(caption, [head], (_row(run, row) for row in rows[:SHOWN]))


def _row(run: Run, row: SliceResult) -> Markup:
    one = min(row.errors, key=lambda error: row.exact_match[error.member])
    answer, truth = one.answer, one.truth
    return element(
        "tr",
        element("th", size_name(row), scope="row"),
        element("td", row.slice_name, class_="word"),
        element("td", percent(1 - median(row.exact_match)), element("small", _worst(row))),
        number_cell(folded(one.problem, one.problem)),
        number_cell(folded(truth, truth)),
        number_cell("invalid" if answer is None else folded(answer, marked(answer, truth))),
        element("td", written(one.first_error), _told(one.first_error), class_="word written"),
        cells(f"{one.member}", watch(run, one.problem, one.member)),
    )


def _worst(row: SliceResult) -> str:
    return f"{counted(len(row.errors), 'member')} of {len(row.exact_match)}"


def written(first_error: FirstError) -> Markup:
    """The text around the first wrong token, which is marked."""
    text, at = shown(first_error.written), first_error.at - first_error.start
    wrong = _symbol(text, at)
    first, stop = max(0, at - AROUND), at + len(wrong)
    before = "…" if first_error.start + first else ""
    after = text[stop : stop + AROUND] + ("…" if len(text) > stop + AROUND else "")
    mark = element("mark", wrong or "∅")
    return element("code", before, text[first:at], mark, element("span", after, class_="after"))


def _told(first_error: FirstError) -> Markup:
    """`token 3: 7 instead of 4`."""
    at, token = first_error.at - first_error.start, first_error.token
    wrote, right = (
        _symbol(shown(text), at) for text in (first_error.written, first_error.expected)
    )
    if wrote == right:
        return element("small", f"token {token + 1:,}: a ", element("code", wrote), _ELSEWHERE)
    pair = (element("code", symbol or "nothing") for symbol in (wrote, right))
    return element("small", f"token {token + 1:,}: ", next(pair), " instead of ", next(pair))


_ELSEWHERE = " with another role or move"


def _symbol(text: str, at: int) -> str:
    """The symbol that begins there, with what it carries; nothing behind the end."""
    end = at + 1
    while end < len(text) and text[end] in CARRIES:
        end += 1
    return text[at:end]


def shown(text: str) -> str:
    """Blanks as signs that can be seen."""
    return text.replace(" ", "␣")
