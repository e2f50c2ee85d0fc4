"""Time to an adder that is right at 100 digits: `python -m benchmarks.accuracy`.

Each measurement is a whole new process, from its first instruction to its end:
imports, initial weights, compilation, the default recipe's training from first to
last step with records and checkpoints, and 200 random sums of 100 digits. Nothing
is chosen by looking at the result; the share of exact answers stands beside the
time. From cold, the cache of compiled programs is empty; Python's own compiled
files are not. Eight seeds trained at once are compared with eight such processes
one after the other.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .spread import Row, Spread, Table, explained, main

DIGITS, PROBLEMS, SEEDS = 100, 200, 8


@dataclass(frozen=True)
class Trial:
    """One process: wall seconds, peak memory in MB, exact match of each member."""

    seconds: float
    memory: float
    exact_match: list[float]


def train(seeds: Sequence[int], steps: int) -> None:
    """What a measured process does; prints what it found. Steps 0: as the recipe has it."""
    import curta
    from curta.evaluation.scoring import exact_match
    from curta.problems.tasks import problems

    settings: dict[str, Any] = {"training.steps": steps} if steps else {}
    run = curta.train("addition", seeds, **settings, evaluate=False)
    exam = problems("+", "random", (DIGITS, DIGITS), PROBLEMS, seed=1)
    found = exact_match(run.load_models(), exam).mean(axis=1).tolist()
    print(json.dumps({"exact": found, "memory": _peak()}))


def _peak() -> float:
    """Largest resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / (1e6 if sys.platform == "darwin" else 1e3))


def trial(cache: str, seeds: Sequence[int], steps: int) -> Trial:
    """A new process with this cache of compiled programs and a new folder for its run."""
    code = f"from benchmarks.accuracy import train; train({list(seeds)}, {steps})"
    with tempfile.TemporaryDirectory() as runs:
        environment = os.environ | {"CURTA_CACHE": cache, "CURTA_RUNS": str(Path(runs) / "runs")}
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - begun
    found = json.loads(done.stdout.splitlines()[-1])
    return Trial(seconds, found["memory"], found["exact"])


def cold(steps: int) -> Trial:
    with tempfile.TemporaryDirectory() as cache:
        return trial(cache, [0], steps)


def tables(quick: bool) -> Iterator[Table]:
    rounds, steps = (1, 100) if quick else (5, 0)
    with tempfile.TemporaryDirectory() as cache:
        count = 2 if quick else SEEDS
        for seeds in ([0], range(count)):
            trial(cache, seeds, steps)  # fills the cache
        from_cold, warm = _alternated(rounds, lambda: cold(steps), lambda: trial(cache, [0], steps))
        yield _one(from_cold, warm)
        yield _many(cache, count, 1 if quick else 3, steps)


def _alternated(
    rounds: int, first: Callable[[], Trial], second: Callable[[], Trial]
) -> tuple[list[Trial], list[Trial]]:
    pairs = [(first(), second()) for _ in range(rounds)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _one(from_cold: list[Trial], warm: list[Trial]) -> Table:
    head = ["default recipe, one seed", "seconds", "peak memory, MB", f"exact at {DIGITS} digits"]
    rows = [_row("from a cold start", from_cold), _row("compiled before", warm)]
    return Table(f"To {DIGITS} digits", explained(__doc__), head, rows)


def _row(name: str, trials: list[Trial]) -> Row:
    seconds = Spread.of([each.seconds for each in trials])
    memory = Spread.of([each.memory for each in trials])
    return [name, seconds, memory, _shares([x for each in trials for x in each.exact_match])]


def _shares(exact_match: list[float]) -> str:
    """Such as `100 %`, or the lowest and the highest."""
    low, high = (f"{100 * share:.4g}" for share in (min(exact_match), max(exact_match)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _many(cache: str, count: int, rounds: int, steps: int) -> Table:
    """Seeds 0 and on, all at once and one process after the other, alternately."""
    together, apart = [], []
    for _ in range(rounds):
        together.append(trial(cache, range(count), steps))
        apart.append(_sum([trial(cache, [seed], steps) for seed in range(count)]))
    ratio = [b.seconds / a.seconds for a, b in zip(together, apart, strict=True)]
    head = [f"{count} seeds, compiled before", "seconds", "peak memory, MB"]
    head += [f"exact at {DIGITS} digits", "apart / at once"]
    rows = [[*_row("at once", together), Spread.of(ratio, bold=True)]]
    rows.append([*_row("one process after the other", apart), ""])
    return Table(f"{count} seeds at once", "", head, rows)


def _sum(trials: list[Trial]) -> Trial:
    exact_match = [share for each in trials for share in each.exact_match]
    return Trial(sum(t.seconds for t in trials), max(t.memory for t in trials), exact_match)


if __name__ == "__main__":
    main(tables)
