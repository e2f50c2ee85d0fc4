"""The cache folder: results that can be recomputed.

The first line of an entry is the SHA-256 of its content, so a torn or altered entry is noticed and
computed again. Entries are written atomically, and processes may share them. If the folder cannot
be written, one notice says so, and the program goes on without it.
"""

import hashlib
from functools import cache
from pathlib import Path

from curta.config import files
from curta.config.errors import UserError, notify


@cache
def _notify_once(line: str) -> None:
    notify(line)


def read(path: Path) -> bytes | None:
    """Return the content of an entry; None if there is none, or if it is damaged."""
    try:
        digest, _, content = files.read_bytes(path).partition(b"\n")
    except OSError:
        return None
    if digest == _digest(content):
        return content
    _notify_once(f"a damaged entry of the cache {str(path.parent)!r} is computed again")
    return None


def keep(path: Path, content: bytes) -> None:
    """Write or replace an entry; a notice says if that fails.

    Does not wait for the disk, since compiled programs are many and small: an entry torn by a power
    failure is noticed when it is read.
    """
    try:
        files.write(path, _digest(content) + b"\n" + content, durable=False)
    except UserError as error:
        reason = str(error).rpartition(": ")[2]
        folder = str(path.parent)
        _notify_once(f"cannot write to the cache {folder!r}: {reason}; going on without it")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
