"""Whether the files of a run are whole, and what to do about those that are not.

Nothing in the folder is executed or changed. Each file is read by the code that reads it otherwise,
and its complaint is the line.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from curta.config import files, typed
from curta.config.errors import UserError
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

COPY = "put it back from a copy"

Read = Callable[[], object]
"""Reads a file, and raises an exception that says what is wrong with it."""


@dataclass(frozen=True)
class Part:
    """A file of a run; `about` says what is wrong with it, and what to do."""

    name: str
    state: Literal["whole", "missing", "damaged"]
    about: str = ""


def verify(name: str) -> list[Part]:
    """Return the files of a run, or of a comparison with all its runs, by name or path.

    Raises UserError only if there is no such folder.
    """
    path = folders.locate(name)
    return list(_comparison(path) if os.path.lexists(path / COMPARISON) else _run(Folder(path)))


def _comparison(path: Path) -> Iterator[Part]:
    """Yield its own files, and those of the runs that it names or that lie in it."""
    again = f"{COPY}, or compare anew under another name"
    yield from _file(path / COMPARISON, lambda: folders.read_comparison(path), again)
    runs = {entry.parent.name for entry in path.glob("*/run.json")}
    with suppress(OSError, ValueError):  # a damaged file has its line
        results = folders.read_comparison(path)
        runs |= {Path(row.run).name for row in results.rows if row.status != "waiting"}
        yield from _code(path, results.files)
    for name in sorted(runs):
        if not (path / name).is_dir():
            yield Part(name, "missing", f"its run is not here: `curta train --resume {path.name}`")
            continue
        for part in _run(Folder(path / name)):
            yield Part(f"{name}/{part.name}", part.state, part.about)
    report = path / "report.html"
    yield from _file(report, partial(files.read_bytes, report), "", needed=False)


def _run(folder: Folder) -> Iterator[Part]:
    path, name, info = folder.path, folder.address, None
    with suppress(OSError, ValueError):
        info = folder.read_info()
    done = info.done if info else ()

    def read_metrics() -> None:
        metrics.read(folder.metrics)
        content = files.read_bytes(folder.metrics)
        if content and not content.endswith(b"\n"):
            raise UserError("its last line is torn")

    def read_partial() -> None:
        for line in files.read_bytes(path / evaluations.PARTIAL).splitlines():
            typed.parse(evaluations.EvaluatedPart, line, "it", evaluations.PARTIAL)

    yield from _file(path / "run.json", folder.read_info, COPY)
    yield from _file(folder.recipe, lambda: _recipe_alone(folder), COPY)
    programs = bool(info and info.programs)
    yield from _file(folder.machine, lambda: store.read(folder.machine, name), COPY, programs)
    curves = "only curves are lost by it: leave it, or put it back from a copy"
    trained = bool(info and info.checkpoint and not info.imported)
    yield from _file(folder.metrics, read_metrics, curves, trained)
    yield from _checkpoints(folder, info)
    lost = "remove it: a point of the tokens' paths is lost"
    for step in embedding_history.steps(folder.history):
        file = checkpoints.file_of(folder.history, step, "safetensors")
        read: Read = partial(embedding_history.load, folder.history, step)
        yield from _file(file, read, lost, prefix="history/")
    again = f"`curta evaluate {name}` makes it anew"
    yield from _file(folder.evaluation, folder.read_evaluation, again, "evaluating" in done)
    again, certified = f"`curta certify {name}` makes it anew", "certifying" in done
    yield from _file(path / CERTIFICATE, folder.read_certificate, again, certified)
    listed = certified or os.path.lexists(path / CERTIFICATE)
    yield from _file(path / WINDOWS, lambda: read_windows(path), again, listed)
    again = f"{COPY}: a training that goes on needs it"
    yield from _file(path / windows.FILE, lambda: windows.read(path), again, needed=False)
    again = "`curta evaluate` with its settings makes it anew"
    for evaluation in folder.evaluation_names():
        read = partial(folder.read_evaluation, evaluation)
        yield from _file(folder.evaluation_path(evaluation), read, again, prefix="evaluations/")
    for file in sorted(folder.probes.glob("*.json")):
        again = f"`curta probe {name} {file.stem}` makes it anew"
        yield from _file(file, partial(files.read_json, file, "it"), again, prefix="probes/")
    yield from _code(path, info.files if info else ())
    again = f"{COPY}; it is needed where the run's code is not trusted"
    stored = path / run_snapshot.PROBLEMS
    yield from _file(stored, lambda: run_snapshot.stored(path), again, needed=False)
    again = "nothing: what is torn is evaluated again"
    yield from _file(path / evaluations.PARTIAL, read_partial, again, needed=False)
    again = f"`curta report {name}` makes it anew"
    yield from _file(
        folder.report, partial(files.read_bytes, folder.report), again, "reporting" in done
    )


def _recipe_alone(folder: Folder) -> Recipe:
    """Read each field alone: whether they fit together, code says that is not executed here."""
    return recipes.parse_fields(folder.read_recipe_fields(), "recipe.toml")


def _checkpoints(folder: Folder, info: RunInfo | None) -> Iterator[Part]:
    """Yield a part for each step that has a file, or should have."""
    place = folder.checkpoints
    steps = {*checkpoints.steps(place), *checkpoints.steps(place, "safetensors")}
    steps |= {info.checkpoint} - {0} if info else set()
    for step in sorted(steps):
        name, arrays = f"checkpoints/{step:08d}", checkpoints.file_of(place, step, "safetensors")

        def check(step: int = step) -> None:
            owner, data = None, checkpoints.read(place, step)
            with suppress(OSError, ValueError):  # a damaged recipe has its line
                owner = checkpoints.owner(_recipe_alone(folder), info.seeds, step) if info else None
            if owner not in (None, checkpoints.owner_in(data)):
                raise UserError("it is of another recipe or of other seeds than the run says")

        if not any(map(os.path.lexists, (arrays, arrays.with_suffix(".json")))):
            yield Part(name, "missing", f"{COPY}, or train anew")
        else:
            remedy = f"`curta train --resume {folder.address}` goes on from the newest whole one"
            yield _read(name, check, remedy)


def _code(folder: Path, code: Iterable[KeptFile]) -> Iterator[Part]:
    """Yield the user's files, compared by their hashes."""
    for file in code:

        def check(path: Path = folder / file.file, sha256: str = file.sha256) -> None:
            if hashlib.sha256(files.read_bytes(path)).hexdigest() != sha256:
                raise UserError("it is not the file that the run was made with")

        yield from _file(folder / file.file, check, f"{COPY}; it is not executed")


def _file(
    path: Path, read: Read, remedy: str, needed: bool = True, prefix: str = ""
) -> Iterator[Part]:
    """Yield a part for a file that is there, or needed."""
    if os.path.lexists(path):
        yield _read(f"{prefix}{path.name}", read, remedy)
    elif needed:
        yield Part(f"{prefix}{path.name}", "missing", remedy)


def _read(name: str, read: Read, remedy: str) -> Part:
    """Return whether a file can be read.

    Any exception counts: there are more ways of being damaged than anybody has thought of.
    """
    try:
        read()
    except UserError as error:
        complaint = str(error)
    except OSError as error:
        complaint = error.strerror or str(error)
    except Exception as error:
        complaint = f"it cannot be read ({type(error).__name__}: {error})"
    else:
        return Part(name, "whole")
    return Part(name, "damaged", f"{complaint}; {remedy}")
