"""The pieces of one step of row b of the benchmarks, each compiled alone; called by `profiling`.

Every core has half of the batch, as in training. Pieces run forward and backward, except
`optimiser` and `flat`, which clip and update all weights: as they are, and as one flat array.
`products` are those of all linear layers; `joined` has one product for queries, keys and values.
In the last layer only scored tokens have queries.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import NamedSharding, PartitionSpec

from benchmarks.configurations import CONFIGURATIONS
from curta.layouts import TokenPositions
from curta.layouts.texts import layout_of
from curta.model import layers
from curta.model.transformer import index_tree
from curta.training import processes, records, trainer
from curta.training.optimizers import transformation

Piece = tuple[Callable[..., Any], tuple[Any, ...], float]
"""A function, its inputs, and how often a step calls it."""


def normal(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(0), shape)


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


def pieces() -> tuple[dict[str, Any], int]:
    """Return by name each piece, compiled for all cores; and the operations of all products."""
    recipe = CONFIGURATIONS["b"].recipe()
    layout, mesh = layout_of(recipe), trainer.training_mesh(recipe, 1)
    data, (bounds,) = records.training_data(recipe, layout, [0])
    member = index_tree(trainer.init(recipe, layout, jnp.array([0])), 0)
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

    flat = ravel_pytree(model)[0]
    heads = normal(texts, time, config.heads, config.head_dim)
    products = matrices(config, tokens, scored, joined=False)
    by_name: dict[str, Piece] = {
        "step": (step, (member,), 1),
        "forward": (objective, (model,), 1),
        "forward and backward": (jax.value_and_grad(objective), (model,), 1),
        "sum over cores": (total, (model,), 1),
        "optimiser": (update, (model, chain.init(model)), 1),
        "flat": (update, (flat, chain.init(flat)), 1),
        "attention": (both_ways(attention), (heads,) * 3, blocks),
        "activation": (
            both_ways(layers.ACTIVATIONS[config.activation]),
            (normal(tokens, config.mlp_width),),
            blocks,
        ),
        "norms": (
            both_ways(partial(layers.normalize, config)),
            (normal(tokens, config.width), jnp.ones(config.width)),
            2 * blocks,
        ),
    }
    for name, shapes in (
        ("products", products),
        ("joined", matrices(config, tokens, scored, joined=True)),
    ):
        inputs = tuple((normal(rows, i), normal(i, o)) for rows, i, o in shapes)
        multiply = lambda *pairs: [both_ways(jnp.matmul)(*pair) for pair in pairs]
        by_name[name] = (multiply, inputs, 1)
    everywhere, compiled = PartitionSpec(), dict[str, Any]()
    for name, (function, inputs, times) in by_name.items():
        call = jax.jit(
            jax.shard_map(
                function, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False
            )
        )
        compiled[name] = (call, processes.put(inputs, NamedSharding(mesh, everywhere)), times)
    return compiled, 6 * shards * sum(rows * i * o for rows, i, o in products)
