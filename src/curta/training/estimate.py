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
from curta.config.task import Task
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.problems import task_sizes

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


class Step(NamedTuple):
    """What a step of one member calculates: tokens, keys of each query, in texts of one task."""

    texts: int
    tokens: int
    keys: int


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
    """Memory and operations of training so many members of a recipe."""
    short = layout_of(_short(recipe))
    steps = [_step(recipe, short, number) for number in range(len(recipe.tasks))]
    layers = model_cost.layers(recipe, short, max(one.keys for one in steps))
    weights = BYTES * members * sum(layer.parameters for layer in layers)
    best = recipe.training.keep != "last"
    adds = sum(layer.multiply_adds for layer in layers)
    tokens = sum(one.texts * one.tokens for one in steps)
    return Estimate(
        # a chunk of steps has the members as they come in, as they go out, and their gradients
        weights=weights * (3 + best),
        optimizer=weights * MOMENTS[recipe.optimizer.name] * 2,
        activations=_together(members) * max(_activations(recipe, short, one) for one in steps),
        data=_data(recipe, short, members),
        operations=6.0 * adds * tokens * members * recipe.training.steps,
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


def _together(members: int) -> int:
    """Members whose steps are in memory at once: on a processor they take turns on each core."""
    devices = jax.devices()
    return min(members, len(devices)) if devices[0].platform == "cpu" else members


def _short(recipe: Recipe) -> Recipe:
    """The same recipe of short problems, whose programs can be surveyed at once."""
    if recipe.layout is not None or all(
        max(task_sizes.widest(task)) <= 4 * SHORT for task in recipe.tasks
    ):
        return recipe
    cut = tuple(task if task.values else _cut(task) for task in recipe.tasks)
    return replace(recipe, task=cut)


def _cut(task: Task) -> Task:
    second = None if task.second is None else (1, min(SHORT, task.second[1]))
    return replace(task, digits=(1, min(SHORT, task.digits[1])), second=second)


def _step(recipe: Recipe, layout: Layout, number: int) -> Step:
    """The part of a step that is of one task."""
    task, texts = recipe.tasks[number], recipe.shares[number]
    if isinstance(recipe.positions, Window):
        assert isinstance(layout, ProgramLayout)
        cells = 1 + max(map(len, layout.windows.values()), default=0)
        return Step(texts, 1, cells)
    longest = tokens_of(layout, task.operator, task_sizes.widest(task))
    return Step(texts, longest, longest)


def tokens_of(layout: Layout, operator: str, digits: tuple[int, ...]) -> int:
    """Tokens of the longest text with operands of so many digits.

    Of a program's long texts by how those of short problems grow.
    """
    if not isinstance(layout, ProgramLayout):
        return layout.bounds(operator, digits).total
    if max(digits) <= 4 * SHORT:
        return _written(layout, operator, digits)
    shorter = tuple(min(one, SHORT) for one in digits)
    first, second = (
        _written(layout, operator, tuple(times * one for one in shorter)) for times in (1, 2)
    )
    grown = max(1.0, log2(second / first))
    return round(second * (max(digits) / (2 * SHORT)) ** grown)


def _written(layout: ProgramLayout, operator: str, digits: tuple[int, ...]) -> int:
    return len(layout.tokens_of(layout.long_problems(operator, digits)[0])[0])


def _activations(recipe: Recipe, layout: Layout, step: Step) -> int:
    """Bytes that a step keeps until its gradients are calculated."""
    config, rows = recipe.model, step.texts * step.tokens
    inner = (config.mlp_ratio * (3 if config.gated else 2) + 8) * config.width
    within = config.num_layers * config.num_recurrences * rows * inner
    attention_layers = config.num_attention_layers * config.num_recurrences
    if isinstance(recipe.positions, Window):
        scores = attention_layers * rows * step.keys * (4 * config.width + 4 * config.heads)
    else:
        scores = attention_layers * 4 * rows * step.keys * config.heads
    read = rows * 4 * len(layout.characters)
    return BYTES * (within + scores + read)


def _data(recipe: Recipe, layout: Layout, members: int) -> int:
    """Bytes of what programs wrote: windows with their neighbours, or whole texts.

    Distinct windows are fewer than tokens: a program has some ten thousand.
    """
    if not isinstance(layout, ProgramLayout):
        return max(
            _drawn(task, share) for task, share in zip(recipe.tasks, recipe.shares, strict=True)
        )
    tokens = [tokens_of(layout, task.operator, task_sizes.widest(task)) for task in recipe.tasks]
    each = recipe.training.problems // len(tokens) + 1
    if not isinstance(recipe.positions, Window):
        return sum(tokens) * each * members * 3 * BYTES
    operands = [
        100 * task_sizes.counts(task)[1] + max(task_sizes.widest(task)) for task in recipe.tasks
    ]
    together = min(each, 2_000) * max(tokens) * 100
    return together + each * sum(operands) + members * min(sum(tokens) * each, 1_000_000) * 64


def _drawn(task: Task, share: int) -> int:
    """Bytes of the random bits of a batch and of the digits made of them."""
    operands, width = task_sizes.counts(task)[1], max(task_sizes.widest(task))
    return share * operands * width * 12 * BYTES
