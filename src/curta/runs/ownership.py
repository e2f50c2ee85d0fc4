"""One owner of a run at a time: a process that holds the lock of the run's folder.

The lock's file describes its owner, for the line that refuses the next one. Whether the process is
alive is known from the lock itself.
"""

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from curta.config import files, system
from curta.config.errors import UserError, printable
from curta.runs import provenance

LOCK = ".lock"
"""The file in a run's folder whose lock its owner holds."""


_HELD: dict[Path, int] = {}
"""The locks of this process, by folder."""
_DEPTH: Counter[Path] = Counter()
"""How many blocks are inside of each."""
_GUARD = threading.Lock()


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own a run for the length of the block; blocks inside it own it too.

    Removes what killed writers left behind. Raises UserError, naming the other process, if one
    owns the run.
    """
    key = folder.resolve()
    with _GUARD:
        if not _DEPTH[key]:
            path = folder / LOCK
            try:
                os.close(system.open_file(path, os.O_WRONLY | os.O_CREAT))
                handle = system.claim_lock(path)
            except OSError as error:
                raise UserError(f"cannot write {str(path)!r}: {error.strerror}") from None
            if handle is None:
                owner = printable(path.read_text("utf-8", "replace"), 200) or "another process"
                raise UserError(
                    f"run {folder.name!r} is in use by {owner}: wait until it has ended"
                )
            me, words = f"process {os.getpid()} on {socket.gethostname()}", provenance.command()[:6]
            with suppress(OSError):  # a full disk: it is for the next one's information only
                since = time.strftime("%H:%M:%S")
                path.write_text(f"{me} ({' '.join(words)}, since {since})", "utf-8")
            files.sweep(folder, LOCK)
            _HELD[key] = handle
        _DEPTH[key] += 1
    try:
        yield
    finally:
        with _GUARD:
            _DEPTH[key] -= 1
            if not _DEPTH[key]:
                system.release_lock(_HELD.pop(key))


def is_owned(folder: Path) -> bool:
    """Whether a process owns a run."""
    return folder.resolve() in _HELD or not system.lock_is_free(folder / LOCK)
