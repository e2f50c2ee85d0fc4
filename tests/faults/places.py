"""Runs to break: a recipe that is trained in a second, commands in-process, what a run is."""

import contextlib
import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import tomli_w

from curta.frontends.cli import main
from tests import tiny

PATIENCE = 180
"""Seconds after which a command hangs, also on a busy machine."""

LONGEST = 400
"""Most characters of a complaint."""

END = 400
"""Most characters of the beginning and of the end of what went wrong in a case."""

RATE = re.compile(r'"tokens_per_second": [0-9]+')
"""What no two evaluations have the same: how fast they were."""

COPY: dict[str, Any] = {
    **tiny.TINY,
    "program": "copy",
    "task": {"operator": "copy", "digits": [1, 4]},
    "training": {
        "steps": 40, "batch": 32, "checkpoint_every": 10, "history_every": 10, "problems": 100,
        "repair": 40,
    },
    "evaluation": {"digits": [2, 3], "count": 8, "generated": 4, "certificate": 4_000},
}  # fmt: skip
"""The tiny recipe, of a program with so few windows that a certificate takes a moment."""


@dataclass
class Outcome:
    """Cases that were tried, those that failed, and how the others ended, counted."""

    cases: int = 0
    failures: list[str] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)

    def failed(self, case: object, seed: int, why: str) -> None:
        """A case that went wrong, with all that it takes to try it again."""
        is_long = len(why) > 2 * END
        why = f"{why[:END]} ... {why[-END:]}" if is_long else why
        self.failures.append(f"case {case}, seed {seed}: {why}")


class HangError(BaseException):
    """A command that did not end in time."""


@dataclass(frozen=True)
class Reply:
    """How a command ended: its code, what it printed, and the traceback if it raised."""

    code: int
    out: str
    err: str
    raised: str = ""

    @property
    def complaint(self) -> str:
        """What is wrong with the way it ended; empty if nothing is."""
        if self.raised:
            return self.raised
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}: {self.err!r}"
        lines = [line for line in self.err.splitlines() if line]
        if self.code == 2 and len(lines) > 2:  # a notice may come before
            return f"{len(lines)} lines on stderr: {self.err[:300]!r}"
        if self.code == 2 and not lines:
            return "refused without a word"
        longest = max(map(len, lines), default=0)
        return f"a line of {longest} characters: {self.err[:300]!r}" if longest > LONGEST else ""


def call(*words: str) -> Reply:
    """A command in this process, ended by an alarm if it hangs."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with alarm(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except HangError:
        return Reply(-1, out.getvalue(), err.getvalue(), f"hangs: {words}")
    except BaseException:
        return Reply(-1, out.getvalue(), err.getvalue(), short(words))
    return Reply(code, out.getvalue(), err.getvalue())


def short(words: object) -> str:
    """The traceback that is being handled, its last lines."""
    lines = traceback.format_exc().splitlines()
    return f"raised by {words}: " + " | ".join(line.strip() for line in lines[-9:])


@contextlib.contextmanager
def alarm(seconds: int = PATIENCE) -> Iterator[None]:
    """Raises `HangError` in what takes longer."""

    def ring(number: int, frame: Any) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def runs_at(folder: Path) -> Iterator[Path]:
    """That folder is the folder of runs."""
    with mock.patch.dict(os.environ, CURTA_RUNS=str(folder)):
        yield folder


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="curta-faults-") as folder:
        yield Path(folder)


def recipe(folder: Path) -> str:
    """The path of the recipe, written to a file of its own."""
    path = folder / "copy.toml"
    path.write_text(tomli_w.dumps(COPY))
    return str(path)


def toml(table: Any) -> str:
    """A table as TOML, or something else where it cannot be written."""
    try:
        return tomli_w.dumps(table)
    except (TypeError, AttributeError, UnicodeEncodeError):
        return "strange = 1\n"


def contents(run: Path) -> dict[str, Any]:
    """What a finished run found, bit for bit: last weights, metrics but for seconds, evaluation."""
    weights = max((run / "checkpoints").glob("*.json")).with_suffix(".safetensors")
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return {
        "weights": (weights.name, digest(weights)),
        "metrics": [{k: v for k, v in row.items() if k != "seconds"} for row in rows],
        "history": [digest(path) for path in sorted((run / "history").glob("*"))],
        "evaluation": RATE.sub("", (run / "evaluation.json").read_text()),
        "certificate": (run / "certificate.json").read_text(),
        "windows": digest(run / "windows.safetensors"),
    }


def differences(run: Path, whole: dict[str, Any]) -> str:
    """Which parts of a run are not as those of the unbroken one; empty if none."""
    try:
        results = contents(run)
    except (OSError, ValueError) as error:
        return f"incomplete: {error}"
    other = [name for name in whole if results[name] != whole[name]]
    return f"other {', '.join(other)}" if other else ""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy(run: Path, runs: Path, name: str | None = None) -> Path:
    """A copy of a run in a folder of runs, which is emptied of one of that name."""
    place = runs / (name or run.name)
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(run, place, symlinks=True))


def chosen(count: int, seed: int) -> Iterator[tuple[int, random.Random]]:
    """The cases, each with random numbers of its own, so that any can be tried alone."""
    for case in range(count):
        yield case, random.Random(f"{seed} {case}")
