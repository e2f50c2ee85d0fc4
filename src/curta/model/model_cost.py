"""What a recipe costs: the parameters and products of each layer, memory and time of a training.

Counted from the shapes of the weights, so nothing is drawn. Multiply-adds are those of matrix
products, for one token that passes through everything; look-ups, norms and the computations of
position encodings are not counted. Weights of several blocks are stacked along the first axis.

Memory and time are within a factor of three, to refuse what cannot work and to tell seconds from
hours; they are too coarse for planning.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
from jaxtyping import PRNGKeyArray

from curta.config import system
from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import SHORT
from curta.layouts.texts import layout_of
from curta.model import positions, weights
from curta.model.transformer import Transformer
from curta.problems import task_sizes
from curta.problems.problem import Problem, widths
from curta.problems.task_sizes import widest

BYTES = 4
"""Bytes of a number: single precision, or a 32-bit integer."""

PROCESS = 450_000_000
"""Bytes of a process that has imported JAX and compiled a step."""

YEAR = 366 * 24 * 3600.0
"""Seconds of the longest training that is accepted."""

MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser keeps for each weight."""


class Speed(NamedTuple):
    """Floating-point operations per second, of a core and of an accelerator."""

    core: float
    accelerator: float

    @property
    def here(self) -> float:
        """Those of all devices together."""
        devices = jax.devices()
        return len(devices) * (self.core if devices[0].platform == "cpu" else self.accelerator)


PEAK = Speed(core=1e11, accelerator=2e14)
"""Upper bounds."""

REACHED = Speed(core=2e10, accelerator=1e13)
"""What small models reach."""


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
    return max(count(layout.bounds(task.operator, widest(task))) for task in recipe.tasks)


def layers(recipe: Recipe, layout: Layout, keys: int) -> list[Layer]:
    """Return everything that a token passes through if `keys` keys are scored for each query.

    A weight that follows from others (`model.weight_sharing`) has products but no parameters.
    """
    config = recipe.model
    init = partial(Transformer.init, config, recipe.positions, layout)
    learned = used = _shapes(lambda key: init(key=key))
    if config.weight_sharing:
        used = _shapes(lambda key: weights.unshared(init(key=key)))
    rows = list[Layer]()
    for name, shape in used.items():
        size, section = math.prod(shape), name.partition(".")[0]
        is_added = name.endswith(("gain", "after", "_bias"))
        in_block = section in ("attention", "mlp")
        is_looked_up = section in ("tokens", "roles", "positions")
        recurrences = config.num_recurrences if in_block else 1
        work = size * recurrences if (in_block and not is_added) or name == "head" else 0
        inputs = 0 if is_looked_up else shape[-1] if is_added else shape[-2]
        times = recurrences * shape[0] if in_block else 1
        parameters = size if name in learned else 0
        rows.append(Layer(name, shape, parameters, work, inputs, math.prod(shape[-1:]), times))

    # After attention's weights: angles that rotate shared keys, and scores with weighted sums.
    attention = [
        Layer(name, shape, math.prod(shape), 0, shape[-1], shape[-1])
        for name, shape in learned.items()
        if name not in used
    ]
    shape = (config.num_attention_layers, config.heads, keys)
    times = config.num_attention_layers * config.num_recurrences
    work, outputs = 2 * times * keys * config.width, config.heads * keys
    attention.append(Layer("attention scores, sums", shape, 0, work, config.width, outputs, times))
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


# A whole training.


class Estimate(NamedTuple):
    """Bytes of memory, and floating-point operations of the whole training."""

    weights: int
    optimizer: int
    activations: int
    data: int
    operations: float

    @property
    def memory(self) -> int:
        """Bytes in all, including the process itself."""
        return PROCESS + self.weights + self.optimizer + self.activations + self.data


