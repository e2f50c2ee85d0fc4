"""Whether the files of a run are whole, and what to do about those that are not.

Nothing in the folder is followed, executed or changed, and whatever lies there is listed, never
raised: each file is read by the very code that reads it otherwise, and its complaint is the line.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from curta.config import files, system, typed
from curta.config.errors import UserError, unknown
from curta.config.recipe import Recipe
from curta.evaluation.results import CERTIFICATE, WINDOWS, read_windows
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user import run_snapshot
from curta.programs.user.userfiles import KeptFile
from curta.runs import (
    checkpoints,
    embedding_history,
    evaluations,
    folders,
    metrics,
    ownership,
    partial_evaluation,
)
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import RunInfo
from curta.training import windows

Value = TypeVar("Value")

Read = Callable[[Path], object]
"""Reads a file, and raises an exception that says what is wrong with it."""


@dataclass(frozen=True)
class Part:
    """A file of a run, or what else lies in its folder; `about` says what is wrong, and what to do.

    What is `foreign` is none of the run's own files: a link, a pipe, a name that nothing has.
    """

    name: str
    state: Literal["whole", "missing", "damaged", "foreign"]
    about: str = ""


UNCHECKED = {
    # of a run of an earlier version there is a summary.json
    "a file": (
        r"\.lock|summary\.json|page-\d+\.html|adderboard-\d+\.py|model-\d+\.onnx|[\w.-]+\.(png|svg)"
    ),
    "a folder": r"tensorboard|wandb|huggingface-\d+|\.jobs",
}
"""Names in a run's folder that nothing here reads: what can be made again, and others' folders."""

CHECKED = {
    "run.json", "recipe.toml", "machine.json", "metrics.jsonl", "evaluation.json", CERTIFICATE,
    WINDOWS, "check_certificate.py", windows.FILE, run_snapshot.PROBLEMS, evaluations.PARTIAL,
    evaluations.FOLDER, "checkpoints", "history", "probes", "report.html",
}  # fmt: skip
"""Names that have lines of their own."""

COPY = "put it back from a copy"


def verify(name: str, read_probe: Read = lambda path: files.read_json(path, "it")) -> list[Part]:
    """Return the parts of a run, or of a comparison with all its runs, by name or path.

    `read_probe` reads the results of a probe. Raises UserError only if there is no such folder.
    """
    path = Path(name)
    if not system.is_path(name) and not os.path.lexists(path / "run.json"):
        path = folders.comparison_path(name)
    path = folders.of_comparison(path, name)
    if not os.path.isdir(path):  # noqa: PTH112, it is False for what cannot be asked
        names = [*folders.existing(), *folders.comparisons()]
        raise unknown("run", name, names, "curta runs")
    if os.path.lexists(path / COMPARISON):
        return list(_comparison(path, read_probe))
    return list(_run(Folder(path), read_probe))


def _comparison(path: Path, read_probe: Read) -> Iterator[Part]:
    """Its own file, the runs that it names or that lie in it, and what else lies there."""
    again = f"{COPY}, or compare anew under another name"
    yield from _file(path, COMPARISON, lambda file: folders.read_comparison(file.parent), again)
    results = _or_none(lambda: folders.read_comparison(path))
    rows, code = (results.rows, results.files) if results else ([], ())
    runs = {Path(row.run).name for row in rows if row.status != "waiting"}
    runs |= {
        entry.name
        for entry in _entries(path)
        if _kind(entry) == "a folder" and os.path.lexists(entry / "run.json")
    }
    for name in sorted(runs):
        if _kind(path / name) != "a folder":
            yield Part(name, "missing", f"its run is not here: `curta train --resume {path.name}`")
            continue
        for part in _run(Folder(path / name), read_probe):
            yield Part(f"{name}/{part.name}", part.state, part.about)
    yield from _code(path, code)
    yield from _inside(path / evaluations.FOLDER, r"[\w.-]+")
    yield from _file(path, "report.html", files.read_bytes, "", needed=False)
    own_names = {COMPARISON, evaluations.FOLDER, "report.html", *runs, *(one.file for one in code)}
    yield from _foreign(path, own_names)


def _run(folder: Folder, read_probe: Read) -> Iterator[Part]:
    path, name = folder.path, folder.address
    info = _or_none(folder.read_info)
    done = info.done if info else ()

    def read_metrics(file: Path) -> None:
        metrics.read(file)
        content = files.read_bytes(file)
        if content and not content.endswith((b"\n", b"}")):
            raise UserError("its last line is torn")

    def read_partial(file: Path) -> None:
        for line in files.read_bytes(file).splitlines():
            typed.parse(partial_evaluation.EvaluatedPart, line, "it", file.name)

    yield from _file(path, "run.json", lambda _: folder.read_info(), COPY)
    # every field by itself: whether they fit is for code to say that is not executed here
    yield from _file(path, "recipe.toml", lambda _: _recipe(folder), COPY)
    programs = bool(info and info.programs)
    yield from _file(path, "machine.json", lambda file: store.read(file, name), COPY, programs)
    trained = bool(info and info.checkpoint and not info.imported)
    curves = "only curves are lost by it: leave it, or put it back from a copy"
    yield from _file(path, "metrics.jsonl", read_metrics, curves, trained)
    yield from _checkpoints(folder, info)
    yield from _inside(
        folder.history,
        r"[0-9]{1,18}\.safetensors",
        lambda file: embedding_history.load(folder.history, int(file.stem)),
        lambda stem: "remove it: a point of the tokens' paths is lost",
    )
    again = f"`curta evaluate {name}` makes it anew"
    evaluated, certified = "evaluating" in done, "certifying" in done
    yield from _file(path, "evaluation.json", lambda _: folder.read_evaluation(), again, evaluated)
    again = f"`curta certify {name}` makes it anew"
    yield from _file(path, CERTIFICATE, lambda _: folder.read_certificate(), again, certified)
    listed = certified or os.path.lexists(path / CERTIFICATE)
    yield from _file(path, WINDOWS, lambda _: read_windows(path), again, listed)
    shown = f"{COPY}: a training that goes on needs it"
    yield from _file(path, windows.FILE, lambda _: windows.read(path), shown, needed=False)
    yield from _inside(
        folder.evaluations,
        r"[\w.-]+(\.jsonl?)?",
        lambda file: folder.read_evaluation(file.stem),
        lambda stem: "`curta evaluate` with its settings makes it anew",
        checked=r"(?s:.*)\.json",
    )
    yield from _inside(
        folder.probes,
        r"(?s:.*)\.json",
        read_probe,
        lambda stem: f"`curta probe {name} {stem}` makes it anew",
    )
    yield from _code(path, info.files if info else ())
    problems = f"{COPY}; it is needed where the run's code is not trusted"
    yield from _file(
        path, run_snapshot.PROBLEMS, lambda _: run_snapshot.stored(path), problems, needed=False
    )
    torn = "nothing: what is torn is evaluated again"
    yield from _file(path, evaluations.PARTIAL, read_partial, torn, needed=False)
    again = f"`curta report {name}` makes it anew"
    yield from _file(path, "report.html", files.read_bytes, again, "reporting" in done)
    yield from _foreign(path, CHECKED | {file.file for file in (info.files if info else ())})


def _recipe(folder: Folder) -> Recipe:
    return recipes.parse_fields(folder.read_recipe_fields(), "recipe.toml")


def _checkpoints(folder: Folder, info: RunInfo | None) -> Iterator[Part]:
    """A line for each step that has a file, or should have."""
    place = folder.checkpoints
    is_folder = _kind(place) == "a folder"
    pattern = re.compile(r"([0-9]{1,18})\.(json|safetensors)")
    steps = {int(match[1]) for entry in _entries(place) if (match := pattern.fullmatch(entry.name))}
    if info and info.checkpoint:
        steps.add(info.checkpoint)

    def check(step: int) -> None:
        data = checkpoints.read(place, step)
        recipe = _or_none(lambda: _recipe(folder))
        if not (info and recipe):
            return
        if checkpoints.owner_in(data) != checkpoints.owner(recipe, info.seeds, step):
            raise UserError("it is of another recipe or of other seeds than the run says")

    for step in sorted(steps):
        name = f"checkpoints/{step:08d}"
        arrays, record = (checkpoints.file_of(place, step, k) for k in ("safetensors", "json"))
        there = [path for path in (arrays, record) if is_folder and os.path.lexists(path)]
        strange = next((kind for path in there if (kind := _kind(path)) != "a file"), "")
        if not there:
            yield Part(name, "missing", f"{COPY}, or train anew")
        elif strange:
            yield Part(name, "foreign", f"it is {strange}, which is not followed: remove it")
        elif record not in there:
            yield Part(name, "damaged", "its .json is not there: remove it")
        else:
            wrong = _complaint(partial(check, step))
            remedy = f"`curta train --resume {folder.address}` goes on from the newest whole one"
            yield Part(name, "damaged", f"{wrong}; {remedy}") if wrong else Part(name, "whole")
    yield from _inside(place, pattern.pattern)


def _code(folder: Path, code: Iterable[KeptFile]) -> Iterator[Part]:
    """The user's files, by their hashes."""
    for file in code:

        def check(path: Path, sha256: str = file.sha256) -> None:
            if hashlib.sha256(files.read_bytes(path)).hexdigest() != sha256:
                raise UserError("it is not the file that the run was made with")

        if not file.file or Path(file.file).name != file.file:
            yield Part(file.file, "damaged", f"this names no file of the folder: {COPY}")
        else:
            yield from _file(folder, file.file, check, f"{COPY}; it is not executed")


