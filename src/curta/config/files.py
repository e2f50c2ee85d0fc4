"""Files that a reader, or a crash, never meets half written; JSON, and its errors."""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from curta.config import system
from curta.config.errors import UserError


def cache_folder() -> Path:
    """What can be made again, but took time: $CURTA_CACHE, or in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CURTA_CACHE") or Path(base) / "curta")


PART = ".part"
"""How the name of a file ends that is not yet whole."""

LARGEST = 1 << 30
"""Most bytes of a file that is read: no file of ours is larger."""


def write(path: Path, content: bytes | str) -> None:
    """Replace `path` atomically; a failure is one line and leaves the old file as it was."""
    data = content.encode() if isinstance(content, str) else content
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
            sync(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def append(path: Path, text: str) -> None:
    """Adds lines to `path`; they outlast a power failure once they are `sync`ed."""
    with _writing(path), os.fdopen(open_end(path), "a", encoding="utf-8", newline="\n") as file:
        file.write(text)


def sync(path: Path) -> None:
    """Returns once a file, or the names in a folder, would outlast a power failure.

    Where folders cannot be opened, the system itself sees to the names.
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
    """Remove what killed writers have left in a folder and in those inside it.

    A folder inside that holds a file called `owned_by` is left to its own owner.
    """
    inside = [path for path in folder.iterdir() if path.is_dir() and path.suffix != PART]
    for place in (folder, *(path for path in inside if not (path / owned_by).exists())):
        if not place.is_symlink():
            _sweep_folders(place)
            for path in place.glob(f".*{PART}"):
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file.

    Raises OSError for anything else, such as a link, a pipe or a device, and for more than `most`
    bytes: a folder from elsewhere may hold them, and reading them would never end or leave it.
    """
    with opened(path, most) as file:
        return file.read()


def read_own(path: Path, where: str, most: int = LARGEST) -> str:
    """The text of a file that belongs to `where`; UserError for what is no such file of ours."""
    try:
        return read_bytes(path, most).decode()
    except FileNotFoundError:
        raise UserError(f"{where} is incomplete: {path.name} is missing") from None
    except OSError as error:
        raise UserError(f"{where} is damaged: {path.name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{where} is damaged: {path.name} is no UTF-8 text") from None


@contextmanager
def opened(path: Path, most: int = LARGEST) -> Iterator[BinaryIO]:
    """Open a regular file to be read; OSError as in `read_bytes`. A pipe is not waited for."""
    try:
        handle = system.open_file(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link") from None
        raise
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode) or about.st_size > most:
        os.close(handle)
        is_file = stat.S_ISREG(about.st_mode)
        reason = f"it is larger than {most:,} bytes" if is_file else "it is no regular file"
        raise OSError(errno.EINVAL, reason)
    with os.fdopen(handle, "rb") as file:
        yield file


def read_text(path: Path, what: str) -> str:
    """The text of a file of the user's; UserError that says `what` cannot be read, and why.

    Editors of Windows begin a file with a byte order mark, which is no part of its text.
    """
    with reading(what):
        return path.read_text("utf-8-sig")


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns what cannot be read, or is no UTF-8, into a UserError that names it."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UserError(f"cannot read {what}: {reason}") from None


def read_json(path: Path, where: str) -> dict[str, Any]:
    """The table in a file that belongs to `where`, such as "run 'mine'"; UserError if none is."""
    text = read_own(path, where).removeprefix("\ufeff")  # users write files of costs, too
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{where} is damaged: {path.name} is no valid JSON") from None
    if not isinstance(content, dict):
        raise UserError(f"{where} is damaged: {path.name} holds no table")
    return content


def json_text(content: Any) -> str:
    """JSON that people can read too, a line for each value."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


class TakenError(UserError):
    """A folder of that name is there already."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill, which gets its name only when all is well.

    Raises TakenError if the name is another's: one `rename` gives it, so one of several that want
    it gets it. A lock on a folder says that it is still being filled; folders that killed
    processes have left are removed.
    """
    _check_free(path)
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_folders(path.parent)
        while True:
            name = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
            temporary = Path(name)
            with suppress(FileNotFoundError):
                lock = system.claim_lock(temporary)
                if temporary.exists():
                    break
                system.release_lock(lock)  # a sweep took it before it was locked
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
            system.release_lock(lock)


def _check_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise TakenError(f"{str(path)!r} exists already: choose another name, or remove it")


def _sweep_folders(parent: Path) -> None:
    """Remove folders that nobody fills, holding their locks meanwhile."""
    for path in parent.glob(f".*{PART}"):
        if path.is_dir() and not path.is_symlink():
            with suppress(FileNotFoundError):
                lock = system.claim_lock(path)
                if lock is not None:
                    shutil.rmtree(path, ignore_errors=True)
                    system.release_lock(lock)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turns what the system refuses into a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def open_end(path: Path) -> int:
    """A descriptor to write at the end; OSError for what may lie elsewhere too, such as a link."""
    handle = system.open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        os.close(handle)
        raise OSError(errno.EINVAL, "it is a link, or no regular file")
    return handle
