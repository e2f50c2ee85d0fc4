"""Files that are never half written, even after a crash; reading them; results in the cache."""

import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from curta.config import system
from curta.config.errors import UserError, notify


def cache_folder() -> Path:
    """Return the folder of results that can be recomputed: $CURTA_CACHE, or the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CURTA_CACHE") or Path(base) / "curta")


PART = ".part"
"""Ending of the name of a file, or folder, that is still being written."""

ABANDONED = 86_400.0
"""Seconds after which a folder that is still being written was left by a killed process."""

LARGEST = 1 << 30
"""Most bytes of a file that is read; files of ours are smaller."""


def write(path: Path, content: bytes | str, durable: bool = True) -> None:
    """Replace a file atomically; after a UserError the old file is unchanged.

    A `durable` one survives a power failure.
    """
    data = content.encode() if isinstance(content, str) else content
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
            if durable:
                sync(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def append(path: Path, text: str) -> None:
    """Append lines to a file; they survive a power failure after `sync`.

    Raises UserError for a file that is no regular one, or a link, hard ones included.
    """
    with _writing(path):
        handle = system.open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(handle, "a", encoding="utf-8", newline="\n") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise OSError(errno.EINVAL, "it is a link, or not a regular file")
            file.write(text)


def sync(path: Path) -> None:
    """Return once a file, or the names in a folder, would survive a power failure.

    On Windows, where folders cannot be opened, the system takes care of names.
    """
    if path.is_dir() and not system.OPENS_FOLDERS:
        return
    with _writing(path):
        handle = os.open(path, os.O_RDONLY if system.OPENS_FOLDERS else os.O_RDWR)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system that cannot sync a folder
                raise
        finally:
            os.close(handle)


def sweep(folder: Path, owned_by: str) -> None:
    """Remove what killed writers have left in a folder and in the folders inside it.

    Folders inside that have a file called `owned_by` are left to their own owner.
    """
    inner = [path for path in folder.iterdir() if path.is_dir() and path.suffix != PART]
    for parent in (folder, *(path for path in inner if not (path / owned_by).exists())):
        if not parent.is_symlink():
            _sweep_folders(parent)
            for path in parent.glob(f".*{PART}"):
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """Return the content of a regular file.

    Raises OSError for a link, a pipe or a device, and for more than `most` bytes: a downloaded run
    may contain these, and reading them might not end, or leave its folder.
    """
    handle = system.open_file(path)
    status = os.fstat(handle)
    is_file = stat.S_ISREG(status.st_mode)
    if not is_file or status.st_size > most:
        os.close(handle)
        reason = f"it is larger than {most:,} bytes" if is_file else "it is not a regular file"
        raise OSError(errno.EINVAL, reason)
    with os.fdopen(handle, "rb") as file:
        return file.read()


def read_own(path: Path, where: str, most: int = LARGEST) -> str:
    """Return the text of a file of `where`; UserError if it is missing or cannot be read."""
    try:
        return read_bytes(path, most).decode()
    except FileNotFoundError:
        raise UserError(f"{where} is incomplete: {path.name} is missing") from None
    except OSError as error:
        raise UserError(f"{where} is damaged: {path.name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{where} is damaged: {path.name} is not UTF-8 text") from None


def read_text(path: Path, title: str) -> str:
    """Return the text of a user's file; a UserError says that `title` cannot be read, and why.

    A byte order mark, which editors on Windows write, is removed.
    """
    with reading(title):
        return path.read_text("utf-8-sig")


@contextmanager
def reading(title: str) -> Iterator[None]:
    """Turn failures to read, or to decode UTF-8, into a UserError that names `title`."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"cannot read {title}: {reason}") from None


def read_json(path: Path, where: str) -> dict[str, Any]:
    """Return the JSON object in a file of `where`, such as "run 'mine'"; UserError if damaged."""
    text = read_own(path, where).removeprefix("\ufeff")  # users write some files, too
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{where} is damaged: {path.name} is not valid JSON") from None
    if not isinstance(content, dict):
        raise UserError(f"{where} is damaged: {path.name} holds no table")
    return content


def json_text(content: Any) -> str:
    """Return indented JSON."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


class TakenError(UserError):
    """A file or folder of this name exists already."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it is renamed to `path` unless an error occurs.

    Raises TakenError if `path` exists; if several processes want the name, one gets it.
    """
    _check_free(path)
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_folders(path.parent)
        name = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o755)
            sync(temporary)
            _check_free(path)
            try:
                temporary.rename(path)
            except OSError as error:  # POSIX renames a folder onto an empty one only
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise TakenError(f"{str(path)!r} exists already: choose another name") from None
                raise
            sync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise TakenError(f"{str(path)!r} exists already: choose another name, or remove it")


def _sweep_folders(parent: Path) -> None:
    """Remove temporary folders that are so old that no process is filling them."""
    for path in parent.glob(f".*{PART}"):
        with suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and time.time() - status.st_mtime > ABANDONED:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn OSErrors into a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


# The cache folder: results that can be recomputed. The first line of an entry is the SHA-256 of its
# content, so a torn or altered entry is noticed and computed again. Entries are written atomically,
# and processes may share them. If the folder cannot be written, one notice says so, and the program
# goes on without it.


@cache
def _notify_once(line: str) -> None:
    notify(line)


def read_entry(path: Path) -> bytes | None:
    """Return the content of an entry; None if there is none, or if it is damaged."""
    try:
        digest, _, content = read_bytes(path).partition(b"\n")
    except OSError:
        return None
    if digest == _digest(content):
        return content
    _notify_once(f"a damaged entry of the cache {str(path.parent)!r} is computed again")
    return None


def keep_entry(path: Path, content: bytes) -> None:
    """Write or replace an entry; a notice says if that fails.

    Does not wait for the disk, since compiled programs are many and small: an entry torn by a power
    failure is noticed when it is read.
    """
    try:
        write(path, _digest(content) + b"\n" + content, durable=False)
    except UserError as error:
        reason = str(error).rpartition(": ")[2]
        folder = str(path.parent)
        _notify_once(f"cannot write to the cache {folder!r}: {reason}; going on without it")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
