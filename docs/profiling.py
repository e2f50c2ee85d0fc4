"""What a step of the ladder's last rung costs at four sizes: `make results-profiling`.

The sizes are those of `docs.sizes`, with the recipe's own 256 problems a step; layers written out
one after the other, as the model has them, or in a loop (`transformer.UNROLLED` 1). Each is
measured on one core and on all, in processes of their own (`docs.profiled`) that compile anew,
several times.

machine    the product of two large matrices, and a triad of large arrays: the roofs
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
from docs.shared import markdown, recipe_fields, spread
from docs.sizes import RECIPE, WIDTHS, design

NAME, MACHINE = "profiling", "machine"
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
    options = arguments(__doc__, [MACHINE, *WIDTHS])
    for name in options.names:
        RESULTS.keep(NAME, name, partial(measured, name), [0], settings(name), options)


def settings(name: str) -> dict[str, Any]:
    if name == MACHINE:
        return {"cores": CORES, **LARGE}
    fields = recipe_fields(RECIPE, design(name))
    return {"recipe": fields, "cores": CORES, "passes": PASSES, **TIMES}


def measured(name: str) -> Any:
    """The roofs by how many cores; or what each process found of a size, which take turns."""
    if name == MACHINE:
        return {str(cores): child(what="machine", cores=cores, **LARGE) for cores in CORES}
    kinds = [(way, cores) for _ in range(PASSES) for cores in CORES for way in WAYS]
    return [profiled(name, *kind) for kind in kinds]


def profiled(size: str, way: str, cores: int) -> dict[str, Any]:
    found = child(what="step", cores=cores, size=size, way=way, **TIMES)
    return {"way": way, "cores": cores, **found}


def child(**request: Any) -> dict[str, Any]:
    """What a process of its own finds."""
    command = [sys.executable, "-m", "docs.profiled", json.dumps(request)]
    done = subprocess.run(
        command, env=os.environ | UNKEPT, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Profile:
    """The figures of one size, as its processes found them."""

    def __init__(self, name: str, found: list[dict[str, Any]]) -> None:
        self.name, self.found = name, found

    def each(self, way: str, cores: int, figure: str) -> list[Any]:
        """A figure of every process of that kind."""
        return [one[figure] for one in self.found if (one["way"], one["cores"]) == (way, cores)]

    def steps(self, way: str, cores: int) -> list[float]:
        """Seconds of a step, of all rounds."""
        return [second for rounds in self.each(way, cores, "step") for second in rounds]

    def counted(self, way: str, what: str, cores: int) -> float:
        """Operations or bytes of a step as XLA counts them, of all cores together."""
        found: float = self.each(way, cores, "XLA")[0][what]
        return found * cores

    @property
    def operations(self) -> int:
        """Those of a step, by hand."""
        found: int = self.found[0]["operations"]
        return found

    def intensity(self, cores: int) -> float:
        """Operations for each byte that is moved, layers written out.

        Of a loop XLA counts one pass alone.
        """
        return self.operations / self.counted(WAYS[0], "bytes", cores)

    def pace(self, way: str, cores: int) -> float:
        """Operations a second, at the median of all rounds."""
        return self.operations / median(self.steps(way, cores))


def profiles(results: Results) -> list[Profile]:
    """The sizes that are measured."""
    known = results.read(NAME)
    return [Profile(name, known[name]) for name in WIDTHS if name in known]


class Roof:
    """The most that some cores do: operations and bytes a second, of the best round."""

    def __init__(self, cores: str, found: dict[str, list[int]]) -> None:
        self.cores = int(cores)
        self.operations, self.bytes = max(found["operations"]), max(found["bytes"])
        self.least = min(found["operations"])

    @property
    def ridge(self) -> float:
        """Operations a byte from which on the memory no longer bounds them."""
        return self.operations / self.bytes

    def at(self, intensity: float) -> float:
        """Operations a second, at most, of what has so many for each byte."""
        return min(self.operations, intensity * self.bytes)


def roofs_of(results: Results) -> list[Roof]:
    return [Roof(*one) for one in results.read(NAME).get(MACHINE, {}).items()]


def tables(results: Results) -> dict[str, Iterable[str]]:
    roofs, found = roofs_of(results), profiles(results)
    if not roofs or not found:
        return {}
    steps = [*product(found, roofs)]
    return {
        f"{NAME}, machine": markdown(MACHINES, map(_machine, roofs)),
        NAME: markdown(COUNTED, (_counted(of, roof) for of, roof in steps)),
        f"{NAME}, layers": markdown(
            LAYERS, (_layers(of, r, way) for of, r in steps for way in WAYS)
        ),
        f"{NAME}, ratios": markdown(RATIOS, (_ratios(of, roof) for of, roof in steps)),
    }


MACHINES = (
    "cores", "GFLOP/s", "slowest round", "GB/s", "FLOP a byte at the ridge",
)  # fmt: skip
COUNTED = (
    "", "parameters", "cores", "GFLOP a step, by hand", "GFLOP a step, XLA",
    "layers in a loop, XLA", "GB moved a step", "FLOP a byte", "GFLOP/s",
    "share of the roofline", "GB/s", "share of memory bandwidth",
)  # fmt: skip
RATIOS = (
    "", "cores", "compile time with a loop", "step time", "planned memory", "peak memory",
    "of one core's step, written out", "loop",
)  # fmt: skip
LAYERS = (
    "", "cores", "layers", "tracing, ms", "compiling, ms", "step, ms", "planned, MB",
    "peak of the process, MB",
)  # fmt: skip


def _machine(roof: Roof) -> list[str]:
    speeds = (roof.operations / 1e9, roof.least / 1e9, roof.bytes / 1e9, roof.ridge)
    return [str(roof.cores), *(f"{speed:,.1f}" for speed in speeds)]


def _counted(of: Profile, roof: Roof) -> list[str]:
    cores, pace = roof.cores, of.pace(WAYS[0], roof.cores)
    counts = [of.operations, *(of.counted(way, "operations", cores) for way in WAYS)]
    moved, intensity = of.counted(WAYS[0], "bytes", cores), of.intensity(cores)
    return [
        of.name,
        f"{of.found[0]['parameters']:,}",
        str(cores),
        *(f"{count / 1e9:,.2f}" for count in (*counts, moved)),
        f"{intensity:,.1f}",
        f"{pace / 1e9:,.1f}",
        f"{pace / roof.at(intensity):.0%}",
        f"{pace / intensity / 1e9:,.1f}",
        f"{pace / intensity / roof.bytes:.0%}",
    ]


def _layers(of: Profile, roof: Roof, way: str) -> list[str]:
    """What three processes found; bytes planned are those of all cores."""
    cores = roof.cores
    peaks = [one["after the steps"] / 1e6 for one in of.each(way, cores, "peak bytes")]
    before = ([1e3 * one for one in of.each(way, cores, n)] for n in ("tracing", "compiling"))
    return [
        of.name,
        str(cores),
        way,
        *(spread(one, 0) for one in before),
        spread([1e3 * one for one in of.steps(way, cores)], 1),
        f"{of.each(way, cores, 'planned bytes')[0] * cores / 1e6:,.0f}",
        spread(peaks, 0),
    ]


def _ratios(of: Profile, roof: Roof) -> list[str]:
    """What a loop takes beyond layers written out, and what part of one core's step all take."""
    cores = roof.cores
    found = (_middles(of, way, cores) for way in WAYS)
    more = (loop / written - 1 for written, loop in zip(*found, strict=True))
    steps = (median(of.steps(way, cores)) / median(of.steps(way, 1)) for way in WAYS)
    return [of.name, str(cores), *(f"{one:+.0%}" for one in more), *(f"{one:.0%}" for one in steps)]


def _middles(of: Profile, way: str, cores: int) -> list[float]:
    """Medians of what it takes to compile, of a step, of the bytes planned, and of the peak."""
    return [
        median(of.each(way, cores, "compiling")),
        median(of.steps(way, cores)),
        median(of.each(way, cores, "planned bytes")),
        median(one["after the steps"] for one in of.each(way, cores, "peak bytes")),
    ]


if __name__ == "__main__":
    main()
