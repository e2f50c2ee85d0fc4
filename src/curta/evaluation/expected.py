"""How long an evaluation takes: estimated before it begins, and corrected as it goes on.

The estimate is good to a factor of three, enough to tell seconds from hours. Finished parts
correct it.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from curta.config import sections
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.evaluation import gap
from curta.evaluation.evaluation_set import size_name, slices
from curta.evaluation.scoring import bucket
from curta.layouts import Layout
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.problems import task_sizes, tasks
from curta.problems.operations import operation_named

COMPILING = 4.0
"""Seconds to compile a program for a model of whole texts, for each shape of them."""

LOOKED_UP, WRITTEN = 3e5, 4e3
"""Tokens a second whose windows are looked up, for windowed models; and tokens a second of all
generated samples, which are written side by side.
"""

DRAWN = 5e4
"""Problems a second that a program draws: all problems of training are redrawn to find new ones."""

TRUST = 5.0
"""Weight of the estimate, in seconds, beside the time that finished parts have taken."""


class PartEstimate(NamedTuple):
    """A part of an evaluation, as `suite` names it, and its seconds."""

    name: str
    seconds: float


def part_estimates(
    recipe: Recipe, layout: Layout, settings: sections.EvaluationSettings, members: int
) -> list[PartEstimate]:
    """Estimate the parts of an evaluation, in order; sizes may be left out as it goes on."""
    window, estimates = isinstance(recipe.positions, Window), list[PartEstimate]()
    shapes = set[object]()

    def per_problem(operator: str, digits: tuple[int, ...]) -> float:
        """Return the seconds of one problem; windows of all members are looked up at once."""
        tokens = layout.estimate_tokens(operator, digits)
        if window:
            return tokens / LOOKED_UP
        return members * model_cost.pass_seconds(recipe, layout, tokens)

    def add(
        name: str, operator: str, digits: tuple[int, ...], problems: int, samples: int = 0
    ) -> None:
        """Add a part whose operands have so many digits; a sample of each slice is written too."""
        seconds = problems * per_problem(operator, digits)
        if window:
            seconds += samples * layout.estimate_tokens(operator, digits) / WRITTEN
        shape = window or (operator, *(bucket(n) if layout.linear else n for n in digits))
        seconds += 0.0 if shape in shapes else COMPILING
        shapes.add(shape)
        estimates.append(PartEstimate(name, seconds))

    operators = {task.operator: operation_named(task.operator) for task in recipe.tasks}
    for operator in operators:
        samples = len(slices(layout, operator))
        for size in settings.sizes(operator):
            digits, problems = tasks.as_size(size, operator), settings.count * samples
            add(size_name(operator, size), operator, digits, problems, samples)
    for operator, operation in operators.items():
        if settings.grid and operation.least == 2:
            half = 1 + settings.grid // 2
            problems = settings.grid_count * settings.grid**2
            add(f"grid of {operator}", operator, (half, half), problems)
    for operator, operation in operators.items():
        if settings.table and operation.takes(2):
            width = len(str(settings.table))
            add(f"all of {operator}", operator, (width, width), settings.table**2)
    for task in recipe.tasks:
        if gap.can_be_known(layout, task):
            recorded = layout.machine is not None
            count = settings.held_out * (1 + members if recorded else 2)
            seconds = count * per_problem(task.operator, task_sizes.widest(task))
            if recorded and not task.values:
                seconds += recipe.training.problems * members / DRAWN
            estimates.append(PartEstimate(f"{task.operator}, trained on and held out", seconds))
    return estimates


def total(recipe: Recipe, layout: Layout, members: int) -> float:
    """Estimate the seconds of an evaluation that leaves no size out."""
    return sum(part.seconds for part in part_estimates(recipe, layout, recipe.evaluation, members))


def whole(name: str, recipe: Recipe, members: int) -> PartEstimate:
    """Estimate the training and the evaluation of a recipe together."""
    training = model_cost.estimate(recipe, members).operations / model_cost.REACHED.here
    return PartEstimate(name, training + total(recipe, layout_of(recipe), members))


class Pace:
    """Progress and remaining time of an evaluation, from its finished parts."""

    def __init__(
        self, estimates: Sequence[PartEstimate], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.estimates, self.clock, self.begun = estimates, clock, clock()
        self.places = {part.name: place for place, part in enumerate(estimates)}
        self.place, self.since = -1, self.begun
        """The current part, and when it began."""
        self.expected = 0.0
        """Seconds that were estimated for the parts before it."""

    def at(self, name: str) -> str:
        """Return the progress at a part: `2 of 4, about 30 s left`; `again` for an unknown part."""
        if name not in self.places:
            return "again"
        if self.places[name] != self.place:
            if self.place >= 0:
                self.expected += self.estimates[self.place].seconds
            self.place, self.since = self.places[name], self.clock()
        pace = (self.since - self.begun + TRUST) / (self.expected + TRUST)
        ahead = sum(part.seconds for part in self.estimates[self.place :]) * pace
        left = duration(ahead - (self.clock() - self.since))
        return f"{self.place + 1} of {len(self.estimates)}, about {left} left"

    def added(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """Return `say` with the remaining time after a part's name; other words unchanged."""

        def say_with_time(text: str) -> None:
            name = text.partition(": ")[0]
            say(f"{text} ({self.at(name)})" if name in self.places else text)

        return say_with_time


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(5.2), duration(130), duration(9000)
    ('5 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
