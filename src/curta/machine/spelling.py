"""A problem put together from the pieces of its prompt that views show."""

from collections.abc import Sequence

from .beside import Cell, at_home
from .prompt import Given
from .rules import Rules
from .tokens import to_number

FILL = 1
"""The digit of a square that no view showed."""


class Shown:
    """Squares of a prompt: which digits stand there."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.values = rules.values
        self.digits: dict[tuple[str, int], dict[int, int]] = {}
        """By role and line: digits by place."""

    def add(self, cells: Sequence[Cell], row: Sequence[int], at: Sequence[int]) -> None:
        """What a view shows whose token stands on that square."""
        none, places = len(self.rules.machine.tokens), self.rules.places
        for (role, displacement), token in zip(cells, row, strict=False):
            lies = places.get(role)
            if token == none or lies is None or not lies.group or at_home((role, displacement)):
                continue
            square = [x + d for x, d in zip(at, displacement, strict=True)]
            line = 0 if lies.line is None else square[lies.line]
            digits = self.digits.setdefault((lies.group, line), {})
            if not lies.between and self._inside(role, square):
                digits[square[lies.along]] = self.values[token]

    def _inside(self, role: int, square: Sequence[int]) -> bool:
        """Whether a digit there is the prompt's, and not written later."""
        lies, wide = self.rules.places[role], self.rules.machine.wide[role]
        apart = [x for axis, x in enumerate(square) if axis not in (lies.along, lies.line)]
        spare = [w for axis, w in enumerate(wide) if axis not in (lies.along, lies.line)]
        return square[lies.along] >= 0 and all(
            x == 0 or w for x, w in zip(apart, spare, strict=True)
        )

    def operands(self) -> tuple[int, ...]:
        """The operands, with other digits where nothing is known."""
        found = []
        for part in self.rules.format.parts:
            if isinstance(part, Given):
                lines = [line for of, line in self.digits if of == part.role and part.many]
                count = max([*lines, self.rules.fewest - 1, 0]) + 1 if part.many else 1
                found += [self._number(part, line) for line in range(count)]
        return tuple(found)

    def _number(self, part: Given, line: int) -> int:
        digits = self.digits.get((part.role, line), {})
        size = max(digits, default=0) + 1
        head = 0 if part.high_first else size - 1
        number = [digits.get(place, FILL) for place in range(size)]
        if size > 1 and number[head] == 0 and not part.high_first:
            number.append(FILL)
        return to_number(number[::-1] if part.high_first else number, part.base)
