"""The learned table of each role: what is written next, against what is seen.

A map has the two cells of a window that tell most about the next symbol along its sides; the
script `learned.js` holds the others fixed where a reader chooses a symbol for them, and says
what is under the pointer. All windows of a role come with it, packed, unless these are too many;
then only what the map itself shows. Without the script the map is drawn over all windows.
"""

import base64
import itertools
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.drawing import NONE, neighbour_name
from curta.report.certified import Certified, Table

LEVELS = 10
"""Colours of values; a sign has one of its own."""
SIGN = LEVELS

ROOM = 200_000
"""Most characters of packed windows in a page."""

CELL = 20
"""Side of a cell of a map, and below it the room for names."""

Column = Int[np.ndarray, " windows"]


class Cell(NamedTuple):
    """A square of a window: the symbols seen there, and which of them each window has."""

    name: str
    symbols: list[str]
    classes: Column


class Next(NamedTuple):
    """Tokens that follow, as `symbol`, `symbol role move` and the level of their colour."""

    tokens: list[tuple[str, str, int]]
    classes: Column
    top: int
    """The value that has the last colour."""


class Learned(NamedTuple):
    """All windows of a role; `down` and `across` are two of the cells, or none."""

    role: str
    cells: list[Cell]
    next: Next
    down: int | None
    across: int | None
    table: Table


def learned(certified: Certified) -> list[Learned]:
    """The windows of each role, from a certificate that has them."""
    assert certified.table is not None
    roles = certified.layout.machine.role[certified.table.rows[:, 0]]
    return [
        _of_role(certified, one.role, roles == number)
        for number, role in enumerate(certified.layout.machine.roles)
        for one in certified.content.roles
        if one.role == role.name and np.any(roles == number)
    ]


class Map(NamedTuple):
    """One role's map: its cells along both sides, its paths by the names of their colours."""

    role: str
    sides: str
    down: Cell | None
    across: Cell
    left: int
    width: int
    height: int
    paths: list[tuple[str, str]]
    data: dict[str, Any]
    cell: int = CELL


class Maps(NamedTuple):
    """All maps and their legend; of roles that see nothing that varies, what follows them.

    These come as (role, tokens, whether a member is wrong).
    """

    legend: dict[int, str]
    maps: list[Map]
    constant: list[tuple[str, list[str], bool]]


def maps(certified: Certified) -> Maps:
    """The maps of all roles, and which roles always write the same."""
    found = learned(certified)
    told = [one for one in found if one.across is not None]
    drawn = [_map(one, held) for one, held in zip(told, _packed(told), strict=True)]
    constant = [
        (one.role, [text for _, text, _ in one.next.tokens],
         bool((one.table.token != one.table.targets).any()))
        for one in found if one.across is None
    ]  # fmt: skip
    return Maps(_legend(told), drawn, constant)


def _of_role(certified: Certified, role: str, mine: Bool[np.ndarray, " windows"]) -> Learned:
    assert certified.table is not None
    machine, whole = certified.layout.machine, certified.table
    table = Table(whole.rows[mine], whole.targets[mine], *(part[:, mine] for part in whole[2:]))
    near = certified.layout.windows.get(role, ())
    names = [role, *(neighbour_name(machine.axes, one) for one in near)]
    every = [_cell(certified, name, table.rows[:, i]) for i, name in enumerate(names)]
    cells = [cell for cell in every if len(cell.symbols) > 1]
    following = _next(certified, table.targets)
    down, across = _telling(cells, _symbols(following))
    return Learned(role, cells, following, down, across, table)


def _cell(certified: Certified, name: str, tokens: Column) -> Cell:
    """Tokens that differ in their move alone are one symbol."""
    machine = certified.layout.machine
    kinds = {
        token: (-1, 0, NONE)
        if token == len(machine.tokens)
        else (one.value if (one := machine.tokens[token]).value is not None else 1 << 30,
              one.carry, one.symbol)
        for token in np.unique(tokens).tolist()
    }  # fmt: skip
    order = sorted(set(kinds.values()))
    lookup = np.zeros(len(machine.tokens) + 1, np.int64)
    for token, kind in kinds.items():
        lookup[token] = order.index(kind)
    return Cell(name, [symbol for _, _, symbol in order], lookup[tokens])


def _next(certified: Certified, targets: Column) -> Next:
    tokens, known = certified.layout.machine.tokens, np.unique(targets)
    top = max([tokens[t].value or 0 for t in known.tolist()] + [LEVELS - 1])
    told = [
        (tokens[t].symbol, tokens[t].text, _level(tokens[t].value, top)) for t in known.tolist()
    ]
    return Next(told, np.searchsorted(known, targets), top)


def _level(value: int | None, top: int) -> int:
    return SIGN if value is None else value * (LEVELS - 1) // top


def _symbols(following: Next) -> Column:
    """What follows as symbols alone."""
    names = sorted({symbol for symbol, _, _ in following.tokens})
    return np.array([names.index(symbol) for symbol, _, _ in following.tokens])[following.classes]


