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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from curta.problems.numerals import to_number
from curta.programs.machine.machine import Machine
from curta.programs.machine.prompt import Format, Given, Part, Sign
from curta.programs.machine.recording import WindowIndex
from curta.programs.proof.words import (
    BLANK,
    MARK,
    PEN,
    ROLES,
    Column,
    UnprovableError,
    Words,
)

MOST = 40_000
"""Ways to fill one column of a prompt."""


Cell = tuple[int, tuple[int, ...]]
"""A role, and how far from the pen's square it stands on each axis: 0 on that of the sweeps, and
0 on those on which the role is found from everywhere."""


class ColumnPaper:
    """The columns of a machine's paper along one axis, as letters."""

    def __init__(
        self, machine: Machine, axis: int, cells: Sequence[Cell], marks: Sequence[int]
    ) -> None:
        """`cells` are those of columns; `marks` the squares to which home moves lead."""
        self.machine, self.axis, self.marks = machine, axis, list(marks)
        self.cell = {cell: ROLES + number for number, cell in enumerate(cells)}
        """Where in a letter the token of a cell is."""
        self.letters = WindowIndex(ROLES + len(cells))
        assert self.letter({}) == BLANK

    def letter(self, tokens: dict[Cell, int], square: int | None = None, pen: int = -1) -> int:
        """Return the letter of a column with these tokens."""
        row = np.full((1, self.letters.rows.shape[1]), -1)
        row[0, MARK] = self.marks.index(square) if square in self.marks else -1
        row[0, PEN] = pen
        for cell, token in tokens.items():
            if cell in self.cell:
                row[0, self.cell[cell]] = token
        return int(self.letters.number(row)[0])


def cell_at(machine: Machine, axis: int, role: int, moved: Sequence[int]) -> Cell:
    """Return the cell of a role so far from the pen."""
    fixed = machine.broadcast_mask[role].tolist()
    fixed[axis] = True
    return role, tuple(0 if zero else by for zero, by in zip(fixed, moved, strict=True))


class Link(NamedTuple):
    """A part of a chain: its cell, and its tokens by digit (a sign has one)."""

    part: Part
    cell: Cell
    first: list[int]
    others: list[int]
    gap: dict[Cell, int]
    """Further tokens on the square of the first digit, by cell."""


State = tuple[int, bool]
"""Which link of a chain comes next, and whether some of its digits have been written."""


class ChainStep(NamedTuple):
    """The tokens of one chain in one column, and the state after it."""

    tokens: dict[Cell, int]
    after: State
    filled: tuple[bool, bool, bool] | None
    """For a digit that may be padded by zeros: is it the last, is it the head, is it no padding?"""


def _on_line(cell: Cell, axis: int, moved: int) -> Cell:
    role, still = cell
    return role, (*still[:axis], moved, *still[axis + 1 :])


class Feed(NamedTuple):
    """An operand along another axis: a digit a line, found from everywhere on that line."""

    part: Given
    role: int
    axis: int
    chain: list[Link]

    def cell(self, moved: int) -> Cell:
        """Return the cell of its digit so many lines from the pen's."""
        return _on_line(self.chain[0].cell, self.axis, moved)


class OperandLines(NamedTuple):
    """Operands on one line each, along the axis of the sweeps: one or more of them.

    Behind the first, each has a sign before it, which says that there is one more.
    """

    axis: int
    link: Link
    sign: Cell
    sign_token: int
    sign_placed: bool
    """Whether the sign is found on its own square alone."""
    filled: bool
    """Whether zeros fill up the operands, so that all are equally long."""

    def cell(self, moved: int) -> Cell:
        """Return the cell of the digits of the operand so many lines from the pen's."""
        return _on_line(self.link.cell, self.axis, moved)

    def sign_cell(self, moved: int) -> Cell:
        """Return the cell of the sign on the line so many lines from the pen's."""
        return _on_line(self.sign, self.axis, moved)


