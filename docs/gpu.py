"""What Curta takes on a GPU, and whether it is right there: `python -m docs.gpu`.

For a machine with one, and nothing beside it: `make results` leaves this study out.

steps, RECIPE       a step of so many members at once, and of some in turn
precision, RECIPE   a step in full float32, with products in TensorFloat-32, and in bfloat16
deterministic, RECIPE   a step as XLA compiles it, and with its flag for the same bits each time
bits, RECIPE        weights after a chunk of steps, of three processes that share no cache
bits, RECIPE, one cache       the same of processes that take what the first has compiled
bits, RECIPE, deterministic   the same with XLA's flag, without a common cache
losses, RECIPE      of the first steps; `losses on a CPU, RECIPE` are the same without the GPU
five operations, seed N   `sources/five-operations`, trained to its end

`attention, RECIPE` in docs/results/gpu.json is from an earlier commit: JAX's own
`dot_product_attention` was no faster than products written out.

XLA's own matrix products are left out (FLAGS), since trying them all takes minutes.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.runs import folders
from curta.training import devices
from docs.evidence import RESULTS, Results, arguments
from docs.operations import scored
from docs.shared import elsewhere, ended, markdown, own_run, prepared, recipe_fields, timed

NAME = "gpu"
ADDITION, PLAIN, FULL = "addition", "addition-plain", "sources/five-operations"
MEMBERS: dict[str, tuple[int, ...]] = {ADDITION: (1, 16, 256, 1024), PLAIN: (1, 64)}
"""How many of a recipe are timed at once."""
DETERMINED = (1, 256)
"""How many are timed with XLA's flag for the same bits, and without."""
IN_TURN = 16
"""Members of the first recipe that are timed one after the other, too."""
BITS = (ADDITION, PLAIN)
CHUNK, ROUNDS = 20, 7
"""Steps of one measurement, and measurements of a median."""
FIRST = 10
"""Steps whose losses are compared."""
WHOLE = "five operations"
ROUNDED = "tensorfloat32"
FLAGS = "--xla_gpu_enable_triton_gemm=false"
DETERMINISTIC = "xla_gpu_deterministic_ops"
SEEDS = range(3)


class Steps(NamedTuple):
    """Steps that are timed."""

    recipe: str
    members: int = 1
    vectorised: bool = True
    products: str = "highest"
    precision: str = "float32"
    deterministic: bool = False


class Study(NamedTuple):
    """A result: how it is measured, for which settings and seed, and on what platform."""

    settings: dict[str, Any]
    measure: Callable[[], Any]
    seed: int = 0
    platform: str = "gpu"


def main() -> None:
    studies = dict(_studies())
    options = arguments(__doc__, studies)
    for name in options.names:
        settings, measure, seed, platform = studies[name]
        measure = partial(_measured, measure, platform)
        RESULTS.keep(NAME, name, measure, [seed], settings, options)


def _studies() -> Iterator[tuple[str, Study]]:
    for recipe, counts in MEMBERS.items():
        steps = {f"{count} at once": Steps(recipe, count) for count in counts}
        if recipe == ADDITION:
            steps[f"{IN_TURN} in turn"] = Steps(recipe, IN_TURN, vectorised=False)
        yield _of_steps("steps", recipe, steps)
    full = Steps(FULL)
    rounded, half = full._replace(products=ROUNDED), full._replace(precision="bfloat16")
    precisions = {"float32": full, "TensorFloat-32": rounded, "bfloat16": half}
    yield _of_steps("precision", FULL, precisions)
    free = {f"{count} at once": Steps(ADDITION, count) for count in DETERMINED}
    held = {f"{name}, deterministic": s._replace(deterministic=True) for name, s in free.items()}
    yield _of_steps("deterministic", ADDITION, free | held)
    for recipe in BITS:
        settings: dict[str, Any] = {"recipe": recipe_fields(recipe, {})}
        for words, measure in HELPED.items():
            yield (
                f"bits, {recipe}{words}",
                Study(settings | {"steps": CHUNK}, partial(measure, recipe)),
            )
        of_losses = Study(settings | {"steps": FIRST}, partial(losses, recipe))
        yield f"losses, {recipe}", of_losses
        yield f"losses on a CPU, {recipe}", of_losses._replace(platform="cpu")
    settings = {"recipe": recipe_fields(FULL, {}), "products": ROUNDED}
    for seed in SEEDS:
        yield f"{WHOLE}, seed {seed}", Study(settings, partial(whole, seed), seed, "any")


def _of_steps(name: str, recipe: str, steps: dict[str, Steps]) -> tuple[str, Study]:
    # The last field stands in settings only where it holds: older results lack it.
    cases = {
        label: list(case[1 : 7 if case.deterministic else -1]) for label, case in steps.items()
    }
    settings: dict[str, Any] = {"recipe": recipe_fields(recipe, {}), "cases": cases}
    settings |= {"steps": CHUNK, "rounds": ROUNDS}
    return f"{name}, {recipe}", Study(settings, partial(compared, steps))


def _measured(measure: Callable[[], Any], platform: str) -> Any:
    """Measure on that platform; SystemExit where JAX has another."""
    os.environ["XLA_FLAGS"] = FLAGS
    if platform == "cpu":
        jax.config.update("jax_platforms", "cpu")
        os.environ[devices.CORES] = "1"
    devices.configure()
    if (here := jax.devices()[0].platform) != platform != "any":
        raise SystemExit(f"gpu: this is for a {platform}, and JAX has a {here} here")
    return measure()


