"""What prompts allow: which tokens can stand on which squares of a complete prompt.

A prompt is data (`prompt.Format`), so its pictures are known: an operand's digits stand side by
side from square 0 on, the most significant one is not 0 unless it is the only one, operands are
independent of each other and of any length, further operands fill line after line. A sign stands
on a certain square, or so many squares behind the last digit of an operand.

Rules are asked about a few squares around a token. Where the token stands is known up to a zone:
its coordinate on each axis, exact near the origin, cut off at `low` and `high` beyond which all
squares are alike. Arrays: `n` views, `c` candidates for one square (tokens of its role, none).
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.machine import Machine
from curta.programs.machine.prompt import Format, Given, Sign
from curta.programs.machine.tokens import HOME

Cell = tuple[int, tuple[int, ...]]
"""A role's number, and on each axis how far from a token's square, or HOME + a coordinate."""

Mask = Bool[np.ndarray, " n"]
Good = Bool[np.ndarray, "n c"]
Column = Int[np.ndarray, " n"]
"""Of each view the token on one square, or another number."""
Grid = Int[np.ndarray, "n columns"]
"""Of each view the tokens on its squares, then the zone on each axis."""
Options = Int[np.ndarray, " c"]
Which = Bool[np.ndarray, " c"]
At = Int[np.ndarray, "n axes"]
"""The coordinates of one square in each view."""


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
    at: At
    there: Good
    """Whether anything stands there."""
    digit: Int[np.ndarray, "n c"]
    wide: Bool[np.ndarray, " axes"]

    @property
    def lined(self) -> Mask:
        """Whether it is in line with the operand's squares: else the prompt never has it."""
        lies, home = self.lies, np.array(self.lies.sign or (0,) * len(self.away))
        mine = [lies.along] if lies.line is None else [lies.along, lies.line]
        free = self.wide | np.isin(np.arange(len(home)), mine)
        return np.asarray(np.all((self.at == home) | free, axis=1))

    @property
    def place(self) -> Int[np.ndarray, "n 1"]:
        return self.at[:, self.lies.along, None]


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of one format on a machine; `fewest` operands of a `many` part at least."""

    machine: Machine
    format: Format
    fewest: int = 1

    @cached_property
    def places(self) -> dict[int, Place]:
        """By the number of the role."""
        found: dict[int, Place] = {}
        last = Place((0,) * len(self.machine.axes))
        for part in self.format.parts:
            if isinstance(part, Sign):
                last = self._sign(part, last)
                found[self.machine.role_numbers[part.name]] = last
                continue
            found |= self._operand(part)
            lies = found[self.machine.role_numbers[part.role]]
            last = Place((0,) * len(self.machine.axes), part.role, lies.along, lies.line)
        return found

    def _sign(self, part: Sign, last: Place) -> Place:
        """A sign where it is said to stand, or some steps from what was written last."""
        if part.step is None:
            key = next(Format(self.format.axes, (part,), self.format.answer).every())
            return Place(tuple(step - HOME for step in key[3]))
        assert last.sign is not None
        steps = [part.step.get(axis, 0) for axis in self.machine.axes]
        return replace(last, sign=tuple(x + d for x, d in zip(last.sign, steps, strict=True)))

    def _operand(self, part: Given) -> dict[int, Place]:
        """The digits of an operand, and the signs between or within."""
        along, role = self.machine.axes.index(part.along), part.role
        line = self.machine.axes.index(part.many) if part.many else None
        lies = Place(None, "", along, line, part.high_first, False, role, part.filled)
        found = {self.machine.role_numbers[role]: lies}
        if line is not None:
            between = replace(lies, between=True, filled=False, high_first=False)
            found[self.machine.role_numbers[f"{role} between"]] = between
        if part.gap:
            found[self.machine.role_numbers[f"{role} gap"]] = Place((0,) * len(self.machine.axes))
        return found

    @cached_property
    def unknown(self) -> str:
        """What the prompt has that is not known here; nothing if all of it is."""
        for part in self.format.givens:
            if part.multiple != 1:
                return "numbers of digits that are multiples"
            if part.follows:
                return "an operand that goes on from another"
            if part.many and part.gap:
                return "gaps in any number of operands"
        if any(lies.behind and lies.line is not None for lies in self.places.values()):
            return "a sign behind any number of operands"
        return ""

    @cached_property
    def begins(self) -> Bool[np.ndarray, " tokens"]:
        """Which tokens go home on every axis: an operand's first digit does, no other does."""
        return np.asarray(self.machine.moves.home.all(axis=1))

    @cached_property
    def value(self) -> Int[np.ndarray, " tokens"]:
        """The digit of each token, -1 for a sign and for none."""
        values = [-1 if token.value is None else token.value for token in self.machine.tokens]
        return np.array([*values, -1])

    @cached_property
    def allowed(self) -> set[int]:
        """The tokens of this prompt."""
        return {self.machine.numbers[k] for k in self.format.every() if k in self.machine.numbers}

    def candidates(self, role: int) -> Options:
        """What can stand on a square of a prompt role: its tokens, or none."""
        mine = [n for n in np.flatnonzero(self.machine.role == role).tolist() if n in self.allowed]
        return np.array([*mine, len(self.machine.tokens)])

    def alone(self, role: int, at: At, tokens: Options) -> Good:
        """Whether each candidate may stand on a square of that role, whatever lies around.

        An operand of a sum: on square 0 its first digit's tokens and never none, on square 1 the
        other tokens or none, on square -1 none alone.
        """
        none = tokens == len(self.machine.tokens)
        if role not in self.places:
            return np.broadcast_to(none, (len(at), len(tokens)))
        if self.places[role].sign is not None:
            return self._sign_alone(role, at, none)
        return self._digit_alone(role, at, tokens, none)

    def _sign_alone(self, role: int, at: At, none: Which) -> Good:
        """On its square, where it always is; one behind numbers on some square of its line."""
        lies, wide = self.places[role], self.machine.wide[role]
        away = at - np.array(lies.sign)
        here = (away == 0) | wide
        if lies.behind and not wide[lies.along]:
            here[:, lies.along] = away[:, lies.along] >= 0
            return np.where(np.all(here, axis=1)[:, None], True, none)
        return np.where(np.all(here, axis=1)[:, None], ~none, none)

    def _digit_alone(self, role: int, at: At, tokens: Options, none: Which) -> Good:
        """On the squares of its number, or between numbers, and of the first digit its tokens."""
        lies, wide = self.places[role], self.machine.wide[role]
        line = np.zeros(len(at), at.dtype) if lies.line is None else at[:, lies.line]
        others = [a for a in range(at.shape[1]) if a not in (lies.along, lies.line) and not wide[a]]
        away = np.any(at[:, others] != 0, axis=1) | (line < 0)
        place = at[:, lies.along]
        begins = np.append(self.begins, False)[tokens][None, :]
        if lies.between:
            must, never = (line < self.fewest), away | (place != -1) | (line < 1)
            kind = ~none
        else:
            must = (place == 0) & (line < self.fewest)
            never = away | (place < 0)
            kind = np.where(((place == 0) & (line == 0))[:, None], begins, ~begins & ~none)
        present = kind & ~never[:, None]
        return np.where(none, (never | ~must)[:, None], present)

    def together(self, first: tuple[Cell, At, Column], second: tuple[Cell, At, Options]) -> Good:
        """Whether a candidate for the second square agrees with what stands on the first.

        Each square with its role and displacement, its coordinates, and its tokens. Where square 1
        of an operand holds none, square 2 does too; where square 2 holds a digit, so does square 1.
        """
        (one, away_one), at_one, have = first
        (two, away_two), at_two, options = second
        shape, none = (len(have), len(options)), len(self.machine.tokens)
        a, b = self.places.get(one), self.places.get(two)
        if a is None or b is None:
            return np.ones(shape, bool)
        have, options = np.broadcast_arrays(have[:, None], options[None, :])
        x = Square(a, away_one, at_one, have != none, self.value[have], self.machine.wide[one])
        y = Square(
            b, away_two, at_two, options != none, self.value[options], self.machine.wide[two]
        )
        lined = (x.lined & y.lined)[:, None]
        if at_home(first[0]) or at_home(second[0]):
            return np.asarray(any_digits(x, y) | ~lined)
        good = behind(x, y, self.filled) & behind(y, x, self.filled) & side_by_side(x, y)
        return np.asarray(good | ~lined)

    @cached_property
    def filled(self) -> frozenset[str]:
        """The operands that zeros fill up to the longest: all of one length."""
        parts = self.format.givens
        return frozenset(part.role for part in parts if part.filled and not part.many)

    def spare(self, cells: Sequence[Cell], at: Sequence[At], rows: np.ndarray) -> Mask:
        """Rows in which all filled operands begin with 0 and none is a single digit.

        Zeros fill operands up to the longest, so one of them has another first digit. `at` has the
        coordinates of each cell, the first columns of `rows` what stands there.
        """
        longer = np.zeros(len(rows), bool)
        heads = dict.fromkeys(self.filled, longer)
        for cell, where, tokens in zip(cells, at, rows.T, strict=False):
            lies = self.places.get(cell[0])
            if lies is None or lies.group not in heads or not lies.high_first or at_home(cell):
                continue
            there, place = self.inside(cell[0], where), where[:, lies.along]
            head = there & (place == 0) & (self.value[tokens] == 0)
            heads[lies.group] = heads[lies.group] | head
            longer = longer | there & (place > 0) & (tokens < len(self.machine.tokens))
        return np.asarray(longer & np.all(list(heads.values()), axis=0)) if heads else longer

    def inside(self, role: int, at: At) -> Mask:
        """Whether each square is one on which the prompt can have a token of that role."""
        if role not in self.places:
            return np.zeros(len(at), bool)
        return np.asarray(self.alone(role, at, self.candidates(role))[:, :-1].any(axis=1))


def behind(sign: Square, other: Square, filled: Set[str]) -> Good:
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


def side_by_side(one: Square, two: Square) -> Good:
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


def any_digits(one: Square, two: Square) -> Good:
    """What two squares say of each other where it is not known which digits they have."""
    line = one.lies.line
    same = one.lies.group == two.lies.group and line is not None
    if not same or fixed(one.away[line or 0]) != fixed(two.away[line or 0]):
        return np.ones_like(one.there)
    return _lines(one, two)


def _lines(one: Square, two: Square) -> Good:
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


def _number(lower: Square, upper: Square) -> Good:
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
