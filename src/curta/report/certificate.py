"""The section of a report for the certificate: its windows, wrong ones, and the learned tables.

A learned table is a map of one role: the token written next, by the squares that the model sees.
The two cells of a window that say most about the next symbol run along its sides. In a browser,
`learned.js` holds the other cells fixed and shows what is under the pointer; for that, all windows
of a role travel with the page, packed, unless they take more than `ROOM`. Without the script the
map summarises all windows.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import zlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from markupsafe import Markup
from scipy.special import xlogy

from curta.config.errors import UserError
from curta.config.table import counted
from curta.evaluation import readback
from curta.evaluation.results import Certificate, CertifiedWindows, WrongWindow, read_windows
from curta.layouts.program import ProgramLayout
from curta.probes.inside.factors import Codes, WindowFactor, cell_factors, together
from curta.problems.problem import parse
from curta.programs.machine import drawing
from curta.programs.machine.drawing import Cut
from curta.report.run_folder import read_layout
from curta.report.summary import listed
from curta.report.tables import members_table, rounding_note
from curta.runs.folders import Folder

DRAWN = 12
"""Most wrong windows that are drawn; a table holds all of them."""

NEAR = Cut(columns=7, lines=3)
"""How much of the paper is drawn around a wrong window."""

LEVELS = 10
"""Number of colours for values; operators and other signs have one more colour."""
SIGN = LEVELS

ROOM = 200_000
"""Most characters of packed windows in a page."""

LINE = 400
"""Most characters of a line of the learned algorithm."""

CELL = 20
"""Side of a cell of a map in pixels."""


def text_to(layout: ProgramLayout, wrong: WrongWindow) -> list[int] | None:
    """Return a problem's tokens up to the query of a wrong window; None without its program."""
    if wrong.at < 0:
        return None
    with contextlib.suppress(UserError):
        return layout.tokens_of(parse(wrong.problem))[0][: wrong.at + 1]
    return None


def is_exact(content: Certificate) -> bool:
    """Return whether no member can be wrong: the list is closed, and rounding cannot matter."""
    doubtful = any(member.below_bound or member.wrong for member in content.members)
    bounded = content.rounding.bound is not None
    return content.grade == "closed" and bounded and not doubtful and content.sound


def plain_words(content: Certificate) -> str:
    """Return the certificate in one line for a reader who does not know windows."""
    wrong, members = len(content.wrong_seeds), len(content.members)
    if wrong == members or not content.sound:
        return "In plain words: it makes mistakes, and the windows below show where."
    if wrong:
        return f"In plain words: {wrong} of {members} models make mistakes; the others make none."
    if is_exact(content):
        return (
            "In plain words: every situation that the model can ever meet, at any length, was"
            " checked, and it is right in all of them."
        )
    return "In plain words: it is right in every situation that was checked; there may be others."


def headline(content: Certificate) -> str:
    """Return in plain sentences what the certificate proves, and what it leaves open."""
    members, total, sentences = content.members, f"{content.windows:,}", list[str]()
    near = max((member.below_bound or 0 for member in members), default=0)
    scope = {"closed": "that can occur", "saturated": "listed"}[content.grade]
    failing = [member.member for member in members if member.wrong]
    most = max((member.wrong for member in members), default=0)

    def verb(count: int, singular: str, plural: str) -> str:
        return singular if count == 1 else plural

    if content.conflicts:
        sentences.append(
            f"{counted(content.conflicts, 'window')} {verb(content.conflicts, 'has', 'have')} two"
            " different next tokens, so no model that sees only these squares can be right."
        )
    if content.unwritable:
        sentences.append(f"{content.unwritable[0]} needs a token that the model does not have.")
    if not failing:
        several = " in every member" if len(members) > 1 else ""
        end = ": exact at every length" if is_exact(content) else ""
        sentences.append(f"All {total} windows {scope} are right{several}{end}.")
    elif len(members) == 1:
        are = verb(most, "is", "are")
        sentences.append(f"{most:,} of the {total} windows {scope} {are} wrong.")
    else:
        right, who = len(members) - len(failing), verb(len(failing), "member", "members")
        sentences.append(
            f"Of the {total} windows {scope}, {who} {listed(failing)}"
            f" {verb(len(failing), 'has', 'have up to')} {most:,} wrong;"
            f" {counted(right, 'member')} of {len(members)} {verb(right, 'has', 'have')} none."
        )
    if content.grade == "saturated":
        sentences.append(
            "The chance that a new problem contains an unlisted window is at most"
            f" {content.listing.bound:.2g} (confidence {content.listing.confidence:.0%})."
        )
    if content.met:
        sentences.append(
            f"{counted(content.met, 'window')} of these {verb(content.met, 'was', 'were')}"
            " missed by the listing and met in training, an evaluation or a question."
        )
    if content.rounding.bound is None:
        sentences.append(
            "The effect of rounding is not bounded for this design: other hardware may give other"
            " answers."
        )
    if near:
        sentences.append(
            f"Up to {counted(near, 'window')} per member {verb(near, 'is', 'are')} decided by"
            " less than twice the rounding bound: other hardware may give other answers there."
        )
    return " ".join(sentences)