def compared(steps: Mapping[str, Steps]) -> dict[str, dict[str, float]]:
    """Return milliseconds of a step of each, taken in turn: median, least and most."""
    seconds = timed({label: call_of(case) for label, case in steps.items()}, ROUNDS)
    figures = (("ms", median), ("least", min), ("most", max))
    return {
        label: {name: round(1e3 * of(each) / CHUNK, 4) for name, of in figures}
        for label, each in seconds.items()
    }


def call_of(steps: Steps) -> Callable[[], None]:
    """Return a compiled chunk of steps, ready to be run."""
    with jax.default_matmul_precision(steps.products):
        chunk, state, data = first_chunk(steps)
        lowered = chunk.lower(state, data, jnp.int32(0), jnp.int32(0))
    program = lowered.compile({DETERMINISTIC: True} if steps.deterministic else None)

    def call() -> None:
        nonlocal state
        state, _ = jax.block_until_ready(program(state, data, jnp.int32(0), jnp.int32(CHUNK)))

    return call


def first_chunk(steps: Steps) -> tuple[Any, Any, Any]:
    """The chunk of steps, the members before their first, and their data.

    All have the problems of the first: to record those of each takes longer than what is measured.
    """
    recipe = api.resolve(steps.recipe, {"training.precision": steps.precision})
    repeat = lambda leaf: np.repeat(np.asarray(leaf), steps.members, axis=0)
    change = lambda data: data._replace(by_member=jax.tree.map(repeat, data.by_member))
    members = [*range(steps.members)]
    return prepared(recipe, layout_of(recipe), members, change, steps.vectorised, recorded=[0])


PARTS = {"once": (CHUNK,), "again": (CHUNK,), "in two parts": (CHUNK // 2, CHUNK - CHUNK // 2)}
"""How three processes take the steps."""


def bits(recipe: str, flags: str = FLAGS, one_cache: bool = False) -> dict[str, Any]:
    """Return whether all weights agree to the bit, in processes that compile for themselves.

    With one cache, those after the first find its programs.
    """
    weights = {}
    with tempfile.TemporaryDirectory() as folder:
        for way, step_counts in PARTS.items():
            settings = {"CURTA_CACHE": folder if one_cache else f"{folder}/{way}"}
            settings["XLA_FLAGS"] = flags
            weights[way] = elsewhere("docs.gpu:digest_after", recipe, step_counts, **settings)
    return {"weights": weights, "same": len(set(weights.values())) == 1}


HELPED: dict[str, Callable[[str], Any]] = {
    "": bits,
    ", one cache": partial(bits, one_cache=True),
    ", deterministic": partial(bits, flags=f"{FLAGS} --{DETERMINISTIC}=true"),
}
"""What may make weights the same, by what it adds to the name of a result."""


def digest_after(recipe: str, step_counts: list[int]) -> str:
    """SHA-256 of all weights after so many steps, taken in these parts."""
    devices.configure()
    chunk, state, data = first_chunk(Steps(recipe))
    first = 0
    for count in step_counts:
        state, _ = chunk(state, data, jnp.int32(first), jnp.int32(count))
        first += count
    leaves = (np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state.model))
    return hashlib.sha256(b"".join(leaves)).hexdigest()


def losses(recipe: str) -> list[float]:
    chunk, state, data = first_chunk(Steps(recipe))
    _, metrics = chunk(state, data, jnp.int32(0), jnp.int32(FIRST))
    return [float(loss) for loss in metrics.loss[0, :FIRST]]


def whole(seed: int) -> dict[str, Any]:
    """The full design, trained to its end on a GPU, and how it answers what is held out.

    A run that was trained on one may be asked elsewhere.
    """
    name, there = f"{NAME}-five-operations-{seed}", jax.devices()[0].platform == "gpu"
    if not there and name not in folders.existing():
        raise SystemExit(f"gpu: {name} is to be trained on a GPU, and JAX has none here")
    run = own_run(name, FULL, [seed], {})
    if there and not run.folder.read_info().over:
        with jax.default_matmul_precision(ROUNDED):
            run.train()
    ended(run)
    info = run.folder.read_info()
    times = {"seconds": info.training_seconds, "compiling": info.compile_seconds}
    return {"device": info.device} | times | scored(run)


BITS_HEAD = (
    "recipe", "largest difference of losses from a CPU's", "each compiles", "one cache",
    "deterministic",
)  # fmt: skip


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return seconds of steps, and whether weights of three processes agree."""
    numbers = results.read(NAME)
    names = [*(f"steps, {recipe}" for recipe in MEMBERS), f"precision, {FULL}"]
    names.append(f"deterministic, {ADDITION}")
    steps = (
        [
            f"`{name.partition(', ')[2]}`",
            label,
            f"{times['ms']:.2f} ({times['least']:.2f}\N{EN DASH}{times['most']:.2f})",
        ]
        for name in names
        for label, times in numbers[name].items()
    )
    same = list[list[str]]()
    for recipe in BITS:
        pairs = zip(
            numbers[f"losses, {recipe}"], numbers[f"losses on a CPU, {recipe}"], strict=True
        )
        apart = max(abs(loss - other) / other for loss, other in pairs)
        equal = (numbers[f"bits, {recipe}{words}"]["same"] for words in HELPED)
        verdicts = ("same" if bits_equal else "differ" for bits_equal in equal)
        same.append([f"`{recipe}`", f"{apart:.0e}", *verdicts])
    return {
        "gpu": markdown(("recipe", "", "step, ms"), steps),
        "gpu, bits": markdown(BITS_HEAD, same),
    }


if __name__ == "__main__":
    main()
