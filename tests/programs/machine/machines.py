"""Small programs, and machines made from them, for tests of lists and proofs."""

from random import Random
from typing import NamedTuple

from curta.problems.sizes import Sizes
from curta.programs.machine import Answer, Given, Paper, Program, Sign, finding, program
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.recording import Recording
from curta.programs.machine.sampling import Drawer
from curta.programs.machine.survey import machine_of, prompt_vocabulary
from curta.programs.proof.listing import Lister

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
