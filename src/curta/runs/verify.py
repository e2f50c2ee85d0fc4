"""Whether the files of a run are whole, and what to do about those that are not.

Nothing in the folder is followed, executed or changed. Each file is read by the code that reads it
otherwise, and its complaint is the line.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from curta.config import files, system, typed
from curta.config.errors import UserError, unknown
from curta.config.recipe import Recipe
from curta.evaluation.results import CERTIFICATE, WINDOWS, read_windows
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user import run_snapshot
from curta.programs.user.userfiles import KeptFile
from curta.runs import checkpoints, embedding_history, evaluations, folders, metrics
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import RunInfo
from curta.training import windows

Read = Callable[[Path], object]
"""Reads a file, and raises an exception that says what is wrong with it."""

COPY = "put it back from a copy"


@dataclass(frozen=True)
class Part:
    """A file of a run; `about` says what is wrong with it, and what to do."""

    name: str
    state: Literal["whole", "missing", "damaged"]
    about: str = ""


def verify(name: str, read_probe: Read = lambda path: files.read_json(path, "it")) -> list[Part]:
    """Return the files of a run, or of a comparison with all its runs, by name or path.

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
    """Yield its own files, and those of the runs that it names or that lie in it."""
    again = f"{COPY}, or compare anew under another name"
    yield from _file(path / COMPARISON, lambda _: folders.read_comparison(path), again)
    runs = {entry.parent.name for entry in path.glob("*/run.json")}
    with suppress(OSError, ValueError):  # a damaged file has its line
        results = folders.read_comparison(path)
        runs |= {Path(row.run).name for row in results.rows if row.status != "waiting"}
        yield from _code(path, results.files)
    for name in sorted(runs):
        if not (path / name).is_dir():
            yield Part(name, "missing", f"its run is not here: `curta train --resume {path.name}`")
            continue
        for part in _run(Folder(path / name), read_probe):
            yield Part(f"{name}/{part.name}", part.state, part.about)
    yield from _file(path / "report.html", files.read_bytes, "", needed=False)


def _run(folder: Folder, read_probe: Read) -> Iterator[Part]:
    path, name = folder.path, folder.address
    info: RunInfo | None = None
    with suppress(OSError, ValueError):
        info = folder.read_info()
    done = info.done if info else ()

    def read_metrics(file: Path) -> None:
        metrics.read(file)
        content = files.read_bytes(file)
        if content and not content.endswith((b"\n", b"}")):
            raise UserError("its last line is torn")

    def read_partial(file: Path) -> None:
        for line in files.read_bytes(file).splitlines():
            typed.parse(evaluations.EvaluatedPart, line, "it", file.name)

    yield from _file(path / "run.json", lambda _: folder.read_info(), COPY)
    # Each field alone: whether they fit together is for code to say that is not executed here.
    yield from _file(path / "recipe.toml", lambda _: _recipe_alone(folder), COPY)
    programs = bool(info and info.programs)
    yield from _file(folder.machine, lambda file: store.read(file, name), COPY, programs)
    trained = bool(info and info.checkpoint and not info.imported)
    curves = "only curves are lost by it: leave it, or put it back from a copy"
    yield from _file(folder.metrics, read_metrics, curves, trained)
    yield from _checkpoints(folder, info)
    lost = "remove it: a point of the tokens' paths is lost"
    for file in _inside(folder.history, ".safetensors"):
        load = lambda file: embedding_history.load(file.parent, int(file.stem))
        yield from _file(file, load, lost, shown="history/")
    again = f"`curta evaluate {name}` makes it anew"
    evaluated, certified = "evaluating" in done, "certifying" in done
    yield from _file(folder.evaluation, lambda _: folder.read_evaluation(), again, evaluated)
    again = f"`curta certify {name}` makes it anew"
    yield from _file(path / CERTIFICATE, lambda _: folder.read_certificate(), again, certified)
    listed = certified or os.path.lexists(path / CERTIFICATE)
    yield from _file(path / WINDOWS, lambda _: read_windows(path), again, listed)
    needed = f"{COPY}: a training that goes on needs it"
    yield from _file(path / windows.FILE, lambda _: windows.read(path), needed, needed=False)
    for file in _inside(folder.evaluations, ".json"):
        again = "`curta evaluate` with its settings makes it anew"
        read = lambda file: folder.read_evaluation(file.stem)
        yield from _file(file, read, again, shown="evaluations/")
    for file in _inside(folder.probes, ".json"):
        again = f"`curta probe {name} {file.stem}` makes it anew"
        yield from _file(file, read_probe, again, shown="probes/")
    yield from _code(path, info.files if info else ())
    problems = f"{COPY}; it is needed where the run's code is not trusted"
    stored = path / run_snapshot.PROBLEMS
    yield from _file(stored, lambda _: run_snapshot.stored(path), problems, needed=False)
    torn = "nothing: what is torn is evaluated again"
    yield from _file(path / evaluations.PARTIAL, read_partial, torn, needed=False)
    again = f"`curta report {name}` makes it anew"
    yield from _file(folder.report, files.read_bytes, again, "reporting" in done)


