"""Squared paper as plain data, for a terminal or a page to draw.

The first axis runs leftwards, so that place 0 stands on the right as in a written number, unless
a number lies along it from its most significant digit on. The second axis runs downwards, and
every place on further axes is a block of its own. What is found from everywhere on an axis stands
in a margin there, as the operands of a product stand around its rows.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from curta.programs.machine.machine import Machine, Neighbour, Windows
from curta.programs.machine.machine import neighbour_name as neighbour_name
from curta.programs.machine.paper import arrow
from curta.programs.machine.prompt import Given
from curta.programs.machine.recording import Recording, recorded_windows

EVERYWHERE = "all"
"""The margin of an axis, for what is found from everywhere on it."""

GAP = "…"
"""Stands for columns or lines that are left out."""

NONE = "∅"
"""Stands for a neighbour that is not there."""

Place = tuple[int | None, ...]
"""A square; None on the axes on which it is found from everywhere."""


class Mark(NamedTuple):
    """A token on a square, and how many tokens of the text come before it."""

    time: int
    symbol: str
    role: str


class Line(NamedTuple):
    """The squares of one place on the second axis, each with the tokens that stand on it."""

    name: str
    squares: tuple[tuple[Mark, ...], ...]


class Block(NamedTuple):
    """The squares of one place on the third and further axes; one without these has no name."""

    name: str
    lines: tuple[Line, ...]


class Sheet(NamedTuple):
    """Blocks whose columns are the same places on the first axis."""

    axes: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]


class Cut(NamedTuple):
    """What is left of a large sheet: squares so near to a token, or the ends of each axis."""

    columns: int = 1 << 30
    lines: int = 1 << 30
    blocks: int = 1 << 30
    around: int | None = None
    """The token in the middle, by its time; without it, both ends are kept."""


WHOLE = Cut()


class Step(NamedTuple):
    """One token of a text."""

    time: int
    symbol: str
    role: str
    move: tuple[str, ...]
    """For each axis: `+1`, `0`, `home-1`."""
    square: tuple[str, ...]
    given: bool
    """Whether it is part of the prompt."""
    sees: tuple[tuple[str, str], ...] | None
    """Names and symbols of its neighbours; None where nothing is asked of it."""


def text(machine: Machine, tokens: Sequence[int], cut: Cut = WHOLE) -> Sheet:
    """The sheet of a text; of two tokens of one role on a square, the newer one."""
    placed: dict[tuple[Place, str], Mark] = {}
    for index, (token, at) in enumerate(zip(tokens, places(machine, tokens), strict=True)):
        written = machine.tokens[token]
        placed[at, written.role] = Mark(index, written.symbol, written.role)
    return _sheet(machine, placed, cut)


def window(machine: Machine, role: str, neighbours: Sequence[Neighbour]) -> Sheet:
    """The window of a role: the query, time 0, and the roles of its neighbours.

    On an axis on which all of these are found from everywhere, all stand there.
    """
    wide = {one.name: one.broadcast for one in machine.roles}
    own = [axis for axis in wide[role] if all(axis in wide[other] for other, _ in neighbours)]
    near = [(role, (0,) * len(machine.axes), own), *((r, d, wide[r]) for r, d in neighbours)]
    placed = {}
    for time, (other, moved, broadcast) in enumerate(near):
        at = _without(machine.axes, moved, broadcast)
        placed[at, f"{time} {other}"] = Mark(time, other, other)
    return _sheet(machine, placed, WHOLE)


def steps(machine: Machine, windows: Windows, tokens: Sequence[int], prompt: int) -> list[Step]:
    """The text token by token, with the windows of those after which something is written."""
    found = recorded_windows(machine, Recording.of([(tokens, prompt)]), windows)
    sees = dict(enumerate(found.rows.tolist(), prompt - 1))
    return [
        Step(
            index,
            machine.tokens[token].symbol,
            machine.tokens[token].role,
            tuple(map(arrow, machine.tokens[token].move)),
            tuple(EVERYWHERE if x is None else str(x) for x in at),
            index < prompt,
            _seen(machine, windows, sees[index]) if index in sees else None,
        )
        for index, (token, at) in enumerate(zip(tokens, places(machine, tokens), strict=True))
    ]


def places(machine: Machine, tokens: Sequence[int]) -> list[Place]:
    """Where every token stands."""
    positions = machine.positions(np.asarray(tokens, np.int64)).tolist()
    return [
        _without(machine.axes, at, machine.roles[machine.role[token]].broadcast)
        for token, at in zip(tokens, positions, strict=True)
    ]


def neighbours_of(
    machine: Machine, windows: Windows, tokens: Sequence[int], at: int
) -> frozenset[int]:
    """The times of the tokens in the window of token `at` of a text, besides itself."""
    before = list(tokens[: at + 1])
    roles = machine.role[before].tolist()
    newest = {
        one: time for time, one in enumerate(zip(roles, places(machine, before), strict=True))
    }
    square = machine.positions(np.asarray(before, np.int64))[at]
    wanted = (
        (role, _without(machine.axes, (square + moved).tolist(), machine.roles[role].broadcast))
        for role, moved in machine.neighbours(windows)[roles[at]]
    )
    return frozenset(newest[one] for one in wanted if one in newest)


def ruled(line: Line) -> list[tuple[str, tuple[Mark | None, ...]]]:
    """The squares of a line role by role: below each other what stands on one square."""
    marks = sorted(chain.from_iterable(line.squares), key=lambda mark: mark.time)
    return [
        (role, tuple(next((m for m in square if m.role == role), None) for square in line.squares))
        for role in dict.fromkeys(mark.role for mark in marks)
    ]


def _seen(machine: Machine, windows: Windows, row: Sequence[int]) -> tuple[tuple[str, str], ...]:
    near = windows.get(machine.tokens[row[0]].role, ())
    symbols = [machine.tokens[t].symbol if t < len(machine.tokens) else NONE for t in row[1:]]
    names = [neighbour_name(machine.axes, one) for one in near]
    return tuple(zip(names, symbols, strict=False))


def _without(axes: Sequence[str], at: Sequence[int], broadcast: Collection[str]) -> Place:
    """A square; None on the axes on which it is found from everywhere."""
    return tuple(None if axis in broadcast else x for axis, x in zip(axes, at, strict=True))


def _sheet(machine: Machine, placed: Mapping[tuple[Place, str], Mark], cut: Cut) -> Sheet:
    """Squares in order; two axes at least, so that every text has lines."""
    squares: dict[Place, list[Mark]] = {}
    for (at, _), mark in placed.items():
        squares.setdefault((*at, 0) if len(at) == 1 else at, []).append(mark)
    center = next((at for at, ms in squares.items() if any(m.time == cut.around for m in ms)), None)
    across = _kept({at[0] for at in squares}, cut.columns, center[0] if center else None)
    if not _rightwards(machine):
        across = [x for x in across[::-1] if x is not None] + [x for x in across if x is None]
    rests = sorted({at[2:] for at in squares}, key=lambda rest: [(x is not None, x) for x in rest])
    blocks = [
        _block(machine, squares, across, rest, cut, center)
        for rest in rests
        if center is None or rest == center[2:] or None in rest
    ]
    if len(blocks) > cut.blocks:
        half = cut.blocks // 2
        blocks = [*blocks[: cut.blocks - half], Block(GAP, ()), *blocks[len(blocks) - half :]]
    return Sheet(machine.axes, tuple(map(_shown, across)), tuple(blocks))


def _block(
    machine: Machine,
    squares: Mapping[Any, list[Mark]],
    across: Sequence[int | str | None],
    rest: Place,
    cut: Cut,
    center: Place | None,
) -> Block:
    known = {at[1] for at in squares if at[2:] == rest}
    lines = (
        Line(
            _shown(y) if len(machine.axes) > 1 else "",
            tuple(tuple(squares.get((x, y, *rest), ())) for x in across),
        )
        for y in _kept(known, cut.lines, center[1] if center else None, whole=False)
    )
    names = (f"{axis} {_shown(x)}" for axis, x in zip(machine.axes[2:], rest, strict=True))
    return Block(", ".join(names), tuple(lines))


def _kept(
    values: set[int | None], most: int, middle: int | None, whole: bool = True
) -> list[int | str | None]:
    """Places of an axis in order, the margin first; all between the ends if `whole`.

    Of more than `most` those around the middle are kept, or else both ends.
    """
    known = sorted(x for x in values if x is not None)
    if whole and known:
        known = list(range(known[0], known[-1] + 1))
    kept: list[int | str | None] = list(known)
    if len(known) > most:
        if middle is None:
            kept = [*known[: most - most // 2], GAP, *known[len(known) - most // 2 :]]
        else:
            kept = _around(known, most, middle)
    return [None, *kept] if None in values else kept


def _around(known: list[int], most: int, middle: int) -> list[int | str | None]:
    at = min(range(len(known)), key=lambda i: abs(known[i] - middle))
    start = max(0, min(at - most // 2, len(known) - most))
    before, after = [GAP] * (start > 0), [GAP] * (start + most < len(known))
    return [*before, *known[start : start + most], *after]


def _rightwards(machine: Machine) -> bool:
    """Whether a number lies along the first axis from its most significant digit on.

    Of a number of several operands, the last one says so.
    """
    last = [number[-1] for form in machine.formats.values() for number in form.numbers]
    given = [part for part in last if isinstance(part, Given)]
    return any(part.high_first and part.along == machine.axes[0] for part in given)


def _shown(x: int | str | None) -> str:
    return EVERYWHERE if x is None else str(x)
