"""Locks that the operating system takes back when a process ends, however it ends: `flock`.

They belong to an open file or folder, so nothing stale is ever left behind. Over NFS they hold
between machines where the mount does not say `nolock`.
"""

import fcntl
import os
import time
from pathlib import Path

_TRIES, _PAUSE = 10, 0.02
"""Asking whether a lock is free takes it for a moment: who wants it tries again."""


def claim(path: Path) -> int | None:
    """The lock of a file or folder that exists, as a descriptor to `release`; None if taken."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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
    """Whether nobody holds its lock; what is not there is free."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        return _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
