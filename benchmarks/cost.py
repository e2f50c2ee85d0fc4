"""What runs cost here, and what many of them would: `python -m benchmarks.cost RECIPE`.

The constants are measured by real runs, which takes minutes, or read from a file (`--costs`). Each
run is a process of its own, as users' are, so its start counts, and none holds the device while
another works. Runs and cache lie in a folder that is removed, so that the first run finds nothing
compiled.

The model is a sum. A run takes the start of a process and its stages; the first one on a machine
compiles what later ones find compiled. Runs on several nodes come in waves, of which the first
is of first runs. What a run of several members takes grows in a straight line with their number.
So nothing is said of nodes that wait for one file system, nor of a device beyond the members that
were tried on it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from curta.config import files, system, typed
from curta.config.errors import UserError, as_line
from curta.evaluation.expected import duration
from curta.runs import provenance

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Stages:
    """Seconds of one run, stage by stage."""

    preparing: float
    """Recipe, survey of programs, initial weights, the run's folder."""
    compiling: float
    training: float
    """What its stage takes besides: recording, steps, metrics, checkpoints."""
    evaluating: float = 0.0
    certifying: float = 0.0
    reporting: float = 0.0

    @property
    def total(self) -> float:
        return sum(vars(self).values())


@dataclass(frozen=True)
class Members:
    """What a step of so many members takes, on the device that was measured."""

    count: int
    step: float
    """Seconds."""
    memory: int
    """Bytes of the chunk of steps with the members vectorised, as its compiler plans it."""


@dataclass(frozen=True)
class Costs:
    """The constants of a recipe on a machine, as a file holds them."""

    FORMAT = 1

    recipe: str
    device: str
    platform: str
    """Such as cpu or gpu."""
    versions: dict[str, str]
    start: float
    """Seconds from the start of a process until all is imported and the device is there."""
    first: Stages
    """A run of one member, with nothing in the cache."""
    later: Stages
    """The same again."""
    several: Stages
    """The same with SEVERAL members, compiled before."""
    members: tuple[Members, ...]
    """One, and more."""
    steps: int
    operations: float
    """Floating-point operations of a step of one member, counted, not measured."""
    saving: float
    """Seconds of writing a checkpoint of one member."""
    saving_several: float
    """Of SEVERAL members."""
    checkpoint_bytes: int
    """Of one member."""
    checkpoints: int
    """How many a run writes, those that are replaced included."""
    run_bytes: int
    """Of the folder of a finished run."""
    run_files: int
    load: float | None = None
    """Processes that wanted a core while it was measured, in the mean; None if not known.

    More than there are cores, and every time here is too long.
    """


SEVERAL = 8
"""Members of the run that is held against one of a single member."""


class Table(NamedTuple):
    """A title, and rows of what it is and how much."""

    title: str
    rows: list[tuple[str, str]]


def constants(costs: Costs) -> Table:
    """Everything that was measured, as people read it."""
    rows = [("start of a process", _seconds(costs.start))]
    for what, stages in (
        ("first run", costs.first), ("later run", costs.later),
        (f"later run, {SEVERAL} members", costs.several),
    ):  # fmt: skip
        rows += [(f"{what}: {name}", _seconds(value)) for name, value in vars(stages).items()]
    for one in costs.members:
        rows.append((f"step of {_members(one.count)}", f"{1e3 * one.step:.2f} ms"))
        rows.append((f"memory of such steps, {_members(one.count)} at once", _bytes(one.memory)))
    rows += [
        ("checkpoint of one member", f"{_seconds(costs.saving)}, {costs.checkpoint_bytes:,} bytes"),
        (f"checkpoint of {SEVERAL} members", _seconds(costs.saving_several)),
        ("a finished run", f"{costs.run_bytes:,} bytes in {costs.run_files} files"),
    ]  # fmt: skip
    if costs.load is not None:
        rows.append(("processes that wanted a core meanwhile", f"{costs.load:.1f}"))
    return Table(f"{costs.recipe}, measured on {costs.device}", rows)


def of_runs(costs: Costs, runs: int, nodes: int) -> Table:
    """Many runs of one member, one at a time on each node."""
    first, later = (costs.start + stages.total for stages in (costs.first, costs.later))
    waves = ceil(runs / nodes)
    seconds = first + (waves - 1) * later
    replaced = costs.checkpoints * costs.checkpoint_bytes
    rows = [
        ("first run, later run", f"{_seconds(first)}, {_seconds(later)}"),
        ("waves", f"{waves:,}"),
        ("all runs", duration(seconds)),
        ("the same on one node", duration(first + (runs - 1) * later)),
        ("of a later run, start of the process", f"{costs.start / later:.0%}"),
        ("left on disk", f"{_bytes(runs * costs.run_bytes)}, {runs * costs.run_files:,} files"),
        ("checkpoints, those that are replaced included", _bytes(runs * replaced)),
    ]  # fmt: skip
    return Table(f"{runs:,} runs on {nodes:,} nodes", rows)


