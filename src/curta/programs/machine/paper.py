"""Squared paper: programs move a pen on it and write symbols into squares.

A program is a Python function that takes a `Paper` and the digits of its operands:

    paper.move(place=+1).write("sum", 7, carry=1)

writes `7¹` one square further along the axis `place`. The paper records each symbol as a token: the
symbol, its role, and the move since the previous token.
"""

from typing import NamedTuple

from curta.config.errors import UserError, unknown
from curta.problems.numerals import DIGITS

HOME = 1 << 16
"""A move on one axis is an offset from the last token's square, or HOME plus an offset from the
origin: `-1` is one square back, `HOME - 1` the square before the origin."""

END = "$"
"""The symbol of the token that ends a text; its role is `end`."""

CARRIES = "⁰¹²³⁴⁵⁶⁷⁸⁹"
"""A digit's carry, written small beside it: `7¹`; nothing for a carry of 0."""


class Token(NamedTuple):
    """One entry of a vocabulary."""

    symbol: str
    """The symbol as displayed, such as `7¹`."""
    role: str
    """The part that the token plays, such as `sum`."""
    move: tuple[int, ...]
    """The move of the pen since the previous token, on each axis; see `HOME`."""
    value: int | None = None
    """The digit's value; None for a sign."""
    carry: int = 0
    """The carry written small beside the digit."""

    @property
    def text(self) -> str:
        """Symbol, role and move, as vocabularies and tables show them."""
        return " ".join([self.symbol, self.role, *map(arrow, self.move)])


def arrow(move: int) -> str:
    """Format a move on one axis: `+1`, `0`, `-1`, `home`, `home-1`."""
    if abs(move) < HOME // 2:
        return f"{move:+d}" if move else "0"
    return f"home{move - HOME:+d}" if move != HOME else "home"


TokenKey = tuple[int | str, str, int, tuple[int, ...]]
"""The four things that identify a token: digit or sign, role, carry, move."""


class ProgramError(UserError):
    """A program that cannot be recorded."""


class Vocabulary(dict[TokenKey, int]):
    """Token numbers by what was written; a new token gets the next one."""

    def __missing__(self, key: TokenKey) -> int:
        """Enter a new token; raise ProgramError for an invalid symbol, role, carry or move."""
        symbol, role, carry, move = key
        is_count = lambda value: isinstance(value, int) and value >= 0
        if not isinstance(role, str) or not role:
            raise ProgramError(f"a role must be a name, such as 'sum' (got {role!r})")
        if not (isinstance(symbol, str) and symbol) and not is_count(symbol):
            raise ProgramError(f"a symbol must be a digit from 0 up, or a sign (got {symbol!r})")
        if not is_count(carry) or carry >= len(CARRIES):
            raise ProgramError(f"a carry must be a digit (got {carry!r})")
        if not all(isinstance(step, int) for step in move):
            raise ProgramError(f"the pen moves by whole squares (got {', '.join(map(str, move))})")
        return self.setdefault(key, len(self))

    @property
    def tokens(self) -> list[Token]:
        """The tokens in the order of their numbers."""
        return [token_of(*key) for key in self]


class FixedVocabulary(Vocabulary):
    """Token numbers of a machine, to which none is added."""

    def __missing__(self, key: TokenKey) -> int:
        raise ProgramError(f"{token_of(*key).text!r} was written, which the machine does not have")


class Paper:
    """Squared paper on which an algorithm writes, and the pen's position.

    Axes are numbered from the origin, square 0. The methods return the paper, so calls can be
    chained.

    Example::

        paper.move(place=+1).write("sum", 7, carry=1)
    """

    def __init__(self, axes: tuple[str, ...], vocabulary: Vocabulary, limit: int) -> None:
        self.axes = axes
        """The names of the axes."""
        self.tokens: list[int] = []
        """The numbers of the tokens written so far."""
        self.limit = limit
        """The most tokens of one text."""
        self._numbers = vocabulary
        self._index = {axis: number for number, axis in enumerate(axes)}
        self._still = [0] * len(axes)  # no move on any axis
        self._move = [0] * len(axes)

    def move(self, **steps: int) -> "Paper":
        """Move the pen relative to its square.

        Args:
            steps: Number of squares on each axis, such as `place=+1`.

        Raises:
            ProgramError: There is no such axis.
        """
        for axis, step in steps.items():
            if axis not in self._index:
                raise ProgramError(str(unknown("axis", axis, self.axes)))
            self._move[self._index[axis]] += step
        return self

    def home(self, *axes: str) -> "Paper":
        """Move the pen to square 0.

        Args:
            axes: Axes on which to move; all by default.

        Raises:
            ProgramError: There is no such axis.
        """
        for axis in axes or self.axes:
            if axis not in self._index:
                raise ProgramError(str(unknown("axis", axis, self.axes)))
            self._move[self._index[axis]] = HOME
        return self

    def write(self, role: str, symbol: int | str, carry: int = 0) -> "Paper":
        """Write one symbol into the pen's square.

        Args:
            role: Part that the symbol plays, such as `sum`.
            symbol: A digit as a number, or a sign as text.
            carry: A digit to write small beside it.

        Raises:
            ProgramError: An argument is invalid, or the text is too long.
        """
        key = (symbol, role, carry, tuple(self._move))
        self.tokens.append(self._numbers[key])
        self._move = self._still.copy()
        if len(self.tokens) > self.limit:
            raise ProgramError(f"more than {self.limit:,} tokens were written (does it ever end?)")
        return self

    def end(self) -> None:
        """Write the sign `$` that ends the text."""
        self.write("end", END)


def token_of(symbol: int | str, role: str, carry: int, move: tuple[int, ...]) -> Token:
    """Return the token with this symbol, role, carry and move.

    A digit's symbol is `7`, `7¹`, `f`; `(96)` beyond the digits that have a character.
    """
    if isinstance(symbol, str):
        return Token(symbol, role, move, None, carry)
    digit = DIGITS[symbol] if symbol < len(DIGITS) else f"({symbol})"
    return Token(digit + CARRIES[carry] if carry else digit, role, move, symbol, carry)
