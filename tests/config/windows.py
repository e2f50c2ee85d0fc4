"""A process in which Curta finds what Windows has: `python -m tests.config.windows train ...`.

Python's own modules are imported first, as on this system; then what POSIX alone has is taken away
from `os` and `signal`, folders cannot be opened, and files are locked by `msvcrt`.
"""

import errno
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from types import SimpleNamespace
from typing import Any

POSIX = {
    os: ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "sysconf", "sched_getaffinity"),
    signal: ("SIGALRM", "setitimer", "getitimer"),
}

_open, _fsync, _flock = os.open, os.fsync, fcntl.flock


def begin() -> None:
    """From here on this process is as on Windows, as far as `curta` can see."""
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    tempfile.gettempdir()
    for module, names in POSIX.items():
        for name in names:
            delattr(module, name)
    sys.modules["fcntl"] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = SimpleNamespace(LK_NBLCK=2, locking=_locking)  # type: ignore[assignment]
    os.open, os.fsync = _open_file, _sync_written
    platform, sys.platform = sys.platform, "win32"
    import curta.config.system  # noqa: F401

    sys.platform = platform
    del sys.modules["msvcrt"]  # by which others know Windows


def _open_file(path: Any, flags: int, mode: int = 0o777, **further: Any) -> int:
    if os.path.isdir(path):  # noqa: PTH112
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return _open(path, flags, mode, **further)


def _sync_written(handle: int) -> None:
    """Windows syncs only what is open to be written."""
    try:
        os.write(handle, b"")
    except OSError:
        raise OSError(errno.EBADF, "Bad file descriptor") from None
    _fsync(handle)


def _locking(handle: int, mode: int, count: int) -> None:
    try:
        _flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


if __name__ == "__main__":
    begin()
    from curta.frontends.cli import main

    sys.exit(main())
