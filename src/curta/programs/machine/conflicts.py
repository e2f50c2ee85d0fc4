"""Conflicts explained: two windows that look the same, what follows each, what tells them apart."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import NamedTuple

import numpy as np

from curta.programs.machine.finding import places
from curta.programs.machine.machine import Machine, Neighbour, Role, Windows, neighbour_name
from curta.programs.machine.paper import ProgramError
from curta.programs.machine.program import Program, Text
from curta.programs.machine.recording import Recording, Squares, seen
from curta.programs.machine.table import Conflict

REACH = 3
"""How far is looked for what would tell two windows apart."""

SHOWN = 5
"""Roles whose conflicts are explained, at most."""

TRIED = 40
"""Conflicts of a role on which is tried what would tell them all apart."""


WRITE = "write what decides the next token, such as a carry, on a square that is seen"


class Recorded(NamedTuple):
    """Problems of a program with their texts, on its machine."""

    program: Program
    machine: Machine
    windows: Windows
    problems: Sequence[tuple[int, ...]]
    texts: Sequence[Text]


class Pair(NamedTuple):
    """Two texts with the same window, and after how many tokens each has it."""

    texts: tuple[Text, Text]
    steps: tuple[int, int]


class Cell(NamedTuple):
    """What a window shows: which neighbour, and the symbol there, None if there is none."""

    place: str
    symbol: str | None


@dataclass(frozen=True)
class Explained:
    """A role whose next token is no function of its window, by an example."""

    role: str
    count: int
    """Windows of this role that are followed by different tokens."""
    window: tuple[Cell, ...]
    follows: tuple[str, str]
    problems: tuple[tuple[int, ...], tuple[int, ...]]
    steps: tuple[int, int]
    """The place of the query in the text that each problem has."""
    hint: str


def explain(of: Recorded, conflicts: Sequence[Conflict]) -> tuple[Explained, ...]:
    """One explanation for each role that has conflicts, SHOWN at most."""
    roles: dict[str, list[Conflict]] = {}
    for one in conflicts:
        roles.setdefault(of.machine.tokens[one.row[0]].role, []).append(one)
    return tuple(_explained(of, role, found) for role, found in list(roles.items())[:SHOWN])


def _explained(of: Recorded, role: str, found: Sequence[Conflict]) -> Explained:
    machine = of.machine
    shortest = sorted(found, key=lambda c: sum(len(of.texts[text][0]) for text in c.texts))
    pairs = [_pair(of, one) for one in shortest[:: -(-len(shortest) // TRIED)]]
    one = shortest[0]
    near = zip(of.windows.get(role, ()), one.row[1:], strict=False)
    cells = [(neighbour_name(machine.axes, other), _symbol(machine, t)) for other, t in near]
    first, second = (machine.tokens[target].text for target in one.targets)
    return Explained(
        role, len({c.row for c in found}),
        tuple(starmap(Cell, [(role, machine.tokens[one.row[0]].symbol), *cells])), (first, second),
        (of.problems[one.texts[0]], of.problems[one.texts[1]]), pairs[0].steps, _hint(of, pairs),
    )  # fmt: skip


def _pair(of: Recorded, one: Conflict) -> Pair:
    first, second = (of.texts[text] for text in one.texts)
    steps = _step(of, first, one.row, one.targets[0]), _step(of, second, one.row, one.targets[1])
    return Pair((first, second), steps)


def _step(of: Recorded, text: Text, row: tuple[int, ...], target: int) -> int:
    """Where in a text this window is followed by that token."""
    recording = Recording.of([text])
    queries, found = np.flatnonzero(recording.asked), seen(of.machine, recording, of.windows)
    hits = (found.rows == np.array(row)).all(axis=1) & (found.targets == target)
    return int(queries[np.flatnonzero(hits)[0]])


def _hint(of: Recorded, pairs: Sequence[Pair]) -> str:
    """What tells most of these pairs apart, and how it comes to be in the window."""
    machine = of.machine
    differences = [dict(_differences(machine, pair)) for pair in pairs]
    votes = Counter(neighbour for one in differences for neighbour in one)
    first = next(iter(differences[0].items()), None)
    if first is None:
        return _far(machine, pairs[0])
    best = max(votes, key=lambda neighbour: (votes[neighbour], -sum(map(abs, neighbour[1]))))
    far = max(map(abs, best[1]))
    if votes[best] == len(pairs) and far > of.program.reach:
        where = neighbour_name(machine.axes, best)
        return f"{where} tells all of them apart: add reach={far}, or write it on a nearer square"
    neighbour, (one, other) = first
    return (
        f"{neighbour_name(machine.axes, neighbour)} tells these two apart ({one} and {other}), but"
        f" no square within {REACH} tells all of them apart: {WRITE}"
    )


def _far(machine: Machine, pair: Pair) -> str:
    """What is said where nothing near tells two texts apart."""
    for role, axis in _anywhere(machine, pair):
        return (
            f"only {role!r} differs between these two, and it is too far away: add"
            f" broadcast={{{role!r}: ({axis!r},)}}, or write it on a nearer square"
        )
    return f"nothing within {REACH} squares tells these two apart: {WRITE}"


def _differences(machine: Machine, pair: Pair) -> Iterator[tuple[Neighbour, tuple[str, str]]]:
    """Neighbours, the nearest first, at which something else stands in the two texts."""
    squares = Squares(machine, Recording.of(pair.texts))
    around = squares.around(np.array([pair.steps[0], len(pair.texts[0][0]) + pair.steps[1]]))
    for role, displacement in places(machine, REACH):
        if sum(map(abs, displacement)) > REACH:
            return
        found = around.find(role, displacement).tolist()
        if found[0] != found[1]:
            first, second = (_symbol(machine, token) or "nothing" for token in found)
            yield (machine.roles[role].name, displacement), (first, second)


def _anywhere(machine: Machine, pair: Pair) -> Iterator[tuple[str, str]]:
    """Roles, and an axis, on which they would tell the two apart if seen from everywhere."""
    for number, role in enumerate(machine.roles):
        for axis in machine.axes:
            if axis in role.broadcast:
                continue
            wide = Role(role.name, (*role.broadcast, axis))
            roles = (*machine.roles[:number], wide, *machine.roles[number + 1 :])
            try:
                for (other, moved), _ in _differences(replace(machine, roles=roles), pair):
                    if other == role.name and not any(moved):
                        yield role.name, axis
            except ProgramError:
                continue  # written on several squares of that axis


def _symbol(machine: Machine, token: int) -> str | None:
    return machine.tokens[token].symbol if token < len(machine.tokens) else None
