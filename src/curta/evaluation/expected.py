"""How long an evaluation will take: estimated before it begins, and measured as it goes on.

Before, it is good to a factor of three, for telling seconds from hours; once a part of it is done,
the rest is expected to go on at the same pace.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import jax

from curta.config import sections
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.evaluation.evaluation_set import size_name, slices
from curta.layouts import Layout
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.problems import tasks
from curta.problems.problem import operation_named
from curta.training import estimate
from curta.training.estimate import tokens_of

CPU, ACCELERATOR = 2e10, 1e13
"""Floating-point operations a second that an evaluation reaches, of a core and of a device."""

COMPILING = 4.0
"""Seconds that each part takes before it begins, for a model of whole texts."""

LOOKED_UP = 1e6
"""Tokens a second whose windows are looked up, for models that see nothing else."""


class Part(NamedTuple):
    """What is evaluated at a time, as `suite` calls it, and the seconds it takes."""

    name: str
    seconds: float


def parts(
    recipe: Recipe, layout: Layout, settings: sections.Evaluation, members: int
) -> list[Part]:
    """The parts of an evaluation, in order."""
    before = 0.0 if isinstance(recipe.positions, Window) else COMPILING
    return [
        Part(name, before + problems * _seconds(recipe, layout, members, operator, digits))
        for name, operator, digits, problems in _asked(recipe, layout, settings)
    ]


def whole(name: str, recipe: Recipe, members: int) -> Part:
    """The training and the evaluation of a recipe together."""
    layout = layout_of(recipe)
    training = estimate.estimate(recipe, members).operations / _speed()
    return Part(name, training + total(recipe, layout, members))


def total(recipe: Recipe, layout: Layout, members: int) -> float:
    """Seconds of all that a recipe's evaluation asks for."""
    return sum(part.seconds for part in parts(recipe, layout, recipe.evaluation, members))


Asked = tuple[str, str, tuple[int, ...], int]
"""A part's name, its operator, the digits of its operands, and how many problems it has."""


def _asked(recipe: Recipe, layout: Layout, settings: sections.Evaluation) -> Iterator[Asked]:
    for task in recipe.tasks:
        operator = task.operator
        each = settings.count * len(slices(layout, operator))
        for size in settings.sizes(operator):
            yield size_name(operator, size), operator, tasks.as_size(size, operator), each
    for task in recipe.tasks:
        operator, pairs = task.operator, operation_named(task.operator)
        if settings.grid and pairs.least == 2:
            count, half = settings.grid_count * settings.grid**2, 1 + settings.grid // 2
            yield f"grid of {operator}", operator, (half, half), count
    for task in recipe.tasks:
        if settings.table and operation_named(task.operator).takes(2):
            digits = len(str(settings.table))
            yield f"all of {task.operator}", task.operator, (digits, digits), settings.table**2


def _seconds(
    recipe: Recipe, layout: Layout, members: int, operator: str, digits: tuple[int, ...]
) -> float:
    """Of one problem; what all members write after windows is looked up at once."""
    tokens = tokens_of(layout, operator, digits)
    if isinstance(recipe.positions, Window):
        return tokens / LOOKED_UP
    adds = sum(layer.multiply_adds for layer in model_cost.layers(recipe, layout, tokens))
    return 2.0 * adds * tokens * members / _speed()


def _speed() -> float:
    devices = jax.devices()
    return CPU * len(devices) if devices[0].platform == "cpu" else ACCELERATOR * len(devices)


class Pace:
    """How far the work is, and what is left of it, from its parts that are done."""

    def __init__(self, parts: Sequence[Part], clock: Callable[[], float] = time.monotonic) -> None:
        self.parts, self.clock = {part.name: part.seconds for part in parts}, clock
        self.begun = clock()

    def at(self, name: str) -> str:
        """Where that part begins: `2 of 4, about 30 s left`; `again` where it was thought done."""
        if name not in self.parts:
            return "again"
        place = list(self.parts).index(name)
        return f"{place + 1} of {len(self.parts)}, about {duration(self.left(place))} left"

    def left(self, place: int) -> float:
        """Seconds from the part at that place on, which begins now."""
        each = list(self.parts.values())
        done = sum(each[:place])
        pace = (self.clock() - self.begun) / done if done else 1.0
        return sum(each[place:]) * pace

    def added(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """`say`, with what is left behind the name of each part; other words as they are."""

        def said(what: str) -> None:
            name = what.partition(": ")[0]
            say(f"{what} ({self.at(name)})" if name in self.parts else what)

        return said


def duration(seconds: float) -> str:
    """As people say it.

    >>> duration(5.2), duration(130), duration(9000)
    ('5 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
