"""What took time and can be made again: kept in the cache folder, and never in the way.

An entry begins with a line, the SHA-256 of the rest. So one that is torn, altered or no file at
all is noticed, removed, and then made anew. Entries appear whole, and several processes may share
them. Where nothing can be read or kept, the work is done without, and one line says so.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from curta.config import files
from curta.config.errors import notify

_SAID: set[str] = set()
"""What this process has said: each kind of trouble is said once, not for every entry."""


def read(path: Path) -> bytes | None:
    """The content of an entry; None if there is none, or it is damaged."""
    try:
        data = files.read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        _say("unreadable", f"cannot read {str(path)!r}: {error.strerror}; going on without it")
        return None
    except OSError:
        _remove(path)
        return None
    digest, _, content = data.partition(b"\n")
    if digest == _digest(content):
        return content
    _remove(path)
    return None


def keep(path: Path, content: bytes) -> None:
    """Writes an entry, in place of any that is there; where that is refused, it is said once."""
    try:
        _write(path, _digest(content) + b"\n" + content)
    except OSError as error:
        where, reason = str(path.parent), error.strerror or error
        _say("unwritable", f"cannot write to the cache {where!r}: {reason}; going on without it")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    _say("damaged", f"a damaged entry of the cache {str(path.parent)!r} is made anew")


def _write(path: Path, data: bytes) -> None:
    """As `files.write`, but for a power failure: what is torn by that is noticed when it is read.

    Compiled programs are many, and small: waiting for the disk would take most of the time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=files.PART)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _say(kind: str, line: str) -> None:
    if kind not in _SAID:
        _SAID.add(kind)
        notify(line)