def of_population(costs: Costs, members: int) -> Table:
    """Members of one run on one device."""
    step, memory = (line(costs.members, name, members) for name in ("step", "memory"))
    saving = _grown(costs.saving, costs.saving_several, members)
    rows = [
        ("memory of the steps, members at once", _bytes(memory)),
        ("operations of a step", f"{members * costs.operations:.2g}"),
        (f"a step, as measured on {costs.platform}", _seconds(step)),
        (f"{costs.steps:,} steps of that", duration(costs.steps * step)),
        ("a checkpoint", f"{_bytes(members * costs.checkpoint_bytes)}, {_seconds(saving)}"),
    ]
    for name in ("evaluating", "certifying", "reporting"):
        one, several = (getattr(stages, name) for stages in (costs.later, costs.several))
        rows.append((name, duration(_grown(one, several, members))))
    return Table(f"{members:,} members on one device", rows)


def _grown(one: float, several: float, members: int) -> float:
    """Seconds for so many members, by those of one and of SEVERAL; never less than of one."""
    return one + (members - 1) * max(0.0, several - one) / (SEVERAL - 1)


def line(points: tuple[Members, ...], name: str, members: int) -> float:
    """What the straight line through the first and the last point says; it never falls.

    >>> line((Members(1, 2.0, 10), Members(5, 4.0, 50)), "memory", 11)
    110.0
    """
    first, last = points[0], points[-1]
    values = getattr(first, name), getattr(last, name)
    slope = max(0.0, (values[1] - values[0]) / (last.count - first.count))
    return float(values[1] + slope * (members - last.count))


def _bytes(count: float) -> str:
    """In the largest unit of which there is one.

    >>> _bytes(2_500_000_000), _bytes(183_557), _bytes(40)
    ('2.5 GB', '183.6 kB', '40.0 B')
    """
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{count / power:,.1f} {unit}"
    return f"{count:.1f} B"


def _members(count: int) -> str:
    return "one member" if count == 1 else f"{count:,} members"


def _seconds(seconds: float) -> str:
    """Three significant digits, down to a millisecond.

    >>> _seconds(0.0123), _seconds(4.5678), _seconds(1234.5)
    ('0.012 s', '4.57 s', '1,234 s')
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds:.3f} s"


RUNS = {"first": 1, "later": 1, "compiling": SEVERAL, "several": SEVERAL}
"""Members of the runs, one after the other."""
MEMBERS = (1, 4, 16)
"""Of the steps that are timed."""
STEPS, REPEATS = 20, 5
"""Steps of one measurement, and measurements of a median."""
MISTAKE = 2
"""Exit code of a process that was ended by a mistake of the user's."""

Say = Callable[[str], None]


def measured(recipe: str, say: Say) -> Costs:
    """The constants of a recipe on this machine, of real runs and of steps of several members.

    Raises UserError with what a run says that fails.
    """
    runs, load = {}, []
    with tempfile.TemporaryDirectory() as place:
        for name, members in RUNS.items():
            say(f"{name} run")
            runs[name] = _child(place, "run", recipe, members)
            load += system.load()
        say("steps")
        steps = _child(place, "steps", recipe, 0)
    return Costs(
        recipe=recipe,
        device=runs["later"]["device"],
        platform=steps["platform"],
        versions=provenance.versions(),
        start=round(median(run["start"] for run in runs.values()), 3),
        first=Stages(**runs["first"]["stages"]),
        later=Stages(**runs["later"]["stages"]),
        several=Stages(**runs["several"]["stages"]),
        members=tuple(Members(**one) for one in steps["members"]),
        steps=steps["steps"],
        operations=steps["operations"],
        saving=runs["later"]["saving"],
        saving_several=runs["several"]["saving"],
        load=round(mean(load), 1) if load else None,
        **runs["later"]["written"],
    )


def _child(place: str, what: str, recipe: str, members: int) -> dict[str, Any]:
    """What a process finds, with the seconds it took to start.

    Raises UserError with a mistake of the user's that it tells, and RuntimeError with all that it
    says where it fails otherwise.
    """
    command = [sys.executable, "-m", "benchmarks.cost", "--child", what, recipe, str(members)]
    folders = {"CURTA_RUNS": f"{place}/runs", "CURTA_CACHE": f"{place}/cache"}
    begun = time.time()
    done = subprocess.run(
        command, env=os.environ | folders, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode == MISTAKE:
        raise UserError(done.stderr.strip().splitlines()[-1].removeprefix("curta: "))
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"start": found["ready"] - begun}


def child(what: str, recipe: str, members: str) -> int:
    """The process that is measured, with its exit code: a user's mistake is one line."""
    try:
        print(json.dumps(_found(what, recipe, int(members))))
    except UserError as error:
        print(f"curta: {as_line(str(error))}", file=sys.stderr)
        return MISTAKE
    return 0


def _found(what: str, recipe: str, members: int) -> dict[str, Any]:
    """Imports everything first, and says when that was done."""
    import jax

    import curta.runs.comparison  # noqa: F401
    from curta.training import devices

    devices.configure()
    jax.devices()
    ready = time.time()
    found = _run(recipe, members) if what == "run" else _steps(recipe)
    return {"ready": ready, **found}


