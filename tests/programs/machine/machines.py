"""Small programs, and machines made from them, for tests of lists and proofs."""

from dataclasses import replace
from functools import cache
from random import Random
from typing import NamedTuple

from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Answer, Given, Paper, Program, Sign, finding, program
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.recording import Recording
from curta.programs.machine.sampling import Drawer
from curta.programs.machine.survey import machine_of, prompt_vocabulary
from curta.programs.proof.closing import Closure, prove
from curta.programs.proof.listing import Lister, list_windows
from curta.programs.user.registry import in_base

ONE = (Given("a", "place", base=6), Sign("="))


@program("rows", axes=("place",), prompt=ONE, answer=Answer("answer"))
def rows(paper: Paper, a: list[int]) -> None:
    """The digits again, but 1 more after twelve odd ones (or even ones) in a row."""
    length, last = 0, -1
    for digit in a:
        length, last = (min(length + 1, 12) if digit % 2 == last else 1), digit % 2
        paper.move(place=+1).write("length", length)
        paper.write("answer", (digit + (length == 12)) % 6)
    paper.end()


@program(
    "back",
    axes=("place",),
    prompt=(Given("a", "place", base=6), Sign("=", step={"place": 1})),
    answer=Answer("answer"),
)
def back(paper: Paper, a: list[int]) -> None:
    """The digits from the other end; the sign stands behind the last."""
    for digit in reversed(a):
        paper.move(place=-1).write("answer", digit)
    paper.end()


@program(
    "longest",
    axes=("place",),
    prompt=(
        Given("a", "place", base=3, high_first=True, filled=True, gap=" "),
        Sign("?"),
        Given("b", "place", base=3, high_first=True, filled=True),
        Sign(" ", "space", step={}),
        Sign("=", step={"place": 1}),
    ),
    answer=Answer("sum", base=3, high_first=True),
)
def longest(paper: Paper, a: list[int], b: list[int]) -> None:
    """The greater digit of each place, from the right."""
    for x, y in zip(a, b, strict=True):
        paper.move(place=-1).write("sum", max(x, y))
    paper.end()


@program(
    "greatest",
    axes=("place", "row"),
    prompt=(
        Given("row", "place", base=2),
        Given("next", "place", base=2, many="row"),
        Sign("=", at={"row": 1}),
    ),
    answer=Answer("last", base=2),
)
def greatest(paper: Paper, first: list[int], *more: list[int]) -> None:
    """Row after row the greater digit of the row above and one more number; given and written."""
    for left, number in zip(range(len(more) - 1, -1, -1), more, strict=True):
        width = max(len(first), len(number))
        pairs = zip(*(n + [0] * (width - len(n)) for n in (first, number)), strict=True)
        first = [max(pair) for pair in pairs]
        for digit in first:
            paper.move(place=+1).write("row" if left else "last", digit)
        if left:
            paper.home("place").move(place=-1, row=+1).write("turn", "|")
    paper.end()


@program(
    "double",
    axes=("place", "row"),
    prompt=(
        Given("number", "place", base=3),
        Sign("*", everywhere=("place", "row")),
        Given("times", "row", base=2, everywhere=("place",), high_first=True),
        Sign("=", at={"row": 1}),
    ),
    answer=Answer("answer", base=3),
    truth=lambda number, times: number << len(f"{times:b}"),
)
def double(paper: Paper, number: list[int], times: list[int]) -> None:
    """A number doubled as often as another one has digits, a row each, with one place more."""
    for digit in reversed(times):
        carry, row = 0, []
        for x in [*number, 0]:
            carry, low = divmod(2 * x + carry, 3)
            row.append(low)
            paper.move(place=+1).write("number", low)
        number = row
        paper.home("place").move(place=-1, row=+1).write("turn", "!" if digit else "?")
    for digit in number:
        paper.move(place=+1).write("answer", digit)
    paper.end()


class Made(NamedTuple):
    machine: Machine
    windows: Windows
    drawer: Drawer


def made(of: Program, sizes: Sizes, problems: int = 1500, words: tuple[int, ...] = ()) -> Made:
    """The machine of one program, from random problems and one more."""
    vocabulary, drawer = prompt_vocabulary(of), Drawer(of, sizes, Random(0))
    drawn = [drawer.numbers(drawer.draw()) for _ in range(problems)] + [words] * bool(words)
    texts = [of.record(operands, vocabulary) for operands in drawn]
    machine = machine_of([of], vocabulary.tokens)
    return Made(machine, finding.find(machine, Recording.of(texts)), drawer)


