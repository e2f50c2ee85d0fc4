"""What of a run's folder is whole and what is not, and what to do about it: `curta verify`.

Nothing in the folder is followed, executed or changed, and whatever lies there is listed, never
raised: each part is read by the very code that reads it otherwise, and its complaint is the line.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curta.config import files, system, typed
from curta.config.errors import UserError, unknown
from curta.evaluation.results import CERTIFICATE, WINDOWS, read_windows
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user import kept
from curta.programs.user.userfiles import KeptFile
from curta.runs import (
    checkpoints,
    embedding_history,
    evaluations,
    folders,
    metrics,
    ownership,
)
from curta.runs import parts as evaluating
from curta.runs import summary as summaries
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import RunInfo
from curta.runs.results import ComparisonResults, Summary
from curta.training import windows

State = Literal["whole", "missing", "damaged", "foreign"]

Read = Callable[[Path], object]
"""Reads a file, and raises an exception that says what is wrong with it."""


@dataclass(frozen=True)
class Part:
    """A file of a run, or what else lies in its folder; `about` says what is wrong, and what to do.

    What is `foreign` is none of the run's own files: a link, a pipe, a name that nothing has.
    """

    name: str
    state: State
    about: str = ""


MADE = re.compile(r"\.lock|page-\d+\.html|adderboard-\d+\.py|model-\d+\.onnx|[\w.-]+\.(png|svg)")
"""Files that are made of a run and can be made again, which nothing here reads; its lock."""

FOLDERS = re.compile(r"tensorboard|wandb|huggingface-\d+|\.jobs")
"""Folders that others read, and that of the job by which a run was trained."""

COPY = "put it back from a copy"
CURVES = "only curves are lost by it: leave it, or put it back from a copy"


def verify(name: str, read_probe: Read = lambda path: files.read_json(path, "it")) -> list[Part]:
    """The parts of a run, or of a comparison with all its runs, by name or path.

    `read_probe` reads what a probe has found. Raises UserError only where there is no such folder.
    """
    path = _place(name)
    if os.path.lexists(path / COMPARISON):
        return list(_comparison(path, read_probe))
    return list(_run(Folder(path), read_probe))


def _place(name: str) -> Path:
    path = Path(name)
    if not system.is_path(name) and not os.path.lexists(path / "run.json"):
        path = folders.comparison_path(name)
    path = folders.of_comparison(path, name)
    if not os.path.isdir(path):  # noqa: PTH112, it is False for what cannot be asked
        known = [*folders.existing(), *folders.comparisons()]
        raise unknown("run", name, known, "curta runs")
    return path


def _comparison(path: Path, read_probe: Read) -> Iterator[Part]:
    """Its own file, the runs that it names or that lie in it, and what else lies there."""
    again = f"{COPY}, or compare anew under another name"
    yield from _file(path, COMPARISON, lambda file: folders.read_comparison(file.parent), again)
    found = _read_or_none(path)
    begun = {*_begun(found), *(entry.name for entry in _entries(path) if _is_run(entry))}
    for name in sorted(begun):
        if _kind(path / name) != "a folder":
            yield Part(name, "missing", f"its run is not here: `curta resume {path.name}`")
            continue
        for part in _run(Folder(path / name), read_probe):
            yield Part(f"{name}/{part.name}", part.state, part.about)
    code = found.files if found else ()
    yield from _code(path, code)
    yield from _inside(path / evaluations.FOLDER, re.compile(r"[\w.-]+"))
    yield from _rest(path, {COMPARISON, evaluations.FOLDER, *begun, *(one.file for one in code)})


def _read_or_none(path: Path) -> ComparisonResults | None:
    """What comparison.json says; None where it is damaged, which has a line of its own."""
    try:
        return folders.read_comparison(path)
    except UserError:
        return None


def _begun(found: ComparisonResults | None) -> list[str]:
    """The folders of a comparison's runs that it knows to have begun."""
    rows = found.rows if found else ()
    return [Path(row.run).name for row in rows if row.status != "waiting"]


