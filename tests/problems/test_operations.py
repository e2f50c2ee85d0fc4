"""Operations: the device against Python's ints, and every special case against its promise."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.problems import tasks
from curta.problems.arithmetic import ARITHMETIC, Result
from curta.problems.digits import NumberBatch
from curta.problems.operations import OPERATIONS, Operation
from curta.problems.problem import Problem
from tests import tiny

BATCH, WIDTH, COUNT, SEVERAL = 8, 12, 300, 3

every_operator = pytest.mark.parametrize("symbol", tiny.ON_DEVICE)
answer = jax.jit(lambda symbol, operands: ARITHMETIC[symbol].answer(operands), static_argnums=0)


def several(operation: Operation) -> int:
    """How many operands the drawn problems have."""
    return operation.most or SEVERAL


def ints(numbers: NumberBatch) -> list[tuple[int, ...]]:
    """The numbers of each problem, whose written form is checked on the way."""
    check_written_form(numbers)
    rows = zip(*(np.asarray(part).tolist() for part in numbers), strict=True)
    return [
        tuple(
            int("".join(map(str, digits[length - 1 :: -1])))
            for digits, length in zip(values, lengths, strict=True)
            if length
        )
        for values, lengths in rows
    ]


def check_written_form(numbers: NumberBatch) -> None:
    """Digits within 0..9, no leading zero but in zero itself, zeros beyond the length."""
    digits, lengths = map(np.asarray, numbers)
    last = np.take_along_axis(digits, np.maximum(lengths[..., None] - 1, 0), axis=-1)[..., 0]
    assert ((digits >= 0) & (digits <= 9)).all()
    assert (digits[np.arange(digits.shape[-1]) >= lengths[..., None]] == 0).all()
    assert ((last > 0) | (lengths <= 1)).all()


def check_answers(problems: list[Problem], result: Result) -> None:
    """The device's answers are Python's, within the promised widths."""
    for problem, found, negative in zip(
        problems, ints(result.numbers), np.asarray(result.negative).tolist(), strict=True
    ):
        digits = [len(str(value)) for value in problem.operands]
        bounds = problem.operation.widths(digits)
        assert all(len(str(n)) <= most for n, most in zip(found, bounds, strict=True))
        assert not negative or problem.operation.signed
        signed = [value * (-1) ** negative for value in found]
        assert problem.operation.value(signed) == problem.truth
        assert type(problem.operation.value(signed)) is type(problem.truth)


@every_operator
@given(data=st.data())
def test_the_answer_on_the_device_is_pythons(symbol: str, data: st.DataObject) -> None:
    problems = data.draw(tiny.batches(BATCH, WIDTH, symbol, most=SEVERAL))
    operands = tiny.numbers(problems, WIDTH, several(OPERATIONS[symbol]))
    check_answers(problems, answer(symbol, operands))


@pytest.mark.slow
@every_operator
def test_long_answers_on_the_device_are_pythons(symbol: str) -> None:
    count, nines = several(OPERATIONS[symbol]), 10**100 - 1
    rows = [(nines,) * count, (nines, *[1] * (count - 1)), (0, *[nines] * (count - 1))]
    problems = [Problem(symbol, row) for row in rows]
    check_answers(problems, ARITHMETIC[symbol].answer(tiny.numbers(problems, 100)))


def test_the_sum_of_many_numbers_has_room() -> None:
    problems = [Problem("+", (99,) * 120), Problem("+", (9,) * 120)]
    check_answers(problems, ARITHMETIC["+"].answer(tiny.numbers(problems, 2)))


@pytest.mark.parametrize("numbers", [(), (1, 2)])
def test_one_number_is_the_answer_and_neither_none_nor_two(numbers: tuple[int, ...]) -> None:
    for symbol in {s for s, one in OPERATIONS.items() if one.on_device} - {"sort", "order"}:
        assert OPERATIONS[symbol].value(numbers) is None
    assert OPERATIONS["sort"].value(numbers) == (numbers or None)


def test_places_are_an_order_if_each_comes_once() -> None:
    written = [(2, 3, 1), (1,), (), (0, 1), (1, 1), (1, 3), (2, 1, -3)]
    found = [OPERATIONS["order"].value(places) for places in written]
    assert found == [(2, 3, 1), (1,), None, None, None, None, None]


def test_the_order_of_twelve_numbers_has_places_of_two_digits() -> None:
    problems = [Problem("order", tuple(range(12, 0, -1))), Problem("order", (5, 7, 5))]
    assert problems[0].truth == tuple(range(12, 0, -1))
    assert problems[1].truth == (1, 3, 2)
    check_answers(problems, ARITHMETIC["order"].answer(tiny.numbers(problems, 2)))


def test_only_one_and_zero_say_whether_a_number_is_less() -> None:
    assert [OPERATIONS["<"].value([n]) for n in (0, 1, 2, -1)] == [False, True, None, None]


@every_operator
def test_an_operation_says_what_it_is(symbol: str) -> None:
    operation = OPERATIONS[symbol]
    assert operation.symbol == symbol
    assert operation.name
    assert len(operation.mark) == 1
    assert operation.least <= (operation.most or operation.least)


def test_marks_and_names_are_different() -> None:
    operations = [operation for operation in OPERATIONS.values() if operation.on_device]
    assert len({operation.mark for operation in operations}) == len(operations)
    assert len({operation.name for operation in OPERATIONS.values()}) == len(OPERATIONS)


# Special cases.


class Made(NamedTuple):
    """Operands before and after a case made them special."""

    plain: list[tuple[int, ...]]
    special: list[tuple[int, ...]]


def made(symbol: str, case: str, width: int = 6, seed: int = 0) -> Made:
    """The same random problems without and with one special case, of all lengths."""
    operation = OPERATIONS[symbol]
    count = several(operation)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, width + 1, (COUNT, count)).astype(np.int32)
    bits = rng.integers(0, 1 << 32, (COUNT, 2 * count * width), np.uint32)
    kinds = [
        np.full(COUNT, kind, np.int32) for kind in (0, 1 + [*ARITHMETIC[symbol].cases].index(case))
    ]
    return Made(*(ints(tasks._jitted_from_lengths(symbol, lengths, bits, kind)) for kind in kinds))


def sizes(operands: tuple[int, ...]) -> list[int]:
    return [len(str(value)) for value in operands]


every_case = pytest.mark.parametrize(
    ("symbol", "case"),
    [(s, case) for s, one in ARITHMETIC.items() for case in one.cases],
)


def with_case(name: str) -> Any:
    """For every operation that has a case of this name."""
    holders = [symbol for symbol, one in ARITHMETIC.items() if name in one.cases]
    return pytest.mark.parametrize("symbol", holders)


@every_case
def test_special_problems_are_problems_and_no_longer_than_they_were(symbol: str, case: str) -> None:
    found = made(symbol, case)
    for plain, special in zip(*found, strict=True):
        assert Problem(symbol, special)
        assert all(now <= before for now, before in zip(sizes(special), sizes(plain), strict=True))
    assert found.plain != found.special


@every_case
def test_special_problems_are_many_different_ones(symbol: str, case: str) -> None:
    assert len(set(made(symbol, case, width=9).special)) > COUNT / 3


@pytest.mark.parametrize(
    ("symbol", "case"),
    [(symbol, case) for symbol in ("+", "sort", "order") for case in ARITHMETIC[symbol].cases],
)
def test_absent_operands_stay_absent(symbol: str, case: str) -> None:
    lengths = np.array([[4, 5, 0, 0], [3, 0, 0, 0], [1, 1, 1, 1]] * 9, np.int32)
    bits = np.random.default_rng(0).integers(0, 1 << 32, (27, 4 * 2 * 5), np.uint32)
    kind = np.full(27, 1 + [*ARITHMETIC[symbol].cases].index(case), np.int32)
    found = tasks._jitted_from_lengths(symbol, lengths, bits, kind)
    check_written_form(found)
    assert ((np.asarray(found.lengths) > 0) == (lengths > 0)).all()


@with_case("unequal")
def test_unequal_problems_keep_one_operand_and_make_longer_ones_shorter(symbol: str) -> None:
    shorter = 0
    for plain, special in zip(*made(symbol, "unequal"), strict=True):
        kept = [a == b for a, b in zip(plain, special, strict=True)]
        assert any(kept)
        cuts = zip(sizes(plain), sizes(special), strict=True)
        assert sum(now == before > 1 for before, now in cuts) <= 1
        shorter += not all(kept)
    assert shorter > COUNT / 2


@pytest.mark.parametrize("symbol", ["//", "%"])
def test_larger_divisors_have_more_digits_than_the_dividend(symbol: str) -> None:
    for first, second in made(symbol, "larger").special:
        assert len(str(first)) < len(str(second)) or len(str(first)) == len(str(second)) == 1


@with_case("equal")
def test_equal_operands_are_equal(symbol: str) -> None:
    """But that a divisor of zero becomes one."""
    for plain, special in zip(*made(symbol, "equal"), strict=True):
        assert len(set(special)) == 1 or (symbol in ("//", "%") and special == (0, 1))
        assert sizes(special)[0] == min(sizes(plain))


@with_case("ties")
def test_about_half_of_all_operands_tie_with_the_first(symbol: str) -> None:
    tied = 0
    for plain, special in zip(*made(symbol, "ties", 9), strict=True):
        assert set(sizes(special)) == {min(sizes(plain))}
        tied += sum(value == special[0] for value in special[1:])
    assert 0.4 < tied / (2 * COUNT) < 0.7


@with_case("same length")
def test_operands_of_the_same_length_are_as_long_as_the_shortest_was(symbol: str) -> None:
    for plain, special in zip(*made(symbol, "same length"), strict=True):
        assert set(sizes(special)) == {min(sizes(plain))}
        for before, now in zip(plain, special, strict=True):
            assert str(before).endswith(str(now)[1:])


@with_case("one digit")
def test_operands_of_one_digit_are_the_last_digits(symbol: str) -> None:
    for plain, special in zip(*made(symbol, "one digit"), strict=True):
        assert special == tuple(value % 10 for value in plain)


@with_case("in order")
def test_operands_in_order_are_those_of_the_same_length_sorted(symbol: str) -> None:
    same = made(symbol, "same length").special
    assert made(symbol, "in order").special == [tuple(sorted(operands)) for operands in same]


@with_case("near")
def test_near_operands_differ_from_the_first_in_one_digit_at_most(symbol: str) -> None:
    """In none where the changed digit led and became a zero, which a one replaces."""
    different = 0
    for first, *others in made(symbol, "near").special:
        for other in others:
            pairs = zip(str(first), str(other), strict=True)
            wrong = [place for place, (a, b) in enumerate(pairs) if a != b]
            assert len(wrong) == 1 or (not wrong and str(first)[0] == "1")
            different += len(wrong)
    assert different > COUNT * 0.9


@with_case("zero")
def test_one_operand_is_zero(symbol: str) -> None:
    """But a divisor, which then is one."""
    for plain, special in zip(*made(symbol, "zero"), strict=True):
        changed = [now for before, now in zip(plain, special, strict=True) if before != now]
        assert len(changed) <= 1
        assert 0 in special or (symbol in ("//", "%") and special[1] == 1)


@with_case("one")
def test_one_operand_is_one(symbol: str) -> None:
    for plain, special in zip(*made(symbol, "one"), strict=True):
        changed = [now for before, now in zip(plain, special, strict=True) if before != now]
        assert len(changed) <= 1
        assert 1 in special


def test_carries_run_through_every_place_of_half_of_the_carry_problems() -> None:
    whole = 0
    for plain, (first, second, _) in zip(*made("+", "carry"), strict=True):
        assert len(str(first)) == len(str(second)) == min(sizes(plain))
        whole += first + second == 10 ** len(str(first))
    assert whole > COUNT * 0.4


def test_borrows_run_across_zeros() -> None:
    zeros = sum(str(first).count("0") for first, _ in made("-", "borrow", 9).special)
    inner = sum(len(str(first)) - 1 for first, _ in made("-", "borrow", 9).special)
    assert 0.7 < zeros / inner < 0.9


@pytest.mark.parametrize("symbol", ["+", "*"])
def test_nines_are_seven_digits_of_eight(symbol: str) -> None:
    text = "".join(str(value) for row in made(symbol, "nines").special for value in row)
    assert 0.85 < text.count("9") / len(text) < 0.93


@with_case("trailing zeros")
def test_trailing_zeros_end_every_operand_of_two_digits_or_more(symbol: str) -> None:
    for operands in made(symbol, "trailing zeros").special:
        assert all(value % 10 == 0 for value in operands if value > 9)


@with_case("few digits")
def test_few_digits_are_two_different_ones(symbol: str) -> None:
    """And a leading zero becomes a one."""
    for operands in made(symbol, "few digits").special:
        for value in operands:
            text = str(value)
            assert len(set(text[1:]) - {"0"}) <= 1
            assert set(text) - {"0"} <= {text[0]} or text[0] == "1"


Check = Callable[[int, int], bool]

DIVISIBLE: dict[str, Check] = {
    "exact": lambda first, second: first % second == 0,
    "almost": lambda first, second: (first + 1) % second == 0 or first == 0,
    "nines": lambda first, second: first % second < 10,
}


@pytest.mark.parametrize("symbol", ["//", "%"])
@pytest.mark.parametrize("case", DIVISIBLE)
def test_dividends_are_multiples_of_the_divisor_or_near_them(symbol: str, case: str) -> None:
    special = made(symbol, case).special
    assert all(DIVISIBLE[case](*operands) for operands in special)
    assert sum(first > second > 9 for first, second in special) > COUNT / 10


@pytest.mark.parametrize("symbol", ["//", "%"])
@pytest.mark.parametrize("case", DIVISIBLE)
@pytest.mark.parametrize("digits", [3, 20])
def test_few_dividends_are_zero_where_both_operands_are_as_long(
    symbol: str, case: str, digits: int
) -> None:
    """One digit is what a dividend can have of multiples then, and one in ten of them is zero."""
    drawn = tasks.problems(symbol, case, (digits, digits), 400, 1)
    assert sum(problem.operands[0] == 0 for problem in drawn) < 400 / 5


@pytest.mark.parametrize("digits", [2, 3, 6, 9])
def test_a_digit_near_another_is_any_other_at_each_place(digits: int) -> None:
    drawn = tasks.problems("-", "near", (digits, digits), 1500, 1)
    differences = (first - second for first, second in (one.operands for one in drawn))
    assert {difference % 10 for difference in differences} == {*range(10)}


@pytest.mark.parametrize("symbol", ["//", "%"])
def test_a_divisor_is_never_zero(symbol: str) -> None:
    for case in ("trailing zeros", "zero", "equal", "one"):
        for found in made(symbol, case, width=1):
            assert all(second > 0 for _, second in found)
    assert sum(second == 0 for _, second in made("*", "zero", width=1).plain) > 0
