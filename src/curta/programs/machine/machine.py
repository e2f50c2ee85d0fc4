"""The machine that moves the pen: each token carries a move, so tokens alone determine all squares.

One step serves every program, wherever a model runs:

    position = where(home[token], 0, position) + offset[token]

A machine is data (tokens, roles, prompt formats) and contains none of a program's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from curta.problems.operations import Answer as TrueAnswer
from curta.problems.problem import Problem
from curta.problems.sizes import OperandLimits
from curta.programs.machine.paper import HOME, Token
from curta.programs.machine.prompt import Format

Displacement = tuple[int, ...]
Neighbour = tuple[str, Displacement]
"""A role, and its displacement from the query's square on each axis."""

Windows = dict[str, tuple[Neighbour, ...]]
"""For each role, the neighbours in its tokens' windows."""


def cells_of(windows: Windows) -> int:
    """Return the number of cells of the widest window, the query included."""
    return 1 + max(map(len, windows.values()), default=0)


class Role(NamedTuple):
    """A role of tokens, and the axes on which they are broadcast: seen from every square."""

    name: str
    broadcast: tuple[str, ...] = ()


class Moves(NamedTuple):
    """Each token's move of the pen: whether from the origin, and by how much."""

    home: Bool[np.ndarray, "tokens axes"]
    offset: Int[np.ndarray, "tokens axes"]


@dataclass(frozen=True, eq=False)
class Machine:
    """A vocabulary on squared paper, and the prompt format of each operator."""

    axes: tuple[str, ...]
    tokens: tuple[Token, ...]
    roles: tuple[Role, ...]
    formats: dict[str, Format]
    """By operator."""
    others: dict[str, Format] = field(default_factory=dict)
    """Formats of other programs for the same problems, by program name."""

    @cached_property
    def numbers(self) -> dict[tuple[Any, ...], int]:
        """Token numbers by what was written; see `paper.TokenKey`."""
        return {
            (t.symbol if t.value is None else t.value, t.role, t.carry, t.move): number
            for number, t in enumerate(self.tokens)
        }

    @cached_property
    def role_numbers(self) -> dict[str, int]:
        """Role numbers by name."""
        return {role.name: number for number, role in enumerate(self.roles)}

    @cached_property
    def limits(self) -> dict[str, OperandLimits]:
        """Which problems of each operator a prompt can hold."""
        return {operator: form.limits for operator, form in self.formats.items()}

    @cached_property
    def role(self) -> Int[np.ndarray, " tokens"]:
        """The number of each token's role."""
        return np.array([self.role_numbers[token.role] for token in self.tokens], np.int32)

    @cached_property
    def moves(self) -> Moves:
        moves = np.array([token.move for token in self.tokens], np.int32)
        home = moves > HOME // 2
        return Moves(home, np.where(home, moves - HOME, moves))

    @cached_property
    def broadcast_mask(self) -> Bool[np.ndarray, "roles axes"]:
        """The axes on which each role is broadcast."""
        return np.array([[axis in role.broadcast for axis in self.axes] for role in self.roles])

    def neighbours(self, windows: Windows) -> list[list[tuple[int, Displacement]]]:
        """Return the neighbours of each role, with role numbers."""
        return [
            [(self.role_numbers[other], moved) for other, moved in windows.get(role.name, ())]
            for role in self.roles
        ]

    @cached_property
    def features(self) -> Float[np.ndarray, "tokens features"]:
        """Multi-hot features of each token: its digit or symbol, carry, role and move."""
        # `7¹` of the role sum, one place further: features 7, carry 1, sum and the move (+1,).
        by_token = [
            (f"{t.symbol if t.value is None else t.value}", f"carries {t.carry}", t.role, t.move)
            for t in self.tokens
        ]
        names = dict.fromkeys((n, part) for token in by_token for n, part in enumerate(token))
        return np.array([[token[n] == part for n, part in names] for token in by_token], np.float32)

    @cached_property
    def end(self) -> int:
        """The token that ends a text."""
        return next(n for n, token in enumerate(self.tokens) if token.role == "end")

    def prompt_tokens(self, problem: Problem) -> list[int]:
        """Return the tokens of a problem's prompt."""
        keys = self.formats[problem.operator].write(problem.operands)
        return [self.numbers[key] for key in keys]

    def read_answer(self, problem: Problem, tokens_written: Sequence[int]) -> TrueAnswer | None:
        """Return the answer that was written after a prompt; None if it is malformed."""
        if not tokens_written or tokens_written[-1] != self.end:
            return None
        form = self.formats[problem.operator]
        roles = {form.answer.role, form.answer.sign, form.answer.fraction}
        places = [
            place for place, token in enumerate(tokens_written) if self.tokens[token].role in roles
        ]
        tokens = [self.tokens[tokens_written[place]] for place in places]
        if form.answer.many is None:  # one number: its digits are read in order, without squares
            return form.read([(token, ()) for token in tokens])
        prompt = self.prompt_tokens(problem)
        squares = self.positions(np.array([*prompt, *tokens_written]))[len(prompt) :]
        return form.read(list(zip(tokens, squares[places].tolist(), strict=True)))

    def advance(
        self, position: Int[np.ndarray, "*batch axes"], token: Int[np.ndarray, "*batch"]
    ) -> Int[np.ndarray, "*batch axes"]:
        """Return where tokens stand, given where their predecessors do: from square 3 by +1, 4."""
        home, offset = self.moves
        return np.where(home[token], 0, position) + offset[token]

    def positions(self, tokens: Int[np.ndarray, " time"]) -> Int[np.ndarray, "time axes"]:
        """Return where every token stands: `advance` from the first to the last.

        It is the sum of offsets since the last home on each axis. The first token of a text goes
        home on all axes, so texts may be end to end. Moves home, +1, +1, home-1: 0, 1, 2, -1.
        """
        home, offset = self.moves.home[tokens], self.moves.offset[tokens]  # time axes
        total = np.cumsum(offset, axis=0)
        time = np.arange(len(tokens))[:, None]
        since = np.maximum.accumulate(np.where(home, time, 0), axis=0)  # when it last went home
        before = np.take_along_axis(total - offset, since, axis=0)  # the sum until then
        return total - before


def neighbour_name(axes: Sequence[str], neighbour: Neighbour) -> str:
    """Return a neighbour as recipes write it: `a place+1 row-1`, or `b` on the same square."""
    role, moved = neighbour
    steps = (f"{axis}{by:+d}" for axis, by in zip(axes, moved, strict=True) if by)
    return " ".join([role, *steps])


def window_cells(
    machine: Machine, windows: Windows, row: Sequence[int]
) -> list[tuple[str, str | None]]:
    """Return the name of each neighbour in a window and its symbol; None on an empty square."""
    empty = len(machine.tokens)
    return [
        (neighbour_name(machine.axes, near), None if cell == empty else machine.tokens[cell].symbol)
        for near, cell in zip(windows.get(machine.tokens[row[0]].role, ()), row[1:], strict=False)
    ]
