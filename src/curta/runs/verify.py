"""Check that the files of a run are undamaged, and say what to do about those that are not.

Nothing in the folder is executed or changed. Each file is read by the code that normally reads it,
and the error it raises is the message.
"""

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from curta.config import files, typed
from curta.config.errors import UserError, refuse_if
from curta.evaluation.results import CERTIFICATE, WINDOWS, read_windows
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user import run_snapshot
from curta.programs.user.userfiles import KeptFile
from curta.runs import checkpoints, folders
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import Metric, RunInfo
from curta.training import windows

COPY = "put it back from a copy"

Check = tuple[Path, Callable[[], object], str, bool]
"""A file, what reads it or raises, what to do if it cannot be read, and whether it is needed."""


@dataclass(frozen=True)
class Part:
    """The state of one file of a run or comparison."""

    name: str
    """The path of the file within the folder."""
    state: Literal["whole", "missing", "damaged"]
    """`whole`, `missing` or `damaged`."""
    about: str = ""
    """What is wrong with the file, and what to do; empty if it is whole."""


def verify(name: str) -> list[Part]:
    """Check every file of a run, or of a comparison and all its runs.

    Example::

        [part.name for part in curta.verify("addition") if part.state != "whole"]

    Args:
        name: Name of a run or comparison in the runs folder, or its path.

    Raises:
        UserError: There is no such folder. Damaged files raise nothing.
    """
    path = folders.locate(name)
    if not os.path.lexists(path / COMPARISON):
        return _parts(path, _run_files(Folder(path)))
    report, again = path / "report.html", f"{COPY}, or compare again under another name"
    checks: list[Check] = [(path / COMPARISON, partial(folders.read_comparison, path), again, True)]
    runs = {entry.parent.name for entry in path.glob("*/run.json")}
    with suppress(OSError, ValueError):  # a damaged file has its line
        comparison = folders.read_comparison(path)
        runs |= {Path(row.run).name for row in comparison.rows if row.status != "waiting"}
        checks += _code_files(path, comparison.files)
    name = shlex.quote(path.name)
    again = f"`curta report {name}` makes it"
    verdicts = _parts(path, [*checks, (report, partial(files.read_bytes, report), again, False)])
    for run in sorted(runs):
        if (path / run).is_dir():
            verdicts += _parts(path, _run_files(Folder(path / run)))
        else:
            about = f"its run is not here: `curta train --resume {name}`"
            verdicts.append(Part(run, "missing", about))
    return verdicts


def _parts(root: Path, checks: Iterable[Check]) -> list[Part]:
    """Return a part for each file that is there, or needed.

    Any exception counts: a file can be damaged in more ways than could be listed.
    """
    verdicts = []
    for path, read, remedy, is_needed in checks:
        name = path.relative_to(root).as_posix()
        if not os.path.lexists(path):
            verdicts += [Part(name, "missing", remedy)] if is_needed else []
            continue
        complaint = ""
        try:
            read()
        except UserError as error:
            complaint = str(error)
        except OSError as error:
            complaint = error.strerror or str(error)
        except Exception as error:
            complaint = f"it cannot be read ({type(error).__name__}: {error})"
        about = f"{complaint}; {remedy}" if complaint else ""
        verdicts.append(Part(name, "damaged" if complaint else "whole", about))
    return verdicts


def _run_files(folder: Folder) -> Iterator[Check]:
    path, name, info = folder.path, folder.argument, None
    with suppress(OSError, ValueError):  # a damaged file has its line
        info = folder.read_info()
    done, newest = (info.done, info.checkpoint) if info else ((), 0)
    is_certified = "certifying" in done or os.path.lexists(path / CERTIFICATE)
    yield path / "run.json", folder.read_info, COPY, True
    # Each field alone: whether they fit together, code says that is not executed here.
    fields = folder.read_recipe_fields
    yield folder.recipe, lambda: recipes.parse_fields(fields(), "recipe.toml"), COPY, True
    machine = partial(store.read, folder.machine, folder.address)
    yield folder.machine, machine, COPY, bool(info and info.programs)
    again = f"only curves are lost by it: leave it, or {COPY}"
    has_curves = bool(newest and info and not info.imported)
    yield folder.metrics, partial(_read_lines, Metric, folder.metrics), again, has_curves
    again = f"`curta train --resume {name}` goes on from the newest whole one"
    kinds = "json", "safetensors"
    saved = {step for kind in kinds for step in checkpoints.steps(folder.checkpoints, kind)}
    for step in sorted(saved | ({newest} - {0})):
        file = checkpoints.file_of(folder.checkpoints, step, "safetensors")
        yield file, partial(_read_checkpoint, folder, info, step), again, True
    again = "remove it: a point of the tokens' paths is lost"
    for step in checkpoints.steps(folder.history, "safetensors"):
        file = checkpoints.file_of(folder.history, step, "safetensors")
        yield file, partial(checkpoints.load_vectors, folder.history, step), again, False
    again = f"`curta evaluate {name}` rebuilds it"
    yield folder.evaluation, folder.read_evaluation, again, "evaluating" in done
    again = f"`curta certify {name}` rebuilds it"
    yield path / CERTIFICATE, folder.read_certificate, again, "certifying" in done
    yield path / WINDOWS, partial(read_windows, path), again, is_certified
    again = f"{COPY}: a training that goes on needs it"
    yield path / windows.FILE, partial(windows.read, path), again, False
    again = "`curta evaluate` with its settings rebuilds it"
    for evaluation in folder.evaluation_names():
        read = partial(folder.read_evaluation, evaluation)
        yield folder.evaluation_path(evaluation), read, again, False
    for file in sorted(folder.probes.glob("*.json")):
        again = f"`curta probe {name} {file.stem}` rebuilds it"
        yield file, partial(files.read_json, file, "it"), again, False
    yield from _code_files(path, info.files if info else ())
    again = f"{COPY}; it is needed where the run's code is not trusted"
    yield path / run_snapshot.PROBLEMS, partial(run_snapshot.stored, path), again, False
    again, file = "nothing: what is torn is evaluated again", path / folders.PARTIAL
    yield file, partial(_read_lines, folders.EvaluatedPart, file), again, False
    again = f"`curta report {name}` rebuilds it"
    yield folder.report, partial(files.read_bytes, folder.report), again, "reporting" in done


def _read_lines(kind: type[Any], path: Path) -> None:
    for line in files.read_bytes(path).splitlines():
        typed.parse(kind, line, "it", path.name)


def _read_checkpoint(folder: Folder, info: RunInfo | None, step: int) -> None:
    owner, data = None, checkpoints.read(folder.checkpoints, step)
    with suppress(OSError, ValueError):  # a damaged recipe has its line
        recipe = recipes.parse_fields(folder.read_recipe_fields(), "recipe.toml")
        owner = checkpoints.owner(recipe, info.seeds, step) if info else None
    is_foreign = owner not in (None, checkpoints.owner_in(data))
    refuse_if(is_foreign, "it is of another recipe or of other seeds than the run says")


def _code_files(folder: Path, code: Iterable[KeptFile]) -> Iterator[Check]:
    """Yield the user's files, compared by their hashes."""

    def read(path: Path, sha256: str) -> None:
        digest = hashlib.sha256(files.read_bytes(path)).hexdigest()
        refuse_if(digest != sha256, "it is not the file that the run was made with")

    for file in code:
        path = folder / file.file
        yield path, partial(read, path, file.sha256), f"{COPY}; it is not executed", True
