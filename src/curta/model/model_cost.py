"""What a recipe's model is made of: each weight's shape, parameters and multiply-adds.

Counted from the shapes of the weights, so nothing is drawn. Multiply-adds are those of matrix
products, for one token that passes through everything; look-ups, norms and the computations of
position encodings are not counted. Weights of several blocks are stacked along the first axis.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
from jaxtyping import PRNGKeyArray

from curta.config.recipe import Recipe
from curta.layouts import Layout, ShapeBounds
from curta.layouts.texts import layout_of
from curta.model import positions, weights
from curta.model.transformer import Transformer
from curta.problems import task_sizes
from curta.problems.problem import Problem, widths

BYTES = 4
"""Bytes of a parameter, a single-precision float."""


class Layer(NamedTuple):
    """One weight, or one computation without a weight."""

    name: str
    shape: tuple[int, ...]
    parameters: int
    multiply_adds: int
    inputs: int = 0
    """Features of a token that go in; 0 where the token itself, or its place, is looked up."""
    outputs: int = 0
    """Features of a token that come out."""
    times: int = 1
    """How often it is applied: once in each block and recurrence."""

    @property
    def bytes(self) -> int:
        return BYTES * self.parameters

    @property
    def activation_bytes(self) -> int:
        """Bytes of the outputs for one token, over all blocks and recurrences; biases add none."""
        return 0 if self.name.endswith("_bias") else BYTES * self.outputs * self.times


class ScoredKeys(NamedTuple):
    """How many keys are scored for each query in texts of up to `tokens` tokens."""

    keys: int
    tokens: int


def scored_keys(recipe: Recipe, problem: Problem | None = None) -> ScoredKeys:
    """Return how many keys attention scores in texts of this problem's size.

    By default, in the longest texts of training. Includes keys that a query does not see, unless
    attention is over a window. Raises UserError if the problem cannot be written or has no
    positions.
    """
    layout = layout_of(recipe)

    def count(bounds: ShapeBounds) -> ScoredKeys:
        encoding = positions.encoding(recipe, layout)
        encoding.check(bounds)
        if recipe.model.causal:
            return ScoredKeys(encoding.keys_per_query(bounds), bounds.total)
        return ScoredKeys(bounds.prompt, bounds.prompt)  # the answer is written over the prompt

    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
        return count(layout.bounds_of([problem]))
    return max(
        count(layout.bounds(task.operator, task_sizes.widest(task))) for task in recipe.tasks
    )


def layers(recipe: Recipe, layout: Layout, keys: int) -> list[Layer]:
    """Return everything that a token passes through if `keys` keys are scored for each query.

    A weight that follows from others (`model.weight_sharing`) has products but no parameters.
    """
    config = recipe.model
    init = partial(Transformer.init, config, recipe.positions, layout)
    learned = _shapes(lambda key: init(key=key))
    used = learned
    if config.weight_sharing:
        used = _shapes(lambda key: weights.unshared(init(key=key)))
    rows = [_weight(name, shape, recipe, name in learned) for name, shape in used.items()]

    # After attention's weights: angles that rotate shared keys, and scores with weighted sums.
    attention = [
        Layer(name, shape, math.prod(shape), 0, shape[-1], shape[-1])
        for name, shape in learned.items()
        if name not in used
    ]
    times = config.num_attention_layers * config.num_recurrences
    attention.append(
        Layer(
            name="attention scores, sums",
            shape=(config.num_attention_layers, config.heads, keys),
            parameters=0,
            multiply_adds=2 * times * keys * config.width,
            inputs=config.width,
            outputs=config.heads * keys,
            times=times,
        )
    )
    end = max(number for number, row in enumerate(rows, 1) if row.name.startswith("attention."))
    rows[end:end] = attention
    if config.tie_embeddings:
        shape = (config.width, len(layout.characters))
        rows.append(Layer("head (characters)", shape, 0, shape[0] * shape[1], *shape))
    return rows


def _shapes(build: Callable[[PRNGKeyArray], Transformer]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight, by its path in the model."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(jax.eval_shape(build, jax.random.key(0)))
    return {jax.tree_util.keystr(path)[1:]: leaf.shape for path, leaf in leaves}


def _weight(name: str, shape: tuple[int, ...], recipe: Recipe, learned: bool) -> Layer:
    size = math.prod(shape)
    section, added = name.partition(".")[0], name.endswith(("gain", "after", "_bias"))
    in_block = section in ("attention", "mlp")
    recurrences = recipe.model.num_recurrences if in_block else 1
    work = size * recurrences if (in_block and not added) or name == "head" else 0
    looked_up = section in ("tokens", "roles", "positions")
    inputs = 0 if looked_up else shape[-1] if added else shape[-2]
    times = recurrences * shape[0] if in_block else 1
    return Layer(name, shape, size * learned, work, inputs, math.prod(shape[-1:]), times)
