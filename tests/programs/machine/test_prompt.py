"""Answers: what is read of squares, and what is no answer."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from curta.programs.machine import Answer
from curta.programs.machine.paper import Token, token_of
from curta.programs.machine.prompt import Format


def form(**answer: Any) -> Format:
    return Format(("place",), (), Answer("answer", **answer))


def written(*pairs: tuple[str, int | str, Sequence[int]]) -> list[tuple[Token, Sequence[int]]]:
    return [(token_of(symbol, role, 0, (0,)), place) for role, symbol, place in pairs]


def test_what_is_no_number_of_the_answers_form_is_not_read() -> None:
    assert form().read(written(("answer", "x", [0]))) is None
    assert form(base=2).read(written(("answer", 2, [0]))) is None
    below = written(("below", 5, [0]), ("below", 2, [1]))
    above = written(("answer", 6, [3]), ("answer", 1, [4]))
    read = form(fraction="below").read
    assert read(below + above) == Fraction("16.25")
    assert read(below) is read(above) is read([]) is None
    assert form(fraction="below", base=5).read(below + above) is None
