"""What runs cost on this machine: the constants of `runs.costs`, measured by real runs.

Each run is a process of its own, as users' are, so its start counts, and none holds the device
while another works. Runs and cache lie in a folder that is removed, so that the first run finds
nothing compiled. `python -m curta.frontends.measuring run RECIPE MEMBERS`, or `steps` in place of
`run`, is such a process; its last line is JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from curta.config import system
from curta.config.errors import UserError, as_line
from curta.runs import costs, provenance
from curta.runs.costs import Costs, Members, Stages

RUNS = {"first": 1, "later": 1, "compiling": costs.SEVERAL, "several": costs.SEVERAL}
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
    command = [sys.executable, "-m", "curta.frontends.measuring", what, recipe, str(members)]
    folders = {"CURTA_RUNS": f"{place}/runs", "CURTA_CACHE": f"{place}/cache"}
    begun = time.time()
    done = subprocess.run(command, env=os.environ | folders, capture_output=True, text=True)
    if done.returncode == MISTAKE:
        raise UserError(done.stderr.strip().splitlines()[-1].removeprefix("curta: "))
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"start": found["ready"] - begun}


def main(what: str, recipe: str, members: str) -> int:
    """The process, with its exit code: a mistake of the user's is one line."""
    try:
        print(json.dumps(_found(what, recipe, int(members))))
    except UserError as error:
        print(f"curta: {as_line(str(error))}", file=sys.stderr)
        return MISTAKE
    return 0


def _found(what: str, recipe: str, members: int) -> dict[str, Any]:
    """Imports everything first, and says when that was done."""
    import jax

    import curta.frontends.run  # noqa: F401
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
    from curta.runs import checkpoints, states

    of = checkpoints.owner(run.recipe, run.seeds, run.step)
    state = states.at(run.folder, run.recipe, run.layout, run.seeds, run.step)
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
        "members": [_members(resolved, count) for count in MEMBERS],
    }


def _members(recipe: Any, count: int) -> dict[str, Any]:
    """Seconds of a step, as it is taken here, and bytes of one with the members at once."""
    import jax
    import jax.numpy as jnp

    from curta.layouts.texts import layout_of
    from curta.training import records, trainer

    layout, seeds = layout_of(recipe), list(range(count))
    data, bounds = records.recorded(recipe, layout, seeds)
    state = trainer.init(recipe, layout, jnp.asarray(seeds))
    compiled: Any = partial(trainer.compiled, recipe, trainer.TaskLayout(layout, bounds))
    alone, mesh = trainer.mesh_for(1, 1, jax.devices()[:1]), trainer.training_mesh(recipe, count)
    first, steps = jnp.int32(0), jnp.int32(STEPS)
    together = compiled(alone, vectorised=True).lower(state, data, first, steps).compile()
    call, data = compiled(mesh), trainer.placed(data, mesh)
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
