"""Removing runs and comparisons: never one in use, and never what is none."""

import os
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path

from curta.config import files, system
from curta.config.errors import UserError, unknown
from curta.runs import folders, ownership


def path_of(name: str) -> Path:
    """The folder of a run, or of a comparison, by name or path, however damaged it is.

    Raises UserError for what is neither, and for a link to one.
    """
    path = Path(name) if system.is_path(name) else folders.root() / name
    path = folders.of_comparison(path, name)
    if path.is_symlink():
        raise UserError(f"{str(path)!r} is a link: remove it yourself, or the run that it leads to")
    if not any(os.path.lexists(path / file) for file in ("run.json", folders.COMPARISON)):
        names = [*folders.existing(), *folders.comparisons()]
        raise unknown("run", name, names, "curta runs")
    return path


def remove(path: Path) -> None:
    """Remove the folder and all in it; UserError if a process works on it, or on a run in it.

    It is renamed first, so that a removal that is broken off leaves nothing that looks like a run.
    On Windows no folder with an open file in it can be renamed, so the lock is given back before.
    """
    inside = [entry for entry in sorted(path.iterdir()) if not entry.is_symlink()]
    for folder in (*(entry for entry in inside if (entry / "run.json").exists()), path):
        with ownership.owned(folder):
            pass
    with ownership.owned(path) if system.OPENS_FOLDERS else nullcontext():
        try:
            aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=".", suffix=files.PART))
            path.rename(aside / path.name)
        except OSError as error:
            raise UserError(f"cannot remove {str(path)!r}: {error.strerror}") from None
    shutil.rmtree(aside)
