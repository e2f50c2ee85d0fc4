"""Time to an adder that is right at 100 digits: `python -m benchmarks.accuracy`.

Each measurement is a whole new process, from its first instruction to its end:
imports, initial weights, compilation, the default recipe's training from first to
last step with records and checkpoints, and 200 random sums of 100 digits. Nothing
is chosen by looking at the result; the share of exact answers stands beside the
time. From cold, the cache of compiled programs is empty; Python's own compiled
files are not. Eight seeds trained at once are compared with eight such processes
one after the other.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from docs.shared import elsewhere

from .spread import Row, Spread, Table, explained, main

DIGITS, PROBLEMS, SEEDS = 100, 200, 8


class Trial(NamedTuple):
    """One process: wall seconds, peak memory in MB, exact match of each member."""

    seconds: float
    memory: float
    exact_match: list[float]


def train(seeds: Sequence[int], steps: int) -> tuple[float, list[float]]:
    """Train and test in a measured process; return its memory and figures; 0 are its own steps."""
    import curta
    from docs.shared import random_problems, shares_right

    settings: dict[str, Any] = {"training.steps": steps} if steps else {}
    run = curta.train("addition", seeds, **settings, evaluate=False)
    shares = shares_right(run.load_models(), random_problems("+", (DIGITS, DIGITS), PROBLEMS))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3), shares


def trial(cache: str, seeds: Sequence[int], steps: int) -> Trial:
    """Run a new process with this cache of compiled programs and a new folder for its run."""
    with tempfile.TemporaryDirectory() as runs:
        environment = {"CURTA_CACHE": cache, "CURTA_RUNS": str(Path(runs) / "runs")}
        begun = time.perf_counter()
        figures = elsewhere("benchmarks.accuracy:train", [*seeds], steps, **environment)
        return Trial(time.perf_counter() - begun, *figures)


def cold(steps: int) -> Trial:
    with tempfile.TemporaryDirectory() as cache:
        return trial(cache, [0], steps)


def tables(quick: bool) -> Iterator[Table]:
    """Yield one seed from a cold start and compiled before, and SEEDS at once and one by one."""
    rounds, steps, count = (1, 100, 2) if quick else (5, 0, SEEDS)
    columns = ["seconds", "peak memory, MB", f"exact at {DIGITS} digits"]
    with tempfile.TemporaryDirectory() as cache:
        for seeds in ([0], range(count)):
            trial(cache, seeds, steps)  # fills the cache
        pairs = [(cold(steps), trial(cache, [0], steps)) for _ in range(rounds)]
        rows = [
            _row("from a cold start", [first for first, _ in pairs]),
            _row("compiled before", [second for _, second in pairs]),
        ]
        head = ["default recipe, one seed", *columns]
        yield Table(f"To {DIGITS} digits", explained(__doc__), head, rows)
        together, apart = [], []
        for _ in range(1 if quick else 3):
            together.append(trial(cache, range(count), steps))
            alone = [trial(cache, [seed], steps) for seed in range(count)]
            shares = [share for each in alone for share in each.exact_match]
            apart.append(Trial(sum(t.seconds for t in alone), max(t.memory for t in alone), shares))
    ratio = [b.seconds / a.seconds for a, b in zip(together, apart, strict=True)]
    rows = [
        [*_row("at once", together), Spread.of(ratio, bold=True)],
        [*_row("one process after the other", apart), ""],
    ]
    head = [f"{count} seeds, compiled before", *columns, "apart / at once"]
    yield Table(f"{count} seeds at once", "", head, rows)


def _row(name: str, trials: Sequence[Trial]) -> Row:
    seconds = Spread.of([trial.seconds for trial in trials])
    memory = Spread.of([trial.memory for trial in trials])
    shares = [100 * share for trial in trials for share in trial.exact_match]
    low, high = (f"{share:.4g}" for share in (min(shares), max(shares)))
    return [name, seconds, memory, f"{low} %" if low == high else f"{low} to {high} %"]


if __name__ == "__main__":
    main(tables)
