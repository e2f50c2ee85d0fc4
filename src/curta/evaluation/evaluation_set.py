"""The problems of an evaluation, by size and slice, always the same ones.

They are drawn on the device where the operation has arithmetic there, else in Python, as training
draws them. A run whose program's code is not available uses the problems that it has stored.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.sections import EvaluationSettings
from curta.config.table import sized
from curta.config.task import Task
from curta.evaluation.results import HELD_OUT
from curta.layouts import Layout, layout_named
from curta.model.positions import encoding
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, parse
from curta.problems.sizes import Sizes
from curta.problems.tasks import RANDOM, as_size, problems
from curta.problems.tasks import slices as known_slices
from curta.programs.machine.sampling import draw, rare
from curta.programs.user.run_snapshot import COUNT, StoredTexts, save

SPECIAL = "special"
"""The slice of nines, zeros, equal operands and the like."""

DRAWS = {RANDOM: draw, SPECIAL: rare}


def keep(path: Path, recipe: Recipe, layout: Layout) -> None:
    """Store problems and texts in a run's folder, so that others need not run foreign code."""
    recorder = layout.recorder
    if recorder is None or isinstance(recorder, StoredTexts):
        return
    settings, count = recipe.evaluation, min(COUNT, recipe.evaluation.count)
    rows = [
        (str(size), slice_name, problem)
        for task in recipe.tasks
        for size in settings.sizes(task.operator)
        for slice_name in slices(layout, task.operator)
        for problem in drawn(layout, task.operator, slice_name, size, count, settings.seed)
    ]
    rows += [("", "named", parse(text)) for text in settings.named]
    save(path, rows, recorder)


def within(digits: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether problems of these digits are in no way longer than those of others."""
    return len(digits) <= len(others) and all(map(int.__le__, digits, others))


def size_name(operator: str, size: int | str) -> str:
    """Return the name of the part of an evaluation with one operator at one size."""
    return f"{operator} at {sized(size)}"


def slices(layout: Layout, operator: str) -> list[str]:
    """Return the names of the slices: random problems, and each kind of rare ones."""
    if _by_host(layout, operator):
        return list(DRAWS)
    return known_slices(operator)


def watched(recipe: Recipe) -> int:
    """Return how many held-out problems, the first ones, are used for validation."""
    return recipe.training.validation if recipe.training.validate_every else 0


def held_out_places(task: Task, first: int, settings: EvaluationSettings) -> dict[str, range]:
    """Return the places of each slice's held-out problems in the table, from place `first` on."""
    names = (HELD_OUT, *(f"{HELD_OUT}, {name}" for name in settings.layouts))
    count = min(settings.held_out, (task.held_out - first) // len(names))
    return {
        name: range(first + number * count, first + (number + 1) * count)
        for number, name in enumerate(names)
    }


def drawn_slices(
    layout: Layout, operator: str, size: int | str, count: int, seed: int
) -> dict[str, list[Problem]]:
    """Return the test problems of one size by slice, of each slice that has any."""
    sets = {
        name: drawn(layout, operator, name, size, count, seed) for name in slices(layout, operator)
    }
    return {name: problems for name, problems in sets.items() if problems}


def drawn(
    layout: Layout, operator: str, slice_name: str, size: int | str, count: int, seed: int
) -> list[Problem]:
    """Return test problems of one size; stored ones where the program's code is not available."""
    stored = layout.recorder
    if isinstance(stored, StoredTexts):
        base = layout.base(operator)
        return [
            replace(problem, base=base)
            for problem in stored.problems(operator, size, slice_name, count)
        ]
    return of_digits(layout, operator, slice_name, as_size(size, operator), count, seed)


def of_digits(
    layout: Layout, operator: str, slice_name: str, digits: Sequence[int], count: int, seed: int
) -> list[Problem]:
    """Return test problems whose operands have so many digits, in the base of their texts."""
    if _by_host(layout, operator):  # as those of training are drawn
        if layout.recorder is None:
            raise UserError(
                f"new problems of {operator!r} need the program's code, which was not run"
            )
        program, sizes = layout.recorder.programs[operator], Sizes.exactly(digits)
        rng = random.Random(f"{seed} {slice_name} {digits}")
        every = [DRAWS[slice_name](program, sizes, rng) for _ in range(count)]
        return [Problem(operator, operands, program.base) for operands in every]
    return problems(operator, slice_name, tuple(digits), count, seed)


def refusal(recipe: Recipe, operator: str, size: int | str) -> str | None:
    """Return why problems of this size do not fit models of this recipe; None if they do."""
    if recipe.layout is None:
        return None
    layout, digits = layout_named(recipe.layout), as_size(size, operator)
    try:
        layout.accept(operator, digits)
        encoding(recipe, layout).check(layout.bounds(operator, digits))
    except UserError as error:
        return str(error)
    return None


def _by_host(layout: Layout, operator: str) -> bool:
    """Return whether problems are drawn in Python, since the device knows base ten alone."""
    return OPERATIONS[operator].on_device and layout.base(operator) != 10
