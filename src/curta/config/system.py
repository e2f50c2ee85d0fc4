"""Where operating systems differ: in opening, locking and syncing files.

On Windows folders cannot be opened, so they are neither locked nor synced; a name cannot be
changed while a file below it is open; a link is looked for before a file is opened, not by opening
it; and how much memory there is remains unknown.

Locks belong to an open file, on Linux and macOS (`flock`) to an open folder as well. The system
takes them back when a process ends, however it ends, so nothing stale is ever left behind. Over
NFS they hold between machines unless the mount says `nolock`.
"""

import errno
import os
import sys
import time
from pathlib import Path

OPENS_FOLDERS = sys.platform != "win32"
"""Whether a folder can be opened, and so be locked and synced, and be renamed with a file open."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = _NO_FOLLOW | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
)

if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30
    """A byte that no file has: a locked one can be read by nobody else."""

    def _lock(handle: int) -> None:
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open what lies there, be it a pipe, as a descriptor; raises OSError (ELOOP) for a link.

    Bytes are read and written unchanged; a new file is readable by all.
    """
    if not _NO_FOLLOW and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    return os.open(path, flags | _FLAGS, 0o644)


def claim_lock(path: Path) -> int | None:
    """Take the lock of a file or folder that exists; a descriptor to `release_lock`.

    None if it is taken, or of a folder where those have no locks.
    """
    if _has_no_lock(path):
        return None
    handle = open_file(path)
    for _ in range(10):  # `lock_is_free` takes a lock for a moment
        if _is_locked(handle):
            return handle
        time.sleep(0.02)
    os.close(handle)
    return None


def release_lock(handle: int | None) -> None:
    """Give back a lock that `claim_lock` returned."""
    if handle is not None:
        os.close(handle)


def lock_is_free(path: Path) -> bool:
    """Return whether nobody holds its lock: True for a missing path, False without locks."""
    if _has_no_lock(path):
        return False
    try:
        handle = open_file(path)
    except OSError:
        return True
    try:
        return _is_locked(handle)
    finally:
        os.close(handle)


def _has_no_lock(path: Path) -> bool:
    return not OPENS_FOLDERS and path.is_dir()


def _is_locked(handle: int) -> bool:
    """Try to lock an open file; whether that worked."""
    try:
        _lock(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


def memory() -> int:
    """Return the bytes of this machine's memory; `sys.maxsize` where the system does not say."""
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load() -> list[float]:
    """Return the mean number of busy processes in the last minute; empty where unknown."""
    return list(os.getloadavg()[:1]) if hasattr(os, "getloadavg") else []


def is_path(name: str) -> bool:
    """Return whether a name says a folder too, such as runs/addition."""
    return any(mark in name for mark in (os.sep, os.altsep) if mark)


def command() -> list[str]:
    """Return the words that called this program: `curta`, `python -m curta`, or another."""
    if Path(*sys.argv[:1]).parts[-2:] == ("curta", "__main__.py"):
        return ["python", "-m", "curta"]
    return sys.argv[:1]
