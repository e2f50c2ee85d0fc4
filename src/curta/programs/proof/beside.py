"""Which tokens of a prompt can stand on two squares at once.

Arrays: `n` views, `c` candidates for the second square.
"""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.tokens import HOME

Cell = tuple[int, tuple[int, ...]]
"""A role's number, and on each axis how far from a token's square, or HOME + a coordinate."""


def fixed(step: int) -> bool:
    """Whether a cell's step on an axis is a coordinate, and not how far from the token."""
    return step > HOME // 2


def at_home(cell: Cell | None) -> bool:
    """Whether a square is given by a coordinate: then only whether anything stands there counts."""
    return cell is not None and any(map(fixed, cell[1]))


@dataclass(frozen=True)
class Place:
    """How tokens of one prompt role lie."""

    sign: tuple[int, ...] | None = None
    """Where a sign stands; behind an operand, where it would stand if that had one digit."""
    behind: str = ""
    """The operand behind whose last digit a sign stands."""
    along: int = 0
    line: int | None = None
    """The axis on whose lines further operands lie."""
    high_first: bool = False
    between: bool = False
    """Whether it is the sign before a further operand."""
    group: str = ""
    filled: bool = False
    """Whether zeros fill it up to the longest operand."""


@dataclass(frozen=True, eq=False)
class Square:
    """A square around a token, where it may be, and what stands on it."""

    lies: Place
    away: tuple[int, ...]
    """How far from the token."""
    at: Int[np.ndarray, "n axes"]
    there: Bool[np.ndarray, "n c"]
    """Whether anything stands there."""
    digit: Int[np.ndarray, "n c"]
    wide: Bool[np.ndarray, " axes"]

    @property
    def lined(self) -> Bool[np.ndarray, " n"]:
        """Whether it is in line with the operand's squares: else the prompt never has it."""
        lies, home = self.lies, np.array(self.lies.sign or (0,) * len(self.away))
        mine = [lies.along] if lies.line is None else [lies.along, lies.line]
        free = self.wide | np.isin(np.arange(len(home)), mine)
        return np.asarray(np.all((self.at == home) | free, axis=1))

    @property
    def place(self) -> Int[np.ndarray, "n 1"]:
        return self.at[:, self.lies.along, None]


def behind(sign: Square, other: Square, filled: Set[str]) -> Bool[np.ndarray, "n c"]:
    """What a sign behind an operand says of the operand's digits, and of other such signs.

    `21=`, the sign a square behind: before it is a digit, and not 0 unless it is the only one.
    """
    a, b, good = sign.lies, other.lies, np.ones_like(sign.there)
    group = b.behind or b.group
    if not a.behind or a.along != b.along or sign.wide[a.along] or other.wide[a.along]:
        return good
    if not group or b.between or (a.behind != group and not {a.behind, group} <= filled):
        return good
    assert a.sign is not None
    beyond = other.away[a.along] - sign.away[a.along] + a.sign[a.along]
    if b.behind:
        assert b.sign is not None
        same = beyond == b.sign[a.along]
        return (sign.there == other.there) if same else ~(sign.there & other.there)
    good = ~sign.there | (other.there == ((other.place >= 0) & (beyond <= 0)))
    if b.filled:
        return good
    head = (other.place == 0) if b.high_first else np.full_like(good, beyond == 0)
    return good & ~(sign.there & head & (other.digit == 0) & (sign.place != a.sign[a.along]))


def side_by_side(one: Square, two: Square) -> Bool[np.ndarray, "n c"]:
    """What digits of operands, and the signs between, say of each other.

    Operands that zeros fill up are of one length: both have a digit at a place, or neither.
    """
    a, b, good = one.lies, two.lies, np.ones_like(one.there)
    if not a.group or not b.group:
        return good
    if a.group != b.group:
        alike = a.filled and b.filled and a.line is None and b.line is None
        beside = a.along == b.along and one.away[a.along] == two.away[a.along]
        return (one.there == two.there) if alike and beside else good
    if a.line is not None:
        good &= _lines(one, two)
    moved = [axis for axis, (x, y) in enumerate(zip(one.away, two.away, strict=True)) if x != y]
    if a.between == b.between and set(moved) <= {a.along}:
        near = one.away[a.along] < two.away[a.along]
        good &= _number(one, two) if near else _number(two, one)
    return good


def any_digits(one: Square, two: Square) -> Bool[np.ndarray, "n c"]:
    """What two squares say of each other where it is not known which digits they have."""
    line = one.lies.line
    same = one.lies.group == two.lies.group and line is not None
    if not same or fixed(one.away[line or 0]) != fixed(two.away[line or 0]):
        return np.ones_like(one.there)
    return _lines(one, two)


def _lines(one: Square, two: Square) -> Bool[np.ndarray, "n c"]:
    """No line without the lines before it: an operand on line 2 and none on line 1 is wrong."""
    line = one.lies.line
    assert line is not None
    first, second = one.at[:, line, None], two.at[:, line, None]
    wrong = one.there & ~two.there & _shows(two) & (second <= first)
    return ~(wrong | (two.there & ~one.there & _shows(one) & (first <= second)))


def _shows(square: Square) -> Bool[np.ndarray, "n 1"]:
    """Whether none on this square means that there is no operand on its line."""
    assert square.lies.line is not None
    line = square.at[:, square.lies.line, None]
    if square.lies.between:
        return (square.place == -1) & (line >= 1)
    return (square.place == 0) & (line >= 0)


def _number(lower: Square, upper: Square) -> Bool[np.ndarray, "n c"]:
    """Two squares of one number: no gap below a digit, no 0 at the head of a longer number.

    Squares 1 and 2 with 3 0, 0 and none, none and 3: right, wrong, wrong.
    """
    along = lower.lies.along
    good = ~upper.there | lower.there | (lower.place < 0)
    if lower.lies.filled:
        return good
    zero = lower.there & (lower.digit == 0) & (upper.away[along] - lower.away[along] == 1)
    if lower.lies.high_first:
        return good & ~((lower.place == 0) & zero & upper.there)
    return good & ~((lower.place > 0) & zero & ~upper.there)
