"""The operations: answers in plain Python, and how problems are written and read.

`problems.arithmetic` computes the same on the device, for the operations of published layouts. A
new operation is an entry of `OPERATIONS` here and of `ARITHMETIC` there.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from curta.config.errors import Registry, UserError, quoted
from curta.problems.numerals import to_int, to_text
from curta.problems.sizes import Sizes

Answer = int | bool | tuple[int, ...] | Fraction
"""The answer of a problem: a number, true or false, several numbers in order, or a fraction."""


class Operation:
    """An operation on numbers. Stateless; registered by its symbol in `OPERATIONS`.

    An entry of the table below sets any attribute or method by keyword; the operation that a
    program brings (`programs.declared`) is a subclass.
    """

    symbol: str
    name: str
    mark: str
    """The character that stands for the operation in published layouts."""
    example: str
    least: int = 2
    most: int | None = 2
    """The most operands; None: any number."""
    signed: bool = False
    """Whether answers may be negative."""
    pointed: bool = False
    """Whether answers are fractions."""
    bounded: bool = True
    """Whether `widths` is certain to bound answers; for a user's program it is a guess."""
    commutes: bool = False
    """Whether the order of the operands does not matter."""
    modulus: int | None = None
    """The modulus, if operands and answers are residues; None if they are whole numbers."""
    base: int | None = None
    """The base in which operands are always written; None if it depends on the problem."""
    answer_base: int | None = None
    """The base of the answer, if it is not that of the operands."""
    on_device: bool = True
    """Whether `problems.arithmetic` has the operation, so problems can be drawn on the device."""
    cases: Mapping[str, Any] = {}
    """Functions that draw special cases, by name, if the operation is not `on_device`."""
    patterns: Mapping[str, tuple[int, ...]] = {}
    """The operands of hard problems that are rarely drawn by chance, by name."""
    truth: Callable[..., Answer]
    """Return the answer to operands, computed by Python."""
    widths: Callable[[Sequence[int]], tuple[int, ...]]
    """Return the most digits of each number of the answer, by those of the operands."""
    tests: Callable[[str, Sequence[int], str], Iterator[tuple[int, ...]]]
    """Yield test problems of a slice, a size and a seed without end, if not `on_device`."""
    training: Callable[[Sizes, str, float], Iterator[tuple[int, ...]]]
    """Yield training problems of sizes, a seed and a share of rare ones, if not `on_device`."""

    def __init__(self, symbol: str, name: str, example: str, **fields: Any) -> None:
        self.symbol, self.name, self.example, self.mark = symbol, name, example, symbol[0]
        vars(self).update(fields)

    def takes(self, operands: int) -> bool:
        """Return whether problems may have this many operands."""
        return self.least <= operands <= (self.most or operands)

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        """Return why these operands have no answer; None if they have one."""
        return None

    def value(self, numbers: Sequence[int]) -> Answer | None:
        """Return the answer that these numbers stand for; None if they cannot be one."""
        return numbers[0] if len(numbers) == 1 else None

    @property
    def compound(self) -> bool:
        """Whether people write several operands as one number, such as the two sides of a point."""
        return False

    def read(self, line: str) -> list[str] | None:
        """Return the operands' digits in a `compound` problem; None if the text is none."""
        return None

    def text(self, operands: tuple[str, ...]) -> str:
        """Return the problem as people write it, from the digits of its operands."""
        if self.symbol.isalpha():
            return f"{self.symbol} {','.join(operands)}"
        return self.symbol.join(operands)


def _places(numbers: Sequence[int]) -> Answer | None:
    """Return the places of operands in ascending order, 2,3,1 for 210,7,33; None for others."""
    is_permutation = sorted(numbers) == list(range(1, len(numbers) + 1))
    return tuple(numbers) if numbers and is_permutation else None


def _by_zero(operands: tuple[int, ...]) -> str | None:
    return "division by zero has no answer" if operands[1] == 0 else None


MODULI = range(2, 252)
"""At most 255 tokens, operators included, so that data sets can store one as a byte."""

SIGNS: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("addition", operator.add),
    "-": ("subtraction", operator.sub),
    "*": ("multiplication", operator.mul),
}
"""Operators of modular operations, with their names and Python's functions."""


@lru_cache
def modular(symbol: str) -> Operation | None:
    """Return the operation of a symbol such as `+ mod 97`; None for any other text.

    >>> modular("+ mod 97").truth(90, 10), modular("+ mod 1"), modular("/ mod 97")
    (3, None, None)
    """
    match = re.fullmatch(r"([-+*]) mod ([1-9][0-9]{0,2})", symbol)
    if match is None or int(match[2]) not in MODULI:
        return None
    sign, modulus = match[1], int(match[2])
    name, operate = SIGNS[sign]
    # A number stands for its residue: 200 and 6 are the same modulo 97.
    return Operation(
        symbol,
        f"{name} modulo {modulus}",
        f"{modulus - 1}{sign}{modulus // 2} mod {modulus}",
        truth=lambda a, b: operate(a, b) % modulus,
        widths=lambda digits: (len(str(modulus - 1)),),
        patterns={
            "two zeros": (0, 0),
            "zero first": (0, 7),
            "zero second": (7, 0),
            "equal": (7, 7),
            "one first": (1, 7),
        },
        modulus=modulus,
        commutes=sign != "-",
        value=lambda numbers: (
            numbers[0] if len(numbers) == 1 and numbers[0] in range(modulus) else None
        ),
        text=lambda operands: f"{sign.join(operands)} mod {modulus}",
    )


