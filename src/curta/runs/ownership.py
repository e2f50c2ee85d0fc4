"""One owner of a run at a time: a process that holds the lock of the run's folder.

The lock's file describes its owner, for the line that refuses the next one. Whether the process is
alive is known from the lock itself.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from curta.config import files, system
from curta.config.errors import UserError, printable

LOCK = ".lock"
"""The file in a run's folder whose lock its owner holds."""


@dataclass
class _Held:
    """A lock of this process, and how many blocks are inside of it."""

    handle: int
    depth: int = 0


_HELD: dict[Path, _Held] = {}
_GUARD = threading.Lock()


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """This process owns the run as long as the block lasts; blocks within it own it too.

    Raises UserError, in one line that names the first, if another process owns it. What writers
    that were killed have left is removed.
    """
    key = folder.resolve()
    with _GUARD:
        held = _HELD.get(key) or _Held(_claimed(folder))
        _HELD[key], held.depth = held, held.depth + 1
    try:
        yield
    finally:
        with _GUARD:
            held.depth -= 1
            if not held.depth:
                system.release_lock(_HELD.pop(key).handle)


def is_shared(folder: Path) -> bool:
    """Whether a block within another block of this process owns it, so that more is to come."""
    held = _HELD.get(folder.resolve())
    return held is not None and held.depth > 1


def is_owned(folder: Path) -> bool:
    """Whether any process owns it."""
    return folder.resolve() in _HELD or not system.lock_is_free(folder / LOCK)


def _claimed(folder: Path) -> int:
    """Take the lock; return its descriptor."""
    path = folder / LOCK
    try:
        os.close(system.open_file(path, os.O_WRONLY | os.O_CREAT))
        handle = system.claim_lock(path)
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror}") from None
    if handle is None:
        owner = printable(path.read_text("utf-8", "replace"), 200) or "another process"
        raise UserError(f"run {folder.name!r} is in use by {owner}: wait until it has ended")
    words = [*(Path(word).name for word in system.command()), *sys.argv[1:]][:6]
    since = time.strftime("%H:%M:%S")
    with suppress(OSError):  # a full disk: it is for the next one's information only
        path.write_text(
            f"process {os.getpid()} on {socket.gethostname()} ({' '.join(words)}, since {since})",
            "utf-8",
        )
    files.sweep(folder, LOCK)
    return handle