def certificate_section(
    content: Certificate, folder: Folder, plot: Markup | None
) -> dict[str, Any]:
    """Return what the template shows of the certificate of a run's folder.

    The learned tables are left out if the run did not keep its windows.
    """
    layout, windows = read_layout(folder.path), read_windows(folder.path)
    assert isinstance(layout, ProgramLayout)
    drawn = list[tuple[WrongWindow, Any, dict[int, str]]]()
    for wrong in content.wrong[:DRAWN]:
        text, sheet, classes = text_to(layout, wrong), None, dict[int, str]()
        if text is not None:
            query = len(text) - 1
            near = drawing.neighbours_of(layout.machine, layout.windows, text, query)
            classes = dict.fromkeys(near, "seen") | {query: "query"}
            sheet = drawing.text(layout.machine, text, NEAR._replace(around=query))
        drawn.append((wrong, sheet, classes))
    title = (
        f"{counted(content.windows, 'window')} by member. The margin is the right token's logit"
        f" minus the largest other logit; {rounding_note(content)}."
    )
    return {
        "content": content,
        "sentence": headline(content),
        "members": replace(members_table(content, whole=True), title=title),
        "drawn": drawn,
        "tables": learned_maps(content, layout, windows) if windows else None,
        "algorithm": learned_algorithm(layout, windows) if windows else None,
        "plot": plot,
    }


def learned_algorithm(layout: ProgramLayout, windows: CertifiedWindows) -> str:
    """Return what the first member without a wrong window has learned, as Python; "" without one.

    Lines that are longer than `LINE` are tables of many rows, and are cut.
    """
    wrong = (windows.token != windows.targets).any(axis=1)
    member = int(np.argmin(wrong))
    if wrong[member]:
        return ""
    text = readback.algorithm(layout.machine, layout.windows, windows, member)
    cut = f" ...  # the whole table: curta show RUN --table --member {member}"
    return "".join(
        line if len(line) <= LINE else f"{line[:LINE]}{cut}\n"
        for line in text.splitlines(keepends=True)
    )


class RoleTable(NamedTuple):
    """All windows of a role, and the tokens that follow them.

    `following` has a token's symbol, its text and the level of its colour; `classes` says which of
    them follows each window. `down` and `across` number the cells along the sides of the map.
    """

    role: str
    cells: list[WindowFactor]
    following: list[tuple[str, str, int]]
    classes: Codes
    top: int
    """The value that has the last colour."""
    down: int | None
    across: int | None
    windows: CertifiedWindows
    wrong: Int[np.ndarray, " windows"]
    """In how many members each window is wrong."""
    unshown: Bool[np.ndarray, " windows"]
    """Which windows no member was shown in training."""


def learned_maps(
    content: Certificate, layout: ProgramLayout, windows: CertifiedWindows
) -> dict[str, Any]:
    """Return the maps of all roles with their legend, and the roles that see nothing that varies.

    The latter come as (role, tokens, whether a member is wrong).
    """
    tables = role_tables(content, layout, windows)
    drawn = [table for table in tables if table.across is not None]
    # All windows travel with the page; the largest roles are summarised until all of them fit.
    packed = [pack_table(table, whole=True) for table in drawn]
    for number in sorted(range(len(packed)), key=lambda i: -len(packed[i]["packed"])):
        if sum(len(data["packed"]) for data in packed) > ROOM:
            packed[number] = pack_table(drawn[number], whole=False)
    levels = sorted({level for table in drawn for _, _, level in table.following})
    names = {level: f"{level}" for level in range(LEVELS)} | {SIGN: "a sign"}
    if any(table.top >= LEVELS for table in drawn):
        names |= {0: "low", LEVELS - 1: "high"}
    return {
        "legend": {level: names[level] for level in levels},
        "maps": list(map(draw_map, drawn, packed)),
        "constant": [
            (table.role, [text for _, text, _ in table.following], bool(table.wrong.any()))
            for table in tables
            if table.across is None
        ],
    }


