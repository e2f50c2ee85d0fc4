"""The section of a report for the certificate: its windows, wrong ones, and the learned tables.

A learned table is a map of one role: what is written next, against what is seen. It has the two
cells of a window that tell most about the next symbol along its sides; the script `learned.js`
holds the others fixed where a reader chooses a symbol for them, and shows what is under the
pointer. All windows of a role come with it, packed, unless these are too many; then only what the
map itself shows. Without the script the map is drawn over all windows.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from markupsafe import Markup

from curta.config.table import Table, counted
from curta.evaluation.results import Certificate, CertifiedWindows, WrongWindow
from curta.programs.machine import drawing
from curta.programs.machine.drawing import NONE, Cut, Sheet, neighbour_name
from curta.report.certified import Certified, headline, text_to
from curta.report.tables.certificate import members, moved

DRAWN = 12
"""Most wrong windows that are drawn; all of them stand in a table."""

NEAR = Cut(columns=7, lines=3)
"""How much of the paper is drawn around a wrong window."""

LEVELS = 10
"""Colours of values; a sign has one of its own."""
SIGN = LEVELS

ROOM = 200_000
"""Most characters of packed windows in a page."""

CELL = 20
"""Side of a cell of a map, and below it the room for names."""

Column = Int[np.ndarray, " windows"]


class DrawnWindow(NamedTuple):
    """A wrong window on its paper, with the classes of squares; no paper of an unknown text."""

    window: WrongWindow
    sheet: Sheet | None
    classes: dict[int, str]


class CertificateSection(NamedTuple):
    """All that a report shows of a certificate."""

    content: Certificate
    sentence: str
    members: Table
    drawn: list[DrawnWindow]
    tables: LearnedMaps | None
    plot: Markup | None


def certificate_section(certified: Certified, plot: Markup | None) -> CertificateSection:
    """Return the section's data."""
    content, machine = certified.content, certified.layout.machine
    drawn = list[DrawnWindow]()
    for one in content.wrong[:DRAWN]:
        text = text_to(certified.layout, one)
        if text is None:
            drawn.append(DrawnWindow(one, None, {}))
            continue
        at = len(text) - 1
        near = drawing.neighbours_of(machine, certified.layout.windows, text, at)
        classes = dict.fromkeys(near, "seen") | {at: "query"}
        sheet = drawing.text(machine, text, NEAR._replace(around=at))
        drawn.append(DrawnWindow(one, sheet, classes))
    how = f" ({content.rounding.how})" if content.rounding.how else ""
    title = (
        f"{counted(content.windows, 'window')} by member. A margin is the logit of the right token"
        f" less the largest other; {moved(content)}{how}"
    )
    table = replace(members(content, whole=True), title=title)
    maps = learned_maps(certified) if certified.table else None
    return CertificateSection(content, headline(content), table, drawn, maps, plot)


class Cell(NamedTuple):
    """A square of a window: the symbols seen there, and which of them each window has."""

    name: str
    symbols: list[str]
    classes: Column


class RoleTable(NamedTuple):
    """All windows of a role, and what follows them.

    `following` are tokens as `symbol`, `symbol role move` and the level of their colour; `classes`
    says which of them follows each window. `down` and `across` are two of the cells, or None.
    """

    role: str
    cells: list[Cell]
    following: list[tuple[str, str, int]]
    classes: Column
    top: int
    """The value that has the last colour."""
    down: int | None
    across: int | None
    windows: CertifiedWindows


class LearnedMap(NamedTuple):
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


class LearnedMaps(NamedTuple):
    """All maps and their legend; of roles that see nothing that varies, what follows them.

    These come as (role, tokens, whether a member is wrong).
    """

    legend: dict[int, str]
    maps: list[LearnedMap]
    constant: list[tuple[str, list[str], bool]]


def learned_maps(certified: Certified) -> LearnedMaps:
    """Return the maps of all roles, and which roles always write the same."""
    tables = role_tables(certified)
    drawn = [table for table in tables if table.across is not None]
    # Whole, or summed up for the largest ones until all have room.
    packed = [pack_table(table, whole=True) for table in drawn]
    for number in sorted(range(len(packed)), key=lambda i: -len(packed[i]["packed"])):
        if sum(len(data["packed"]) for data in packed) > ROOM:
            packed[number] = pack_table(drawn[number], whole=False)
    constant = [
        (
            table.role,
            [text for _, text, _ in table.following],
            bool((table.windows.token != table.windows.targets).any()),
        )
        for table in tables
        if table.across is None
    ]
    used = {level for table in drawn for _, _, level in table.following}
    names = {level: f"{level}" for level in range(LEVELS)} | {SIGN: "a sign"}
    if any(table.top >= LEVELS for table in drawn):
        names |= {0: "low", LEVELS - 1: "high"}
    legend = {level: names[level] for level in sorted(used)}
    return LearnedMaps(legend, list(map(draw_map, drawn, packed)), constant)


