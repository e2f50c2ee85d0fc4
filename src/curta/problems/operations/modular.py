"""`12+5 mod 97`: sums, differences and products modulo a number, one family for each sign.

A number stands for its residue: 200 and 6 are the same operand modulo 97.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from curta.config.errors import UserError, quoted
from curta.problems.operations.base import Operation

MODULI = range(2, 252)
"""With the signs there are at most 255 tokens: data sets keep each as a byte."""

SIGNS: Mapping[str, tuple[str, Callable[[int, int], int]]] = {
    "+": ("addition", int.__add__),
    "-": ("subtraction", int.__sub__),
    "*": ("multiplication", int.__mul__),
}
"""The operation of each sign: its name, and Python's own."""

_SYMBOL = re.compile(r"([-+*]) mod ([1-9][0-9]{0,2})")


class Modular(Operation):
    """One sign modulo one number, by its symbol: `+ mod 97`."""

    modulus: int
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "two zeros": (0, 0),
        "zero first": (0, 7),
        "zero second": (7, 0),
        "equal": (7, 7),
        "one first": (1, 7),
    }

    def __init__(self, sign: str, modulus: int) -> None:
        words, self._whole = SIGNS[sign]
        self.symbol, self.mark, self.modulus = f"{sign} mod {modulus}", sign, modulus
        self.name = f"{words} modulo {modulus}"
        self.commutes = sign != "-"
        self.example = f"{modulus - 1}{sign}{modulus // 2} mod {modulus}"

    def truth(self, *operands: int) -> int:
        return self._whole(*operands) % self.modulus

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (len(str(self.modulus - 1)),)

    def value(self, numbers: Sequence[int]) -> int | None:
        found = numbers[0] if len(numbers) == 1 else None
        return found if found in range(self.modulus) else None

    def text(self, operands: tuple[str, ...]) -> str:
        return f"{self.mark.join(operands)} mod {self.modulus}"


def refusal(symbol: str) -> UserError | None:
    """What is said of a symbol with a modulus that no operation has."""
    if " mod " not in symbol:
        return None
    return UserError(
        f"unknown operator {quoted(symbol)}: there are {', '.join(SIGNS)} modulo"
        f" {MODULI[0]} to {MODULI[-1]}, such as + mod 97"
    )


@lru_cache
def modular(symbol: str) -> Modular | None:
    """The operation of a symbol such as `+ mod 97`; None for any other text.

    >>> modular("+ mod 97").truth(90, 10), modular("+ mod 1"), modular("/ mod 97")
    (3, None, None)
    """
    found = _SYMBOL.fullmatch(symbol)
    known = found is not None and int(found[2]) in MODULI
    return Modular(found[1], int(found[2])) if found and known else None