def role_tables(
    content: Certificate, layout: ProgramLayout, windows: CertifiedWindows
) -> list[RoleTable]:
    """Return the windows of each role of a certificate."""
    machine, certified = layout.machine, {entry.role for entry in content.roles}
    roles, tables = machine.role[windows.rows[:, 0]], list[RoleTable]()
    for number, role in enumerate(machine.roles):
        mask = roles == number
        if role.name not in certified or not mask.any():
            continue
        by_member = (array[:, mask] for array in windows[2:])
        mine = CertifiedWindows(windows.rows[mask], windows.targets[mask], *by_member)
        itself, *neighbours = cell_factors(layout, role.name, mine.rows)
        cells = [itself._replace(name=role.name), *neighbours]
        cells = [cell for cell in cells if len(cell.labels) > 1]
        present = np.unique(mine.targets)
        tokens, values = machine.tokens, [machine.tokens[t].value for t in present.tolist()]
        top = max([value or 0 for value in values] + [LEVELS - 1])
        following = [
            (tokens[t].symbol, tokens[t].text, SIGN if v is None else v * (LEVELS - 1) // top)
            for t, v in zip(present.tolist(), values, strict=True)
        ]
        classes = np.searchsorted(present, mine.targets)

        # Along the sides: the two cells that leave the least uncertainty about the next token
        # (conditional entropy, each window counting once), the larger one downwards.
        down, across = None, 0 if cells else None
        if len(cells) > 1:
            pairs = itertools.combinations(range(len(cells)), 2)
            pair = min(pairs, key=lambda pair: _entropy(cells[pair[0]], cells[pair[1]], classes))
            across, down = sorted(pair, key=lambda i: (len(cells[i].labels), -i))
        wrong = np.sum(mine.token != mine.targets, axis=0)
        unshown = np.logical_not(mine.shown.any(axis=0))
        tables.append(
            RoleTable(role.name, cells, following, classes, top, down, across, mine, wrong, unshown)
        )
    return tables


def _entropy(x: WindowFactor, y: WindowFactor, target: Codes) -> float:
    """Return the entropy of the target given two cells, in nats, times the number of windows."""
    pairs = together(x, y)
    counts, joint = (
        np.bincount(factor.codes) for factor in (pairs, together(pairs, x._replace(codes=target)))
    )
    return float(xlogy(counts, counts).sum() - xlogy(joint, joint).sum())


def pack_table(table: RoleTable, whole: bool) -> dict[str, Any]:
    """Return a role's windows for the script, each of them or summed over the cells of the sides.

    Columns of int32: cells, next token, windows, never shown, 100 x margin, wrong.
    """
    sides = [side for side in (table.down, table.across) if side is not None]
    chosen = list(range(len(table.cells))) if whole else sides
    cells, windows = [table.cells[i] for i in chosen], table.windows
    keys = np.stack([*(cell.codes for cell in cells), table.classes], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse, count = inverse.reshape(-1), len(groups)
    margin = np.full(count, np.inf)
    np.minimum.at(margin, inverse, windows.margin.min(0))
    weights = (None, table.unshown, table.wrong)
    number, unshown, wrong = (np.bincount(inverse, each, count) for each in weights)
    margins = np.clip(np.rint(margin * 100), -9e6, 9e6)
    columns = np.stack([*groups.T, number, unshown, margins, wrong]).astype("<i4")
    # all lowest bytes first, then all second bytes, ...: equal bytes side by side compress well
    planes = columns.reshape(-1).view(np.uint8).reshape(-1, 4).T
    return {
        "cells": [[cell.name, cell.labels] for cell in cells],
        "down": None if table.down is None else chosen.index(table.down),
        "across": chosen.index(table.across) if table.across is not None else None,
        "next": table.following,
        "rows": count,
        "members": len(windows.token),
        "packed": base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode(),
    }


def draw_map(table: RoleTable, data: dict[str, Any]) -> dict[str, Any]:
    """Return a map: one path of squares per colour, and dots on squares that were never shown."""
    assert table.across is not None
    across = table.cells[table.across]
    down = table.cells[table.down] if table.down is not None else None
    x, y = across.codes, down.codes if down else np.zeros_like(across.codes)
    squares: dict[str, list[str]] = {}
    for row, column in np.unique(np.stack([y, x], 1), axis=0).tolist():
        mask = (y == row) & (x == column)
        most = int(np.argmax(np.bincount(table.classes[mask])))
        level = "wrong" if table.wrong[mask].any() else f"value-{table.following[most][2]}"
        squares.setdefault(level, []).append(f"M{column} {row}h1v1h-1z")
        if table.unshown[mask].any():
            squares.setdefault("held-out", []).append(f"M{column + 0.82:g} {row + 0.18:g}h0")
    order = sorted(squares, key=lambda name: name == "held-out")
    rows = down.labels if down else [""]
    left = 22 + 8 * max(1, *map(len, rows))
    return {
        "role": table.role,
        "sides": f"{down.name} by {across.name}" if down else across.name,
        "down": down,
        "across": across,
        "left": left,
        "width": left + CELL * len(across.labels),
        "height": CELL * len(rows),
        "paths": [(name, "".join(squares[name])) for name in order],
        "data": data,
        "cell": CELL,
    }