def role_tables(certified: Certified) -> list[RoleTable]:
    """Return the windows of each role, from a certificate that has them."""
    whole, layout, machine = certified.table, certified.layout, certified.layout.machine
    assert whole is not None
    roles, tables = machine.role[whole.rows[:, 0]], list[RoleTable]()
    for number, role in enumerate(machine.roles):
        mine = roles == number
        if role.name not in {one.role for one in certified.content.roles} or not mine.any():
            continue
        windows = CertifiedWindows(
            whole.rows[mine], whole.targets[mine], *(part[:, mine] for part in whole[2:])
        )
        near = layout.windows.get(role.name, ())
        names = [role.name, *(neighbour_name(machine.axes, one) for one in near)]
        every = [_cell(certified, name, windows.rows[:, i]) for i, name in enumerate(names)]
        cells = [cell for cell in every if len(cell.symbols) > 1]

        present = np.unique(windows.targets)
        tokens, values = machine.tokens, [machine.tokens[t].value for t in present.tolist()]
        top = max([value or 0 for value in values] + [LEVELS - 1])
        following = [
            (tokens[t].symbol, tokens[t].text, SIGN if v is None else v * (LEVELS - 1) // top)
            for t, v in zip(present.tolist(), values, strict=True)
        ]
        classes = np.searchsorted(present, windows.targets)
        symbols = sorted({symbol for symbol, _, _ in following})
        by_symbol = np.array([symbols.index(symbol) for symbol, _, _ in following])[classes]
        down, across = _most_telling(cells, by_symbol)
        tables.append(RoleTable(role.name, cells, following, classes, top, down, across, windows))
    return tables


def _cell(certified: Certified, name: str, tokens: Column) -> Cell:
    """Tokens that differ in their move alone are one symbol."""
    known = certified.layout.machine.tokens
    kinds = dict[int, tuple[int, int, str]]()
    for number in np.unique(tokens).tolist():
        kinds[number] = (-1, 0, NONE)
        if number < len(known):
            token = known[number]
            value = 1 << 30 if token.value is None else token.value
            kinds[number] = (value, token.carry, token.symbol)
    order = sorted(set(kinds.values()))
    lookup = np.zeros(len(known) + 1, np.int64)
    for number, kind in kinds.items():
        lookup[number] = order.index(kind)
    return Cell(name, [symbol for _, _, symbol in order], lookup[tokens])


def _most_telling(cells: Sequence[Cell], target: Column) -> tuple[int | None, int | None]:
    """Return the two cells that leave the least uncertainty about the target, the larger one down.

    That is the conditional entropy, each window counting once.
    """
    if len(cells) < 2:
        return None, 0 if cells else None

    def entropy(code: Column) -> float:
        joint = np.unique(code * (int(target.max()) + 1) + target, return_counts=True)[1]
        alone = np.unique(code, return_counts=True)[1]
        return float(np.sum(alone * np.log(alone)) - np.sum(joint * np.log(joint))) / len(target)

    pairs = list(itertools.combinations(range(len(cells)), 2))
    left = [entropy(cells[i].classes * len(cells[j].symbols) + cells[j].classes) for i, j in pairs]
    one, two = pairs[int(np.argmin(left))]
    return (two, one) if len(cells[two].symbols) > len(cells[one].symbols) else (one, two)


def pack_table(table: RoleTable, whole: bool) -> dict[str, Any]:
    """Return a role's windows for the script, whole or summed up over the cells of the sides.

    Columns of whole numbers: cells, what follows, windows, never shown, 100 margins, wrong.
    """
    sides = [side for side in (table.down, table.across) if side is not None]
    chosen = list(range(len(table.cells))) if whole else sides
    cells, windows = [table.cells[i] for i in chosen], table.windows
    keys = np.stack([*(cell.classes for cell in cells), table.classes], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse, count = inverse.reshape(-1), len(groups)
    wrong = (windows.token != windows.targets).sum(0)
    margin = np.full(count, np.inf)
    np.minimum.at(margin, inverse, windows.margin.min(0))
    sums = [
        np.bincount(inverse, weights, count) for weights in (None, ~windows.shown.any(0), wrong)
    ]
    margins = np.clip(np.rint(margin * 100), -9e6, 9e6)
    columns = np.stack([*groups.T, sums[0], sums[1], margins, sums[2]]).astype("<i4")
    # byte after byte of all numbers, the lowest of each first, compressed
    planes = columns.reshape(-1).view(np.uint8).reshape(-1, 4).T
    return {
        "cells": [[cell.name, cell.symbols] for cell in cells],
        "down": None if table.down is None else chosen.index(table.down),
        "across": chosen.index(table.across) if table.across is not None else None,
        "next": table.following,
        "rows": count,
        "members": len(windows.token),
        "packed": base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode(),
    }


def draw_map(table: RoleTable, data: dict[str, Any]) -> LearnedMap:
    """Return a map: a path of squares for each colour, over them those never shown."""
    assert table.across is not None
    across = table.cells[table.across]
    down = table.cells[table.down] if table.down is not None else None
    x, y = across.classes, down.classes if down else np.zeros_like(across.classes)
    wrong = (table.windows.token != table.windows.targets[None]).any(axis=0)
    held_out = np.logical_not(table.windows.shown.any(0))
    squares: dict[str, list[str]] = {}
    for row, column in np.unique(np.stack([y, x], 1), axis=0).tolist():
        mine = (y == row) & (x == column)
        most = int(np.argmax(np.bincount(table.classes[mine])))
        level = "wrong" if wrong[mine].any() else f"value-{table.following[most][2]}"
        squares.setdefault(level, []).append(f"M{column} {row}h1v1h-1z")
        if held_out[mine].any():
            squares.setdefault("held-out", []).append(f"M{column + 0.82:g} {row + 0.18:g}h0")
    order = sorted(squares, key=lambda name: name == "held-out")
    paths = [(name, "".join(squares[name])) for name in order]
    rows = down.symbols if down else [""]
    left = 22 + 8 * max(1, *map(len, rows))
    width, height = left + CELL * len(across.symbols), CELL * len(rows)
    sides = f"{down.name} by {across.name}" if down else across.name
    return LearnedMap(table.role, sides, down, across, left, width, height, paths, data)
