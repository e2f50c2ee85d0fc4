"""One process of the study `profiling`: `python -m docs.profiled REQUEST`; its last line is JSON.

Every process is bound to as many cores as were asked for, has a peak of memory of its own, and
compiles what it measures, since nothing is kept between them.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from benchmarks import cost
from curta.config.recipe import Recipe
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model import model_cost, transformer
from curta.problems import task_sizes
from curta.training import devices, processes, records, trainer
from docs import pieces
from docs.shared import on_one_core
from docs.sizes import RECIPE, design

TOLD = "/proc/self/status"
"""What Linux says of a process."""


class Step(NamedTuple):
    """One step of a recipe's training, not yet compiled, and the member that takes it."""

    program: Any
    member: Any
    recipe: Recipe


def main(request: dict[str, Any]) -> None:
    if request.pop("cores") == 1:
        on_one_core()
    else:
        devices.configure()
    print(json.dumps(MEASURED[request.pop("what")](**request)))


def profiled(size: str, way: str, rounds: int, steps: int) -> dict[str, Any]:
    """Seconds, bytes and operations of a size's step, its layers `written out` or in a `loop`.

    `rounds` times so many `steps` are timed, after one that is not.
    """
    unrolled = transformer.UNROLLED if way == "written out" else 1
    with mock.patch.object(transformer, "UNROLLED", unrolled):
        of = one_step(api.resolve(RECIPE, design(size)))
        tracing, lowered = timed(lambda: of.program.lower(of.member, jnp.int32(0)))
    before = peak_bytes()
    compiling, program = timed(lowered.compile)
    compiled = peak_bytes()
    seconds = step_seconds(program, of.member, rounds, steps)
    analysis = program.cost_analysis()
    return {
        "parameters": sum(row.parameters for row in layers(of.recipe)),
        "operations": operations(of.recipe),
        "tracing": round(tracing, 3),
        "compiling": round(compiling, 3),
        "step": [round(second, 5) for second in seconds],
        "planned bytes": cost.taken(program),
        "peak bytes": {"traced": before, "compiled": compiled, "after the steps": peak_bytes()},
        "XLA": {"operations": analysis["flops"], "bytes": analysis["bytes accessed"]},
    }


def one_step(recipe: Recipe) -> Step:
    """The step that a run's chunk repeats; a batch is divided among the devices."""
    layout, mesh = layout_of(recipe), trainer.training_mesh(recipe, 1)
    data, bounds = records.training_data(recipe, layout, [0])
    first = transformer.index_tree(trainer.init(recipe, layout, jnp.array([0])), 0)
    step_of_member = partial(trainer.step, recipe, bounds, mesh.shape["batch"])
    everywhere = PartitionSpec()
    sharded = jax.shard_map(
        lambda member, number: step_of_member(member, data, number),
        mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False,
    )  # fmt: skip
    member = processes.put(first, NamedSharding(mesh, everywhere))
    return Step(jax.jit(sharded, donate_argnums=0), member, recipe)


def step_seconds(program: Any, member: Any, rounds: int, steps: int) -> list[float]:
    """The mean of each round; a member goes on from one to the next."""
    number = processes.put(jnp.int32(0), jax.tree.leaves(member)[0].sharding)

    def several(count: int) -> None:
        nonlocal member
        for _ in range(count):
            member, _ = program(member, number)
        jax.block_until_ready(member)

    several(1)
    return [timed(partial(several, steps))[0] / steps for _ in range(rounds)]


def layers(recipe: Recipe) -> list[model_cost.Layer]:
    """Everything that a token of a training text goes through."""
    return model_cost.layers(recipe, layout_of(recipe), _times(recipe)[0])


def operations(recipe: Recipe) -> int:
    """Of a step, by hand: 2 for each multiply-add of a matrix product, and twice that backwards.

    Of texts of 10 tokens whose last 4 are asked for, the last layer has keys and values of 10
    tokens, and all else of it, as the head, is of 4.
    """
    tokens, scored = _times(recipe)
    count, adds = recipe.model.num_attention_layers, 0.0
    for row in layers(recipe):
        if row.name in ("attention.key", "attention.value"):
            adds += row.multiply_adds * tokens
        elif row.name.startswith("head"):
            adds += row.multiply_adds * scored
        else:
            adds += row.multiply_adds / count * ((count - 1) * tokens + scored)
    return round(6 * adds * recipe.training.batch)


def _times(recipe: Recipe) -> tuple[int, int]:
    """Tokens of a text in training, and how many of them are asked what follows."""
    (task,) = recipe.tasks
    bounds = layout_of(recipe).bounds(task.operator, task_sizes.widest(task))
    return bounds.total - 1, bounds.completion


def machine(rounds: int, side: int, count: int) -> dict[str, Any]:
    """The most that the cores do: operations of a product, bytes of a triad, each second.

    The product is of two float32 matrices of `side`, rows divided among the cores; the triad
    x + 3y in place of x, each of `count` float32, so it reads two and writes one.
    """
    mesh = Mesh(jax.devices(), ("core",))
    divided, whole = (NamedSharding(mesh, PartitionSpec(*by)) for by in (["core"], []))
    x = jax.device_put(jnp.ones((side, side)), divided)
    y = jax.device_put(jnp.ones((side, side)), whole)
    product = jax.jit(jnp.matmul)
    seconds = [timed(lambda: product(x, y).block_until_ready())[0] for _ in range(1 + rounds)]
    passing = triad_seconds(rounds, count, divided)
    return {
        "operations": [round(2 * side**3 / second) for second in seconds[1:]],
        "bytes": [round(3 * 4 * count / second) for second in passing[1:]],
    }


def triad_seconds(rounds: int, count: int, divided: NamedSharding) -> list[float]:
    x, y = (jax.device_put(jnp.ones(count), divided) for _ in range(2))
    triad, seconds = jax.jit(lambda x, y: x + 3 * y, donate_argnums=0), list[float]()
    for _ in range(1 + rounds):
        begun = time.perf_counter()
        x = triad(x, y).block_until_ready()
        seconds.append(time.perf_counter() - begun)
    return seconds


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it gives."""
    begun = time.perf_counter()
    result = call()
    return time.perf_counter() - begun, result


def peak_bytes() -> int:
    """The most memory that this process has had, as Linux counts it."""
    lines = Path(TOLD).read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def row_b(rounds: int, steps: int) -> dict[str, Any]:
    """Seconds of the pieces of a step (see `docs.pieces`), measured in turns; their operations."""
    calls, operations = pieces.pieces()
    for call, inputs, _ in calls.values():
        jax.block_until_ready(call(*inputs))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (call, inputs, times) in calls.items():
            begun = time.perf_counter()
            for _ in range(steps):
                jax.block_until_ready(call(*inputs))
            seconds[name].append(round((time.perf_counter() - begun) * times / steps, 5))
    return {"operations": operations, "seconds": seconds}


MEASURED: dict[str, Callable[..., dict[str, Any]]] = {
    "step": profiled, "machine": machine, "row b": row_b,
}  # fmt: skip

if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
