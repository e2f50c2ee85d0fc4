"""Locks that the operating system takes back when a process ends, however it ends.

They belong to an open file, on Linux and macOS (`flock`) to an open folder as well, so nothing
stale is ever left behind. Over NFS they hold between machines where the mount does not say
`nolock`.
"""

import os
import time
from pathlib import Path

from curta.config import system

_TRIES, _PAUSE = 10, 0.02
"""Asking whether a lock is free takes it for a moment: who wants it tries again."""


def claim(path: Path) -> int | None:
    """The lock of a file or folder that exists, as a descriptor to `release`.

    None if it is taken, or of a folder where those have no locks.
    """
    if _has_none(path):
        return None
    handle = system.open_file(path)
    for _ in range(_TRIES):
        if _locked(handle):
            return handle
        time.sleep(_PAUSE)
    os.close(handle)
    return None


def release(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def is_free(path: Path) -> bool:
    """Whether nobody holds its lock; what is not there is free, what has no locks never is."""
    if _has_none(path):
        return False
    try:
        handle = system.open_file(path)
    except OSError:
        return True
    try:
        return _locked(handle)
    finally:
        os.close(handle)


def _has_none(path: Path) -> bool:
    return not system.OPENS_FOLDERS and path.is_dir()


def _locked(handle: int) -> bool:
    try:
        system.lock(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True
