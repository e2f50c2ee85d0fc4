"""Real processes, killed and interrupted at random moments, and several at once on one run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import curta
from tests.faults import places

SOURCE = str(Path(curta.__file__).parents[1])

STAGES = ("training", "evaluating", "certifying", "reporting")

MOST = 300
"""Seconds after which a process hangs."""


def run(count: int, seed: int) -> places.Outcome:
    """`count` kills and interrupts, and several processes at once a few times."""
    with places.workplace() as folder:
        campaign = _Campaign(folder, seed, warm=count > 4)
        at = 0
        while campaign.outcome.cases < count:
            campaign.life(at, random.Random(f"{seed} {at}"))
            at += 1
        for several in range(-(-count // 100) if count > 4 else 0):
            campaign.crowd(f"several {several}")
        return campaign.outcome


class _Campaign:
    """The unbroken run, how long it took, and what was found."""

    def __init__(self, folder: Path, seed: int, warm: bool) -> None:
        self.folder, self.seed, self.outcome = folder, seed, places.Outcome()
        self.recipe = places.recipe(folder)
        if warm:  # what is compiled is kept, so that the next one takes the time that all take
            self.train("unbroken").wait(MOST)
        begun = time.monotonic()
        self.train("whole").wait(MOST)
        self.seconds = time.monotonic() - begun
        self.whole = places.contents(folder / "whole")

    def train(self, name: str | None) -> subprocess.Popen[str]:
        named = ["--run", name] if name else []
        return self.begin("train", self.recipe, "--seeds", "2", *named)

    def go_on(self, name: str) -> subprocess.Popen[str]:
        """Train a run, or resume it if it exists."""
        is_begun = (self.folder / name).exists()
        return self.begin("train", "--resume", name) if is_begun else self.train(name)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A process of its own; what it says is kept in files, so that no pipe fills."""
        path = os.environ.get("PYTHONPATH", "")
        variables = {"CURTA_RUNS": str(self.folder), "PYTHONPATH": f"{SOURCE}{os.pathsep}{path}"}
        err = self.folder / f"err-{time.monotonic_ns()}"
        with err.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "curta", *words], env=os.environ | variables, text=True,
                stdout=subprocess.DEVNULL, stderr=file,
            )  # fmt: skip
        process.errors = err  # type: ignore[attr-defined]
        return process

    def life(self, case: int, draw: random.Random) -> None:
        """One run, broken off a few times, and resumed until it ends."""
        name = f"life-{case}"
        quiet = draw.random() < 0.4
        for _ in range(draw.randint(1, 4)):
            self._break(case, self.go_on(name), name, draw, quiet)
        process = self.go_on(name)
        code = process.wait(MOST)
        self._is(case, code == 0, f"the last resume ended with {code}: {errors_of(process)}")
        wrong = places.differences(self.folder / name, self.whole)
        self._is(case, not wrong, f"after {name} was resumed: {wrong}")
        status = self.status(name)
        self._is(case, status == "finished", f"{name} says {status!r}")
        left = [path.name for path in (self.folder / name).rglob("*.part")]
        self._is(case, not left, f"{name} holds {left}")

    def _break(
        self, case: int, process: subprocess.Popen[str], name: str, draw: random.Random, quiet: bool
    ) -> None:
        """Ends a process at a random moment: killed, or by one or two signals."""
        kind = draw.choice(
            ["TERM", "INT", "TERM TERM", "INT INT", "INT TERM"] if quiet else ["KILL"]
        )
        if kind != "KILL":
            listening(process)
        self._wait(process, name, draw, quiet)
        self.outcome.cases += 1
        for number, word in enumerate(kind.split()):
            time.sleep(draw.uniform(0, 0.05) if number else 0)
            process.send_signal(getattr(signal, f"SIG{word}"))
        code = process.wait(MOST)
        self.outcome.ended[f"{kind}: {code}"] += 1
        if kind != "KILL":
            self._ended_well(case, kind, code, process)

    def _wait(
        self, process: subprocess.Popen[str], name: str, draw: random.Random, quiet: bool
    ) -> None:
        """Until a random moment: of the first second, of all, or of a stage."""
        way = draw.random()
        if quiet and way < 0.3:
            time.sleep(draw.uniform(0, 1))
        elif way < 0.5:
            time.sleep(draw.uniform(0, self.seconds))
        else:
            stage, end = draw.choice(STAGES), time.monotonic() + self.seconds * 3
            while process.poll() is None and time.monotonic() < end:
                if self.status(name) == stage:
                    break
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.4))

    def _ended_well(self, case: int, kind: str, code: int, process: subprocess.Popen[str]) -> None:
        """The code of a signal, or that of a process that had ended already; a line or two."""
        codes = {0, *(128 + getattr(signal, f"SIG{word}") for word in kind.split())}
        text = errors_of(process)
        self._is(case, code in codes, f"{kind} ended with {code}: {text}")
        self._is(case, "Traceback" not in text, f"{kind}: {text}")
        lines = [line for line in text.splitlines() if line.strip()]
        self._is(case, len(lines) <= 2, f"{kind}: {len(lines)} lines: {text}")

    def crowd(self, case: str) -> None:
        """Several processes that begin at once: without a name, with one name, and on one run."""
        names = lambda: {path.parent.name for path in self.folder.glob("*/run.json")}
        before, several = names(), [self.train(None) for _ in range(6)]
        codes = [process.wait(MOST) for process in several]
        self.outcome.cases += len(several)
        self._is(case, codes == [0] * 6, f"six without a name ended with {codes}")
        new_names = names() - before
        self._is(case, len(new_names) == 6, f"six without a name made {sorted(new_names)}")
        for name in sorted(new_names):
            wrong = places.differences(self.folder / name, self.whole)
            self._is(case, not wrong, f"of six without a name, {name}: {wrong}")
        named, half = (f"{word}-{case.partition(' ')[2]}" for word in ("named", "half"))
        self._one_wins(case, [self.train(named) for _ in range(6)], named)
        # three at once on a run that was killed in the middle
        process = self.train(half)
        while process.poll() is None and self.status(half) != "training":
            time.sleep(0.005)
        process.kill()
        process.wait()
        self._one_wins(case, [self.go_on(half) for _ in range(3)], half, late=True)

    def _one_wins(
        self, case: str, several: list[subprocess.Popen[str]], name: str, late: bool = False
    ) -> None:
        """One ends well, the others with a line; one that came `late` may find nothing to do."""
        codes = [process.wait(MOST) for process in several]
        self.outcome.cases += len(several)
        good = codes.count(0) >= 1 if late else codes.count(0) == 1
        self._is(case, good and {*codes} <= {0, 2}, f"{name}: codes {codes}")
        for process, code in zip(several, codes, strict=True):
            text = errors_of(process)
            if code:
                named = f"process {several[codes.index(0)].pid} " in text or not late
                self._is(case, text.count("\n") == 1 and named, f"{name} refused by: {text}")
        wrong = places.differences(self.folder / name, self.whole)
        self._is(case, not wrong, f"{name}: {wrong}")

    def status(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name / "run.json").read_text())["status"]
        except OSError:
            return None

    def _is(self, case: object, good: bool, why: str) -> None:
        if not good:
            self.outcome.failed(case, self.seed, why)


def errors_of(process: subprocess.Popen[str]) -> str:
    """What it said on stderr."""
    return str(process.errors.read_text())  # type: ignore[attr-defined]


def listening(process: subprocess.Popen[str]) -> None:
    """Waits until it handles SIGTERM: before, Python itself has not begun."""
    bit = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) & bit:
            return
        time.sleep(0.001)
