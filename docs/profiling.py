"""What a step of the ladder's last rung costs at four sizes: `make results-profiling`.

The sizes are those of `docs.sizes`, with the recipe's own 256 problems a step; layers written out
one after the other, as the model has them, or in a loop (`transformer.UNROLLED` 1). Each is
measured on one core and on all, several times, in processes of their own that compile anew.

machine    the product of two large matrices, and a triad of large arrays: the roofs
row b      seconds of the pieces of a step of the benchmarks' row b, each compiled alone
0.5M ...   seconds of tracing, compiling and a step; memory; operations and bytes of a step

Seconds are of the clock: nothing else should run on the machine.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from benchmarks import cost, machine
from benchmarks.configurations import CONFIGURATIONS
from curta.frontends import api
from curta.layouts import TokenPositions
from curta.layouts.texts import layout_of
from curta.model import layers, model_cost, transformer
from curta.problems import task_sizes
from curta.training import devices, processes, records, trainer
from curta.training.optimizers import transformation
from docs.evidence import Json, Results, study
from docs.shared import elsewhere, markdown, on_one_core, recipe_fields, timed
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


def main() -> None:
    study(__doc__, NAME, [MACHINE, ROW_B, *WIDTHS], [0], settings, measured)


def settings(name: str) -> Json:
    if name == MACHINE:
        return {"cores": CORES, **LARGE}
    if name == ROW_B:
        return {"cores": CORES[-1], **TIMES}
    fields = recipe_fields(RECIPE, design(name))
    return {"recipe": fields, "cores": CORES, "passes": PASSES, **TIMES}


def measured(name: str) -> Any:
    """Return the roofs by cores, the pieces, or each process of a size, which take turns."""
    alone = partial(elsewhere, JAX_ENABLE_COMPILATION_CACHE="0")
    if name == MACHINE:
        return {str(n): alone("docs.profiling:roofs", n, *LARGE.values()) for n in CORES}
    if name == ROW_B:
        return alone("docs.profiling:row_b", CORES[-1], *TIMES.values())
    kinds = [(way, cores) for _ in range(PASSES) for cores in CORES for way in WAYS]
    return [
        {"way": way, "cores": cores}
        | alone("docs.profiling:profiled", cores, name, way, *TIMES.values())
        for way, cores in kinds
    ]


# What a process measures


def use_cores(cores: int) -> None:
    on_one_core() if cores == 1 else devices.configure()


def roofs(cores: int, rounds: int, side: int, count: int) -> dict[str, Any]:
    """The most that the cores do: operations of a product, bytes of a triad, each second.

    The product is of two float32 matrices of `side`, rows divided among the cores; the triad
    x + 3y in place of x, each of `count` float32, so it reads two and writes one.
    """
    use_cores(cores)
    mesh = Mesh(jax.devices(), ("core",))
    divided, whole = (NamedSharding(mesh, PartitionSpec(*by)) for by in (["core"], []))
    rows = jax.device_put(jnp.ones((side, side)), divided)
    square = jax.device_put(jnp.ones((side, side)), whole)
    x, y = (jax.device_put(jnp.ones(count), divided) for _ in range(2))
    product = jax.jit(jnp.matmul)
    triad = jax.jit(lambda x, y: x + 3 * y, donate_argnums=0)

    def pass_through() -> None:
        nonlocal x
        x = triad(x, y).block_until_ready()

    calls = {
        "operations": lambda: product(rows, square).block_until_ready(),
        "bytes": pass_through,
    }
    amounts = {"operations": 2 * side**3, "bytes": 3 * 4 * count}
    return {
        name: [round(amounts[name] / second) for second in seconds]
        for name, seconds in timed(calls, rounds).items()
    }


def profiled(cores: int, size: str, way: str, rounds: int, steps: int) -> dict[str, Any]:
    """Seconds, bytes and operations of a size's step, its layers `written out` or in a `loop`.

    The step is the one that a run's chunk repeats; a batch is divided among the devices.
    """
    use_cores(cores)
    recipe, everywhere = api.resolve(RECIPE, design(size)), PartitionSpec()
    layout, mesh = layout_of(recipe), trainer.training_mesh(recipe, 1)
    data, bounds = records.training_data(recipe, layout, [0])
    first = transformer.index_tree(trainer.init(recipe, layout, jnp.array([0])), 0)
    step = partial(trainer.step, recipe, bounds, mesh.shape["batch"])
    sharded = jax.shard_map(
        lambda member, number: step(member, data, number),
        mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False,
    )  # fmt: skip
    member = processes.put(first, NamedSharding(mesh, everywhere))
    number = processes.put(jnp.int32(0), NamedSharding(mesh, everywhere))
    unrolled = transformer.UNROLLED if way == "written out" else 1
    with mock.patch.object(transformer, "UNROLLED", unrolled):
        begun = perf_counter()
        lowered = jax.jit(sharded, donate_argnums=0).lower(member, jnp.int32(0))
        tracing = perf_counter() - begun
    traced, begun = peak_bytes(), perf_counter()
    program = lowered.compile()
    compiling, compiled = perf_counter() - begun, peak_bytes()

    def several() -> None:
        nonlocal member
        for _ in range(steps):
            member, _ = program(member, number)
        jax.block_until_ready(member)

    seconds = timed({"step": several}, rounds)["step"]
    analysis = program.cost_analysis() or {}
    rows, operations = counted(recipe, layout)
    return {
        "parameters": sum(row.parameters for row in rows),
        "operations": operations,
        "tracing": round(tracing, 3),
        "compiling": round(compiling, 3),
        "step": [round(second / steps, 5) for second in seconds],
        "planned bytes": cost.taken(program),
        "peak bytes": {"traced": traced, "compiled": compiled, "after the steps": peak_bytes()},
        "XLA": {"operations": analysis["flops"], "bytes": analysis["bytes accessed"]},
    }


def counted(recipe: Any, layout: Any) -> tuple[list[model_cost.Layer], int]:
    """Return all that a token goes through, and by hand the operations of a step.

    A multiply-add of a matrix product counts 2, and twice that backwards. Of texts of 10 tokens
    whose last 4 are asked for, the last layer has keys and values of 10 tokens, and all else of
    it, as the head, is of 4.
    """
    bounds = layout.bounds(recipe.tasks[0].operator, task_sizes.widest(recipe.tasks[0]))
    tokens, scored = bounds.total - 1, bounds.completion
    count, adds = recipe.model.num_attention_layers, 0.0
    rows = model_cost.layers(recipe, layout, tokens)
    for row in rows:
        if row.name in ("attention.key", "attention.value"):
            adds += row.multiply_adds * tokens
        elif row.name.startswith("head"):
            adds += row.multiply_adds * scored
        else:
            adds += row.multiply_adds / count * ((count - 1) * tokens + scored)
    return rows, round(6 * adds * recipe.training.batch)


def peak_bytes() -> int:
    """The most memory that this process has had, as Linux counts it."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def row_b(cores: int, rounds: int, steps: int) -> dict[str, Any]:
    """Seconds of the pieces of a step of row b of the benchmarks, measured in turns.

    Every core has half of the batch, as in training. Pieces run forward and backward, except
    `optimiser` and `flat`, which clip and update all weights: as they are, and as one flat array.
    `products` are those of all linear layers, whose operations are counted; `joined` has one
    product for queries, keys and values. In the last layer only scored tokens have queries.
    """
    use_cores(cores)
    recipe = CONFIGURATIONS["b"].recipe()
    layout, mesh = layout_of(recipe), trainer.training_mesh(recipe, 1)
    data, (bounds,) = records.training_data(recipe, layout, [0])
    member = transformer.index_tree(trainer.init(recipe, layout, jnp.array([0])), 0)
    model, config, shards = member.model, recipe.model, mesh.shape["batch"]
    texts, time = recipe.training.batch // shards, bounds.total - 1
    tokens, scored, count = texts * time, texts * bounds.completion, config.num_layers
    # The last layer's queries are the scored tokens alone.
    blocks = count - 1 + scored / tokens

    def total(x: Any) -> Any:
        return jax.lax.psum(x, "batch")

    def objective(model: Any) -> Any:
        keys = trainer.step_keys(0, 0)
        return trainer.objective(model, recipe, (bounds,), data, keys, shards, total)[0]

    chain = transformation(recipe.optimizer, member.hyperparams, recipe.training.steps)

    def update(weights: Any, state: Any) -> Any:
        updates, state = chain.update(weights, state, weights)  # any gradient takes as long
        return optax.apply_updates(weights, updates), state

    index = jnp.broadcast_to(jnp.arange(time), (texts, time))
    where = TokenPositions(index, jnp.zeros_like(index), jnp.zeros((texts, time, 1), jnp.int32))

    def attention(query: Any, keys: Any, values: Any) -> Any:
        query, keys = (model.positions.rotate(heads, where) for heads in (query, keys))
        visible = model.positions.visible_keys(where, where)
        return model.positions.attend((), visible, query, keys, values)

    def step(member: Any) -> Any:
        return trainer.step(recipe, (bounds,), shards, member, data, jnp.int32(0))

    def multiply(*pairs: Any) -> Any:
        return [both_ways(jnp.matmul)(*pair) for pair in pairs]

    flat = ravel_pytree(model)[0]
    heads = normal(texts, time, config.heads, config.head_dim)
    products, joined = (matrices(config, tokens, scored, joined) for joined in (False, True))
    activation, norm = layers.ACTIVATIONS[config.activation], partial(layers.normalize, config)
    activated, normed = normal(tokens, config.mlp_width), normal(tokens, config.width)
    # a function, its inputs, and how often a step calls it
    pieces: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
        "step": (step, (member,), 1),
        "forward": (objective, (model,), 1),
        "forward and backward": (jax.value_and_grad(objective), (model,), 1),
        "sum over cores": (total, (model,), 1),
        "optimiser": (update, (model, chain.init(model)), 1),
        "flat": (update, (flat, chain.init(flat)), 1),
        "attention": (both_ways(attention), (heads,) * 3, blocks),
        "activation": (both_ways(activation), (activated,), blocks),
        "norms": (both_ways(norm), (normed, jnp.ones(config.width)), 2 * blocks),
        "products": (multiply, inputs_of(products), 1),
        "joined": (multiply, inputs_of(joined), 1),
    }
    calls, everywhere = dict[str, Callable[[], Any]](), PartitionSpec()
    for name, (function, inputs, _) in pieces.items():
        sharded = jax.shard_map(
            function, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False
        )
        placed = processes.put(inputs, NamedSharding(mesh, everywhere))
        calls[name] = partial(repeated, partial(jax.jit(sharded), *placed), steps)
    seconds = {
        name: [round(second * pieces[name][2] / steps, 5) for second in each]
        for name, each in timed(calls, rounds).items()
    }
    return {
        "operations": 6 * shards * sum(rows * i * o for rows, i, o in products),
        "seconds": seconds,
    }


