"""Runs that many tests begin with: made once a session, by whichever worker needs them first."""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import curta
from curta.frontends import api
from curta.runs import folders
from curta.runs.run import Run
from tests import tiny

BRIEF = "curta.programs.machine.writing.limit_of", lambda prompt: 60 + prompt
"""Texts of models that never end are given up early, which takes seconds instead of minutes."""


def empty_pictures(patch: pytest.MonkeyPatch) -> None:
    """Save figures with nothing on them: to draw them takes most of a report's time."""
    save = Figure.savefig
    patch.setattr(Figure, "savefig", lambda figure, *to, **how: save(Figure(), *to, **how))


REPAIRED: dict[str, Any] = {
    "training.steps": 150, "training.problems": 100, "training.batch": 64, "model.width": 16,
    "model.heads": 2, "model.num_layers": 2, "evaluation.digits": [5], "evaluation.count": 5,
    "evaluation.generated": 2, "evaluation.held_out": 10, "evaluation.certificate": 4_000,
    "training.checkpoint_every": 40, "training.held_out_windows": 0.2, "training.repair": 40,
}  # fmt: skip
"""A training that is too short, and is repaired."""


class Shared:
    """Folders of runs, each of a name, below a folder that all workers have in common."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def made(self, name: str, make: Callable[[], object]) -> Path:
        """The folder of runs of that name; `make` fills it where it is not there yet."""
        path, begun = self.root / f"shared-{name}", self.root / f"begun-{name}"
        with (self.root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                shutil.rmtree(begun, ignore_errors=True)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv("CURTA_RUNS", str(begun))
                    patch.setattr(*BRIEF)
                    empty_pictures(patch)
                    make()
                begun.rename(path)
        return path

    def finished(
        self,
        name: str = "run",
        seeds: int = 2,
        *,
        complete: Callable[[Run], None] = Run.complete,
        wanted: bool = True,
        **changes: Any,
    ) -> Run:
        """A copy, in the test's own folder, of a run of the tiny recipe with nothing missing."""

        def make() -> None:
            complete(api.begin("addition", seeds, "run", tiny.overrides(**changes), (), wanted))

        about = json.dumps([seeds, changes, wanted, complete.__name__], sort_keys=True)
        made = self.made(hashlib.sha256(about.encode()).hexdigest()[:16], make)
        shutil.copytree(made / "run", folders.root() / name)
        return curta.load(name)

    def repaired(self, root: Path) -> Run:
        """A copy, in that folder, of two members that rounds of repair have made right."""

        def make() -> None:
            api.begin("luhn", [3, 4], "repaired", REPAIRED, evaluate=True).complete()

        shutil.copytree(self.made("repaired", make), root, dirs_exist_ok=True)
        return curta.load(str(root / "repaired"))

    def in_folder(self, root: Path, name: str, **changes: Any) -> Run:
        """A copy, in that folder, of a run of the tiny recipe that was trained alone."""

        def make() -> None:
            api.begin("addition", 2, name, tiny.overrides(**changes)).train()

        shutil.copytree(self.made(name, make), root, dirs_exist_ok=True)
        return curta.load(str(root / name))

    def half_trained(self, root: Path) -> Run:
        """Two members that see the window of their program, and have half learned short sums."""
        return self.in_folder(
            root, "windowed", task__digits=[1, 3], model__width=32, model__mlp_ratio=4,
            training__steps=300, training__batch=128, training__problems=1000,
            training__checkpoint_every=100,
        )  # fmt: skip

    wanting = partialmethod(finished, complete=Run.train)
    """A copy of one that is trained, and is to be evaluated and reported."""

    trained = partialmethod(finished, complete=Run.train, wanted=False)
    """A copy of one that is trained; nothing else was wanted."""
