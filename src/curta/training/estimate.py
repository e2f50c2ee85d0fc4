"""Memory and time of a training, estimated before it begins.

Counted from shapes: nothing is drawn, and only a few short problems are recorded. Estimates are
within a factor of three, to refuse what cannot work; they are too coarse for planning.
"""

from dataclasses import replace
from typing import NamedTuple

import jax

from curta.config import system
from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts.program import SHORT
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.problems import task_sizes
from curta.problems.task_sizes import widest

BYTES = 4
"""Bytes of a number: single precision, or a 32-bit integer."""

PROCESS = 450_000_000
"""Bytes of a process that has imported JAX and compiled a step."""

SECONDS = 366 * 24 * 3600.0
"""Longest training that is accepted."""

CPU, ACCELERATOR = 1e11, 2e14
"""Upper bounds on floating-point operations per second, of a core and of an accelerator."""

MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser keeps for each weight."""


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
        raise UserError(
            f"training takes about {size(needs.memory)} of memory, and there are {size(available)}:"
            f" weights and optimiser {size(needs.weights + needs.optimizer)}, a step"
            f" {size(needs.activations)}, problems {size(needs.data)}"
        )
    seconds = needs.operations / speed()
    if seconds > SECONDS:
        raise UserError(
            f"training takes about {seconds / SECONDS:,.0f} years at best:"
            f" {needs.operations:.1g} operations; at most one is accepted"
        )


def estimate(recipe: Recipe, members: int) -> Estimate:
    """Estimate memory and operations of training `members` members of a recipe.

    Long problems of a program are shortened first, so that surveying it takes no time.
    """
    tasks = recipe.tasks
    if recipe.layout is None and any(max(widest(task)) > 4 * SHORT for task in tasks):
        short = lambda span: span and (1, min(SHORT, span[1]))
        tasks = tuple(
            replace(task, digits=short(task.digits), second=short(task.second))
            if not task.values
            else task
            for task in tasks
        )
    layout = layout_of(replace(recipe, task=tasks))
    # For each task the texts of a step, tokens of each, and keys of each query.
    windowed = isinstance(recipe.positions, Window)
    longest = [layout.estimate_tokens(task.operator, widest(task)) for task in recipe.tasks]
    steps = list(zip(recipe.shares, longest, longest, strict=True))
    if windowed:
        keys = model_cost.scored_keys(replace(recipe, task=tasks)).keys
        steps = [(texts, 1, keys) for texts in recipe.shares]

    activations, operations = 0, 0.0
    for texts, tokens, keys in steps:
        layers = model_cost.layers(recipe, layout, keys)
        # A step stores what layers return until its gradients are computed, and as much on the
        # way back; with windows also the keys and values that each query looks up.
        looked_up = 4 * BYTES * recipe.model.width * keys if windowed else 0
        stored = 2 * sum(layer.activation_bytes for layer in layers) + looked_up
        activations = max(activations, texts * tokens * stored)
        operations += 6.0 * texts * tokens * sum(layer.multiply_adds for layer in layers)
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
    weights = BYTES * members * sum(layer.parameters for layer in layers)
    return Estimate(
        # A chunk of steps holds the members before and after it, and their gradients.
        weights=weights * (3 + (recipe.training.keep != "last")),
        optimizer=weights * MOMENTS[recipe.optimizer.name] * 2,
        activations=together * activations,
        data=data,
        operations=operations * members * recipe.training.steps,
    )


def memory() -> int:
    """Return the bytes of memory for training: of the machine, or of all its accelerators."""
    devices = jax.local_devices()
    statistics = [device.memory_stats() for device in devices if device.platform != "cpu"]
    limits = [stats["bytes_limit"] for stats in statistics if stats and "bytes_limit" in stats]
    return sum(limits) * jax.process_count() or system.memory()


def speed() -> float:
    """Return an upper bound on the floating-point operations of all devices in a second."""
    devices = jax.devices()
    return len(devices) * (CPU if devices[0].platform == "cpu" else ACCELERATOR)


def size(count: int) -> str:
    """Format a number of bytes: 1.5 GB.

    >>> size(1_500_000_000), size(20)
    ('1.5 GB', '0.0 GB')
    """
    return f"{count / 1e9:,.1f} GB"
