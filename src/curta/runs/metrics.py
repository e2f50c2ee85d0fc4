"""metrics.jsonl: a line for each moment of training and member, whole or from some place on."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from curta.config import files, typed
from curta.config.errors import UserError
from curta.runs.info import Metric

MOST = 1 << 20
"""Most bytes that `read_since` returns at once."""


class NewRows(NamedTuple):
    """Rows after a cursor, the next cursor, whether from the start, and if more wait."""

    rows: list[Metric]
    cursor: str
    anew: bool
    more: bool


def read(path: Path) -> list[Metric]:
    """Return all lines in the order they were written; a torn last one is left out."""
    return [_parse(line, path, number) for number, line in enumerate(_lines(path), 1)]


def read_last(path: Path, members: int) -> list[Metric]:
    """Return the last line of each of `members` members; earlier lines are not parsed."""
    last: dict[int, Metric] = {}
    for line in reversed(_lines(path)):
        row = _parse(line, path)
        last.setdefault(row.member, row)
        if len(last) == members:
            break
    return [last[member] for member in sorted(last)]


def read_evenly(path: Path, most: int) -> list[Metric]:
    """Return at most `most` lines, spread evenly over the file; the others are not parsed."""
    lines = _lines(path)
    chosen = sorted({len(lines) * number // most for number in range(most)}) if lines else []
    return [_parse(lines[number], path) for number in chosen]


def read_since(path: Path, cursor: str) -> NewRows:
    """Return what was written after the cursor of the rows before; all for "".

    A cursor is a file's number and a place in it: a resumed run writes its file anew, and then
    the lines are those from its beginning.
    """
    if not path.exists():
        return NewRows([], "", anew=True, more=False)
    file_number, content = str(path.stat().st_ino), _content(path)
    of_file, _, place = cursor.partition("-")
    is_same = of_file == file_number and re.fullmatch("[0-9]{1,18}", place)
    start = int(place) if is_same and int(place) <= len(content) else 0
    end = content.rfind(b"\n", start, start + MOST) + 1 or start
    rows = [_parse(line, path) for line in content[start:end].splitlines()]
    more = end > start and start + MOST < len(content)
    return NewRows(rows, f"{file_number}-{end}", start == 0, more)


def add(path: Path, rows: Iterable[Metric]) -> None:
    """Write lines below those that are there."""
    files.append(path, typed.lines(rows))


def cut(path: Path, step: int) -> float:
    """Drop lines after `step`, which a resumed run writes again; return its seconds so far."""
    rows = [row for row in read(path) if row.step <= step]
    files.write(path, typed.lines(rows))
    return max((row.seconds for row in rows), default=0.0)


def _content(path: Path) -> bytes:
    try:
        return files.read_bytes(path)
    except OSError as error:
        where = f"run {path.parent.name!r}"
        raise UserError(f"{where} is damaged: {path.name}: {error.strerror}") from None


def _lines(path: Path) -> list[bytes]:
    """Return the lines that are whole: without the last one, where its end is not written."""
    return _content(path).split(b"\n")[:-1] if os.path.lexists(path) else []


def _parse(line: bytes, path: Path, number: int | None = None) -> Metric:
    where = "" if number is None else f", line {number},"
    return typed.parse(Metric, line, f"run {path.parent.name!r}", f"{path.name}{where}")
