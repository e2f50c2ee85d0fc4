"""Where operating systems differ: in opening, locking and syncing files.

On Windows folders cannot be opened, so they are neither locked nor synced; a name cannot be
changed while a file below it is open; a link is looked for before a file is opened, not by opening
it; and how much memory there is remains unknown.
"""

import errno
import os
import sys
from pathlib import Path

OPENS_FOLDERS = sys.platform != "win32"
"""Whether a folder can be opened, and so be locked and synced, and be renamed with a file open."""

_FOLLOWS_NOT = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = _FOLLOWS_NOT | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
)

if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30
    """A byte that no file has: a locked one can be read by nobody else."""

    def lock(handle: int) -> None:
        """Locks an open file; OSError if another has it."""
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock(handle: int) -> None:
        """Locks an open file or folder; OSError if another has it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of what lies there, be it a pipe; raises OSError (ELOOP) for a link.

    Bytes are read and written as they are; a file that is made is readable by all.
    """
    if not _FOLLOWS_NOT and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    return os.open(path, flags | _FLAGS, 0o644)


def memory() -> int:
    """Bytes of memory of this machine; where the system does not say, as many as can be counted."""
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load() -> list[float]:
    """Processes that want a core, in the mean of the last minute; none where it is not known."""
    return list(os.getloadavg()[:1]) if hasattr(os, "getloadavg") else []


def is_path(name: str) -> bool:
    """Whether a name says a folder too, such as runs/addition."""
    return any(mark in name for mark in (os.sep, os.altsep) if mark)


def command() -> list[str]:
    """The words by which this program was called: `curta`, or `python -m curta`, or another."""
    if Path(*sys.argv[:1]).parts[-2:] == ("curta", "__main__.py"):
        return ["python", "-m", "curta"]
    return sys.argv[:1]
