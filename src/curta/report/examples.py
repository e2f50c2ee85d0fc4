"""Problems with the answers of the members: wrong digits marked, wrong writing shown."""

from collections.abc import Sequence
from itertools import chain, groupby, repeat, zip_longest

from curta.evaluation.results import Example, FirstError
from curta.report.markup import Markup, cells, details, element, heading_cells, join, table
from curta.report.run_folder import Run
from curta.report.summary import counted

_SHOWN = 24
_SHOWN_DIGITS = 48
_SHOWN_TEXT = 4_000
"""A trace may have a hundred thousand characters; evaluation.json keeps all of them."""


def examples(run: Run) -> Markup:
    """Problems with answers, wrong ones first."""
    found = run.evaluation.examples
    if not found:
        return Markup()
    wrong = [one for one in found if one.answer != one.truth]
    right = [one for one in found if one.answer == one.truth]
    shown = _evenly(wrong, _SHOWN)
    shown += _evenly(right, _SHOWN - len(shown))
    caption = (
        f"{len(shown)} of the {counted(len(found), 'example')} kept by the evaluation, "
        f"{len(wrong)} of which are wrong; wrong answers first"
    )
    names = ("Problem", "Truth", "Answer", "Verdict", "Member", "See it")
    body = (_row(run, one) for one in shown)
    shown_table = table(caption, [element("tr", heading_cells(*names))], body)
    return element("section", element("h2", "Examples"), shown_table)


def _evenly(found: Sequence[Example], count: int) -> list[Example]:
    """At most `count` of them, from every part: they come by operator, size and member."""
    kept = min(count, len(found))
    return [found[index * len(found) // kept] for index in range(kept)]


def _row(run: Run, one: Example) -> Markup:
    answer, truth = one.answer, one.truth
    given = "invalid" if answer is None else folded(answer, marked(answer, truth))
    writing = Markup() if answer == truth else writing_of(one.text, one.first_error)
    return element(
        "tr",
        number_cell(folded(one.problem, one.problem)),
        number_cell(folded(truth, truth)),
        number_cell(given, writing),
        cells(verdict(answer, truth), f"{one.member}", watch(run, one.problem, one.member)),
    )


def watch(run: Run, problem: str, member: int) -> Markup:
    """A button that lets a member write a problem, where the page carries its weights."""
    about = {"data_run": run.name, "data_member": f"{member}", "data_problem": problem}
    return element("button", "Watch", type="button", class_="watch", hidden="", **about)


def number_cell(*shown: str) -> Markup:
    """A cell for numbers of any length."""
    return element("td", *shown, class_="number")


def folded(text: str, shown: str) -> str:
    """Short numbers as they are; long ones behind their first and last digits."""
    if len(text) <= _SHOWN_DIGITS:
        return shown
    return details(f"{text[:8]}…{text[-8:]}", shown)


def writing_of(text: str, first_error: FirstError | None) -> Markup:
    """What the model wrote, trace and all, and its first wrong token where that is known."""
    more = f" … and {len(text) - _SHOWN_TEXT:,} more" if len(text) > _SHOWN_TEXT else ""
    kept, at = text[:_SHOWN_TEXT], first_error.at if first_error else len(text)
    wrong = element("mark", kept[at]) if at < len(kept) else Markup()
    return details("what the model wrote", element("code", kept[:at], wrong, kept[at + 1 :]), more)


def marked(answer: str, truth: str) -> Markup:
    """The answer with its wrong places marked."""
    numbers = zip(answer.split(","), chain(truth.split(","), repeat("")), strict=False)
    places = [place for pair in numbers for place in ((",", True), *_compared(*pair))]
    runs = groupby(places[1:], key=lambda place: place[1])
    parts = (("".join(digit for digit, _ in run), right) for right, run in runs)
    return join(text if right else element("mark", text) for text, right in parts)


def _compared(number: str, truth: str) -> list[tuple[str, bool]]:
    """Every character and whether it is right; digits count their places from the ones."""
    if number.isalpha():
        return [(letter, number == truth) for letter in number]
    digits, expected = number.removeprefix("-"), truth.removeprefix("-")
    expected = _with_places(expected, _places(digits))
    padded = expected.rjust(len(digits))
    aligned = padded[len(padded) - len(digits) :]
    sign = [("-", truth.startswith("-"))] if number.startswith("-") else []
    return sign + [(digit, digit == right) for digit, right in zip(digits, aligned, strict=True)]


def verdict(answer: str | None, truth: str) -> str:
    """`right`, `invalid`, or how much of the answer is wrong."""
    if answer is None:
        return "invalid"
    if answer == truth:
        return "right"
    given, expected = answer.split(","), truth.split(",")
    if len(given) != len(expected):
        return f"{counted(len(given), 'number')} for {len(expected)}"
    if answer.isalpha() or truth.isalpha():
        return "wrong"
    wrong = sum(_differing(*pair) for pair in zip(given, expected, strict=True))
    return f"{counted(wrong, 'place')} wrong"


def _differing(number: str, truth: str) -> int:
    """Places in which two numbers differ; a sign is one more place of theirs."""
    most = max(map(_places, (number, truth)))
    digits, others = (_with_places(one.removeprefix("-"), most) for one in (number, truth))
    pairs = zip_longest(reversed(digits), reversed(others))
    return sum(a != b for a, b in pairs) + (number.startswith("-") != truth.startswith("-"))


def _places(number: str) -> int:
    """Digits after a point."""
    return len(number.partition(".")[2])


def _with_places(number: str, count: int) -> str:
    """A number with so many digits after its point: zeros more, or the last ones less."""
    whole, point, below = number.partition(".")
    return f"{whole}.{below[:count].ljust(count, '0')}" if point and count else number