def check(recipe: Recipe, members: int) -> None:
    """Raise UserError, with the estimate, if training needs more memory or time than there is."""
    needs, available = estimate(recipe, members), memory()
    if needs.memory > available:
        quantities = (needs.memory, available, needs.weights + needs.optimizer)
        whole, there, state, step, data = (
            f"{count / 1e9:,.1f} GB" for count in (*quantities, needs.activations, needs.data)
        )
        raise UserError(
            f"training takes about {whole} of memory, and there are {there}:"
            f" weights and optimiser {state}, a step {step}, problems {data}"
        )
    years = needs.operations / PEAK.here / YEAR
    if years > 1:
        raise UserError(
            f"training takes about {years:,.0f} years at best:"
            f" {needs.operations:.1g} operations; at most one is accepted"
        )


def estimate(recipe: Recipe, members: int) -> Estimate:
    """Estimate memory and operations of training `members` members of a recipe.

    Long problems of a program are shortened first, so that surveying it takes no time.
    """
    short = recipe
    if recipe.layout is None and any(max(widest(task)) > 4 * SHORT for task in recipe.tasks):
        cut = lambda span: span and (1, min(SHORT, span[1]))
        tasks = tuple(
            task if task.values else replace(task, digits=cut(task.digits), second=cut(task.second))
            for task in recipe.tasks
        )
        short = replace(recipe, task=tasks)
    layout, windowed = layout_of(short), isinstance(recipe.positions, Window)
    longest = [layout.estimate_tokens(task.operator, widest(task)) for task in recipe.tasks]

    activations, operations = 0, 0.0
    for texts, tokens in zip(recipe.shares, longest, strict=True):
        # A query under a window stands alone, and looks its keys and values up.
        tokens, keys = (1, scored_keys(short).keys) if windowed else (tokens, tokens)
        through = layers(recipe, layout, keys)
        # A step stores what layers return until its gradients are computed, and as much on the
        # way back.
        looked_up = 4 * BYTES * recipe.model.width * keys if windowed else 0
        stored = 2 * sum(layer.activation_bytes for layer in through) + looked_up
        activations = max(activations, texts * tokens * stored)
        operations += 6.0 * texts * tokens * sum(layer.multiply_adds for layer in through)
    # On a processor, members take turns on each core.
    devices = jax.devices()
    together = min(members, len(devices)) if devices[0].platform == "cpu" else members

    problems = recipe.training.problems
    if recipe.layout is not None:  # the random bits of a batch, and the digits drawn by them
        digits = max(task_sizes.counts(task)[1] * max(widest(task)) for task in recipe.tasks)
        data = 12 * BYTES * recipe.training.batch * digits
    else:  # recorded texts, then windows, of which a program has some ten thousand, or tokens
        tokens = max(longest) * problems
        data = min(problems, 2_000) * max(longest) * 100
        data += members * (min(tokens, 1_000_000) * 64 if windowed else tokens * 3 * BYTES)
    trained = BYTES * members * sum(layer.parameters for layer in through)
    return Estimate(
        # A chunk of steps holds the members before and after it, and their gradients.
        weights=trained * (3 + (recipe.training.keep != "last")),
        optimizer=trained * MOMENTS[recipe.optimizer.name] * 2,
        activations=together * activations,
        data=data,
        operations=operations * members * recipe.training.steps,
    )


def pass_seconds(recipe: Recipe, layout: Layout, tokens: int) -> float:
    """Return the seconds that a member takes to evaluate a text of `tokens` tokens here."""
    adds = sum(layer.multiply_adds for layer in layers(recipe, layout, tokens))
    return 2.0 * adds * tokens / REACHED.here


def memory() -> int:
    """Return the bytes of memory for training: of the machine, or of all its accelerators."""
    devices = jax.local_devices()
    statistics = [device.memory_stats() for device in devices if device.platform != "cpu"]
    limits = [stats["bytes_limit"] for stats in statistics if stats and "bytes_limit" in stats]
    return sum(limits) * jax.process_count() or system.memory()
