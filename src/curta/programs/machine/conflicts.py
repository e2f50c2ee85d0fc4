"""Conflicts explained: two windows that look the same, what follows each, what tells them apart."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import starmap
from typing import NamedTuple

import numpy as np

from curta.programs.machine.finding import decides, places
from curta.programs.machine.machine import Machine, Neighbour, Role, Windows, neighbour_name
from curta.programs.machine.paper import ProgramError
from curta.programs.machine.program import Program, Text
from curta.programs.machine.recording import Recording, Squares, recorded_windows
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
        (of.problems[one.texts[0]], of.problems[one.texts[1]]), pairs[0].steps,
        _hint(of, role, pairs),
    )  # fmt: skip


def _pair(of: Recorded, one: Conflict) -> Pair:
    first, second = (of.texts[text] for text in one.texts)
    steps = _step(of, first, one.row, one.targets[0]), _step(of, second, one.row, one.targets[1])
    return Pair((first, second), steps)


def _step(of: Recorded, text: Text, row: tuple[int, ...], target: int) -> int:
    """Where in a text this window is followed by that token."""
    recording = Recording.of([text])
    queries, found = (
        np.flatnonzero(recording.asked),
        recorded_windows(of.machine, recording, of.windows),
    )
    hits = (found.rows == np.array(row)).all(axis=1) & (found.targets == target)
    return int(queries[np.flatnonzero(hits)[0]])


def _hint(of: Recorded, role: str, pairs: Sequence[Pair]) -> str:
    """The change that resolves all conflicts of a role, tried on the texts, or one that helps."""
    remedy = _remedy(of, role, pairs)
    if remedy is not None:
        return f"{remedy} resolves it (tried on all these texts); or write it on a nearer square"
    machine = of.machine
    difference = next(iter(dict(_differences(machine, pairs[0])).items()), None)
    if difference is None:
        return f"nothing within {REACH} squares tells these two apart: {WRITE}"
    neighbour, (one, other) = difference
    return (
        f"{neighbour_name(machine.axes, neighbour)} tells these two apart ({one} and {other}), but"
        f" no square within {REACH} tells all of them apart: {WRITE}"
    )


def _remedy(of: Recorded, role: str, pairs: Sequence[Pair]) -> str | None:
    """The change of a program that makes the next token a function of the role's window."""
    few = [text for pair in pairs for text in pair.texts]
    few += sorted(of.texts, key=lambda text: len(text[0]))[: 10 * TRIED]
    samples = Recording.of(few), Recording.of(of.texts)
    for words, machine, reach in _remedies(of):
        with suppress(ProgramError):  # found from everywhere, two tokens stand on one square
            if all(decides(machine, sample, role, reach) for sample in samples):
                return words
    return None


def _remedies(of: Recorded) -> Iterator[tuple[str, Machine, int]]:
    """A change to try: look farther, or find a role from every square of an axis."""
    machine, reach = of.machine, of.program.reach
    for far in range(reach + 1, REACH + 1):
        yield f"reach={far}", machine, far
    given = {part.name for part in of.program.prompt}
    for number, role in enumerate(machine.roles):
        for axis in machine.axes if role.name != "end" else ():
            if axis in role.broadcast:
                continue
            axes = (*role.broadcast, axis)
            wide = (*machine.roles[:number], Role(role.name, axes), *machine.roles[number + 1 :])
            words = f"broadcast={{{role.name!r}: {axes!r}}}"
            if role.name in given:
                words = f"everywhere={axes!r} of {role.name!r}"
            yield words, replace(machine, roles=wide), reach


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
            if first == second:  # alike but for the move
                first, second = (machine.tokens[token].text for token in found)
            yield (machine.roles[role].name, displacement), (first, second)


def _symbol(machine: Machine, token: int) -> str | None:
    return machine.tokens[token].symbol if token < len(machine.tokens) else None