def _inside(
    place: Path,
    expected: str,
    read: Read | None = None,
    remedy: Callable[[str], str] = str,
    checked: str | None = None,
) -> Iterator[Part]:
    """The files in a folder of the run that are read, and what is none of the run's.

    Names match `expected`; those that match `checked`, by default all, are read. `remedy` takes
    the stem of a name.
    """
    if os.path.lexists(place) and _kind(place) != "a folder":
        yield Part(place.name, "foreign", f"it is {_kind(place)}, not a folder: remove it")
    if read is not None:
        for entry in _entries(place):
            if re.fullmatch(checked or expected, entry.name):
                for part in _file(place, entry.name, read, remedy(entry.stem)):
                    yield Part(f"{place.name}/{part.name}", part.state, part.about)
    names = {entry.name for entry in _entries(place) if re.fullmatch(expected, entry.name)}
    for part in _foreign(place, names):
        yield Part(f"{place.name}/{part.name}", part.state, part.about)


def _foreign(place: Path, names: Iterable[str]) -> Iterator[Part]:
    """What lies in a folder beside the files of these names, and does not belong there."""
    for entry in _entries(place):
        kind, name = _kind(entry), entry.name
        if name in names or re.fullmatch(UNCHECKED.get(kind, r"(?!)"), name):
            continue
        if name.startswith(".") and name.endswith(files.PART):
            owners = (place, place.parent)  # of a folder within a run's, the run's
            if not any(_or_none(partial(ownership.is_owned, folder)) for folder in owners):
                about = "left by a writer that was killed: remove it, or `train --resume` does"
                yield Part(name, "foreign", about)
            continue
        about = f"{kind} that is none of the run's: remove it if you do not know it"
        yield Part(name, "foreign", about)


