"""Operations: the device against Python's ints, and every special case against its promise."""

from collections.abc import Callable
from functools import cache, partial

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.problems import tasks
from curta.problems.arithmetic import ARITHMETIC, NumberBatch, less
from curta.problems.operations import OPERATIONS, Operation
from curta.problems.problem import Problem
from tests import tiny

BATCH, WIDTH, COUNT, SEVERAL = 8, 12, 300, 3

every_operator = pytest.mark.parametrize("symbol", tiny.ON_DEVICE)


@partial(jax.jit, static_argnums=0)
def answer(symbol: str, operands: NumberBatch) -> tuple[NumberBatch, jax.Array]:
    """The device's absolute answers, and whether a negative one stands for a difference."""
    is_less = less(operands) if OPERATIONS[symbol].signed else operands.lengths[:, 0] < 0
    return ARITHMETIC[symbol].answer(operands), is_less


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


def check_answers(problems: list[Problem], operands: NumberBatch) -> None:
    """The device's answers are Python's, within the promised widths."""
    symbol = problems[0].operator
    numbers, is_less = answer(symbol, operands)
    for problem, found, negative in zip(
        problems, ints(numbers), np.asarray(is_less).tolist(), strict=True
    ):
        digits = [len(str(value)) for value in problem.operands]
        bounds = problem.operation.widths(digits)
        assert all(len(str(n)) <= most for n, most in zip(found, bounds, strict=True))
        signed = [value * (-1) ** negative for value in found]
        assert problem.operation.value(signed) == problem.truth
        assert type(problem.operation.value(signed)) is type(problem.truth)


@every_operator
@given(data=st.data())
def test_the_answer_on_the_device_is_pythons(symbol: str, data: st.DataObject) -> None:
    problems = data.draw(tiny.batches(BATCH, WIDTH, symbol, most=SEVERAL))
    operands = tiny.numbers(problems, WIDTH, several(OPERATIONS[symbol]))
    check_answers(problems, operands)


@pytest.mark.parametrize("numbers", [(), (1, 2)])
def test_one_number_is_the_answer_and_neither_none_nor_two(numbers: tuple[int, ...]) -> None:
    for symbol in {s for s, one in OPERATIONS.items() if one.on_device} - {"sort", "order"}:
        assert OPERATIONS[symbol].value(numbers) is None
    assert OPERATIONS["sort"].value(numbers) == (numbers or None)


def test_places_are_an_order_if_each_comes_once() -> None:
    written = [(2, 3, 1), (1,), (), (0, 1), (1, 1), (1, 3), (2, 1, -3)]
    found = [OPERATIONS["order"].value(places) for places in written]
    assert found == [(2, 3, 1), (1,), None, None, None, None, None]


def test_only_one_and_zero_say_whether_a_number_is_less() -> None:
    assert [OPERATIONS["<"].value([n]) for n in (0, 1, 2, -1)] == [False, True, None, None]


# Special cases.

Operands = tuple[int, ...]


@cache
def drawn(symbol: str, case: str, width: int = 9) -> list[tuple[Operands, Operands]]:
    """The same random problems without and with one special case, of all lengths."""
    count, rng = several(OPERATIONS[symbol]), np.random.default_rng(0)
    lengths = rng.integers(1, width + 1, (COUNT, count)).astype(np.int32)
    bits = rng.integers(0, 1 << 32, (COUNT, 2 * count * width), np.uint32)
    number = 1 + [*ARITHMETIC[symbol].cases].index(case)
    both = [
        ints(tasks._jitted_from_lengths(symbol, lengths, bits, np.full(COUNT, kind, np.int32)))
        for kind in (0, number)
    ]
    return list(zip(*both, strict=True))


def sizes(operands: Operands) -> list[int]:
    return [len(str(value)) for value in operands]


def changed(plain: Operands, special: Operands) -> int:
    return sum(before != now for before, now in zip(plain, special, strict=True))


def is_unequal(plain: Operands, special: Operands) -> bool:
    """One operand stays as it is, and all others of its length become shorter."""
    lengths = zip(sizes(plain), sizes(special), strict=True)
    as_long = sum(now == before > 1 for before, now in lengths)
    return changed(plain, special) < len(plain) and as_long <= 1


def is_near(plain: Operands, special: Operands) -> bool:
    """All differ from the first in one digit, or in none where a leading zero became a one."""
    wrong = [
        sum(a != b for a, b in zip(str(special[0]), str(other), strict=True))
        for other in special[1:]
    ]
    return all(count == 1 or (count == 0 and str(special[0])[0] == "1") for count in wrong)


