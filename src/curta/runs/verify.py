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
from typing import Any, Literal

from curta.config import files, typed
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation.results import CERTIFICATE, WINDOWS, read_windows
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user import run_snapshot
from curta.programs.user.userfiles import KeptFile
from curta.runs import checkpoints, embedding_history, evaluations, folders
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import Metric, RunInfo
from curta.training import windows

COPY = "put it back from a copy"

Check = tuple[Path, Callable[[], object], str, bool]
"""A file, what reads it or raises, what to do if it cannot be read, and whether it is needed."""


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
    if not os.path.lexists(path / COMPARISON):
        return list(_parts(path, _run(Folder(path))))
    parts = list(_parts(path, _comparison(path)))
    runs = {entry.parent.name for entry in path.glob("*/run.json")}
    with suppress(OSError, ValueError):  # a damaged file has its line
        rows = folders.read_comparison(path).rows
        runs |= {Path(row.run).name for row in rows if row.status != "waiting"}
    for run in sorted(runs):
        if (path / run).is_dir():
            parts += _parts(path, _run(Folder(path / run)))
        else:
            about = f"its run is not here: `curta train --resume {path.name}`"
            parts.append(Part(run, "missing", about))
    return parts


def _parts(root: Path, checks: Iterable[Check]) -> Iterator[Part]:
    """Yield a part for each file that is there, or needed.

    Any exception counts: there are more ways of being damaged than anybody has thought of.
    """
    for path, read, remedy, is_needed in checks:
        name = path.relative_to(root).as_posix()
        if not os.path.lexists(path):
            if is_needed:
                yield Part(name, "missing", remedy)
            continue
        try:
            read()
        except UserError as error:
            complaint = str(error)
        except OSError as error:
            complaint = error.strerror or str(error)
        except Exception as error:
            complaint = f"it cannot be read ({type(error).__name__}: {error})"
        else:
            yield Part(name, "whole")
            continue
        yield Part(name, "damaged", f"{complaint}; {remedy}")


def _comparison(path: Path) -> Iterator[Check]:
    again, report = f"{COPY}, or compare anew under another name", path / "report.html"
    yield path / COMPARISON, partial(folders.read_comparison, path), again, True
    with suppress(OSError, ValueError):
        yield from _code(path, folders.read_comparison(path).files)
    yield report, partial(files.read_bytes, report), f"`curta report {path.name}` makes it", False


def _run(folder: Folder) -> Iterator[Check]:
    path, name, info = folder.path, folder.address, None
    with suppress(OSError, ValueError):
        info = folder.read_info()
    done = info.done if info else ()
    evaluated, certified = "evaluating" in done, "certifying" in done
    is_certified = certified or os.path.lexists(path / CERTIFICATE)
    partial_file = path / evaluations.PARTIAL
    yield path / "run.json", folder.read_info, COPY, True
    yield folder.recipe, partial(_read_recipe, folder), COPY, True
    machine = partial(store.read, folder.machine, name)
    yield folder.machine, machine, COPY, bool(info and info.programs)
    curves = f"only curves are lost by it: leave it, or {COPY}"
    trained = bool(info and info.checkpoint and not info.imported)
    yield folder.metrics, partial(_read_lines, Metric, folder.metrics), curves, trained
    resumes = f"`curta train --resume {name}` goes on from the newest whole one"
    saved = {
        step
        for kind in ("json", "safetensors")
        for step in checkpoints.steps(folder.checkpoints, kind)
    }
    for step in sorted(saved | ({info.checkpoint} - {0} if info else set())):
        arrays = checkpoints.file_of(folder.checkpoints, step, "safetensors")
        yield arrays, partial(_read_checkpoint, folder, info, step), resumes, True
    for step in embedding_history.steps(folder.history):
        file = checkpoints.file_of(folder.history, step, "safetensors")
        lost = "remove it: a point of the tokens' paths is lost"
        yield file, partial(embedding_history.load, folder.history, step), lost, False
    again = f"`curta evaluate {name}` makes it anew"
    yield folder.evaluation, folder.read_evaluation, again, evaluated
    again = f"`curta certify {name}` makes it anew"
    yield path / CERTIFICATE, folder.read_certificate, again, certified
    yield path / WINDOWS, partial(read_windows, path), again, is_certified
    again = f"{COPY}: a training that goes on needs it"
    yield path / windows.FILE, partial(windows.read, path), again, False
    for evaluation in folder.evaluation_names():
        again, read = "`curta evaluate` with its settings makes it anew", folder.read_evaluation
        yield folder.evaluation_path(evaluation), partial(read, evaluation), again, False
    for file in sorted(folder.probes.glob("*.json")):
        again = f"`curta probe {name} {file.stem}` makes it anew"
        yield file, partial(files.read_json, file, "it"), again, False
    yield from _code(path, info.files if info else ())
    again = f"{COPY}; it is needed where the run's code is not trusted"
    yield path / run_snapshot.PROBLEMS, partial(run_snapshot.stored, path), again, False
    again = "nothing: what is torn is evaluated again"
    parts = partial(_read_lines, evaluations.EvaluatedPart, partial_file)
    yield partial_file, parts, again, False
    report = partial(files.read_bytes, folder.report)
    yield folder.report, report, f"`curta report {name}` makes it anew", "reporting" in done


def _read_recipe(folder: Folder) -> Recipe:
    """Read each field alone: whether they fit together, code says that is not executed here."""
    return recipes.parse_fields(folder.read_recipe_fields(), "recipe.toml")


def _read_lines(kind: type[Any], path: Path) -> None:
    for line in files.read_bytes(path).splitlines():
        typed.parse(kind, line, "it", path.name)


def _read_checkpoint(folder: Folder, info: RunInfo | None, step: int) -> None:
    owner, data = None, checkpoints.read(folder.checkpoints, step)
    with suppress(OSError, ValueError):  # a damaged recipe has its line
        owner = checkpoints.owner(_read_recipe(folder), info.seeds, step) if info else None
    if owner not in (None, checkpoints.owner_in(data)):
        raise UserError("it is of another recipe or of other seeds than the run says")


def _code(folder: Path, code: Iterable[KeptFile]) -> Iterator[Check]:
    """Yield the user's files, compared by their hashes."""
    for file in code:
        read = partial(_read_code, folder / file.file, file.sha256)
        yield folder / file.file, read, f"{COPY}; it is not executed", True


def _read_code(path: Path, sha256: str) -> None:
    if hashlib.sha256(files.read_bytes(path)).hexdigest() != sha256:
        raise UserError("it is not the file that the run was made with")