def _recipe_alone(folder: Folder) -> Recipe:
    return recipes.parse_fields(folder.read_recipe_fields(), "recipe.toml")


def _checkpoints(folder: Folder, info: RunInfo | None) -> Iterator[Part]:
    """Yield a part for each step that has a file, or should have."""
    place = folder.checkpoints
    steps = {*checkpoints.steps(place), *checkpoints.steps(place, "safetensors")}
    if info and info.checkpoint:
        steps.add(info.checkpoint)

    def check(step: int, path: Path) -> None:
        owner, data = None, checkpoints.read(place, step)
        with suppress(OSError, ValueError):  # a damaged recipe has its line
            owner = checkpoints.owner(_recipe_alone(folder), info.seeds, step) if info else None
        if owner not in (None, checkpoints.owner_in(data)):
            raise UserError("it is of another recipe or of other seeds than the run says")

    for step in sorted(steps):
        kinds = (checkpoints.file_of(place, step, kind) for kind in ("json", "safetensors"))
        if not any(map(os.path.lexists, kinds)):
            yield Part(f"checkpoints/{step:08d}", "missing", f"{COPY}, or train anew")
        elif wrong := _complaint(partial(check, step), place):
            remedy = f"`curta train --resume {folder.address}` goes on from the newest whole one"
            yield Part(f"checkpoints/{step:08d}", "damaged", f"{wrong}; {remedy}")
        else:
            yield Part(f"checkpoints/{step:08d}", "whole")


def _code(folder: Path, code: Iterable[KeptFile]) -> Iterator[Part]:
    """Yield the user's files, compared by their hashes."""
    for file in code:

        def check(path: Path, sha256: str = file.sha256) -> None:
            if hashlib.sha256(files.read_bytes(path)).hexdigest() != sha256:
                raise UserError("it is not the file that the run was made with")

        if not file.file or Path(file.file).name != file.file:
            yield Part(file.file, "damaged", f"this names no file of the folder: {COPY}")
        else:
            yield from _file(folder / file.file, check, f"{COPY}; it is not executed")


def _inside(place: Path, suffix: str) -> list[Path]:
    """Return the files of one kind in a folder of the run; none if it is only linked to."""
    return [] if place.is_symlink() else sorted(place.glob(f"*{suffix}"))


def _file(
    path: Path, read: Read, remedy: str, needed: bool = True, shown: str = ""
) -> Iterator[Part]:
    """Yield a part for a file that is there, or needed; `shown` stands before its name."""
    name = f"{shown}{path.name}"
    if not os.path.lexists(path):
        if needed:
            yield Part(name, "missing", remedy)
    elif wrong := _complaint(read, path):
        yield Part(name, "damaged", f"{wrong}; {remedy}")
    else:
        yield Part(name, "whole")


def _complaint(read: Read, path: Path) -> str:
    """Return what is wrong with a file; nothing if it can be read.

    Any exception counts: there are more ways of being damaged than anybody has thought of.
    """
    try:
        read(path)
    except UserError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:
        return f"it cannot be read ({type(error).__name__}: {error})"
    return ""