def _run(folder: Folder, read_probe: Read) -> Iterator[Part]:
    path, name = folder.path, folder.address
    info = _info(folder)
    done = info.done if info else ()
    again = f"`curta evaluate {name}` makes it anew"
    yield from _file(path, "run.json", lambda _: folder.read_info(), COPY)
    yield from _file(path, "recipe.toml", lambda _: _recipe(folder), COPY)
    programs = bool(info and info.programs)
    yield from _file(path, "machine.json", lambda file: store.read(file, name), COPY, programs)
    trained = bool(info and info.checkpoint and not info.imported)
    yield from _file(path, "metrics.jsonl", _metrics, CURVES, trained)
    yield from _checkpoints(folder, info)
    yield from _history(folder)
    evaluated, certified = "evaluating" in done, "certifying" in done
    yield from _file(path, "evaluation.json", lambda _: folder.read_evaluation(), again, evaluated)
    yield from _file(path, summaries.FILE, _summary, again, evaluated)
    again = f"`curta certify {name}` makes it anew"
    yield from _file(path, CERTIFICATE, lambda _: folder.read_certificate(), again, certified)
    listed = certified or os.path.lexists(path / CERTIFICATE)
    yield from _file(path, WINDOWS, lambda _: read_windows(path), again, listed)
    shown = f"{COPY}: a training that goes on needs it"
    yield from _file(path, windows.FILE, lambda _: windows.read(path), shown, False)
    yield from _evaluations(folder)
    yield from _probes(folder, read_probe)
    yield from _code(path, info.files if info else ())
    problems = f"{COPY}; it is needed where the run's code is not trusted"
    yield from _file(path, kept.PROBLEMS, lambda _: kept.stored(path), problems, False)
    torn = "nothing: what is torn is evaluated again"
    yield from _file(path, evaluating.FILE, _evaluating, torn, False)
    known = {one.file for one in info.files} if info else set()
    yield from _rest(path, known | OWN, f"`curta report {name}`", "reporting" in done)


OWN = {
    "run.json", "recipe.toml", "machine.json", "metrics.jsonl", "evaluation.json", CERTIFICATE,
    WINDOWS, "check_certificate.py", windows.FILE, summaries.FILE, kept.PROBLEMS, evaluating.FILE,
    evaluations.FOLDER, "checkpoints", "history", "probes",
}  # fmt: skip
"""What has lines of its own."""


def _info(folder: Folder) -> RunInfo | None:
    """What run.json says; None where it is damaged, which has a line of its own."""
    try:
        return folder.read_info()
    except (OSError, ValueError):
        return None


def _recipe(folder: Folder) -> object:
    """Every field by itself: whether they fit is for the code to say that is not executed here."""
    return recipes.stated(folder.read_recipe_fields(), "recipe.toml")


def _metrics(path: Path) -> None:
    """Raises UserError for a line that is damaged, or torn."""
    metrics.read(path)
    content = files.read_bytes(path)
    if content and not content.endswith((b"\n", b"}")):
        raise UserError("its last line is torn")


def _checkpoints(folder: Folder, info: RunInfo | None) -> Iterator[Part]:
    """A line for each step that has a file, or should have."""
    place = folder.checkpoints
    steps = {int(stem): None for stem in _stems(place, ("json", "safetensors"))}
    if info and info.checkpoint:
        steps[info.checkpoint] = None
    for step in sorted(steps):
        yield _checkpoint(folder, info, step)
    yield from _inside(place, re.compile(r"[0-9]{1,18}\.(json|safetensors)"))


def _checkpoint(folder: Folder, info: RunInfo | None, step: int) -> Part:
    name = f"checkpoints/{step:08d}"
    kinds = [
        checkpoints.file_of(folder.checkpoints, step, kind) for kind in ("safetensors", "json")
    ]
    own = _kind(folder.checkpoints) == "a folder"
    there = [path for path in kinds if own and os.path.lexists(path)]
    if not there:
        return Part(name, "missing", f"{COPY}, or train anew")
    strange = next((_strange(path) for path in there if _strange(path)), "")
    if strange:
        return Part(name, "foreign", f"it is {strange}, which is not followed: remove it")
    if kinds[1] not in there:
        return Part(name, "damaged", "its .json is not there: remove it")
    wrong = _complaint(lambda: _owned(folder, info, step))
    remedy = f"`curta resume {folder.address}` goes on from the newest whole one"
    return Part(name, "damaged", f"{wrong}; {remedy}") if wrong else Part(name, "whole")


def _owned(folder: Folder, info: RunInfo | None, step: int) -> None:
    """Raises UserError for a checkpoint that is not what was written, or another run's."""
    data = checkpoints.read(folder.checkpoints, step)
    try:
        recipe = recipes.stated(folder.read_recipe_fields(), "recipe.toml")
    except (OSError, ValueError):
        return
    if info and checkpoints.owner_in(data) != checkpoints.owner(recipe, info.seeds, step):
        raise UserError("it is of another recipe or of other seeds than the run says")


def _history(folder: Folder) -> Iterator[Part]:
    place = folder.history
    for stem in sorted(_stems(place, ("safetensors",))):
        again = "remove it: a point of the tokens' paths is lost"
        load = lambda _, stem=stem: embedding_history.load(place, int(stem))
        for part in _file(place, f"{stem}.safetensors", load, again):
            yield Part(f"history/{part.name}", part.state, part.about)
    yield from _inside(place, re.compile(r"[0-9]{1,18}\.safetensors"))


