"""Reports and pages of run folders, kept by the content of the files that they are made of.

They are kept in the cache: a run's own folder is written by its owner alone.
"""

import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import curta
from curta.config import cache as kept
from curta.config import files
from curta.config.errors import UserError
from curta.frontends.api import load
from curta.frontends.api import report as write
from curta.runs import folders
from curta.runs.folders import COMPARISON, find

_MAKING = threading.Lock()
"""One at a time: matplotlib's settings belong to the whole program."""

_CALCULATES = (
    "recipe.toml", "run.json", "checkpoints/*.json", "certificate.json", "problems.jsonl",
)  # fmt: skip
"""A checkpoint's JSON has the hash of its weights."""
_REPORTED = (
    "metrics.jsonl", "evaluation.json", "evaluations/*.json", "history/*",
    "probes/*.json",
    *_CALCULATES,
)  # fmt: skip

MOST = 200
"""Pages that are kept."""


def report(folder: Path) -> bytes:
    """The report of a run; UserError for a damaged one."""
    status = find(str(folder)).read_info().status
    key = _key(f"report {folder.resolve()} {status}", _files(folder, _REPORTED))
    return _kept(key, lambda out: write(str(folder), out))


def compared(folder: Path) -> bytes:
    """The report of a comparison."""
    sources = _files(folder, (COMPARISON, *(f"*/{pattern}" for pattern in _REPORTED)))
    key = _key(f"comparison {folder.resolve()}", sources)
    return _kept(key, lambda out: write(str(folder), out))


def together(folders: Sequence[Path]) -> bytes:
    """The report of several runs side by side."""
    sources = [path for folder in folders for path in _files(folder, _REPORTED)]
    key = _key(f"together {[str(folder.resolve()) for folder in folders]}", sources)
    return _kept(key, lambda out: write([str(folder) for folder in folders], out))


def page(folder: Path, member: int) -> bytes:
    """The page in which a member calculates; UserError where there can be none."""
    called = folders.Folder(folder).address
    key = _key(f"page {member} {folder.resolve()} {called}", _files(folder, _CALCULATES))
    return _kept(key, lambda out: load(str(folder)).write_page(member, out / "page.html"))


def _files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


def _key(what: str, sources: Iterable[Path]) -> str:
    """A hash of the files and of what is made of them; UserError for what is no file of a run."""
    found = hashlib.sha256(f"{_code()} {what}".encode())
    for path in sources:
        with suppress(FileNotFoundError):  # a checkpoint that was just dropped
            found.update(f"\n{path.name} {_hash(path)}".encode())
    return found.hexdigest()


@cache
def _code() -> str:
    """A hash of all that makes pages."""
    found = hashlib.sha256()
    for path in sorted(Path(curta.__file__).parent.rglob("*.*")):
        if path.suffix in (".py", ".js", ".css", ".html"):
            found.update(path.read_bytes())
    return found.hexdigest()


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(files.read_bytes(path)).hexdigest()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _kept(key: str, make: Callable[[Path], Path]) -> bytes:
    """The page of that key, made if it is not yet there."""
    path = files.cache_folder() / "pages" / f"{key}.page"
    with _MAKING:
        known = kept.read(path)
        if known is not None:
            return known
        with tempfile.TemporaryDirectory() as out:
            content = make(Path(out)).read_bytes()
        kept.keep(path, content)
        _prune(path.parent)
        return content


def _prune(folder: Path) -> None:
    """Drops the pages that were made longest ago."""
    with suppress(OSError):
        pages = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in pages[:-MOST]:
            path.unlink(missing_ok=True)
