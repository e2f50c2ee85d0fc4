"""Where tokens stand, as tables: shared by layouts, a run's machine and every export.

A text is read from left to right with a state and a position, by

    position = where(home[state, token], 0, position) + offset[state, token]
    state    = next[state, token]

A program's machine is the case of a single state.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.programs.machine.machine import Machine
from curta.programs.machine.paper import HOME

State = Any
"""What a rule remembers of the text so far: any hashable value."""


class Transition(NamedTuple):
    """What a token does in a state of a layout with one axis; see `paper.HOME` for moves."""

    state: State
    role: int
    move: int


class Automaton(NamedTuple):
    """For each state and token: the next state, the role, and the move (home, then offset)."""

    next: Int[np.ndarray, "states tokens"]
    role: Int[np.ndarray, "states tokens"]
    home: Bool[np.ndarray, "states tokens axes"]
    offset: Int[np.ndarray, "states tokens axes"]

    def step(
        self, state: Int[Array, "*batch states"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch states"], Int[Array, "*batch"], Int[Array, "*batch axes"]]:
        """Read one token, on the device; return state, role and position.

        A state here is its number, followed by the position.
        """
        # One row for each state and token, so that a single look-up finds all four tables.
        columns = (self.next[..., None], self.role[..., None], self.home, self.offset)
        rows = jnp.asarray(np.concatenate(columns, axis=-1, dtype=np.int32))
        row, axes = rows[state[..., 0], token], self.home.shape[-1]
        home, offset = row[..., 2 : 2 + axes], row[..., 2 + axes :]
        position = jnp.where(home > 0, 0, state[..., 1:]) + offset
        return jnp.concatenate([row[..., :1], position], -1), row[..., 1], position

    def tables(self) -> dict[str, Any]:
        """Return the tables as lists, for a file."""
        return {name: array.tolist() for name, array in self._asdict().items()}


def of_machine(machine: Machine) -> Automaton:
    """Return the tables of a program's machine, which has one state."""
    home, offset = machine.moves
    return Automaton(
        np.zeros_like(machine.role)[None], machine.role[None], home[None], offset[None]
    )


def tabulated(
    characters: Sequence[str], start: State, rule: Callable[[Any, str], Transition]
) -> Automaton:
    """Return the tables of a rule, for all states that can be reached from `start`.

    >>> rule = lambda state, c: Transition(max(state, int(c == "=")), state, 1)
    >>> tables = tabulated("7=", 0, rule)
    >>> tables.next.tolist(), tables.role.tolist()
    ([[0, 1], [1, 1]], [[0, 0], [1, 1]])
    """
    numbers, entries = {start: 0}, []
    for state in (states := [start]):  # which grows on the way
        entries.append([rule(state, character) for character in characters])
        new = dict.fromkeys(e.state for e in entries[-1] if e.state not in numbers)
        numbers |= {state: len(numbers) + place for place, state in enumerate(new)}
        states += new
    after = [[numbers[entry.state] for entry in row] for row in entries]
    role = np.array([[entry.role for entry in row] for row in entries], np.int32)
    move = np.array([[[entry.move] for entry in row] for row in entries], np.int32)
    home = move > HOME // 2
    return Automaton(np.array(after, np.int32), role, home, np.where(home, move - HOME, move))
