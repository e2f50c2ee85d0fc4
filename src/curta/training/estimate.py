"""What training will take of memory and time, estimated before it begins.

Counted from shapes, so that nothing is drawn and nothing recorded but a few short problems. It is
for telling what cannot work from what can, not for planning: within a factor of three.
"""

from dataclasses import replace
from math import log2
from typing import NamedTuple

import jax

from curta.config import system
from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.problems import task_sizes
from curta.problems.task_sizes import widest

BYTES = 4
"""Of a number: all are single precision, or 32-bit integers."""

PROCESS = 450_000_000
"""Bytes of a process that has imported JAX and compiled a step."""

SHORT = 8
"""Digits of the problems of which longer ones are estimated."""

SECONDS = 366 * 24 * 3600.0
"""Longest training that is begun."""

CPU, ACCELERATOR = 1e11, 2e14
"""Floating-point operations a second, of a core and of a device, that are never exceeded."""

MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser keeps for each weight."""


class Estimate(NamedTuple):
    """Bytes, and floating-point operations of the whole training."""

    weights: int
    optimizer: int
    activations: int
    data: int
    operations: float

    @property
    def memory(self) -> int:
        """Bytes in all, those of the process itself included."""
        return PROCESS + self.weights + self.optimizer + self.activations + self.data


def check(recipe: Recipe, members: int) -> None:
    """Raises UserError, with the estimate, for what takes more memory or time than there is."""
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
    """Estimate memory and operations of training so many members of a recipe.

    Of a program, problems are shortened first, so that it can be surveyed at once.
    """
    if recipe.layout is None and any(max(widest(task)) > 4 * SHORT for task in recipe.tasks):
        short = tuple(
            task
            if task.values
            else replace(
                task,
                digits=(1, min(SHORT, task.digits[1])),
                second=None if task.second is None else (1, min(SHORT, task.second[1])),
            )
            for task in recipe.tasks
        )
        layout = layout_of(replace(recipe, task=short))
    else:
        layout = layout_of(recipe)
    recorded = isinstance(layout, ProgramLayout)
    windowed = isinstance(recipe.positions, Window) and recorded
    # The part of a step that is of each task: how many texts, their tokens, keys of each query.
    longest = [tokens_of(layout, task.operator, widest(task)) for task in recipe.tasks]
    if windowed:
        assert isinstance(layout, ProgramLayout)
        cells = 1 + max(map(len, layout.windows.values()), default=0)
        steps = [(texts, 1, cells) for texts in recipe.shares]
    else:
        steps = [(texts, n, n) for texts, n in zip(recipe.shares, longest, strict=True)]

    layers = model_cost.layers(recipe, layout, max(keys for _, _, keys in steps))
    weights = BYTES * members * sum(layer.parameters for layer in layers)
    adds = sum(layer.multiply_adds for layer in layers)

    # Numbers that a step keeps until its gradients are calculated.
    config, activations = recipe.model, list[int]()
    inner = (config.mlp_ratio * (3 if config.gated else 2) + 8) * config.width
    attention_layers = config.num_attention_layers * config.num_recurrences
    for texts, tokens, keys in steps:
        rows = texts * tokens
        within = config.num_layers * config.num_recurrences * rows * inner
        per_key = 4 * config.width + 4 * config.heads if windowed else 4 * config.heads
        scores = attention_layers * rows * keys * per_key
        activations.append(within + scores + rows * 4 * len(layout.characters))
    # On a processor, members take turns on each core.
    devices = jax.devices()
    together = min(members, len(devices)) if devices[0].platform == "cpu" else members

    counts = [task_sizes.counts(task)[1] for task in recipe.tasks]
    widths = [max(widest(task)) for task in recipe.tasks]
    if not recorded:  # the random bits of a batch, and the digits made of them
        batches = zip(recipe.shares, counts, widths, strict=True)
        data = max(share * count * width * 12 * BYTES for share, count, width in batches)
    else:
        each = recipe.training.problems // len(longest) + 1
        if windowed:  # distinct windows are fewer than tokens: a program has some ten thousand
            operands = sum(100 * count + width for count, width in zip(counts, widths, strict=True))
            recording = min(each, 2_000) * max(longest) * 100
            windows = members * min(sum(longest) * each, 1_000_000) * 64
            data = recording + each * operands + windows
        else:
            data = sum(longest) * each * members * 3 * BYTES
    return Estimate(
        # A chunk of steps has the members as they come in, as they go out, and their gradients.
        weights=weights * (3 + (recipe.training.keep != "last")),
        optimizer=weights * MOMENTS[recipe.optimizer.name] * 2,
        activations=together * BYTES * max(activations),
        data=data,
        operations=6.0
        * adds
        * sum(texts * tokens for texts, tokens, _ in steps)
        * members
        * recipe.training.steps,
    )


def memory() -> int:
    """Bytes of memory in which the training takes place: of the machine, or of its accelerators."""
    devices = jax.local_devices()
    statistics = [device.memory_stats() for device in devices if device.platform != "cpu"]
    limits = [one["bytes_limit"] for one in statistics if one and "bytes_limit" in one]
    return sum(limits) * jax.process_count() or system.memory()


def speed() -> float:
    """Floating-point operations that all devices can carry out in a second, at most."""
    devices = jax.devices()
    return len(devices) * (CPU if devices[0].platform == "cpu" else ACCELERATOR)


def size(count: int) -> str:
    """Bytes as people read them: 1.5 GB.

    >>> size(1_500_000_000), size(20)
    ('1.5 GB', '0.0 GB')
    """
    return f"{count / 1e9:,.1f} GB"


def tokens_of(layout: Layout, operator: str, digits: tuple[int, ...]) -> int:
    """Estimate the tokens of the longest text with operands of so many digits.

    Of a program's long texts by how those of short problems grow.
    """
    if not isinstance(layout, ProgramLayout):
        return layout.bounds(operator, digits).total

    def written(digits: tuple[int, ...]) -> int:
        return len(layout.tokens_of(layout.long_problems(operator, digits)[0])[0])

    if max(digits) <= 4 * SHORT:
        return written(digits)
    shorter = tuple(min(width, SHORT) for width in digits)
    first, second = (written(tuple(times * width for width in shorter)) for times in (1, 2))
    growth = max(1.0, log2(second / first))
    return round(second * (max(digits) / (2 * SHORT)) ** growth)
