"""The cache folder: results that can be recomputed.

The first line of an entry is the SHA-256 of its content, so a torn or altered entry is noticed and
removed. Entries are written atomically, and processes may share them. If the folder cannot be read
or written, one notice says so, and the program goes on without it.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from curta.config import files
from curta.config.errors import notify


@cache
def _notify_once(line: str) -> None:
    notify(line)


def read(path: Path) -> bytes | None:
    """Return the content of an entry; None if there is none, or if it is damaged."""
    try:
        data = files.read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        _notify_once(
            f"cannot read the cache {str(path.parent)!r}: {error.strerror}; going on without it"
        )
        return None
    except OSError:
        data = b""
    digest, _, content = data.partition(b"\n")
    if digest == _digest(content):
        return content
    with suppress(OSError):
        path.unlink()
    _notify_once(f"a damaged entry of the cache {str(path.parent)!r} is computed again")
    return None


def keep(path: Path, content: bytes) -> None:
    """Write or replace an entry; a notice says if that fails.

    Does not wait for the disk, since compiled programs are many and small: an entry torn by a power
    failure is noticed when it is read.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=files.PART)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(content) + b"\n" + content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        folder, reason = str(path.parent), error.strerror or error
        _notify_once(f"cannot write to the cache {folder!r}: {reason}; going on without it")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