def _file(folder: Path, name: str, read: Read, remedy: str, needed: bool = True) -> Iterator[Part]:
    """A line for a file that is there, or needed."""
    path = folder / name
    if not os.path.lexists(path):
        if needed:
            yield Part(name, "missing", remedy)
    elif (kind := _kind(path)) != "a file":
        yield Part(name, "foreign", f"it is {kind}, which is not followed; {remedy}")
    elif wrong := _complaint(lambda: read(path)):
        yield Part(name, "damaged", f"{wrong}; {remedy}")
    else:
        yield Part(name, "whole")


def _complaint(read: Callable[[], object]) -> str:
    """What is wrong with a part; nothing if it can be read.

    Whatever is raised is that: there are more ways of being damaged than anybody has thought of.
    """
    try:
        read()
    except UserError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:
        return f"it cannot be read ({type(error).__name__}: {error})"
    return ""


def _or_none(read: Callable[[], Value]) -> Value | None:
    """What a file says; None where it is damaged, which has a line of its own."""
    try:
        return read()
    except (OSError, ValueError):
        return None


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if it is only linked to, or cannot be read."""
    try:
        return sorted(folder.iterdir()) if not folder.is_symlink() else []
    except OSError:
        return []


_KINDS = {
    stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
}  # fmt: skip


def _kind(path: Path) -> str:
    try:
        return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a device")
    except OSError as error:
        return f"something that cannot be asked ({error.strerror})"
