"""A problem put together from the pieces of its prompt that views show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from curta.problems.notation import to_number
from curta.programs.machine.prompt import Given
from curta.programs.proof.rules import Cell, Place, Rules, at_home

FILL = 1
"""The digit of a square that no view showed."""


Piece = tuple[int, Sequence[int], Sequence[int]]
"""The role of a view's token, the view's row, and the square on which the token stands."""

Digits = dict[tuple[str, int], dict[int, int]]
"""By role and line: digits by place."""


class Speller:
    """Which digits of a prompt views show, as operands."""

    def __init__(self, rules: Rules, views: Mapping[int, Sequence[Cell]]) -> None:
        """`views` are the squares of each role's view."""
        self.rules = rules
        self._cells = {of: list(self._of_prompt(cells)) for of, cells in views.items()}
        self._none = len(rules.machine.tokens)

    def _of_prompt(
        self, cells: Sequence[Cell]
    ) -> Iterator[tuple[int, Place, tuple[int, ...], list[int]]]:
        """Columns of squares of the prompt, and the axes on which such a square is at 0."""
        for column, (role, displacement) in enumerate(cells):
            lies = self.rules.places.get(role)
            if lies is None or not lies.group or at_home((role, displacement)):
                continue
            wide = self.rules.machine.wide[role].tolist()
            along = (lies.along, lies.line)
            apart = [axis for axis, w in enumerate(wide) if axis not in along and not w]
            yield column, lies, displacement, apart

    def operands(self, shown: Iterable[Piece]) -> tuple[int, ...]:
        """The operands of which these pieces are seen, with other digits where nothing is known."""
        digits: Digits = {}
        for of, row, at in shown:
            for column, lies, displacement, apart in self._cells[of]:
                if row[column] == self._none:
                    continue
                square = [x + d for x, d in zip(at, displacement, strict=True)]
                line = 0 if lies.line is None else square[lies.line]
                known, place = digits.setdefault((lies.group, line), {}), square[lies.along]
                if not lies.between and place >= 0 and not any(square[axis] for axis in apart):
                    known[place] = int(self.rules.value[row[column]])
        return self._operands(digits)

    def _operands(self, digits: Digits) -> tuple[int, ...]:
        found = []
        for part in self.rules.format.givens:
            lines = [line for of, line in digits if of == part.role and part.many]
            count = max([*lines, self.rules.fewest - 1, 0]) + 1 if part.many else 1
            found += [_number(part, digits.get((part.role, n), {})) for n in range(count)]
        return tuple(found)


def _number(part: Given, digits: Mapping[int, int]) -> int:
    size = max(digits, default=0) + 1
    head = 0 if part.high_first else size - 1
    number = [digits.get(place, FILL) for place in range(size)]
    if size > 1 and number[head] == 0 and not part.high_first:
        number.append(FILL)
    return to_number(number[::-1] if part.high_first else number, part.base)
