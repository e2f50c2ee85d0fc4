"""What Curta takes on a GPU, and whether it is right there: `python -m docs.gpu`.

For a machine with an accelerator, and nothing beside it: `make results` leaves this study out.

runs                `curta bench addition --device`: the constants of real runs
steps, RECIPE       a step of so many members at once, and of some in turn
precision, RECIPE   a step in full float32, with products in TensorFloat-32, and in bfloat16
attention, RECIPE   a step with JAX's own attention, and with the products written out
bits, RECIPE        weights after a chunk of steps: of two processes that share no cache, and of
                    one that went on from the middle
losses, RECIPE      of the first steps; `losses on a CPU, RECIPE` are the same without the GPU
five operations, seed N   `sources/five-operations`, trained to its end
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from statistics import median
from typing import Any
from unittest import mock

from docs.evidence import RESULTS, ROOT, arguments
from docs.shared import ended, own_run, recipe_fields

NAME = "gpu"
ADDITION, PLAIN, FULL = "addition", "addition-plain", "sources/five-operations"
LOOPED = "sources/looped-abacus"
STEPS: dict[str, tuple[int, ...]] = {
    ADDITION: (1, 16, 256, 1024, 4096),
    PLAIN: (1, 16, 64),
    FULL: (1, 4),
}
"""Members whose steps are timed."""
IN_TURN = (16,)
"""Those that are also timed one after the other."""
PRECISION = (PLAIN, FULL, LOOPED)
ATTENTION = (PLAIN, FULL)
BITS = (ADDITION, PLAIN, FULL)
CHUNK, ROUNDS = 20, 7
"""Steps of one measurement, and measurements of a median."""
FIRST = 10
"""Steps whose losses are kept."""
TRAINED: dict[str, Any] = {}
"""What is changed of the full recipe when it is trained to its end."""
SEEDS = range(3)

Call = Callable[[int], None]
"""Runs so many steps."""


def main() -> None:
    studies = _studies()
    options = arguments(__doc__, studies)
    for name in options.names:
        recipe, changes, measure, seeds, settings = studies[name]
        asked = {"recipe": recipe_fields(recipe, changes)} | settings
        RESULTS.keep(NAME, name, partial(_on, name, measure), seeds, asked, options)


Study = tuple[str, Mapping[str, Any], Callable[[], Any], list[int], dict[str, Any]]
"""Of which recipe, with which changes, how it is measured, seeds, and further settings."""


def _studies() -> dict[str, Study]:
    rounds = {"steps": CHUNK, "rounds": ROUNDS}
    return dict(
        chain(
            [("runs", (ADDITION, {}, runs, [0], {}))],
            _each("steps", STEPS, steps, lambda recipe: {"members": STEPS[recipe]} | rounds),
            _each("precision", PRECISION, precisions, lambda _: rounds),
            _each("attention", ATTENTION, attentions, lambda _: rounds),
            _each("bits", BITS, bits, lambda _: {"steps": CHUNK}),
            _each("losses", BITS, losses, lambda _: {"steps": FIRST}),
            _each("losses on a CPU", BITS, losses, lambda _: {"steps": FIRST}),
            (
                (f"five operations, seed {seed}", (FULL, TRAINED, partial(whole, seed), [seed], {}))
                for seed in SEEDS
            ),
        )
    )


def _each(
    name: str,
    recipes: Iterable[str],
    measure: Callable[[str], Any],
    settings: Callable[[str], dict[str, Any]],
) -> Iterator[tuple[str, Study]]:
    for recipe in recipes:
        study: Study = recipe, {}, partial(measure, recipe), [0], settings(recipe)
        yield f"{name}, {recipe}", study


def _on(name: str, measure: Callable[[], Any]) -> Any:
    """Measures on a GPU, or on a CPU what is for one; SystemExit where there is none."""
    import jax

    from curta.training import devices

    wanted = "cpu" if "on a CPU" in name else "gpu"
    if wanted == "cpu":
        jax.config.update("jax_platforms", "cpu")
        os.environ[devices.CORES] = "1"
    devices.configure()
    if (found := jax.devices()[0].platform) != wanted:
        raise SystemExit(f"gpu: {name} is for a {wanted}, and JAX has a {found} here")
    return measure()


def runs() -> Any:
    """The constants, in the form of `curta bench --out`."""
    from curta.config import typed
    from curta.frontends import measuring

    return typed.as_json(measuring.measured(ADDITION, print))


def steps(recipe: str) -> dict[str, Any]:
    """Milliseconds of a step of so many members, at once and, of a few, in turn."""
    found = {}
    for members in STEPS[recipe]:
        calls = {"at once": call_of(recipe, {}, members)}
        if members in IN_TURN:
            calls["in turn"] = call_of(recipe, {}, members, vectorised=False)
        found[str(members)] = compared(calls)
    return found


def precisions(recipe: str) -> dict[str, Any]:
    import jax

    with jax.default_matmul_precision("tensorfloat32"):
        rounded = call_of(recipe, {})
    half = call_of(recipe, {"training.precision": "bfloat16"})
    return compared(
        {
            "float32": call_of(recipe, {}),
            "TensorFloat-32": rounded,
            "bfloat16": half,
        }
    )


def attentions(recipe: str) -> dict[str, Any]:
    return compared({"JAX's own": call_of(recipe, {}), "written out": _written_out(recipe)})


def _written_out(recipe: str) -> Call:
    from curta.model.positions import base

    with mock.patch.object(base, "on_accelerator", return_value=False):
        return call_of(recipe, {})


def compared(calls: Mapping[str, Call]) -> dict[str, dict[str, float]]:
    """Milliseconds of a step of each, taken in turn: median, least and most."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + ROUNDS):
        for name, call in calls.items():
            begun = time.perf_counter()
            call(CHUNK)
            taken[name].append(1e3 * (time.perf_counter() - begun) / CHUNK)
    return {name: _told(times[1:]) for name, times in taken.items()}