def _evaluations(folder: Folder) -> Iterator[Part]:
    place = folder.evaluations
    for name in (entry.stem for entry in _entries(place) if entry.suffix == ".json"):
        again = "`curta evaluate` with its settings makes it anew"
        read = lambda _, name=name: folder.read_evaluation(name)
        for part in _file(place, f"{name}.json", read, again):
            yield Part(f"{evaluations.FOLDER}/{part.name}", part.state, part.about)
    yield from _inside(place, re.compile(r"[\w.-]+(\.jsonl?)?"))


def _probes(folder: Folder, read: Read) -> Iterator[Part]:
    names = [entry.name for entry in _entries(folder.probes) if entry.name.endswith(".json")]
    for name in names:
        again = f"`curta probe {folder.address} {name.removesuffix('.json')}` makes it anew"
        for part in _file(folder.probes, name, read, again):
            yield Part(f"probes/{part.name}", part.state, part.about)
    yield from _inside(folder.probes, re.compile(r"(?s:.*)\.json"))


def _code(folder: Path, known: Iterable[KeptFile]) -> Iterator[Part]:
    """The user's files, by their hashes."""
    for one in known:

        def check(path: Path, one: KeptFile = one) -> None:
            if hashlib.sha256(files.read_bytes(path)).hexdigest() != one.sha256:
                raise UserError("it is not the file that the run was made with")

        if not one.file or Path(one.file).name != one.file:
            yield Part(one.file, "damaged", f"this names no file of the folder: {COPY}")
        else:
            yield from _file(folder, one.file, check, f"{COPY}; it is not executed")


def _evaluating(path: Path) -> None:
    """Raises UserError for a line that is torn."""
    for line in files.read_bytes(path).splitlines():
        typed.parse(evaluating.Part, line, "it", evaluating.FILE)


def _summary(path: Path) -> Summary:
    return typed.read(Summary, path, "the summary")


def _rest(path: Path, listed: set[str], again: str = "", report: bool = False) -> Iterator[Part]:
    """The report, and what is none of the run's files."""
    yield from _file(path, "report.html", files.read_bytes, f"{again} makes it anew", report)
    used = _is_used(path)
    for entry in _entries(path):
        said = "" if entry.name in {*listed, "report.html"} else _foreign(entry, used)
        if said:
            yield Part(entry.name, "foreign", said)


def _inside(place: Path, expected: re.Pattern[str]) -> Iterator[Part]:
    """What is none of the run's files in a folder of it; all of it, if it is no folder."""
    if os.path.lexists(place) and _kind(place) != "a folder":
        yield Part(place.name, "foreign", f"it is {_kind(place)}, not a folder: remove it")
    used = _is_used(place.parent)
    for entry in _entries(place):
        said = "" if expected.fullmatch(entry.name) else _foreign(entry, used)
        if said:
            yield Part(f"{place.name}/{entry.name}", "foreign", said)


def _foreign(path: Path, used: bool) -> str:
    """What is said of something that has no line of its own; nothing for what belongs there."""
    kind, name = _kind(path), path.name
    if name.startswith(".") and name.endswith(files.PART):
        return "" if used else "left by a writer that was killed: remove it, or `resume` does"
    known = {"a folder": FOLDERS, "a file": MADE}
    if kind in known and known[kind].fullmatch(name):
        return ""
    return f"{kind} that is none of the run's: remove it if you do not know it"


def _is_used(folder: Path) -> bool:
    """Whether a process works on the run now; one that cannot be asked does not."""
    try:
        return ownership.is_owned(folder)
    except OSError:
        return False


def _file(folder: Path, name: str, read: Read, remedy: str, needed: bool = True) -> Iterator[Part]:
    """A line for a file that is there, or needed."""
    path = folder / name
    if not os.path.lexists(path):
        if needed:
            yield Part(name, "missing", remedy)
        return
    if strange := _strange(path):
        yield Part(name, "foreign", f"it is {strange}, which is not followed; {remedy}")
        return
    wrong = _complaint(lambda: read(path))
    yield Part(name, "damaged", f"{wrong}; {remedy}") if wrong else Part(name, "whole")


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


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if it is only linked to, or cannot be read."""
    try:
        return sorted(folder.iterdir()) if not folder.is_symlink() else []
    except OSError:
        return []


def _stems(folder: Path, kinds: tuple[str, ...]) -> list[str]:
    """Numbers of the files in a folder that are called by a number."""
    names = (entry.name.partition(".") for entry in _entries(folder))
    found = (stem for stem, _, kind in names if kind in kinds)
    return sorted({stem for stem in found if re.fullmatch("[0-9]{1,18}", stem)})


def _is_run(path: Path) -> bool:
    return _kind(path) == "a folder" and os.path.lexists(path / "run.json")


def _strange(path: Path) -> str:
    """What something is that is no file of its own, such as `a link`; nothing for a file."""
    kind = _kind(path)
    return "" if kind == "a file" else kind


_KINDS = {
    stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
}  # fmt: skip


def _kind(path: Path) -> str:
    try:
        return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a device")
    except OSError as error:
        return f"something that cannot be asked ({error.strerror})"
