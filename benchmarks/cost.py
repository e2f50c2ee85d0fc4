"""What runs cost here, and what many of them would: `python -m benchmarks.cost RECIPE`.

The constants are measured by real runs, which takes minutes, or read from a file (`--costs`). Each
run is a process of its own, as users' are, so its start counts, and none holds the device while
another works. Runs and cache lie in a folder that is removed, so the first run finds nothing
compiled.

The model is a sum. A run takes the start of a process and its stages; the first one on a machine
compiles what later ones find compiled. Runs on several nodes come in waves; those of the first wave
are first runs. The cost of a run of several members grows in a straight line with their number.
So nothing is said of nodes that wait for one file system, nor of a device beyond the members that
were tried on it.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from curta.config import files
from curta.evaluation.suite import duration
from curta.frontends import api
from curta.runs import provenance
from docs.shared import elsewhere, prepared, timed

Costs = dict[str, Any]
"""The constants of a recipe on a machine; seconds and bytes. `docs/results/scaling.json` has one:
stages of the `first` and a `later` run of one member and of `several`, `members` with a step's
seconds and memory, `saving` of a checkpoint, and the bytes and files that a run leaves."""

RUNS = {"first": 1, "later": 1, "compiling": 8, "several": 8}
"""Members of the runs, one after the other; `compiling` is left out of the tables."""
SEVERAL = RUNS["several"]
MEMBERS = (1, 4, 16)
"""Members of the steps that are timed."""
STEPS, REPEATS = 20, 5
"""Steps of one measurement, and measurements of a median."""
STAGES = ("preparing", "compiling", "training", "evaluating", "certifying", "reporting")

Rows = Iterable[list[str]]


def stages(costs: Costs) -> Rows:
    """Yield seconds of each stage: of the first run, a later one, and one of SEVERAL members."""
    yield ["start of the process", *[f"{costs['start']:.2f}"] * 3]
    for stage in STAGES:
        yield [stage, *(f"{costs[run][stage]:.2f}" for run in ("first", "later", "several"))]


def steps(costs: Costs) -> Rows:
    """Yield milliseconds of a step, and memory with the members vectorised, by members."""
    for row in costs["members"]:
        yield [str(row["count"]), f"{1e3 * row['step']:.2f}", in_bytes(row["memory"])]


def of_runs(costs: Costs, runs: int, nodes: int) -> Rows:
    """Yield what many runs of one member take, one at a time on each node."""
    first, later = (costs["start"] + sum(costs[run].values()) for run in ("first", "later"))
    waves = ceil(runs / nodes)
    yield ["first run, later run", f"{first:.2f} s, {later:.2f} s"]
    yield [f"all on {nodes:,} nodes", duration(first + (waves - 1) * later)]
    yield ["all on one node", duration(first + (runs - 1) * later)]
    left = f"{in_bytes(runs * costs['run_bytes'])}, {runs * costs['run_files']:,} files"
    yield ["left on disk", left]


def of_population(costs: Costs, members: int) -> Rows:
    """Yield what members of one run on one device take."""
    step, memory = (line(costs["members"], name, members) for name in ("step", "memory"))
    yield ["memory of the steps, members at once", in_bytes(memory)]
    yield [f"{costs['steps']:,} steps, at the pace of this {costs['platform']}", duration(
        costs["steps"] * step
    )]  # fmt: skip
    yield ["a checkpoint", in_bytes(members * costs["checkpoint_bytes"])]
    for stage in ("evaluating", "certifying", "reporting"):
        alone, several = costs["later"][stage], costs["several"][stage]
        more = max(0.0, several - alone) / (SEVERAL - 1)
        yield [stage, duration(alone + (members - 1) * more)]


def line(points: list[dict[str, float]], name: str, members: int) -> float:
    """Extend the straight line through the first and the last point; it never falls.

    >>> line([{"count": 1, "memory": 10}, {"count": 5, "memory": 50}], "memory", 11)
    110.0
    """
    first, last = points[0], points[-1]
    slope = max(0.0, (last[name] - first[name]) / (last["count"] - first["count"]))
    return float(last[name] + slope * (members - last["count"]))


def in_bytes(count: float) -> str:
    """Return a count in its largest unit.

    >>> in_bytes(2_500_000_000), in_bytes(183_557), in_bytes(40)
    ('2.5 GB', '183.6 kB', '40.0 B')
    """
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{count / power:,.1f} {unit}"
    return f"{count:.1f} B"


def measured(recipe: str) -> Costs:
    """Measure the constants of a recipe here, by real runs and by steps of several members."""
    figures, starts = dict[str, Any](), list[float]()
    with tempfile.TemporaryDirectory() as place:
        folders = {"CURTA_RUNS": f"{place}/runs", "CURTA_CACHE": f"{place}/cache"}
        for name, members in {**RUNS, "steps": 0}.items():
            print(f"{name}, {members} members", file=sys.stderr)
            begun = time.time()
            figures[name] = elsewhere("benchmarks.cost:of_process", recipe, members, **folders)
            starts.append(figures[name].pop("ready") - begun)
    later = figures["later"]
    return {
        "recipe": recipe,
        "device": later["device"],
        "versions": provenance.versions(),
        "start": round(median(starts[: len(RUNS)]), 3),
        **{name: figures[name]["stages"] for name in ("first", "later", "several")},
        **figures["steps"],
        "saving": later["saving"],
        "saving_several": figures["several"]["saving"],
        **later["files"],
    }


def of_process(recipe: str, members: int) -> dict[str, Any]:
    """Import everything, note when that was done, and measure a run, or steps for 0 members."""
    import jax

    import curta.runs.comparison  # noqa: F401
    from curta.training import devices

    devices.configure()
    jax.devices()
    ready = time.time()
    return {"ready": ready, **(_run(recipe, members) if members else _steps(recipe))}


def _run(recipe: str, members: int) -> dict[str, Any]:
    """Time a whole run stage by stage, and the writing of its newest checkpoint elsewhere."""
    from curta.runs import checkpoints

    begun, seconds = time.perf_counter(), dict[str, float]()
    run = api.begin(recipe, members, None, {}, evaluate=True)
    seconds["preparing"] = time.perf_counter() - begun

    stage_methods: dict[str, Callable[[], Any]] = {
        "training": run.train,
        "evaluating": partial(run.evaluate, report=False),
        "certifying": partial(run.certify, report=False),
        "reporting": run.write_report,
    }

    def time_stage(stage: Any) -> None:
        begun = time.perf_counter()
        stage_methods[stage]()
        seconds[stage] = time.perf_counter() - begun

    run.complete(run_stage=time_stage)
    info, settings = run.folder.read_info(), run.recipe.training
    seconds["compiling"] = info.compile_seconds or 0.0
    seconds["training"] -= seconds["compiling"]
    paths = [path for path in run.folder.path.rglob("*") if path.is_file()]
    checkpoint = checkpoints.file_of(run.folder.checkpoints, run.step, "safetensors")
    owner = checkpoints.owner(run.recipe, run.seeds, run.step)
    state = checkpoints.arrays(run.folder.checkpoints, run.step, owner)
    place = Path(tempfile.mkdtemp(dir=run.folder.path))
    saving = timed({"": lambda: checkpoints.save(place, run.step, state, owner)}, REPEATS)[""]
    return {
        "device": info.device,
        "stages": {name: round(value, 4) for name, value in seconds.items()},
        "saving": round(median(saving), 4),
        "files": {
            "checkpoint_bytes": checkpoint.stat().st_size // members,
            "checkpoints": ceil(settings.steps / settings.checkpoint_every),
            "run_bytes": sum(path.stat().st_size for path in paths),
            "run_files": len(paths),
        },
    }


def _steps(name: str) -> dict[str, Any]:
    """Time steps of several members, as a run would take them on these devices."""
    import jax

    from curta.model import model_cost

    recipe = api.resolve(name, {})
    return {
        "platform": jax.devices()[0].platform,
        "steps": recipe.training.steps,
        "operations": model_cost.estimate(recipe, 1).operations / recipe.training.steps,
        "members": [_step_of(recipe, count) for count in MEMBERS],
    }


def _step_of(recipe: Any, count: int) -> dict[str, Any]:
    """Return seconds of a step as it is taken here, and bytes of one with the members at once."""
    import jax
    import jax.numpy as jnp

    from curta.layouts.texts import layout_of
    from curta.training import records, trainer

    layout, seeds = layout_of(recipe), list(range(count))
    data, bounds = records.training_data(recipe, layout, seeds)
    alone, first, steps = trainer.mesh_for(1, 1, jax.devices()[:1]), jnp.int32(0), jnp.int32(STEPS)
    at_once: Any = trainer.compile_steps(recipe, bounds, alone, vectorised=True)
    state = trainer.init(recipe, layout, jnp.asarray(seeds))
    together = at_once.lower(state, data, first, steps).compile()
    call, state, data = prepared(recipe, layout, seeds)

    def several() -> None:
        nonlocal state
        state, _ = jax.block_until_ready(call(state, data, first, steps))

    seconds = timed({"steps": several}, REPEATS)["steps"]
    return {
        "count": count, "step": round(median(seconds) / STEPS, 7), "memory": taken(together)
    }  # fmt: skip


def taken(program: Any) -> int:
    """Return bytes of a compiled program's arguments, results and temporaries, as planned."""
    memory = program.memory_analysis()
    shared: int = memory.alias_size_in_bytes
    whole: int = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return whole + memory.temp_size_in_bytes - shared


def main() -> None:
    """Measure or read the constants, and print what follows from them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("recipe", nargs="?", default="addition")
    parser.add_argument("--costs", type=Path, help="a file written by --out")
    parser.add_argument("--out", type=Path, help="write what is measured, as JSON")
    parser.add_argument("--runs", type=int, default=1000, help="runs of one member, on")
    parser.add_argument("--nodes", type=int, default=100, help="so many machines")
    parser.add_argument("--members", type=int, default=4096, help="members of one run on a device")
    options = parser.parse_args()
    if options.costs is not None:
        costs = json.loads(options.costs.read_text("utf-8"))
    else:
        costs = measured(options.recipe)
    if options.out is not None:
        files.write(options.out, files.json_text(costs))
    device, members = costs["device"], options.members
    printed = {
        f"seconds on {device}: first run, later run, {SEVERAL} members": stages(costs),
        "step of so many members: ms, memory": steps(costs),
        f"{options.runs:,} runs": of_runs(costs, options.runs, options.nodes),
        f"{members:,} members on one device": of_population(costs, members),
    }
    for title, rows in printed.items():
        print(title)
        for label, *cells in rows:
            print(f"  {label:46} {'  '.join(cells)}")


if __name__ == "__main__":
    main()