def has_few_digits(plain: Operands, special: Operands) -> bool:
    """Two different ones, and a leading zero becomes a one."""
    texts = [str(value) for value in special]
    few = all(len(set(text[1:]) - {"0"}) <= 1 for text in texts)
    return few and all(set(text) - {"0"} <= {text[0]} or text[0] == "1" for text in texts)


CASES: dict[str, Callable[[Operands, Operands], bool]] = {
    "unequal": is_unequal,
    "near": is_near,
    "few digits": has_few_digits,
    "equal": lambda plain, special: len(set(special)) == 1 and _shortest(plain, special),
    "ties": lambda plain, special: _shortest(plain, special),
    "carry": lambda plain, special: sizes(special)[0] == sizes(special)[1] == min(sizes(plain)),
    "same length": lambda plain, special: _shortest(plain, special) and all(
        str(before).endswith(str(now)[1:]) for before, now in zip(plain, special, strict=True)
    ),
    "in order": lambda plain, special: list(special) == sorted(special),
    "one digit": lambda plain, special: special == tuple(value % 10 for value in plain),
    "zero": lambda plain, special: changed(plain, special) <= 1 and 0 in special,
    "one": lambda plain, special: changed(plain, special) <= 1 and 1 in special,
    "trailing zeros": lambda plain, special: all(n % 10 == 0 for n in special if n > 9),
    "sparse": lambda plain, special: all(set(str(n)[1:-1]) <= {"0"} for n in special),
    "larger": lambda plain, special: sizes(special)[0] < sizes(special)[1] or max(special) < 10,
}  # fmt: skip
DIVISIONS = CASES | {
    "exact": lambda plain, special: special[0] % special[1] == 0,
    "almost": lambda plain, special: special[0] == 0 or (special[0] + 1) % special[1] == 0,
    "nines": lambda plain, special: special[0] % special[1] < 10,
    "equal": lambda plain, special: special == (0, 1) or CASES["equal"](plain, special),
    "zero": lambda plain, special: (
        changed(plain, special) <= 1 and (special[0] == 0 or special[1] == 1)
    ),
}  # fmt: skip
"""What is so of each problem of a case; a divisor that would be zero is one."""


def _shortest(plain: Operands, special: Operands) -> bool:
    """Whether all are as long as the shortest was."""
    return set(sizes(special)) == {min(sizes(plain))}


@pytest.mark.parametrize(
    ("symbol", "case"), [(s, case) for s, one in ARITHMETIC.items() for case in one.cases]
)
def test_special_problems_are_what_their_case_says(symbol: str, case: str) -> None:
    division = symbol in ("//", "%")
    checks = (DIVISIONS if division else CASES).get(case)
    for width in (1, 9):
        for plain, special in drawn(symbol, case, width):
            assert Problem(symbol, special)
            assert all(a <= b for a, b in zip(sizes(special), sizes(plain), strict=True))
            assert not checks or checks(plain, special), (plain, special)
    pairs = drawn(symbol, case)
    assert len({special for _, special in pairs}) > COUNT / 3
    assert sum(plain != special for plain, special in pairs) > COUNT / 3


SHARES: list[tuple[str, str, Callable[[Operands], float], float, float]] = [
    ("+", "carry", lambda n: n[0] + n[1] == 10 ** len(str(n[0])), 0.4, 0.8),
    ("-", "borrow", lambda n: str(n[0])[1:].count("0") / max(1, len(str(n[0])) - 1), 0.5, 0.9),
    ("order", "ties", lambda n: n[1] == n[0], 0.4, 0.7),
    ("+", "nines", lambda n: str(n[0]).count("9") / len(str(n[0])), 0.8, 0.95),
    ("//", "exact", lambda n: n[0] > n[1] > 9, 0.1, 1.0),
    ("//", "nines", lambda n: n[0] > n[1] > 9, 0.1, 1.0),
]
"""Of a case, what is so of many of its problems, and of how many."""


@pytest.mark.parametrize(("symbol", "case", "measure", "least", "most"), SHARES)
def test_special_problems_are_special_to_a_degree(
    symbol: str, case: str, measure: Callable[[Operands], float], least: float, most: float
) -> None:
    assert least < np.mean([measure(special) for _, special in drawn(symbol, case)]) < most
