"""What a disk might hold after a power failure: every operation is noted, and cut anywhere.

Only what was `fsync`ed before is sure: the content of a file by its own fsync, its name by that of
the folder. Anything else is there, is not there, or is there in part. Stricter than any file
system in use: on ext4 a new file's fsync keeps its name too.
"""

import os
import random
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from curta.config import files

CALLS = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
"""Of `os`: what pathlib, tempfile and shutil call too."""


class Name(NamedTuple):
    """A name in a folder, by the number of that."""

    folder: int
    name: str


@dataclass
class Moment:
    """What one operation did: names that changed together, contents, and what became sure."""

    what: str
    names: dict[Name, int | None] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)
    synced: int | None = None


class Disk:
    """The operations under a folder, in their order."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root, [Moment("as it was")]
        self.top = root.stat().st_ino
        self.folders = {self.top}
        self._names: dict[Name, int] = {}
        self._seen: dict[int, tuple[int, ...]] = {}
        self._held: list[int] = []
        self._guard = threading.RLock()
        self._look(self.log[0])
        self.log[0].synced = -1

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Notes what is done meanwhile."""
        with mock.patch.multiple(os, **{name: self._noting(name) for name in CALLS}):
            append = files.append

            def noting_append(path: Path, text: str) -> None:
                append(path, text)
                with self._guard:
                    self._strays()

            with mock.patch.object(files, "append", noting_append):
                yield
        for handle in self._held:
            os.close(handle)

    def cut(self, at: int, draw: random.Random) -> "Rebuilt":
        """What might be there if the power failed after so many operations."""
        rebuilt = Rebuilt(self.top, self.folders)
        for moment in self.log[: at + 1]:
            rebuilt.apply(moment)
        rebuilt.lose(draw)
        return rebuilt

    def _noting(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def noting(*arguments: Any, **named: Any) -> Any:
            if not self._concerns(name, *arguments):
                return real(*arguments, **named)
            with self._guard:
                self._strays()
                if name in ("replace", "unlink", "rmdir", "rename"):
                    # what is removed stays open: its number is given to no other file
                    with suppress(OSError):
                        self._held.append(os.open(arguments[-1], os.O_RDONLY | os.O_NOFOLLOW))
                moment = Moment(f"{name} {arguments[0]}")
                result = real(*arguments, **named)
                if name == "fsync":
                    moment.synced = os.fstat(arguments[0]).st_ino
                self._look(moment)
                self.log.append(moment)
                return result

        return noting

    def _concerns(self, name: str, path: Any, *more: Any) -> bool:
        """Whether it changes something here; a file that is only opened does not."""
        if name == "fsync":
            return True
        inside = str(path).startswith(str(self.root)) or not str(path).startswith("/")
        return inside and (name != "open" or bool(more[0] & os.O_CREAT))

    def _strays(self) -> None:
        """What was done by other ways than these calls: each name by itself."""
        moment = Moment("other")
        self._look(moment)
        for name, number in moment.names.items():
            self.log.append(Moment(f"other {name.name}", {name: number}))
        if moment.contents:
            self.log.append(Moment("contents", contents=moment.contents))

    def _look(self, moment: Moment) -> None:
        """Adds to a moment how the folder differs from what it was."""
        names: dict[Name, int] = {}
        self._walk(self.root, self.top, names, moment)
        moment.names |= {name: None for name in self._names if name not in names}
        moment.names |= {n: number for n, number in names.items() if self._names.get(n) != number}
        self._names = names

    def _walk(self, path: Path, folder: int, names: dict[Name, int], moment: Moment) -> None:
        for entry in os.scandir(path):
            about = entry.stat(follow_symlinks=False)
            names[Name(folder, entry.name)] = about.st_ino
            if stat.S_ISDIR(about.st_mode):
                self.folders.add(about.st_ino)
                self._walk(Path(entry.path), about.st_ino, names, moment)
                continue
            version = (about.st_size, about.st_mtime_ns)
            if self._seen.get(about.st_ino) != version:
                self._seen[about.st_ino] = version
                moment.contents[about.st_ino] = Path(entry.path).read_bytes()


class Rebuilt:
    """What is sure, and what is not, at some moment; then one way that it might have ended."""

    def __init__(self, top: int, folders: set[int]) -> None:
        self.top, self.folders = top, folders
        self.sure: dict[int, dict[str, int]] = {}
        self.waiting: dict[int, list[dict[str, int | None]]] = {}
        self.synced: dict[int, bytes] = {}
        self.current: dict[int, bytes] = {}

    def apply(self, moment: Moment) -> None:
        self.current |= moment.contents
        for folder in {name.folder for name in moment.names}:
            change = {n.name: to for n, to in moment.names.items() if n.folder == folder}
            self.waiting.setdefault(folder, []).append(change)
        if moment.synced == -1:  # what was there at first
            self.synced = dict(self.current)
            for folder in list(self.waiting):
                self._settle(folder, self.waiting.pop(folder))
        elif moment.synced in self.folders:
            self._settle(moment.synced, self.waiting.pop(moment.synced, []))
        elif moment.synced is not None:
            self.synced[moment.synced] = self.current.get(moment.synced, b"")

    def lose(self, draw: random.Random) -> None:
        """Decides what of the unsure is there: nothing, all, or some of it, in order or not."""
        way = draw.choice(["nothing", "all", "in order", "any", "any"])
        for folder, changes in self.waiting.items():
            self._settle(folder, _kept(changes, way, draw))
        for number, content in self.current.items():
            if self.synced.get(number) != content:
                self.synced[number] = _torn(self.synced.get(number, b""), content, way, draw)

    def write(self, place: Path, folder: int | None = None) -> None:
        """Makes the folder as it was found."""
        place.mkdir(exist_ok=True)
        for name, number in self.sure.get(self.top if folder is None else folder, {}).items():
            if number in self.folders:
                self.write(place / name, number)
            else:
                (place / name).write_bytes(self.synced.get(number, b""))

    def _settle(self, folder: int, changes: list[dict[str, int | None]]) -> None:
        names = self.sure.setdefault(folder, {})
        for change in changes:
            for name, number in change.items():
                names.pop(name, None)
                if number is not None:
                    names[name] = number


def _kept(
    changes: list[dict[str, int | None]], way: str, draw: random.Random
) -> list[dict[str, int | None]]:
    if way == "any":
        return [change for change in changes if draw.random() < 0.5]
    count = {"nothing": 0, "all": len(changes)}.get(way, draw.randint(0, len(changes)))
    return changes[:count]


def _torn(old: bytes, new: bytes, way: str, draw: random.Random) -> bytes:
    """The old content, the new one, or a part of that with or without zeros at the end."""
    if way in ("nothing", "all"):
        return old if way == "nothing" else new
    sure = len(old) if new.startswith(old) else 0  # what was there before lines were added
    part = new[: draw.randint(sure, len(new))]
    return draw.choice([old, new, part, part + bytes(len(new) - len(part))])
