"""Results that took time and can be computed again, in the cache folder, never in the way.

An entry begins with a line, the SHA-256 of its content. So one that is torn, altered or no file at
all is noticed, removed, and computed again. Entries appear whole, and several processes may share
them. Where nothing can be read or kept, the work is done without, and one line says so.
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
    """Return the content of an entry; None if there is none, or it is damaged."""
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
    """Write an entry, in place of any that is there; a notice says where that is refused.

    An entry that a power failure tears is noticed when it is read, so nothing waits for the disk:
    compiled programs are many, and small.
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
        where, reason = str(path.parent), error.strerror or error
        _notify_once(f"cannot write to the cache {where!r}: {reason}; going on without it")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