_DIVISION_PATTERNS = {
    "of nines by nine": (999_999, 9),
    "of a power of ten by seven": (10**15, 7),
    "by itself": (123_456_789, 123_456_789),
    "by one": (123_456_789, 1),
    "by a larger one": (123, 456),
    "one below a multiple": (999_998, 999),
    "of zero": (0, 7),
}
_DIGITS_PATTERNS = {
    "a power of ten": (10**15,),
    "digits in a row": (1_234_567_890,),
    "one digit throughout": (777_777_777,),
    "the same from both ends": (123_454_321,),
    "one digit": (7,),
}
_TABLE = (
    Operation(
        "+", "addition", "12+34",
        truth=lambda *operands: sum(operands),
        widths=lambda digits: (max(digits) + len(str(len(digits) - 1)),),
        patterns={
            "carry through nines": (999_999, 1),
            "the other way round": (1, 999_999),
            "carry through fifteen nines": (10**15 - 1, 1),
            "powers of ten": (10**15, 10**15),
            "digits in a row": (123_456_789, 987_654_321),
        },
        most=None, commutes=True,
    ),
    Operation(
        "-", "subtraction", "12-34",
        truth=lambda a, b: a - b,
        widths=lambda digits: (max(digits),),
        patterns={
            "borrow through zeros": (1_000_000, 1),
            "below zero": (1, 1_000_000),
            "borrow through fifteen zeros": (10**15, 1),
            "nothing left": (10**15, 10**15),
            "one left": (10**15, 10**15 - 1),
            "digits in a row": (987_654_321, 123_456_789),
        },
        signed=True,
    ),
    Operation(
        "*", "multiplication", "12*34",
        truth=lambda a, b: a * b,
        widths=lambda digits: (sum(digits),),
        patterns={
            "nines": (999_999, 999_999),
            "by one": (1, 999_999),
            "by zero": (999_999, 0),
            "powers of ten": (10**6, 10**6),
            "ones": (111_111, 111_111),
            "digits in a row": (12_345_679, 9),
        },
        commutes=True,
    ),
    Operation(
        "//", "division", "123//4",
        truth=lambda a, b: a // b,
        widths=lambda digits: (digits[0],),
        patterns=_DIVISION_PATTERNS, refuse=_by_zero,
    ),
    Operation(
        "%", "modulo", "123%4",
        truth=lambda a, b: a % b,
        widths=lambda digits: (digits[1],),
        patterns=_DIVISION_PATTERNS, refuse=_by_zero,
    ),
    Operation(
        # The answer is true or false; on the device, 1 or 0.
        "<", "comparison", "12<34",
        truth=lambda a, b: a < b,
        widths=lambda digits: (1,),
        patterns={
            "equal": (10**15, 10**15),
            "one less": (10**15 - 1, 10**15),
            "one more": (10**15, 10**15 - 1),
            "shorter but larger digits": (999_999, 1_000_000),
            "last digit": (123_456_788, 123_456_789),
            "first digit": (199_999_999, 200_000_000),
        },
        value=lambda numbers: bool(numbers[0]) if list(numbers) in ([0], [1]) else None,
    ),
    Operation(
        "sort", "sorting", "sort 210,7,33",
        truth=lambda *operands: tuple(sorted(operands)),
        widths=lambda digits: (max(digits),) * len(digits),
        patterns={
            "in order already": (1, 2, 3, 4, 5, 6, 7),
            "in opposite order": (7, 6, 5, 4, 3, 2, 1),
            "all equal": (5, 5, 5, 5, 5),
            "by the last digit": (123_453, 123_451, 123_452),
            "by length": (1000, 100, 10, 1),
            "zero among nines": (999, 0, 999),
        },
        least=1, most=None, commutes=True, value=lambda numbers: tuple(numbers) or None,
    ),
    Operation(
        "order", "ordering", "order 210,7,33",
        # Of equal numbers the earlier comes first.
        truth=lambda *operands: tuple(
            sorted(range(1, len(operands) + 1), key=lambda place: operands[place - 1])
        ),
        widths=lambda digits: (len(str(len(digits))),) * len(digits),
        patterns={
            "in order already": (1, 2, 3, 4, 5, 6, 7),
            "in opposite order": (7, 6, 5, 4, 3, 2, 1),
            "all equal": (5, 5, 5, 5, 5),
            "equal ones apart": (7, 3, 7, 3),
            "by the last digit": (123_453, 123_451, 123_452),
            "by length": (1000, 100, 10, 1),
        },
        least=1, most=None, value=_places,
    ),
    Operation(
        "copy", "copy", "copy 123",
        truth=lambda number: number,
        widths=lambda digits: (digits[0],),
        patterns=_DIGITS_PATTERNS,
        least=1, most=1,
    ),
    Operation(
        # Decimal digits in opposite order: 120 gives 21.
        "reverse", "reverse", "reverse 123",
        truth=lambda number: to_int(to_text(number)[::-1]),
        widths=lambda digits: (digits[0],),
        patterns=_DIGITS_PATTERNS,
        least=1, most=1,
    ),
)  # fmt: skip

OPERATIONS: Registry[Operation] = Registry(
    "operator", {operation.symbol: operation for operation in _TABLE}, numbered=modular
)
"""Operations by symbol, also those modulo a number; programs add theirs (see `programs`)."""


def operation_named(symbol: str) -> Operation:
    """Return the operation with this symbol; UserError, with the nearest one, if there is none."""
    if symbol not in OPERATIONS and " mod " in symbol:
        raise UserError(
            f"unknown operator {quoted(symbol)}: there are {', '.join(SIGNS)} modulo"
            f" {MODULI[0]} to {MODULI[-1]}, such as + mod 97"
        )
    OPERATIONS.check(symbol)
    return OPERATIONS[symbol]
