"""Reports and pages of run folders, made once for each state of the files they are made of.

They are kept in memory: a run's folder is written by its owner alone.
"""

import tempfile
import threading
from functools import lru_cache
from pathlib import Path

from curta.frontends.api import load
from curta.frontends.api import report as write

_LOCK = threading.Lock()
"""Pages are made one at a time."""


def report(*folders: Path) -> bytes:
    """Return the report of a run, of a comparison, or of several runs side by side."""
    return _read(folders)


def page(folder: Path, member: int) -> bytes:
    """Return the page in which a member calculates; UserError where there can be none."""
    return _read((folder,), member)


def _read(folders: tuple[Path, ...], member: int | None = None) -> bytes:
    state = []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        about = path.lstat()
        state.append((path, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    with _LOCK:
        return _make(folders, member, tuple(state))


@lru_cache(32)
def _make(folders: tuple[Path, ...], member: int | None, state: tuple[object, ...]) -> bytes:
    """Make the page of a member, or a report; `state` tells changed files from those before."""
    names = [str(folder) for folder in folders]
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        if member is not None:
            path = load(names[0]).write_page(member, out / "page.html")
        else:
            path = write(names[0] if len(names) == 1 else names, out)
        return path.read_bytes()
