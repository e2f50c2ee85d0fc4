"""A dozen small runs, two of which have trouble as a task of a cluster and none elsewhere."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from curta.runs.cluster import JobFolder

RECIPE = """
layout = "reversed"
task = { digits = [1, 4] }
positions = { name = "rope" }
model = { width = 16, heads = 2, num_layers = 2, mlp_ratio = 2 }
training = { steps = 200, batch = 8 }
evaluation = { digits = [3], count = 8, generated = 4 }
"""

ENCODING = '''
"""Scores fall with the distance; as a task of a cluster it may fail."""

import os
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp

from curta import Encoding

WORKS = "CURTA_COMMAND" in os.environ


@dataclass(frozen=True)
class Trouble:
    """Scores fall with each token between."""

    name: str = "trouble"
    fails: str = ""
    """always, or a file whose absence is the reason."""

    def build(self, shape):
        if WORKS and self.fails and not Path(self.fails).exists():
            if self.fails != "always":
                Path(self.fails).touch()
            raise ValueError(f"there was no {Path(self.fails).name}")
        return Falling()


class Falling(Encoding):
    def bias(self, layer, visible_keys):
        far = visible_keys.queries.index[:, :, None] - visible_keys.keys.index[:, None, :]
        return -0.5 * far[:, None].astype(jnp.float32)
'''

QUICK = [f"rate-{rate}" for rate in range(1, 9)]
LONG = ["long-1", "long-2"]
BROKEN, SHAKY = "broken", "shaky"
ENTRIES = [*QUICK[:2], BROKEN, LONG[0], *QUICK[2:4], SHAKY, LONG[1], *QUICK[4:]]
"""In the order in which tasks have them."""

Answer = TypeVar("Answer")


class Dozen:
    """A folder with the comparison's files, in which commands are called."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, os.environ | environment
        self.environment |= {"CURTA_RUNS": str(folder / "runs"), "CURTA_CORES": "1"}
        (folder / "small.toml").write_text(RECIPE)
        (folder / "trouble.py").write_text(ENCODING)
        entries = [
            {"name": name, "recipe": "small.toml", "changes": self._changes(name)}
            for name in ENTRIES
        ]
        comparison = {"title": "A dozen", "seeds": 2, "entries": entries}
        (folder / "dozen.toml").write_text(tomli_w.dumps(comparison))

    def _changes(self, name: str) -> dict[str, Any]:
        rate = int(name[-1]) / 1000 if name in QUICK else 0.001
        changes: dict[str, Any] = {"optimizer.learning_rate": rate}
        if name in LONG:
            changes |= {"training.steps": 6000, "model.width": 24}
        if name in (BROKEN, SHAKY):
            fails = "always" if name == BROKEN else str(self.folder / "mended")
            changes |= {"positions.name": str(self.folder / "trouble.py"), "positions.fails": fails}
        return changes

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "curta", *words]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            check=False, timeout=900,
        )  # fmt: skip

    def curta(self, *words: str, code: int = 0) -> str:
        """What a command prints that ends with this code."""
        done = self.call(*words)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def states(self, name: str) -> dict[str, dict[str, Any]]:
        """How each run stands; the exit code is 1 where one has failed or was cancelled."""
        done = self.call("runs", name, "--json")
        states = {state["run"]: state for state in json.loads(done.stdout)["job"]}
        ended = any(state["state"] in ("failed", "cancelled") for state in states.values())
        assert done.returncode == ended, done.stderr
        return states

    def job(self, name: str, *path: str) -> Path:
        return self.folder.joinpath("runs", name, ".jobs", *path)

    def tries(self, name: str, run: str) -> dict[str, Any]:
        path = self.job(name, "runs", f"{run}.json")
        return json.loads(path.read_text()) if path.exists() else {}

    def held(self, name: str, run: str) -> int:
        """The process that is training a run, stopped once it has trained some steps."""

        def hold() -> int | None:
            place = JobFolder(self.folder / "runs" / name).run_folder(run)
            metrics = place / "metrics.jsonl"
            has_trained = metrics.exists() and metrics.stat().st_size > 0
            process = process_of(place) if has_trained else None
            if process is not None:
                os.kill(process, signal.SIGSTOP)
                if (place / "evaluation.json").exists():
                    os.kill(process, signal.SIGCONT)
                    raise AssertionError(f"{run} was too quick to be held")
            return process

        return until(hold)

    def results(self, name: str) -> dict[str, Any]:
        """What a comparison's table is made of, but for times, by entry."""
        path = self.folder / "runs" / name / "comparison.json"
        rows = json.loads(path.read_text())["rows"]
        return {row.pop("name"): row | {"training_seconds": None} for row in rows}

    def weights(self, name: str) -> dict[str, bytes]:
        """The newest checkpoint of each run."""
        runs = self.folder / "runs" / name
        return {
            run.name: max(run.glob("checkpoints/*.safetensors")).read_bytes()
            for run in runs.iterdir()
            if (run / "checkpoints").exists()
        }

    def check_against(self, here: str, elsewhere: str) -> None:
        """Table and weights are those of one process, but for the run that is broken elsewhere."""
        rows, others = self.results(here), self.results(elsewhere)
        weights = self.weights(here)
        assert list(others) == ENTRIES
        assert others.pop(BROKEN)["lengths"] == []
        assert rows.pop(BROKEN)["status"] == "finished"
        assert others == rows
        del weights[BROKEN]
        assert self.weights(elsewhere) == weights


def until(ask: Callable[[], Answer | None], seconds: float = 300.0) -> Answer:
    """What is answered first that is not None."""
    deadline = time.monotonic() + seconds
    while (answer := ask()) is None:
        assert time.monotonic() < deadline, "this has never come"
        time.sleep(0.1)
    return answer


def process_of(run: Path) -> int | None:
    """The process that trains the run of a folder."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if file.read_bytes().split(b"\0")[-2:-1] == [os.fsencode(run)]:
                return int(file.parent.name)
    return None