def _run(recipe: str, members: int) -> dict[str, Any]:
    """A whole run, timed stage by stage."""
    from curta.frontends import api

    begun, seconds = time.perf_counter(), dict[str, float]()
    run = api.begin(recipe, members, None, {}, evaluate=True)
    seconds["preparing"] = time.perf_counter() - begun

    def timed(stage: Any) -> None:
        begun = time.perf_counter()
        run.run_stage(stage)
        seconds[stage] = time.perf_counter() - begun

    run.run_stages(timed)
    info = run.folder.read_info()
    seconds["compiling"] = info.compile_seconds or 0.0
    seconds["training"] -= seconds["compiling"]
    stages = {name: round(value, 4) for name, value in seconds.items()}
    found = {"device": info.device, "stages": stages, "written": _written(run)}
    return found | {"saving": round(_saving(run), 4)}


def _written(run: Any) -> dict[str, Any]:
    """What a run has written; of its checkpoint a member's part."""
    from curta.runs import checkpoints

    settings, members = run.recipe.training, len(run.seeds)
    files = [path for path in run.folder.path.rglob("*") if path.is_file()]
    checkpoint = checkpoints.file_of(run.folder.checkpoints, run.step, "safetensors")
    return {
        "checkpoint_bytes": checkpoint.stat().st_size // members,
        "checkpoints": -(-settings.steps // settings.checkpoint_every),
        "run_bytes": sum(path.stat().st_size for path in files),
        "run_files": len(files),
    }


def _saving(run: Any) -> float:
    """Seconds of writing a run's newest checkpoint again, elsewhere."""
    from curta.runs import checkpoints

    of = checkpoints.owner(run.recipe, run.seeds, run.step)
    state = checkpoints.arrays(run.folder.checkpoints, run.step, of)
    place, seconds = Path(tempfile.mkdtemp(dir=run.folder.path)), []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        checkpoints.save(place, run.step, state, of)
        seconds.append(time.perf_counter() - begun)
    return median(seconds)


def _steps(recipe: str) -> dict[str, Any]:
    """Steps of several members, as a run would take them on these devices."""
    import jax

    from curta.frontends import api
    from curta.training import estimate

    resolved = api.resolve(recipe, {})
    steps = resolved.training.steps
    return {
        "platform": jax.devices()[0].platform,
        "steps": steps,
        "operations": estimate.estimate(resolved, 1).operations / steps,
        "members": [_step_of(resolved, count) for count in MEMBERS],
    }


def _step_of(recipe: Any, count: int) -> dict[str, Any]:
    """Seconds of a step, as it is taken here, and bytes of one with the members at once."""
    import jax
    import jax.numpy as jnp

    from curta.layouts.texts import layout_of
    from curta.training import records, trainer

    layout, seeds = layout_of(recipe), list(range(count))
    data, bounds = records.training_data(recipe, layout, seeds)
    state = trainer.init(recipe, layout, jnp.asarray(seeds))
    compiled: Any = partial(trainer.compile_steps, recipe, trainer.TaskLayout(layout, bounds))
    alone, mesh = trainer.mesh_for(1, 1, jax.devices()[:1]), trainer.training_mesh(recipe, count)
    first, steps = jnp.int32(0), jnp.int32(STEPS)
    together = compiled(alone, vectorised=True).lower(state, data, first, steps).compile()
    call, data = compiled(mesh), trainer.place_data(data, mesh)
    state, seconds = trainer.shard(state, mesh), []
    for _ in range(1 + REPEATS):
        begun = time.perf_counter()
        state, _ = jax.block_until_ready(call(state, data, first, steps))
        seconds.append((time.perf_counter() - begun) / STEPS)
    return {"count": count, "step": round(median(seconds[1:]), 7), "memory": taken(together)}


def taken(program: Any) -> int:
    """Bytes of a compiled program's arguments, results and temporaries, as it was planned."""
    memory = program.memory_analysis()
    shared: int = memory.alias_size_in_bytes
    whole: int = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return whole + memory.temp_size_in_bytes - shared


def main() -> int:
    """Measure or read the constants, and print what follows from them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("recipe", nargs="?", default="addition")
    parser.add_argument("--costs", type=Path, help="what was measured, by --out")
    parser.add_argument("--out", type=Path, help="keep what is measured, as JSON")
    parser.add_argument("--runs", type=int, default=1000, help="runs of one member, on")
    parser.add_argument("--nodes", type=int, default=100, help="so many machines")
    parser.add_argument("--members", type=int, default=4096, help="members of one run on a device")
    options = parser.parse_args()
    if options.costs is not None:
        found = typed.read(Costs, options.costs, f"costs {str(options.costs)!r}")
    else:
        found = measured(options.recipe, partial(print, file=sys.stderr))
    if options.out is not None:
        files.write(options.out, files.json_text(typed.as_json(found)))
    for title, rows in (
        constants(found),
        of_runs(found, options.runs, options.nodes),
        of_population(found, options.members),
    ):
        print(title, *(f"  {what:46} {much}" for what, much in rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(child(*sys.argv[2:]) if sys.argv[1:2] == ["--child"] else main())
