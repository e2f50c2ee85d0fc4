"""What a recipe's model is made of: each weight's shape, parameters and multiply-adds.

Counted from the shapes of the weights, so nothing is drawn. Multiply-adds are those of
matrix products, for one token that goes through everything: look-ups, norms and what positions
calculate of their own are left out. Weights of several blocks are stacked along the first axis.
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
"""Of a parameter: they are single-precision floats."""

_PRODUCTS = ("attention", "mlp")
"""Parts of the model whose matrices every token is multiplied by, in every recurrence."""


class Layer(NamedTuple):
    """One weight, or one calculation without a weight of its own."""

    name: str
    shape: tuple[int, ...]
    parameters: int
    multiply_adds: int
    inputs: int = 0
    """Features of a token that go in; 0 where that is the token itself, or its place."""
    outputs: int = 0
    """Features of a token that come out."""
    times: int = 1
    """How often it is applied: once in each block, and each recurrence."""

    @property
    def bytes(self) -> int:
        return BYTES * self.parameters

    @property
    def activation_bytes(self) -> int:
        """Bytes of the outputs for one token, over all blocks and recurrences; biases add none."""
        return 0 if self.name.endswith("_bias") else BYTES * self.outputs * self.times


class Seen(NamedTuple):
    """How many keys are scored for each query in texts of up to so many tokens."""

    keys: int
    tokens: int


def scored(recipe: Recipe, problem: Problem | None = None) -> Seen:
    """What attention scores in texts of this problem's size, by default the longest in training.

    Keys that a query does not see are scored too where all of them are. Raises UserError if
    the problem cannot be written or has no positions.
    """
    layout = layout_of(recipe)
    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
        return _seen(recipe, layout, layout.bounds_of([problem]))
    bounds = (layout.bounds(task.operator, task_sizes.widest(task)) for task in recipe.tasks)
    return max(_seen(recipe, layout, bounds) for bounds in bounds)


def _seen(recipe: Recipe, layout: Layout, bounds: ShapeBounds) -> Seen:
    encoding = positions.encoding(recipe, layout)
    encoding.check(bounds)
    if recipe.model.causal:
        return Seen(encoding.keys_per_query(bounds), bounds.total)
    return Seen(bounds.prompt, bounds.prompt)  # the answer is written over the prompt


def layers(recipe: Recipe, layout: Layout, keys: int) -> list[Layer]:
    """Everything that a token goes through if `keys` tokens are scored for each query.

    A weight that follows from others has no parameters, and products all the same.
    """
    init = partial(Transformer.init, recipe.model, recipe.positions, layout)
    learned = _shapes(lambda key: init(key=key))
    shares = bool(recipe.model.weight_sharing)
    used = _shapes(lambda key: weights.unshared(init(key=key))) if shares else learned
    rows = [_weight(name, shape, recipe, name in learned) for name, shape in used.items()]
    angles = [
        Layer(name, shape, math.prod(shape), 0, shape[-1], shape[-1])
        for name, shape in learned.items()
        if name not in used
    ]
    ends = [number for number, row in enumerate(rows, 1) if row.name.startswith("attention.")]
    rows[ends[-1] : ends[-1]] = [*angles, _scores(recipe, keys)]
    return rows + ([_tied(recipe, layout)] if recipe.model.tie_embeddings else [])


def _shapes(make: Callable[[PRNGKeyArray], Transformer]) -> dict[str, tuple[int, ...]]:
    """Of each weight, by its path in the model."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(jax.eval_shape(make, jax.random.key(0)))
    return {jax.tree_util.keystr(path)[1:]: leaf.shape for path, leaf in leaves}


def _weight(name: str, shape: tuple[int, ...], recipe: Recipe, learned: bool) -> Layer:
    size = math.prod(shape)
    part, added = name.partition(".")[0], name.endswith(("gain", "after", "_bias"))
    in_block = part in _PRODUCTS
    recurrences = recipe.model.num_recurrences if in_block else 1
    work = size * recurrences if (in_block and not added) or name == "head" else 0
    looked_up = part in ("tokens", "roles", "positions")
    inputs = 0 if looked_up else shape[-1] if added else shape[-2]
    times = recurrences * shape[0] if in_block else 1
    return Layer(name, shape, size * learned, work, inputs, math.prod(shape[-1:]), times)


def _scores(recipe: Recipe, keys: int) -> Layer:
    """Products of each query with its keys, and of the scores with as many values."""
    config = recipe.model
    work = 2 * config.num_attention_layers * keys * config.width * config.num_recurrences
    shape = (config.num_attention_layers, config.heads, keys)
    times = config.num_attention_layers * config.num_recurrences
    return Layer("attention scores, sums", shape, 0, work, config.width, config.heads * keys, times)


def _tied(recipe: Recipe, layout: Layout) -> Layer:
    shape = (recipe.model.width, len(layout.characters))
    return Layer("head (characters)", shape, 0, shape[0] * shape[1], *shape)
