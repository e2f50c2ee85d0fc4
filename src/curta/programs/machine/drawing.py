"""Squared paper as plain data, for a terminal or a page to draw.

The first axis runs leftwards, so that place 0 stands on the right as in a written number, unless
a number lies along it most significant digit first. The second axis runs downwards, and every place
on further axes is its own block. Roles that are broadcast on an axis stand in its margin, as the
operands of a product stand around its rows.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from curta.programs.machine.machine import Machine, Neighbour, Windows, window_cells
from curta.programs.machine.paper import arrow
from curta.programs.machine.prompt import Given
from curta.programs.machine.recording import Recording, recorded_windows

EVERYWHERE = "all"
"""The margin of an axis, for roles that are broadcast on it."""

GAP = "…"
"""Stands for omitted columns or lines."""

NONE = "∅"
"""Stands for an empty neighbour."""

Place = tuple[int | None, ...]
"""A square; None on axes on which its role is broadcast."""

Column = int | str | None
"""A place on an axis, or GAP; None is the margin."""


class Mark(NamedTuple):
    """A token on a square; `time` is its index in the text."""

    time: int
    symbol: str
    role: str


class Line(NamedTuple):
    """The squares at one place on the second axis, each with the tokens on it."""

    name: str
    squares: tuple[tuple[Mark, ...], ...]


class DrawnBlock(NamedTuple):
    """The squares at one place on the third and further axes; unnamed if there are none."""

    name: str
    lines: tuple[Line, ...]


class Sheet(NamedTuple):
    """Blocks whose columns are the same places on the first axis."""

    axes: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[DrawnBlock, ...]


class Cut(NamedTuple):
    """How much of a large sheet to keep: the squares around a token, or both ends of each axis."""

    columns: int = 1 << 30
    lines: int = 1 << 30
    blocks: int = 1 << 30
    around: int | None = None
    """Index of the token in the middle; if None, both ends are kept."""


WHOLE = Cut()


class Step(NamedTuple):
    """One token of a text."""

    time: int
    symbol: str
    role: str
    move: tuple[str, ...]
    """For each axis: `+1`, `0`, `home-1`."""
    square: tuple[str, ...]
    in_prompt: bool
    """Whether the token belongs to the prompt."""
    sees: tuple[tuple[str, str], ...] | None
    """Names and symbols of its neighbours; None for a token that is not a query."""


def text(machine: Machine, tokens: Sequence[int], cut: Cut = WHOLE) -> Sheet:
    """Draw a text; of two tokens of one role on a square, the newer one shows."""
    placed: dict[tuple[Place, str], Mark] = {}
    for index, (token, at) in enumerate(zip(tokens, places(machine, tokens), strict=True)):
        token_at = machine.tokens[token]
        placed[at, token_at.role] = Mark(index, token_at.symbol, token_at.role)
    return _sheet(machine, placed, cut)


def window(machine: Machine, role: str, neighbours: Sequence[Neighbour]) -> Sheet:
    """Draw the window of a role: the query, time 0, and the roles of its neighbours.

    Where the query and all its neighbours are broadcast on an axis, all stand in its margin.
    """
    axes_of = {each.name: each.broadcast for each in machine.roles}
    shared = [a for a in axes_of[role] if all(a in axes_of[other] for other, _ in neighbours)]
    near = [(role, (0,) * len(machine.axes), shared), *((r, d, axes_of[r]) for r, d in neighbours)]
    placed = {}
    for time, (other, moved, broadcast) in enumerate(near):
        at = _without(machine.axes, moved, broadcast)
        placed[at, f"{time} {other}"] = Mark(time, other, other)
    return _sheet(machine, placed, WHOLE)


def steps(machine: Machine, windows: Windows, tokens: Sequence[int], prompt: int) -> list[Step]:
    """Return a text token by token, with the windows of its queries."""
    recorded = recorded_windows(machine, Recording.of([(tokens, prompt)]), windows)
    rows, table = dict(enumerate(recorded.rows.tolist(), prompt - 1)), list[Step]()
    for index, (number, at) in enumerate(zip(tokens, places(machine, tokens), strict=True)):
        token = machine.tokens[number]
        sees: tuple[tuple[str, str], ...] | None = None
        if index in rows:
            cells = window_cells(machine, windows, rows[index])
            sees = tuple((name, symbol or NONE) for name, symbol in cells)
        move, square = tuple(map(arrow, token.move)), tuple(map(_place_name, at))
        table.append(Step(index, token.symbol, token.role, move, square, index < prompt, sees))
    return table


def places(machine: Machine, tokens: Sequence[int]) -> list[Place]:
    """Return the square of every token."""
    positions = machine.positions(np.asarray(tokens, np.int64)).tolist()
    return [
        _without(machine.axes, at, machine.roles[machine.role[token]].broadcast)
        for token, at in zip(tokens, positions, strict=True)
    ]


def neighbours_of(
    machine: Machine, windows: Windows, tokens: Sequence[int], at: int
) -> frozenset[int]:
    """Return the indices of the tokens in the window of token `at`, without itself."""
    before = list(tokens[: at + 1])
    roles = machine.role[before].tolist()
    newest = {
        square: time for time, square in enumerate(zip(roles, places(machine, before), strict=True))
    }
    position = machine.positions(np.asarray(before, np.int64))[at]
    neighbours = (
        (role, _without(machine.axes, (position + moved).tolist(), machine.roles[role].broadcast))
        for role, moved in machine.neighbours(windows)[roles[at]]
    )
    return frozenset(newest[square] for square in neighbours if square in newest)


def ruled(line: Line) -> list[tuple[str, tuple[Mark | None, ...]]]:
    """Return the squares of a line role by role, so that tokens on one square stack."""
    marks = sorted(chain.from_iterable(line.squares), key=lambda mark: mark.time)
    return [
        (role, tuple(next((m for m in square if m.role == role), None) for square in line.squares))
        for role in dict.fromkeys(mark.role for mark in marks)
    ]


def _without(axes: Sequence[str], at: Sequence[int], broadcast: Collection[str]) -> Place:
    """Return a square with None on the broadcast axes."""
    return tuple(None if axis in broadcast else x for axis, x in zip(axes, at, strict=True))


def _sheet(machine: Machine, placed: Mapping[tuple[Place, str], Mark], cut: Cut) -> Sheet:
    """Arrange squares as blocks of lines; a single axis becomes one line."""
    squares: dict[Any, list[Mark]] = {}
    for (at, _), mark in placed.items():
        squares.setdefault((*at, 0) if len(at) == 1 else at, []).append(mark)
    # The square that stays in the middle, if there is one.
    center = next((at for at, ms in squares.items() if any(m.time == cut.around for m in ms)), None)
    columns = {at[0] for at in squares if at[0] is not None}
    every = range(min(columns), max(columns) + 1) if columns else ()
    across = _cut(every, cut.columns, center[0] if center else None)
    # A number made of several operands lies in the direction of its last one.
    last = [number[-1] for form in machine.formats.values() for number in form.numbers]
    operands = [part for part in last if isinstance(part, Given)]
    margin: list[Column] = [None] * any(at[0] is None for at in squares)
    is_rightwards = any(part.high_first and part.along == machine.axes[0] for part in operands)
    across = [*margin, *across] if is_rightwards else [*across[::-1], *margin]
    # A block for each place on the third and further axes, a line for each on the second.
    blocks = []
    for outer in sorted(
        {at[2:] for at in squares}, key=lambda at: [(x is not None, x) for x in at]
    ):
        if center is not None and outer != center[2:] and None not in outer:
            continue
        rows = {at[1] for at in squares if at[2:] == outer}
        down = _cut(
            sorted(y for y in rows if y is not None), cut.lines, center[1] if center else None
        )
        lines = tuple(
            Line(
                _place_name(y) if len(machine.axes) > 1 else "",
                tuple(tuple(squares.get((x, y, *outer), ())) for x in across),
            )
            for y in ([None] if None in rows else []) + down
        )
        names = (
            f"{axis} {_place_name(x)}" for axis, x in zip(machine.axes[2:], outer, strict=True)
        )
        blocks.append(DrawnBlock(", ".join(names), lines))
    if len(blocks) > cut.blocks:
        half = cut.blocks // 2
        blocks = [*blocks[: cut.blocks - half], DrawnBlock(GAP, ()), *blocks[len(blocks) - half :]]
    return Sheet(machine.axes, tuple(map(_place_name, across)), tuple(blocks))


def _cut(places: Sequence[int], most: int, middle: int | None) -> list[Column]:
    """Return at most `most` places: those around the middle, or else both ends."""
    if len(places) <= most:
        return [*places]
    if middle is None:
        return [*places[: most - most // 2], GAP, *places[len(places) - most // 2 :]]
    at = min(range(len(places)), key=lambda i: abs(places[i] - middle))
    start = max(0, min(at - most // 2, len(places) - most))
    before: list[Column] = [GAP] * (start > 0)
    after: list[Column] = [GAP] * (start + most < len(places))
    return [*before, *places[start : start + most], *after]


def _place_name(x: Column) -> str:
    return EVERYWHERE if x is None else str(x)
