"""All prompts of a format as a language of columns, and the problem that such a word spells.

Operands lie side by side from square 0 on, so prompts are read column by column. Each operand,
with what is written behind it, is a *chain*; a column holds the next token of each chain. Lowest
digits first, `21+43=` has the columns

    `+` `=`     square -1, on which the pen stands
    a 2  b 4    square 0
    a 1  b 3    square 1

A number may end behind any digit but 0, and behind a single 0. Operands that zeros fill up end
together, and one of them has no zero at its head.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from curta.config.errors import UserError
from curta.problems.numerals import to_number
from curta.programs.machine.machine import Machine
from curta.programs.machine.prompt import Format, Given, Part, Sign
from curta.programs.proof.words import BLANK, MARK, PEN, ROLES, RowNumbers, Words

MOST = 40_000
"""Ways to fill one column of a prompt."""


class UnprovableError(UserError):
    """Raised for programs outside the method; their lists stay saturated."""


class Paper:
    """The columns of a machine's paper along one axis, as letters."""

    def __init__(
        self, machine: Machine, axis: int, roles: Sequence[int], marks: Sequence[int]
    ) -> None:
        """`roles` are those that stand on columns; `marks` the squares to which home moves lead."""
        self.machine, self.axis, self.marks = machine, axis, list(marks)
        self.cell = {role: ROLES + number for number, role in enumerate(roles)}
        """Where in a letter the token of a role is."""
        self.letters = RowNumbers(ROLES + len(roles))
        assert self.letter({}) == BLANK

    def letter(self, tokens: dict[int, int], square: int | None = None, pen: int = -1) -> int:
        """Return the letter of a column with these tokens, by role."""
        row = np.full((1, self.letters.rows.shape[1]), -1)
        row[0, MARK] = self.marks.index(square) if square in self.marks else -1
        row[0, PEN] = pen
        for role, token in tokens.items():
            if role in self.cell:
                row[0, self.cell[role]] = token
        return int(self.letters.number(row)[0])


class Link(NamedTuple):
    """A part of a chain: its role, and its tokens by digit (a sign has one)."""

    part: Part
    role: int
    first: list[int]
    others: list[int]
    gap: dict[int, int]
    """What stands on the square of the first digit too, by role."""


State = tuple[int, bool]
"""Which link of a chain comes next, and whether some of its digits have been written."""


class Step(NamedTuple):
    """What one chain has on one column."""

    tokens: dict[int, int]
    after: State
    filled: tuple[bool, bool, bool] | None
    """Of a digit that zeros may fill up: is it the last one, is it the head, is it no padding?"""


