"""metrics.jsonl: a line for each moment of training and member, whole or from some place on."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from curta.config import files, typed
from curta.config.errors import UserError
from curta.runs.info import Metric

MOST = 1 << 20
"""Most bytes that `read_since` reads at once."""

TAIL = 1 << 16
"""Bytes that are read at first for the last lines of all members."""


class NewRows(NamedTuple):
    """Rows after a cursor, the next cursor, whether from the start, and if more wait."""

    rows: list[Metric]
    cursor: str
    anew: bool
    more: bool


def read(path: Path) -> list[Metric]:
    """Return all lines in the order they were written; a torn last one is left out."""
    if not os.path.lexists(path):
        return []
    with _opened(path) as file:
        *lines, last = file.read().split(b"\n")
    rows = [_parse(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
    # a last line without its end counts if all of it is there
    return rows + ([_parse(last, path)] if last.endswith(b"}") else [])


def read_last(path: Path, members: int) -> list[Metric]:
    """Return the last line of every member; of so many, so that little of a long file is read."""
    if not os.path.lexists(path):
        return []
    tail, last = TAIL, dict[int, Metric]()
    with _opened(path) as file:
        size = file.seek(0, 2)
        while True:
            file.seek(max(0, size - tail))
            lines = file.read().split(b"\n")[1 if size > tail else 0 : -1]
            for line in reversed(lines):
                row = _parse(line, path)
                last.setdefault(row.member, row)
                if len(last) == members:
                    break
            if len(last) == members or tail >= size:
                return [last[member] for member in sorted(last)]
            tail *= 4


def read_evenly(path: Path, most: int) -> list[Metric]:
    """Return at most so many lines, spread evenly over the file, so that little of it is read."""
    if not os.path.lexists(path):
        return []
    rows: dict[int, Metric] = {}
    with _opened(path) as file:
        size = file.seek(0, 2)
        for part in range(most):
            file.seek(size * part // most)
            if part:
                file.readline()  # the end of a line
            place, line = file.tell(), file.readline()
            if line.endswith(b"\n"):
                rows[place] = _parse(line, path)
    return list(rows.values())


def read_since(path: Path, cursor: str) -> NewRows:
    """What was written after the cursor of the part before; all for "".

    A cursor is a file's number and a place in it: a resumed run writes its file anew, and then
    the lines are those from its beginning.
    """
    if not path.exists():
        return NewRows([], "", anew=True, more=False)
    with _opened(path) as file:
        number, size = str(path.stat().st_ino), file.seek(0, 2)
        file_number, _, place = cursor.partition("-")
        start = int(place) if file_number == number and re.fullmatch("[0-9]{1,18}", place) else 0
        start = start if start <= size else 0
        file.seek(start)
        text = file.read(MOST)
    end = text.rfind(b"\n") + 1
    rows = [_parse(line, path) for line in text[:end].splitlines()]
    return NewRows(
        rows, f"{number}-{start + end}", start == 0, end > 0 and start + len(text) < size
    )


def add(path: Path, rows: Iterable[Metric]) -> None:
    """Writes lines below those that are there."""
    files.append(path, typed.lines(rows))


def cut(path: Path, step: int) -> float:
    """Drops lines after `step`, which a resumed run writes again; seconds trained by then."""
    rows = [row for row in read(path) if row.step <= step]
    files.write(path, typed.lines(rows))
    return max((row.seconds for row in rows), default=0.0)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with files.opened(path) as file:
            yield file
    except OSError as error:
        where = f"run {path.parent.name!r}"
        raise UserError(f"{where} is damaged: {path.name}: {error.strerror}") from None


def _parse(line: bytes, path: Path, number: int | None = None) -> Metric:
    where = "" if number is None else f", line {number},"
    return typed.parse(Metric, line, f"run {path.parent.name!r}", f"{path.name}{where}")