def _telling(cells: Sequence[Cell], target: Column) -> tuple[int | None, int | None]:
    """The two cells that leave the least uncertainty about what follows, the larger one down."""
    if len(cells) < 2:
        return None, 0 if cells else None
    pairs = list(itertools.combinations(range(len(cells)), 2))
    left = [_left(cells[i].classes * len(cells[j].symbols) + cells[j].classes, target)
            for i, j in pairs]  # fmt: skip
    one, two = pairs[int(np.argmin(left))]
    return (two, one) if len(cells[two].symbols) > len(cells[one].symbols) else (one, two)


def _left(code: Column, target: Column) -> float:
    """Conditional entropy, each window counting once."""
    joint = np.unique(code * (int(target.max()) + 1) + target, return_counts=True)[1]
    alone = np.unique(code, return_counts=True)[1]
    return float(np.sum(alone * np.log(alone)) - np.sum(joint * np.log(joint))) / len(target)


def _packed(found: Sequence[Learned]) -> list[dict[str, Any]]:
    """For each map its data: whole, or summed up for the largest ones until all have room."""
    held = [_data(one, whole=True) for one in found]
    for number in sorted(range(len(held)), key=lambda i: -len(held[i]["packed"])):
        if sum(len(one["packed"]) for one in held) <= ROOM:
            break
        held[number] = _data(found[number], whole=False)
    return held


def _data(one: Learned, whole: bool) -> dict[str, Any]:
    """Columns of whole numbers: cells, what follows, windows, never shown, 100 margins, wrong."""
    sides = [side for side in (one.down, one.across) if side is not None]
    chosen = list(range(len(one.cells))) if whole else sides
    cells, table = [one.cells[i] for i in chosen], one.table
    keys = np.stack([*(cell.classes for cell in cells), one.next.classes], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse, count = inverse.reshape(-1), len(groups)
    wrong = (table.token != table.targets).sum(0)
    margin = np.full(count, np.inf)
    np.minimum.at(margin, inverse, table.margin.min(0))
    sums = [np.bincount(inverse, weights, count) for weights in (None, ~table.shown.any(0), wrong)]
    columns = [*groups.T, sums[0], sums[1], np.clip(np.rint(margin * 100), -9e6, 9e6), sums[2]]
    return {
        "cells": [[cell.name, cell.symbols] for cell in cells],
        "down": None if one.down is None else chosen.index(one.down),
        "across": chosen.index(one.across) if one.across is not None else None,
        "next": one.next.tokens,
        "rows": count,
        "members": len(table.token),
        "packed": pack(np.stack(columns).astype("<i4")),
    }


def pack(columns: Int[np.ndarray, "columns rows"]) -> str:
    """Byte after byte of all numbers, the lowest of each first, compressed."""
    planes = columns.reshape(-1).view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def _map(one: Learned, held: dict[str, Any]) -> Map:
    """One role's map with its data."""
    assert one.across is not None
    down = one.cells[one.down] if one.down is not None else None
    across = one.cells[one.across]
    left = 22 + 8 * max(map(len, down.symbols if down else ["1"]))
    width, height = left + CELL * len(across.symbols), CELL * len(down.symbols if down else [""])
    sides = f"{down.name} by {across.name}" if down else across.name
    return Map(one.role, sides, down, across, left, width, height, _paths(one), held)


def _paths(one: Learned) -> list[tuple[str, str]]:
    """A path of squares for each colour, over them those that are wrong or were never shown."""
    assert one.across is not None
    x = one.cells[one.across].classes
    y = one.cells[one.down].classes if one.down is not None else np.zeros_like(x)
    wrong = (one.table.token != one.table.targets[None]).any(axis=0)
    held_out = np.logical_not(one.table.shown.any(0))
    squares: dict[str, list[str]] = {}
    for place in np.unique(np.stack([y, x], 1), axis=0).tolist():
        mine = (y == place[0]) & (x == place[1])
        most = int(np.argmax(np.bincount(one.next.classes[mine])))
        level = "wrong" if wrong[mine].any() else f"value-{one.next.tokens[most][2]}"
        squares.setdefault(level, []).append(f"M{place[1]} {place[0]}h1v1h-1z")
        if held_out[mine].any():
            squares.setdefault("held-out", []).append(f"M{place[1] + 0.82:g} {place[0] + 0.18:g}h0")
    order = sorted(squares, key=lambda name: name == "held-out")
    return [(name, "".join(squares[name])) for name in order]


def _legend(found: Sequence[Learned]) -> dict[int, str]:
    """What the colours of values and of signs stand for, of those that occur."""
    used = {level for one in found for _, _, level in one.next.tokens}
    names = {level: f"{level}" for level in range(LEVELS)} | {SIGN: "a sign"}
    if any(one.next.top >= LEVELS for one in found):
        names |= {0: "low", LEVELS - 1: "high"}
    return {level: names[level] for level in sorted(used)}
