"""The operating system: files and locks, memory, load, threads, and processes of one launcher.

On Windows folders cannot be opened, so they are not synced; a folder cannot be renamed while a file
in it is open; and the amount of memory is unknown.

Locks belong to an open file. The system releases them when a process ends, however it ends, so no
stale locks remain. Over NFS they hold between machines unless the mount says `nolock`.
"""

import errno
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

OPENS_FOLDERS = sys.platform != "win32"
"""Whether a folder can be opened and synced, and renamed while a file in it is open."""

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
"""Flags of every file that is opened, as far as the system has them."""

if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30
    """The position of the locked byte, beyond any file: no other process can read a locked byte."""

    def _lock(handle: int) -> None:
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a path without blocking, as a descriptor; OSError (ELOOP) for a link.

    In binary mode; new files are readable by all.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    return os.open(path, flags | sum(getattr(os, name, 0) for name in _FLAGS), 0o644)


def claim_lock(path: Path) -> int | None:
    """Take the lock of a file; return a descriptor for `release_lock`, None if it is taken."""
    handle = open_file(path)
    for _ in range(10):  # `lock_is_free` takes a lock for a moment
        if _is_locked(handle):
            return handle
        time.sleep(0.02)
    os.close(handle)
    return None


def release_lock(handle: int | None) -> None:
    """Release a lock that `claim_lock` returned."""
    if handle is not None:
        os.close(handle)


def lock_is_free(path: Path) -> bool:
    """Return whether no process holds the lock: True for a missing file."""
    try:
        handle = open_file(path)
    except OSError:
        return True
    try:
        return _is_locked(handle)
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    """Try to lock an open file; return whether that succeeded."""
    try:
        _lock(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


def memory() -> int:
    """Return the bytes of memory of this machine; `sys.maxsize` if unknown."""
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def in_background(function: Callable[[], T]) -> "Future[T]":
    """Start a function in a daemon thread: the program may end before the function does."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # raised again by `future.result()`
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def command() -> list[str]:
    """Return the words that started this program: `curta`, `python -m curta`, or another."""
    if Path(*sys.argv[:1]).parts[-2:] == ("curta", "__main__.py"):
        return ["python", "-m", "curta"]
    return sys.argv[:1]


SRUN = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE")
MPIRUN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
"""Where a launcher says a process's index, how many there are, and how many on its machine."""


@dataclass(frozen=True)
class Process:
    """One of `count` processes that belong together, `beside` of them on its machine."""

    index: int = 0
    count: int = 1
    beside: int = 1


def process() -> Process:
    """Return which process this is, by its environment, so that JAX need not be imported.

    A batch script of Slurm's is alone, however many tasks srun would begin in it.
    """
    for names in (SRUN, MPIRUN):
        if all(name in os.environ for name in names):
            # The first number: of `2(x3)`, two tasks on each of three nodes, 2.
            numbers = [re.search("[0-9]+", os.environ[name]) for name in names]
            return Process(*(int(number[0]) for number in numbers if number))
    return Process()