class Prompts:
    """The prompts of one format; UnprovableError where these are not modelled."""

    def __init__(self, machine: Machine, form: Format, axis: int) -> None:
        self.machine, self.form, self.axis = machine, form, axis
        self.chains: list[list[Link]] = []
        self.everywhere: dict[int, int] = {}
        """Tokens that are found from every square, by role."""
        self.before: dict[int, dict[int, int]] = defaultdict(dict)
        """Tokens on squares before square 0, by square and role."""
        for part in form.parts:
            self._enter(part)
        last, filled = form.parts[-1], [part for part in form.givens if part.filled]
        if len({part.name for part in form.parts}) < len(form.parts):
            raise UnprovableError("two parts of the prompt have one role")
        if len({part.high_first for part in filled}) > 1 or any(part.follows for part in filled):
            raise UnprovableError("zeros fill up operands of different order")
        if not isinstance(last, Sign) or not self.chains:
            raise UnprovableError("the prompt has no operand, or no sign at its end")
        self.role = machine.role_numbers[last.name]
        if last.step is not None and self.chains[-1][-1].role != self.role:
            raise UnprovableError("the prompt's last sign is not beside its last operand")
        self.pen = int(np.flatnonzero(machine.role == self.role)[0])
        """The token that is written last."""

    def _enter(self, part: Part) -> None:
        machine, role = self.machine, self.machine.role_numbers[part.name]
        keys = Format(self.form.axes, (part,), self.form.answer).every()
        tokens = [machine.numbers[key] for key in keys]
        offset = machine.moves.offset[tokens[0]].tolist()
        square = offset.pop(self.axis)
        wide = machine.broadcast_mask[role].tolist()
        if isinstance(part, Given):
            along = self.form.axes.index(part.along)
            if along != self.axis or part.many or wide[self.axis]:
                raise UnprovableError("the prompt has operands along another axis")
            if part.multiple > 1 or (part.follows and not self.chains):
                raise UnprovableError("the prompt has an operand of another kind")
            size, gap = (3 if part.gap else 2), dict[int, int]()
            if part.gap:
                gap[machine.role_numbers[f"{part.role} gap"]] = tokens[1]
            if not part.follows:
                self.chains.append([])
            self.chains[-1].append(Link(part, role, tokens[::size], tokens[size - 1 :: size], gap))
            return
        if any(offset) or (wide[self.axis] and part.step is not None):
            raise UnprovableError("a sign of the prompt stands on another axis")
        if part.step is not None:
            if not self.chains or square not in (0, 1):
                raise UnprovableError("a sign of the prompt is not beside an operand")
            self.chains[-1].append(Link(part, role, tokens, tokens, {}))
        elif wide[self.axis]:
            self.everywhere[role] = tokens[0]
        elif square >= 0:
            raise UnprovableError("a sign of the prompt stands among the operands")
        else:
            self.before[square][role] = tokens[0]

    def words(self, paper: Paper) -> Words:
        """Return all prompts, with one way through the automaton for each."""
        last = self.form.parts[-1]
        assert isinstance(last, Sign)
        beside = last.step is not None
        if self.role in self.everywhere:
            raise UnprovableError("the prompt's last sign is found from everywhere")
        begin = (True, ((0, False),) * len(self.chains))
        edges: dict[object, list[tuple[int, object]]] = {"blank": [(BLANK, "blank")]}
        here: object = "blank"
        for square in range(min([0, *self.before, *paper.marks]), 0):
            tokens = self.before.get(square, {})
            letter = paper.letter(tokens, square, -1 if beside else tokens.get(self.role, -1))
            if letter != BLANK or here != "blank":
                to: object = begin if square == -1 else square + 1
                edges.setdefault(here, []).append((letter, to))
                here = to
        waiting = [begin]
        while waiting:
            at = origin, states = waiting.pop()
            if at in edges:
                continue
            edges[at] = []
            for tokens, after in self._columns(states):
                pen = tokens.get(self.role, -1) if beside else -1
                edges[at].append((paper.letter(tokens, 0 if origin else None, pen), (False, after)))
                waiting.append((False, after))
        if here == "blank":
            edges[here] += edges[begin]
        return _determined(edges, "blank")

    def _columns(
        self, states: tuple[State, ...]
    ) -> Iterator[tuple[dict[int, int], tuple[State, ...]]]:
        """Yield the tokens that all chains together may have on one column, and what is next."""
        pairs = zip(self.chains, states, strict=True)
        each = [list(self._steps(chain, *at)) for chain, at in pairs]
        if math.prod(map(len, each)) > MOST:
            raise UnprovableError("there are too many different columns")
        for steps in itertools.product(*each):
            filled = [step.filled for step in steps if step.filled]
            heads = [sound for _, head, sound in filled if head]
            if len({end for end, _, _ in filled}) > 1 or (heads and not any(heads)):
                continue
            tokens = {role: token for step in steps for role, token in step.tokens.items()}
            yield tokens, tuple(step.after for step in steps)

    def _steps(self, chain: list[Link], number: int, begun: bool) -> Iterator[Step]:
        """Yield what a chain may have on the next column; nothing behind its end."""
        if number < 0:
            yield Step({}, (-1, False), None)
            return
        link = chain[number]
        if isinstance(link.part, Sign):
            yield self._beside(chain, number, {link.role: link.first[0]}, None)
            return
        for digit, end in itertools.product(range(link.part.base), (False, True)):
            head = not begun if link.part.high_first else end
            sound = not head or digit > 0 or (end and not begun)
            if sound or link.part.filled:
                tokens = {link.role: (link.others if begun else link.first)[digit]}
                tokens |= {} if begun else link.gap
                filled = (end, head, sound) if link.part.filled else None
                if end:
                    yield self._beside(chain, number, tokens, filled)
                else:
                    yield Step(tokens, (number, True), filled)

    def _beside(
        self,
        chain: list[Link],
        number: int,
        tokens: dict[int, int],
        filled: tuple[bool, bool, bool] | None,
    ) -> Step:
        """The end of a link, with the operators on the same square."""
        for link in chain[number + 1 :]:
            number += 1
            if isinstance(link.part, Given) or self.machine.moves.offset[link.first[0], self.axis]:
                return Step(tokens, (number, False), filled)
            tokens[link.role] = link.first[0]
        return Step(tokens, (-1, False), filled)

    def operands(self, paper: Paper, word: Sequence[int]) -> tuple[int, ...]:
        """Return the problem whose prompt this word is."""
        columns, operands = paper.letters.rows[list(word)], list[int]()
        for part in self.form.givens:
            tokens = columns[:, paper.cell[self.machine.role_numbers[part.name]]]
            digits = [self.machine.tokens[token].value or 0 for token in tokens[tokens >= 0]]
            operands.append(to_number(digits[::-1] if part.high_first else digits, part.base))
        return tuple(operands)


def _determined(edges: dict[object, list[tuple[int, object]]], first: object) -> Words:
    """Return the language with one way for each word: by sets of states, from the first one on.

    Words end in the one state, besides the first, that a blank column does not leave.
    """
    names: dict[frozenset[object], int] = {frozenset([first]): 0}
    found, waiting = list[tuple[int, int, int]](), list(names)
    for states in waiting:
        following = defaultdict(set)
        for state in states:
            for letter, to in edges[state]:
                following[letter].add(to)
        for letter, reached in following.items():
            key = frozenset(reached)
            if key not in names:
                names[key] = len(names)
                waiting.append(key)
            found.append((names[states], letter, names[key]))
    source, letters, target = np.array(found).T
    start = np.arange(len(names)) == 0
    last = np.zeros(len(names), bool)
    last[source[(source == target) & (letters == BLANK)]] = True
    return Words(source, letters, letters, target, start, last & ~start).trim().language()
