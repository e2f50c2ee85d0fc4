"""Tiny programs and random machines that the tests of the machine share."""

import random
from collections.abc import Sequence

from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.programs.machine.machine import Machine
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.recording import Recording
from curta.programs.machine.survey import machine_of


@program(
    "following",
    axes=("place",),
    prompt=(Given("number", "place"), Sign("=")),
    answer=Answer("answer"),
)
def following(paper: Paper, number: list[int]) -> None:
    """Each digit and one more, without what it would carry."""
    for digit in number:
        paper.move(place=+1).write("answer", (digit + 1) % 10)
    paper.end()


@program(
    "wandering",
    axes=("place", "row"),
    prompt=(Given("number", "place", everywhere=("row",)), Sign("=")),
    answer=Answer("answer"),
    broadcast={"row sign": ("place",)},
)
def wandering(paper: Paper, number: list[int]) -> None:
    """Rows at random squares: a different text each time, for tests of what is seen."""
    rng = random.Random(str(number))
    for row in range(rng.randint(1, 4)):
        paper.home("place").move(place=rng.randint(-2, 2), row=+1).write("row sign", "|")
        for _ in range(rng.randint(0, 5)):
            paper.move(place=rng.randint(1, 2)).write("answer", rng.randint(0, 9), carry=row % 2)
    paper.end()


def recorded(made: Program, operands: Sequence[tuple[int, ...]]) -> tuple[Machine, Recording]:
    """The machine of a program, and its texts for these operands."""
    vocabulary = Vocabulary()
    texts = [made.record(values, vocabulary) for values in operands]
    return machine_of([made], vocabulary.tokens), Recording.of(texts)


def random_operands(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    return [(rng.randrange(10 ** rng.randint(1, 6)),) for _ in range(count)]