class PromptLanguage:
    """The prompts of one format; UnprovableError where these are not modelled."""

    def __init__(self, machine: Machine, form: Format, axis: int) -> None:
        self.machine, self.form, self.axis = machine, form, axis
        self.chains: list[list[Link]] = []
        self.feeds: list[Feed] = []
        self.lines: OperandLines | None = None
        self.everywhere: dict[Cell, int] = {}
        """Tokens that are found from every square of the axis."""
        self.before: dict[int, dict[Cell, int]] = defaultdict(dict)
        """Tokens on squares before square 0, by square."""
        last, filled = form.prompt_parts[-1], [part for part in form.givens if part.filled]
        if not isinstance(last, Sign):
            raise UnprovableError("the prompt has no sign at its end")
        self.role = machine.role_numbers[last.name]
        self.pen = int(np.flatnonzero(machine.role == self.role)[0])
        """The token that is written last."""
        self.line = machine.moves.offset[self.pen].tolist()
        """Where it stands on the other axes."""
        self.line[axis] = 0
        for part in form.prompt_parts:
            self._enter(part)
        if len({part.name for part in form.prompt_parts}) < len(form.prompt_parts):
            raise UnprovableError("two parts of the prompt have one role")
        if len({part.high_first for part in filled}) > 1 or any(part.follows for part in filled):
            raise UnprovableError("zeros fill up operands of different order")
        if not self.chains and not self.feeds and not self.lines:
            raise UnprovableError("the prompt has no operand")
        if last.step is not None and (
            any(self.line) or not self.chains or self.chains[-1][-1].cell[0] != self.role
        ):
            raise UnprovableError("the prompt's last sign is not beside its last operand")

    def _enter(self, part: Part) -> None:
        machine, role = self.machine, self.machine.role_numbers[part.name]
        keys = Format(self.form.axes, (part,), self.form.answer).every()
        tokens = [machine.numbers[key] for key in keys]
        offset = machine.moves.offset[tokens[0]]
        square, wide = int(offset[self.axis]), bool(machine.broadcast_mask[role, self.axis])

        def place(role: int, at: np.ndarray) -> Cell:
            return cell_at(machine, self.axis, role, (at - self.line).tolist())

        origin = np.zeros_like(offset)
        if isinstance(part, Given):
            along = self.form.axes.index(part.along)
            special = along != self.axis and (part.filled or part.gap or part.follows)
            if special or part.multiple > 1 or (part.follows and not self.chains):
                raise UnprovableError("the prompt has an operand of another kind")
            size, gap = 2, dict[Cell, int]()
            if part.gap:
                size = 3
                gap[place(machine.role_numbers[f"{part.role} gap"], origin)] = tokens[1]
            link = Link(part, place(role, origin), tokens[::size], tokens[size - 1 :: size], gap)
            if part.many:
                self._enter_lines(part, link, wide)
                return
            if along != self.axis:
                if not wide or machine.broadcast_mask[role, along]:
                    raise UnprovableError(
                        f"operand {part.role!r} lies along {part.along!r} and is not found from"
                        f" everywhere on {machine.axes[self.axis]!r}"
                    )
                self.feeds.append(Feed(part, role, along, [link]))
                return
            if wide:
                raise UnprovableError("an operand is found from everywhere along its own axis")
            if not part.follows:
                self.chains.append([])
            self.chains[-1].append(link)
        elif part.step is not None:
            aside = np.delete(offset, self.axis).any()
            if not self.chains or square not in (0, 1) or wide or aside:
                raise UnprovableError("a sign of the prompt is not beside an operand")
            self.chains[-1].append(Link(part, place(role, origin), tokens, tokens, {}))
        elif wide:
            self.everywhere[place(role, offset)] = tokens[0]
        elif square >= 0:
            raise UnprovableError("a sign of the prompt stands among the operands")
        else:
            self.before[square][place(role, offset)] = tokens[0]

    def _enter_lines(self, part: Given, link: Link, wide: bool) -> None:
        """Enter any number of operands, each on a line."""
        machine, axis = self.machine, self.machine.axes.index(part.many or "")
        sign = machine.role_numbers[f"{part.role} between"]
        fixed = machine.broadcast_mask
        if axis == self.axis or part.along != machine.axes[self.axis] or wide:
            raise UnprovableError("the prompt has any number of operands")
        if part.gap or part.follows or fixed[link.cell[0], axis]:
            raise UnprovableError("the prompt has any number of operands of another kind")
        keys = list(Format(self.form.axes, (part,), self.form.answer).every())
        digits = [machine.numbers[key] for key in keys if key[1] == part.role]
        token = next(machine.numbers[key] for key in keys if key[1] != part.role)
        # of each digit: at the head of the first operand, behind others, and twice of further ones
        link = link._replace(
            first=digits[0 : 2 * part.base : 2], others=digits[1 : 2 * part.base : 2]
        )
        still = [-by for by in self.line]
        placed = not fixed[sign, [axis, self.axis]].any()
        cell = cell_at(machine, self.axis, sign, still)
        self.lines = OperandLines(axis, link, cell, token, placed, part.filled)

    def following(self, feed: Feed, states: frozenset[State]) -> dict[int, frozenset[State]]:
        """Return the digits of an operand that may come into sight next, -1 for none.

        Each with the states behind it: a number may end behind any digit but 0.
        """
        after = defaultdict[int, set[State]](set)
        for state in states:
            for step in self._steps(feed.chain, *state):
                after[next(iter(step.tokens.values()), -1)].add(step.after)
        return {token: frozenset(reached) for token, reached in after.items()}

    def words(self, paper: ColumnPaper) -> Words:
        """Return all prompts, with one way through the automaton for each."""
        last = self.form.prompt_parts[-1]
        assert isinstance(last, Sign)
        beside, stand = last.step is not None, int(self.machine.moves.offset[self.pen, self.axis])
        if not beside and stand >= 0:
            raise UnprovableError("the prompt's last sign stands among the operands")
        begin = (True, ((0, False),) * len(self.chains))
        edges: dict[object, list[tuple[int, object]]] = {"blank": [(BLANK, "blank")]}
        here: object = "blank"
        for square in range(min([stand, 0, *self.before, *paper.marks]), 0):
            tokens = self.before.get(square, {})
            pen = self.pen if not beside and square == stand else -1
            letter = paper.letter(tokens, square, pen)
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
                pen = self.pen if beside and self.pen in tokens.values() else -1
                edges[at].append((paper.letter(tokens, 0 if origin else None, pen), (False, after)))
                waiting.append((False, after))
        if here == "blank":
            edges[here] += edges[begin]
        return _determined(edges, "blank")

    def with_lines(
        self,
        papers: Words,
        paper: ColumnPaper,
        fresh: Sequence[tuple[str, int]],
        in_step: Collection[Cell],
    ) -> Words:
        """Return papers with operands and signs on lines so far from the pen's.

        Operands that zeros fill up are as long as the numbers of the cells `in_step`.
        """
        for kind, moved in fresh:
            assert self.lines is not None
            is_sign = kind == "sign"
            cell = self.lines.sign_cell(moved) if is_sign else self.lines.cell(moved)
            if (column := paper.cell.get(cell)) is None:
                continue
            if is_sign:
                rows = paper.letters.rows.copy()
                rows[rows[:, MARK] == paper.marks.index(-1), column] = self.lines.sign_token
                papers = papers.rewrite(paper.letters.number(rows))
                papers = replace(papers, read=papers.write)
            else:
                columns = [paper.cell[other] for other in in_step if other in paper.cell]
                papers = self._with_operand(papers, paper, column, columns, first=kind == "first")
                in_step = [*in_step, cell]
        return papers

    def _with_operand(
        self,
        papers: Words,
        paper: ColumnPaper,
        column: int,
        in_step: Sequence[int],
        first: bool,
    ) -> Words:
        """Return papers with any operand in a column of their letters.

        Their states have beside them how far the operand has come. One that zeros fill up stands
        on the same squares as the numbers in the columns `in_step`, if there are any.
        """
        assert self.lines is not None
        link, filled, begin = self.lines.link, self.lines.filled, (0, False)
        chain = [link if first else link._replace(first=link.others)]
        used = np.unique(papers.write)
        rows = paper.letters.rows[used]
        origin, size = rows[:, MARK] == paper.marks.index(0), len(paper.letters)
        others = (rows[:, list(in_step)] >= 0).any(axis=1)

        def step(
            state: int, at_origin: bool, token: int, to: int, beside: bool | None
        ) -> tuple[int, Column, Column]:
            """Write a token on the columns that are square 0, or on all others."""
            chosen, rewrite = origin == at_origin, np.full(size, -1)
            if filled:
                chosen &= others == bool(beside and token >= 0)
            letters = rows[chosen]
            letters[:, column] = token
            rewrite[used[chosen]] = paper.letters.number(letters)
            return state, rewrite, np.full(size, to)

        # whether there are other numbers is guessed at square 0
        guesses = (False, True) if filled else (False,)
        waiting: list[tuple[bool | None, State]] = [(None, begin)]
        numbers = {waiting[0]: 0}
        steps = [step(0, False, -1, 0, None)]
        for beside, state in waiting:
            for way in self._steps(chain, *state):
                token = next(iter(way.tokens.values()), -1)
                for guess in guesses if beside is None else (beside,):
                    to = guess, way.after
                    if to not in numbers:
                        numbers[to] = len(numbers)
                        waiting.append(to)
                    source = numbers[beside, state]
                    steps.append(step(source, beside is None, token, numbers[to], guess))
        words = papers.translate(steps, [numbers[guess, (-1, False)] for guess in guesses])
        return replace(words, read=words.write)

    def _columns(
        self, states: tuple[State, ...]
    ) -> Iterator[tuple[dict[Cell, int], tuple[State, ...]]]:
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
            tokens = {cell: token for step in steps for cell, token in step.tokens.items()}
            yield tokens, tuple(step.after for step in steps)

    def _steps(self, chain: list[Link], number: int, begun: bool) -> Iterator[ChainStep]:
        """Yield what a chain may have on the next column; nothing behind its end."""
        if number < 0:
            yield ChainStep({}, (-1, False), None)
            return
        link = chain[number]
        if isinstance(link.part, Sign):
            yield self._beside(chain, number, {link.cell: link.first[0]}, None)
            return
        for digit, end in itertools.product(range(link.part.base), (False, True)):
            head = not begun if link.part.high_first else end
            sound = not head or digit > 0 or (end and not begun and not link.part.positive)
            if sound or link.part.filled:
                tokens = {link.cell: (link.others if begun else link.first)[digit]}
                tokens |= {} if begun else link.gap
                filled = (end, head, sound) if link.part.filled else None
                if end:
                    yield self._beside(chain, number, tokens, filled)
                else:
                    yield ChainStep(tokens, (number, True), filled)

    def _beside(
        self,
        chain: list[Link],
        number: int,
        tokens: dict[Cell, int],
        filled: tuple[bool, bool, bool] | None,
    ) -> ChainStep:
        """Return the end of a link, with the operators on the same square."""
        for link in chain[number + 1 :]:
            number += 1
            if isinstance(link.part, Given) or self.machine.moves.offset[link.first[0], self.axis]:
                return ChainStep(tokens, (number, False), filled)
            tokens[link.cell] = link.first[0]
        return ChainStep(tokens, (-1, False), filled)

    def operands(
        self,
        paper: ColumnPaper,
        word: Sequence[int],
        feeds: Sequence[Sequence[int]],
        lines: Sequence[Sequence[int]],
    ) -> tuple[int, ...]:
        """Return the problem whose prompt this word is, with so many tokens of feeds and lines."""
        columns, operands = paper.letters.rows[list(word)], list[int]()
        tokens_of = {
            feed.role: np.array(tokens, int) for feed, tokens in zip(self.feeds, feeds, strict=True)
        }
        for link in (link for chain in self.chains for link in chain):
            if link.cell in paper.cell:
                tokens_of[link.cell[0]] = columns[:, paper.cell[link.cell]]
        for part in self.form.givens:
            if part.many:
                operands += [self.number(part, np.array(tokens)) for tokens in lines]
                continue
            # an operand that no window sees may be any number
            tokens = tokens_of.get(self.machine.role_numbers[part.name], np.zeros(0, int))
            operands.append(self.number(part, tokens))
        return tuple(operands)

    def number(self, part: Given, tokens: Column) -> int:
        """Return the operand whose tokens these are, in the order of the squares; -1 is none."""
        digits = [self.machine.tokens[token].value or 0 for token in tokens[tokens >= 0]] or [0]
        return to_number(digits[::-1] if part.high_first else digits, part.base)


def _determined(edges: dict[object, list[tuple[int, object]]], first: object) -> Words:
    """Return the language with one way for each word: by sets of states, from the first one on.

    Words end in the one state, besides the first, that a blank column does not leave.
    """
    names: dict[frozenset[object], int] = {frozenset([first]): 0}
    steps, waiting = list[tuple[int, int, int]](), list(names)
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
            steps.append((names[states], letter, names[key]))
    source, letters, target = np.array(steps).T
    start = np.arange(len(names)) == 0
    last = np.zeros(len(names), bool)
    last[source[(source == target) & (letters == BLANK)]] = True
    return Words(source, letters, letters, target, start, last & ~start).trim().language()
