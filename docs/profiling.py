"""What a step of the ladder's last rung costs at four sizes: `make results-profiling`.

The sizes are those of `docs.sizes`, with the recipe's own 256 problems a step; layers written out
one after the other, as the model has them, or in a loop (`transformer.UNROLLED` 1). Each is
measured on one core and on all, in processes of their own (`docs.profiled`) that compile anew,
several times.

machine    the product of two large matrices, and a triad of large arrays: the roofs
row b      seconds of the pieces of a step of the benchmarks' row b, each compiled alone
0.5M ...   seconds of tracing, compiling and a step; memory; operations and bytes of a step

Seconds are of the clock: nothing else should run on the machine.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from benchmarks import machine
from docs.evidence import RESULTS, ROOT, Results, arguments
from docs.shared import markdown, recipe_fields
from docs.sizes import RECIPE, WIDTHS, design

NAME, MACHINE, ROW_B = "profiling", "machine", "row b"
WAYS = ("written out", "loop")
CORES = tuple(sorted({1, machine.cores()}))
PASSES = 3
"""How many processes measure each."""
TIMES = {"rounds": 5, "steps": 3}
"""How often a process times so many steps."""
LARGE = {"rounds": 7, "side": 4096, "count": 1 << 27}
"""How often a product and a triad are timed, and how large they are."""
UNKEPT = {"JAX_ENABLE_COMPILATION_CACHE": "0"}


def main() -> None:
    options = arguments(__doc__, [MACHINE, ROW_B, *WIDTHS])
    for name in options.names:
        RESULTS.keep(NAME, name, partial(measured, name), [0], settings(name), options)


def settings(name: str) -> dict[str, Any]:
    if name == MACHINE:
        return {"cores": CORES, **LARGE}
    if name == ROW_B:
        return {"cores": CORES[-1], **TIMES}
    fields = recipe_fields(RECIPE, design(name))
    return {"recipe": fields, "cores": CORES, "passes": PASSES, **TIMES}


def measured(name: str) -> Any:
    """Return the roofs by cores, or the figures of each process of a size, which take turns."""
    if name == MACHINE:
        return {str(cores): child(what="machine", cores=cores, **LARGE) for cores in CORES}
    if name == ROW_B:
        return child(what=ROW_B, cores=CORES[-1], **TIMES)
    kinds = [(way, cores) for _ in range(PASSES) for cores in CORES for way in WAYS]
    return [profiled(name, *kind) for kind in kinds]


def profiled(size: str, way: str, cores: int) -> dict[str, Any]:
    figures = child(what="step", cores=cores, size=size, way=way, **TIMES)
    return {"way": way, "cores": cores, **figures}


def child(**request: Any) -> dict[str, Any]:
    """Return the figures that another process measures."""
    command = [sys.executable, "-m", "docs.profiled", json.dumps(request)]
    done = subprocess.run(
        command, env=os.environ | UNKEPT, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


class Profile:
    """The figures of one size, process by process."""

    def __init__(self, name: str, processes: list[dict[str, Any]]) -> None:
        self.name, self.processes = name, processes

    def each(self, way: str, cores: int, figure: str) -> list[Any]:
        """A figure of every process of that kind."""
        return [x[figure] for x in self.processes if (x["way"], x["cores"]) == (way, cores)]

    def steps(self, way: str, cores: int) -> list[float]:
        """Seconds of a step, of all rounds."""
        return [second for rounds in self.each(way, cores, "step") for second in rounds]

    @property
    def operations(self) -> int:
        """Operations of a step, counted by hand."""
        count: int = self.processes[0]["operations"]
        return count

    def intensity(self, cores: int) -> float:
        """Operations for each byte moved, layers unrolled; of a loop XLA counts one pass alone."""
        moved: float = self.each(WAYS[0], cores, "XLA")[0]["bytes"] * cores
        return self.operations / moved

    def pace(self, way: str, cores: int) -> float:
        """Operations a second, at the median of all rounds."""
        return self.operations / median(self.steps(way, cores))


def profiles(results: Results) -> list[Profile]:
    numbers = results.read(NAME)
    return [Profile(name, numbers[name]) for name in WIDTHS]


class Roof:
    """The most that some cores do: operations and bytes a second, of the best round."""

    def __init__(self, cores: str, rounds: dict[str, list[int]]) -> None:
        self.cores = int(cores)
        self.operations, self.bytes = max(rounds["operations"]), max(rounds["bytes"])

    @property
    def ridge(self) -> float:
        """Operations a byte from which on the memory no longer bounds them."""
        return self.operations / self.bytes

    def at(self, intensity: float) -> float:
        """Operations a second, at most, of what has so many for each byte."""
        return min(self.operations, intensity * self.bytes)


def roofs_of(results: Results) -> list[Roof]:
    return [Roof(*cores) for cores in results.read(NAME)[MACHINE].items()]


def tables(results: Results) -> dict[str, Iterable[str]]:
    roofs = roofs_of(results)
    machines = (
        [str(roof.cores), *(f"{speed / 1e9:,.1f}" for speed in (roof.operations, roof.bytes))]
        for roof in roofs
    )
    return {
        f"{NAME}, machine": markdown(("cores", "GFLOP/s", "GB/s"), machines),
        f"{NAME}, {ROW_B}": markdown(("piece", "ms", "of the step"), _pieces(results)),
        NAME: markdown(HEAD, (_row(*case) for case in product(profiles(results), roofs[-1:]))),
    }


PIECES = {
    "step": "the whole step",
    "forward": "forward pass alone, with drawing and writing of problems",
    "forward and backward": "forward and backward pass",
    "products": "products of linear layers",
    "attention": "attention, RoPE included",
    "activation": "GELU",
    "norms": "norms",
    "sum over cores": "sum of gradients over cores",
    "optimiser": "clipping and AdamW",
    "joined": "tried: one product for queries, keys and values",
    "flat": "tried: clipping and AdamW over one flat array",
}
"""What the pieces of row b are called in its table, in order."""


def _pieces(results: Results) -> Iterable[list[str]]:
    seconds = results.read(NAME)[ROW_B]["seconds"]
    medians = {name: median(seconds[name]) for name in PIECES}
    for name, words in PIECES.items():
        share = medians[name] / medians["step"]
        yield [words, f"{1e3 * medians[name]:,.0f}", f"{share:.0%}"]


HEAD = ("parameters", "GFLOP/s", "of the roofline", "step, ms", "with a loop")


def _row(of: Profile, roof: Roof) -> list[str]:
    """Return the figures of unrolled layers, then how much longer a step with a loop takes."""
    cores, pace, intensity = roof.cores, of.pace(WAYS[0], roof.cores), of.intensity(roof.cores)
    unrolled, loop = (median(of.steps(way, cores)) for way in WAYS)
    return [
        of.name,
        f"{pace / 1e9:,.1f}",
        f"{pace / roof.at(intensity):.0%}",
        f"{1e3 * unrolled:,.0f}",
        f"{loop / unrolled - 1:+.0%}",
    ]


if __name__ == "__main__":
    main()
