"""Files that a reader, or a crash, never meets half written; JSON, and what is told of it."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curta.config.errors import UserError


def cache_folder() -> Path:
    """What can be made again, but took time: $CURTA_CACHE, or in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CURTA_CACHE") or Path(base) / "curta")


def write(path: Path, content: bytes | str) -> None:
    """Replaces `path` atomically; a failure is one line and leaves the old file as it was."""
    data = content.encode() if isinstance(content, str) else content
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)


def append(path: Path, text: str) -> None:
    """Adds lines to `path`."""
    with _writing(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


def read_text(path: Path, what: str) -> str:
    """The text of a file; UserError that says `what` cannot be read, and why."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UserError(f"cannot read {what}: {reason}") from None


def read_json(path: Path, where: str) -> dict[str, Any]:
    """The table in a file that belongs to `where`, such as "run 'mine'"; UserError if none is."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError:
        raise UserError(f"{where} is incomplete: {path.name} is missing") from None
    except ValueError:
        raise UserError(f"{where} is damaged: {path.name} is no valid JSON") from None
    if not isinstance(content, dict):
        raise UserError(f"{where} is damaged: {path.name} holds no table")
    return content


def json_text(content: Any) -> str:
    """JSON that people can read too, a line for each value."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name only when all is well; UserError if that is taken."""
    if path.exists():
        raise UserError(f"{str(path)!r} exists already: choose another name, or remove it")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            yield temporary
            temporary.chmod(0o755)
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turns what the system refuses into a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
