"""Time of one training step, Curta against PyTorch: `python -m benchmarks.steps`.

Both sides train the same model on batches of the same size with the same loss and
optimiser (see `check`). Curta's side is the compiled chunk that a run calls, which
also draws and writes its problems and measures exact match; PyTorch is given its
batches ready made, without the last token, and measures nothing but the loss.
torch.compile, in its default mode, is of the forward pass and the loss; clipping
and the optimiser's step stay eager, one call each, where Curta's are compiled.

Each side is one process, warmed up before anything is measured. Rounds go through
the sides in turn, each time from another one on; ratios compare the two figures of
one round.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .configurations import CONFIGURATIONS
from .spread import Row, Spread, Table, explained

BATCHES = 8

QUICK = ("c",)
"""Configurations of a quick run, which leaves torch.compile out: it takes a minute for each."""


class Worker:
    """One side in its own process."""

    def __init__(self, side: str, name: str, folder: Path, steps: int) -> None:
        command = [sys.executable, "-m", "benchmarks.workers", side, name, str(folder), str(steps)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait(self) -> object:
        """The next line of the worker."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a worker of the benchmark ended: see its message above")
        return json.loads(line)

    def measure(self) -> float:
        assert self.process.stdin
        print("go", file=self.process.stdin, flush=True)
        return float(str(self.wait()))

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def sides(quick: bool) -> list[str]:
    """All that can be measured here: torch.compile needs a C++ compiler."""
    compiler = not quick and any(map(shutil.which, ("c++", "g++", "clang++")))
    return ["curta", "eager", *(["compiled"] if compiler else [])]


def measured(name: str, rounds: int, steps: int, sides: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of a step for each side, one figure per round."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        _export(name, folder)
        workers = {
            side: stack.enter_context(_worker(side, name, Path(folder), steps)) for side in sides
        }
        seconds: dict[str, list[float]] = {side: [] for side in workers}
        for number in range(rounds):
            for side in _turned(list(workers), number):
                seconds[side].append(workers[side].measure())
    return seconds


def _export(name: str, folder: str) -> None:
    """In a process of its own, so that this one stays without JAX's threads."""
    code = "import sys, pathlib; from benchmarks.export import save; "
    code += "save(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))"
    subprocess.run([sys.executable, "-c", code, name, folder, str(BATCHES)], check=True)


@contextmanager
def _worker(side: str, name: str, folder: Path, steps: int) -> Iterator[Worker]:
    """A worker that is ready; the next is started only then."""
    worker = Worker(side, name, folder, steps)
    try:
        worker.wait()
        yield worker
    finally:
        worker.close()


def _turned(names: list[str], by: int) -> list[str]:
    return names[by % len(names) :] + names[: by % len(names)]


def tables(quick: bool, names: Sequence[str] = ()) -> Iterator[Table]:
    """One table: a row for each configuration."""
    rounds, chosen = 2 if quick else 9, names or (QUICK if quick else CONFIGURATIONS)
    rows: list[Row] = []
    for configuration in CONFIGURATIONS.values():
        if configuration.name not in chosen:
            continue
        steps = 2 if quick else configuration.steps
        seconds = measured(configuration.name, rounds, steps, sides(quick))
        rows.append([configuration.name, configuration.summary, *_cells(seconds)])
    head = ["", "model and batch", "Curta, ms", "PyTorch eager, ms", "eager / Curta"]
    head += ["torch.compile, ms", "compiled / Curta"]
    yield Table("Training step", explained(__doc__), head, rows)


def _cells(seconds: dict[str, list[float]]) -> Row:
    cells: Row = [Spread.of(seconds["curta"], 1000)]
    for side in ("eager", "compiled"):
        if side not in seconds:
            cells += ["not measured", ""]
            continue
        ratios = [other / ours for other, ours in zip(seconds[side], seconds["curta"], strict=True)]
        cells += [Spread.of(seconds[side], 1000), Spread.of(ratios, bold=True)]
    return cells


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*", help="configurations; all of them if none is given")
    arguments = parser.parse_args()
    for table in tables(arguments.quick, arguments.names):
        print(table)
