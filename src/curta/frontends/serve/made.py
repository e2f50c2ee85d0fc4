"""Reports and pages of run folders, made anew where files that they are made of are newer."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from curta.config.errors import UserError
from curta.frontends.api import load
from curta.frontends.api import report as write
from curta.runs.folders import COMPARISON, find

_MAKING = threading.Lock()
"""One at a time: matplotlib's settings belong to the whole program."""

_CALCULATES = ("recipe.toml", "checkpoints/*")
_REPORTED = (
    "run.json", "metrics.jsonl", "evaluation.json", "history/*", "probes/*.json", *_CALCULATES
)  # fmt: skip


def report(folder: Path) -> bytes:
    """The report of a run; UserError for a damaged one."""
    find(str(folder))
    return _fresh(folder / "report.html", _files(folder, _REPORTED), lambda: write(str(folder)))


def compared(folder: Path) -> bytes:
    """The report of a comparison."""
    sources = _files(folder, (COMPARISON, *(f"*/{pattern}" for pattern in _REPORTED)))
    return _fresh(folder / "report.html", sources, lambda: write(str(folder)))


def page(folder: Path, member: int) -> bytes:
    """The page in which a member calculates; UserError where there can be none."""
    sources = _files(folder, _CALCULATES)
    path = folder / f"page-{member}.html"
    return _fresh(path, sources, lambda: load(str(folder)).write_page(member))


def _files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in folder.glob(pattern)]


def _fresh(path: Path, sources: Iterable[Path], make: Callable[[], object]) -> bytes:
    """The file, made anew if it is older than a source.

    Its time becomes that of the newest source it was made of, so that what is written while
    it is being made is found newer. Where nothing can be written, an older file has to do.
    """
    with _MAKING:
        newest = max(map(_written, sources), default=0)
        if path.exists() and _written(path) >= newest:
            return path.read_bytes()
        try:
            make()
        except UserError:
            if not path.exists():
                raise
            return path.read_bytes()
        with contextlib.suppress(OSError):
            os.utime(path, ns=(newest, newest))
        return path.read_bytes()


def _written(path: Path) -> int:
    """When the file was written; never, for a checkpoint that has just been dropped."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0