def lister(of: Program, from_: Made) -> Lister:
    return Lister(of, from_.machine, from_.windows)


PAIR, SINGLE = Sizes((1, 5), (1, 5), (2, 2)), Sizes((1, 7), (1, 7), (1, 1))
MANY = Sizes((1, 4), (1, 4), (2, 4))


@program(
    "pointed",
    axes=("place",),
    prompt=(
        Given("below", "place", high_first=True, filled=True),
        Sign(".", "point", step={"place": 1}),
        Given("above", "place", follows=True),
        Sign("="),
    ),
    answer=Answer("copy", fraction="copy below"),
    truth=lambda *numbers: 0,
)
def pointed(paper: Paper, below: list[int], above: list[int]) -> None:
    """A number with a point again; its digits above the point follow those below."""
    for digit in reversed(below):
        paper.move(place=+1).write("copy below", digit)
    paper.move(place=+1).write("copy point", ".")
    for digit in above:
        paper.move(place=+1).write("copy", digit)
    paper.end()


@program(
    "shuttle",
    axes=("place", "row"),
    prompt=ONE,
    answer=Answer("answer", high_first=True),
)
def shuttle(paper: Paper, a: list[int]) -> None:
    """The digits upwards, and on the next row downwards."""
    for digit in a:
        paper.move(place=+1).write("up", digit)
    paper.move(place=+1, row=+1).write("turn", "|")
    for digit in reversed(a):
        paper.move(place=-1).write("answer", digit)
    paper.end()


def sorting(base: int) -> Program:
    """The program in a base: it only copies and compares digits, so it takes none."""
    of = PROGRAMS["sorting"]
    prompt = [replace(part, base=base) if isinstance(part, Given) else part for part in of.prompt]
    return replace(of, prompt=tuple(prompt), answer=replace(of.answer, base=base))


CASES = {
    "comparison": (PROGRAMS["comparison"], PAIR),
    "subtraction": (PROGRAMS["subtraction"], PAIR),
    "reverse": (PROGRAMS["reverse"], SINGLE),
    "back": (back, SINGLE),
    "longest": (longest, PAIR),
    "addition in base 2": (in_base(PROGRAMS["addition"], 2), PAIR),
    "pointed": (pointed, PAIR),
    "double": (double, PAIR),
    "binary": (PROGRAMS["binary"], SINGLE),
    "decimal": (PROGRAMS["decimal"], SINGLE),
    "multiplication in base 2": (in_base(PROGRAMS["multiplication"], 2), PAIR),
    "multiplication in base 3": (in_base(PROGRAMS["multiplication"], 3), PAIR),
    "sums in base 2": (in_base(PROGRAMS["sums"], 2), MANY),
    "sums in base 3": (in_base(PROGRAMS["sums"], 3), MANY),
    "division in base 2": (in_base(PROGRAMS["division"], 2), PAIR),
    "modulo in base 3": (in_base(PROGRAMS["modulo"], 3), PAIR),
    "gcd in base 2": (in_base(PROGRAMS["gcd"], 2), PAIR),
    "isqrt in base 4": (in_base(PROGRAMS["isqrt"], 4), SINGLE),
    "sorting in base 2": (sorting(2), MANY),
    "sorting in base 3": (sorting(3), MANY),
    "greatest": (greatest, MANY),
    "shuttle": (shuttle, SINGLE),
}


def begun(of: Program, sizes: Sizes, count: int, *word: int, surveyed: int = 600) -> Lister:
    """A list of the windows of some random problems, on a machine that may know one word more."""
    machine = made(of, sizes, surveyed, word)
    begun_list = lister(of, machine)
    begun_list.add([machine.drawer.numbers(machine.drawer.draw()) for _ in range(count)])
    return begun_list


@cache
def closed(name: str) -> tuple[Lister, Closure]:
    """The list of a case, which a proof has completed, and the proof."""
    of, sizes = CASES[name]
    whole = begun(of, sizes, 300)
    if len(of.axes) > 1:
        list_windows(whole, sizes, budget=100_000)
    closure = prove(whole, 60)
    assert closure.closed, (closure.reasons, len(closure.open))
    return whole, closure
