"""Links, pipes, devices and the like in place of the files of a run: nothing outside is touched."""

import os
import random
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curta.frontends import api
from tests.faults import asking, places
from tests.faults.outcome import Outcome

EXTRA = (".lock", "evaluating.jsonl", "page-0.html", "adderboard")
"""What a run need not have, and what is written into it at times."""

HUGE = 1 << 40


def run(count: int, seed: int) -> Outcome:
    """`count` runs with something foreign in them, beside two that are whole."""
    with places.workplace() as folder:
        base, found = _made(folder), Outcome()
        for case, draw in places.chosen(count, seed):
            found.cases += 1
            place = folder / f"case-{case}"
            with places.runs_at(place / "runs") as runs:
                _one(found, str(case), seed, draw, base, runs)
            shutil.rmtree(place)
        return found


def _one(found: Outcome, case: str, seed: int, draw: random.Random, base: Path, runs: Path) -> None:
    """Something foreign in a run, which is asked then; nothing outside of it is touched."""
    outside = Path(shutil.copytree(base.parent / "other", runs.parent / "outside"))
    one, _, _ = (places.copy(base, runs, name) for name in ("run", "first", "second"))
    case = f"{case} ({put(one, draw, outside)})"
    before = _state(outside)
    with watched(outside) as touched:
        _check(found, case, seed, draw)
    if before != _state(outside):
        touched.append("something outside was changed")
    for what in dict.fromkeys(touched):
        found.failed(case, seed, what)


def _made(folder: Path) -> Path:
    recipe = places.recipe(folder)
    with places.runs_at(folder / "bases") as runs:
        for name, seeds in {"whole": [0, 1], "other": [7, 8]}.items():
            api.train(recipe, seeds, name)
            api.examine(api.load(name), "tokens")
    return runs / "whole"


def _check(found: Outcome, case: str, seed: int, draw: random.Random) -> None:
    for words, said in asking.ask("run", draw):
        wrong = said.complaint
        if words == ("runs",) and not (
            said.code == 0 and "first" in said.out and "second" in said.out
        ):
            wrong = f"the two beside it are not listed: {said.out} {said.err}"
        found.ended[{0: "answered", 1: "answered", 2: "refused"}.get(said.code, "failed")] += 1
        if wrong:
            found.failed(case, seed, f"{' '.join(words)}: {wrong}")


def put(run: Path, draw: random.Random, outside: Path) -> str:
    """Puts something foreign in place of a file or a folder; what it was."""
    names = sorted(str(path.relative_to(run)) for path in run.rglob("*"))
    name = draw.choice([*(n for n in names if n.rpartition(".")[2] not in ("png", "svg")), *EXTRA])
    kind = draw.choice(KINDS)
    path = run / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    kind(path, outside / name)
    return f"{kind.__name__} {name}"


def link(path: Path, other: Path) -> None:
    """To what lies there in another run, or to nothing yet."""
    path.symlink_to(other)


def hard_link(path: Path, other: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if other.is_dir():
        return link(path, other)
    if not other.exists():
        other.write_text("outside\n")
    return os.link(other, path)


def link_around(path: Path, other: Path) -> None:
    path.symlink_to(path.name)


def pipe(path: Path, other: Path) -> None:
    os.mkfifo(path)


def device(path: Path, other: Path) -> None:
    """The device itself where that is allowed, else a link to it."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError:
        path.symlink_to("/dev/zero")


def link_to_device(path: Path, other: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path, other: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def socket_file(path: Path, other: Path) -> None:
    """Bound from inside of its folder: the address of a socket is short."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


def deep(path: Path, other: Path) -> None:
    """Folders within folders, and a link back to the first."""
    within = path
    for _ in range(60):
        within = within / "deeper"
    within.mkdir(parents=True)
    (within / "back").symlink_to(path)


KINDS: tuple[Callable[[Path, Path], None], ...] = (
    link, link, hard_link, hard_link, link_around, pipe, device, link_to_device, huge,
    socket_file, deep,
)  # fmt: skip


def _state(folder: Path) -> list[tuple[Any, ...]]:
    """All that lies there: names, contents, times of change."""
    return [
        (str(path), about.st_mode, about.st_mtime_ns, about.st_size)
        for path in sorted(folder.rglob("*"))
        for about in (path.lstat(),)
    ]


_watching: list[tuple[str, list[str]]] = []


def _hook(event: str, given: tuple[Any, ...]) -> None:
    """Says what is opened, listed or removed outside; hooks cannot be taken away again."""
    if not _watching or event not in WATCHED or not isinstance(given[0], str | os.PathLike):
        return
    folder, touched = _watching[-1]
    path = os.fspath(given[0])
    follows = event != "open" or not (given[2] or 0) & os.O_NOFOLLOW
    final = event in ("os.listdir", "os.scandir") or (event == "open" and follows)
    head, tail = os.path.split(path)
    real = os.path.realpath(path) if final else f"{os.path.realpath(head)}/{tail}"
    if real == folder or real.startswith(folder + os.sep):
        touched.append(f"{event} of {path}, which is {real}")


WATCHED = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.rmdir")

_hooked: list[bool] = []


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """What is done there meanwhile, by whatever way of Python's; not what the test itself does."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    touched: list[str] = []
    _watching.append((os.path.realpath(folder), touched))
    try:
        yield touched
    finally:
        _watching.pop()
