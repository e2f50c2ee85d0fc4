"""Prompts: which operand lies where, and what is read as the answer."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from curta.programs.machine import Answer, Given, Sign
from curta.programs.machine.paper import Token, token_of
from curta.programs.machine.prompt import Format, Part


def form(*parts: Part, axes: tuple[str, ...] = ("place",), **answer: Any) -> Format:
    return Format(axes, parts, Answer("answer", **answer))


def symbols(prompt: Format, *operands: int) -> str:
    return "".join(token_of(*key).symbol for key in prompt.write(operands))


def test_zeros_fill_operands_up() -> None:
    filled = form(Given("a", "place", filled=True), Sign(","), Given("b", "place", filled=True))
    assert symbols(filled, 7, 345) == "700,543"
    assert filled.digits([7, 345]) == [[7, 0, 0], [5, 4, 3]]
    pairs = form(Given("a", "place", high_first=True, multiple=2))
    assert [symbols(pairs, value) for value in (0, 12, 123)] == ["00", "12", "0123"]


def pointed(role: str) -> tuple[Part, ...]:
    below = Given(f"{role} below", "place", high_first=True, filled=True)
    point = Sign(".", f"{role} point", step={"place": 1})
    return (below, point, Given(role, "place", follows=True))


def test_only_operands_that_are_filled_count_for_how_far() -> None:
    prompt = form(*pointed("a"), Sign("+"), *pointed("b"), Sign("="))
    assert symbols(prompt, 5, 1234, 57, 8) == "05.4321+57.8="
    assert prompt.digits([5, 1234, 57, 8]) == [[5, 0], [4, 3, 2, 1], [7, 5], [8]]
    assert prompt.compound
    assert [len(number) for number in prompt.numbers] == [3, 1, 3, 1]


def written(*pairs: tuple[str, int | str, Sequence[int]]) -> list[tuple[Token, Sequence[int]]]:
    return [(token_of(symbol, role, 0, (0,)), place) for role, symbol, place in pairs]


def test_an_answer_is_read_in_its_order_base_and_sign() -> None:
    digits = written(("answer", 1, [0]), ("sum", 9, [0]), ("answer", 0, [1]), ("answer", 1, [2]))
    assert form().read(digits) == 101
    assert form(base=2).read(digits) == 5
    assert form(high_first=True).read(digits[:-1]) == 10
    minus = written(("sign", "-", [0]))
    assert form(sign="sign").read(minus + digits) == -101
    assert form().read(written(("answer", "x", [0]))) is None
    assert form(base=2).read(written(("answer", 2, [0]))) is None


def test_an_answer_with_a_point_is_a_fraction() -> None:
    below = written(("below", 5, [0]), ("below", 2, [1]))
    above = written(("answer", 6, [3]), ("answer", 1, [4]))
    read = form(fraction="below").read
    assert read(below + above) == Fraction("16.25")
    assert form(fraction="below", high_first=True).read(above + below) == Fraction("61.52")
    assert form(fraction="below", sign="sign").read(
        below + above + written(("sign", "-", [0]))
    ) == Fraction("-16.25")
    whole = read(written(("below", 0, [0])) + above)
    assert whole == 16
    assert type(whole) is Fraction
    assert read(below) is read(above) is read([]) is None
    assert form(fraction="below", base=5).read(below + above) is None