def _told(times: list[float]) -> dict[str, float]:
    found = {"ms": median(times), "least": min(times), "most": max(times)}
    return {name: round(value, 4) for name, value in found.items()}


def call_of(
    recipe: str, changes: Mapping[str, Any], members: int = 1, vectorised: bool | None = None
) -> Call:
    """The compiled steps of so many members, all with the problems of the first."""
    import jax

    program, state, data = prepared(recipe, changes, members, vectorised)

    def call(steps: int) -> None:
        nonlocal state
        state, _ = jax.block_until_ready(program(state, data, 0, steps))

    return call


def prepared(
    recipe: str, changes: Mapping[str, Any], members: int, vectorised: bool | None = None
) -> tuple[Any, Any, Any]:
    """A recipe's compiled chunk of steps, its first state and its data.

    To record problems for each of thousands takes longer than all that is measured here.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from curta.frontends import api
    from curta.layouts.texts import layout_of
    from curta.training import records, trainer

    resolved = api.resolve(recipe, dict(changes))
    layout = layout_of(resolved)
    one, bounds = records.recorded(resolved, layout, [0])
    own = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), members, axis=0), one.own)
    mesh = trainer.training_mesh(resolved, members)
    state = trainer.shard(trainer.init(resolved, layout, jnp.arange(members)), mesh)
    call = trainer.compiled(resolved, trainer.Written(layout, bounds), mesh, vectorised)
    data = trainer.placed(one._replace(own=own), mesh)
    blank = jnp.int32(0)
    program = call.lower(state, data, blank, blank).compile()  # type: ignore[attr-defined]
    return lambda s, d, first, n: program(s, d, jnp.int32(first), jnp.int32(n)), state, data


def bits(recipe: str) -> dict[str, Any]:
    """Whether all weights are the same to the bit, in processes that compile for themselves."""
    ways = {"once": (CHUNK,), "again": (CHUNK,), "in two parts": (CHUNK // 2, CHUNK - CHUNK // 2)}
    begun = [_child(recipe, parts) for parts in ways.values()]
    found = dict(zip(ways, (_digest(*one) for one in begun), strict=True))
    return {"weights": found, "same": len(set(found.values())) == 1}


Child = tuple[subprocess.Popen[str], tempfile.TemporaryDirectory[str]]


def _child(recipe: str, parts: tuple[int, ...]) -> Child:
    """A process with a cache of its own that takes the steps, part by part."""
    place = tempfile.TemporaryDirectory()
    told = {"CURTA_CACHE": place.name, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    code = f"from docs import gpu; print(gpu.digest_after({recipe!r}, {parts}))"
    words = [sys.executable, "-c", code]
    process = subprocess.Popen(
        words, cwd=ROOT, env=os.environ | told, stdout=subprocess.PIPE, text=True
    )
    return process, place


def _digest(process: subprocess.Popen[str], place: tempfile.TemporaryDirectory[str]) -> str:
    with place:
        said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a process that takes steps ended with {process.returncode}")
    return said.split()[-1]


def digest_after(recipe: str, parts: tuple[int, ...]) -> str:
    """SHA-256 of all weights after so many steps, taken in these parts."""
    import jax
    import numpy as np

    from curta.training import devices

    devices.configure()
    program, state, data = prepared(recipe, {}, 1)
    first = 0
    for count in parts:
        state, _ = program(state, data, first, count)
        first += count
    leaves = (np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state.model))
    return hashlib.sha256(b"".join(leaves)).hexdigest()


def losses(recipe: str) -> list[float]:
    program, state, data = prepared(recipe, {}, 1)
    _, found = program(state, data, 0, FIRST)
    return [float(loss) for loss in found.loss[0, :FIRST]]


def whole(seed: int) -> dict[str, Any]:
    """The full design, trained to its end, and how it answers what is held out."""
    from docs.operations import OPERATORS

    run = own_run(f"gpu-five-operations-{seed}", FULL, [seed], TRAINED)
    begun = time.perf_counter()
    run.train()
    seconds = time.perf_counter() - begun
    ended(run)
    held_out = {r.operator: r for r in run.evaluate().lengths if r.slice_name == "held out"}
    info = run.folder.read_info()
    return {
        "parameters": info.parameters,
        "device": info.device,
        "steps": run.step,
        "problems trained on": run.step * run.recipe.training.batch,
        "seconds": round(seconds, 1),
        "whole text": {o: held_out[o].exact_match[0] for o in OPERATORS},
        "result": {o: held_out[o].generated.exact_match[0] for o in OPERATORS},
        "problems": {o: held_out[o].count for o in OPERATORS},
        "curve": [
            [line.step * run.recipe.training.batch, line.loss, line.validation_exact_match]
            for line in run.folder.read_metrics()
            if line.validation_exact_match is not None
        ],
    }


if __name__ == "__main__":
    main()