def repeated(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        jax.block_until_ready(call())


def normal(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(0), shape)


def inputs_of(shapes: Iterable[tuple[int, int, int]]) -> tuple[Any, ...]:
    """Return two matrices for each product of so many rows, inputs and outputs."""
    return tuple((normal(rows, i), normal(i, o)) for rows, i, o in shapes)


def both_ways(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also computes gradients, with its value as cotangent."""

    def run(*inputs: Any) -> Any:
        value, pull = jax.vjp(function, *inputs)
        return value, pull(value)

    return run


def matrices(config: Any, tokens: int, scored: int, joined: bool) -> list[tuple[int, int, int]]:
    """Return rows, inputs and outputs of each product of a forward pass."""
    width, wide, shapes = config.width, config.mlp_width, []
    for layer in range(config.num_layers):
        queries = scored if layer == config.num_layers - 1 else tokens
        if joined and queries == tokens:
            shapes += [(tokens, width, 3 * width)]
        elif joined:
            shapes += [(tokens, width, 2 * width), (queries, width, width)]
        else:
            shapes += [(tokens, width, width)] * 2 + [(queries, width, width)]
        shapes += [(queries, width, width), (queries, width, wide), (queries, wide, width)]
    return shapes


# Tables


class Profile:
    """The figures of one size, process by process."""

    def __init__(self, name: str, processes: list[dict[str, Any]]) -> None:
        self.name, self.processes = name, processes
        self.operations: int = processes[0]["operations"]
        """Operations of a step, counted by hand."""

    def steps(self, way: str, cores: int) -> list[float]:
        """Seconds of a step, of all rounds of every process of that kind."""
        kind = (way, cores)
        processes = [x for x in self.processes if (x["way"], x["cores"]) == kind]
        return [second for process in processes for second in process["step"]]

    def intensity(self, cores: int) -> float:
        """Operations for each byte moved, layers unrolled; of a loop XLA counts one pass alone."""
        kind = (WAYS[0], cores)
        process = next(x for x in self.processes if (x["way"], x["cores"]) == kind)
        return float(self.operations / (process["XLA"]["bytes"] * cores))


def profiles(results: Results) -> list[Profile]:
    numbers = results.read(NAME)
    return [Profile(name, numbers[name]) for name in WIDTHS]


class Roof:
    """The most that some cores do: operations and bytes a second, of the best round."""

    def __init__(self, cores: str, rounds: dict[str, list[int]]) -> None:
        self.cores = int(cores)
        self.operations, self.bytes = max(rounds["operations"]), max(rounds["bytes"])
        self.ridge = self.operations / self.bytes
        """Operations a byte from which on the memory no longer bounds them."""

    def at(self, intensity: float) -> float:
        """Operations a second, at most, of what has so many for each byte."""
        return min(self.operations, intensity * self.bytes)


def roofs_of(results: Results) -> list[Roof]:
    return [Roof(*cores) for cores in results.read(NAME)[MACHINE].items()]


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

HEAD = ("parameters", "GFLOP/s", "of the roofline", "step, ms", "with a loop")


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return the pieces of row b, and each size under the roof of all cores."""
    seconds = results.read(NAME)[ROW_B]["seconds"]
    medians = {name: median(seconds[name]) for name in PIECES}
    pieces = (
        [words, f"{1e3 * medians[name]:,.0f}", f"{medians[name] / medians['step']:.0%}"]
        for name, words in PIECES.items()
    )
    roof, sizes = roofs_of(results)[-1], list[list[str]]()
    for profile in profiles(results):
        unrolled, loop = (median(profile.steps(way, roof.cores)) for way in WAYS)
        pace, most = profile.operations / unrolled, roof.at(profile.intensity(roof.cores))
        figures = (f"{pace / 1e9:,.1f}", f"{pace / most:.0%}", f"{1e3 * unrolled:,.0f}")
        sizes.append([profile.name, *figures, f"{loop / unrolled - 1:+.0%}"])
    return {
        f"{NAME}, {ROW_B}": markdown(("piece", "ms", "of the step"), pieces),
        NAME: markdown(HEAD, sizes),
    }


if __name__ == "__main__":
    main()
