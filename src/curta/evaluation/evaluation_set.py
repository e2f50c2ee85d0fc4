"""The problems of an evaluation, by size and slice, always the same ones.

They are drawn on the device where the operation has arithmetic there, else in Python, as training
draws them. A run whose program's code is not available uses the problems that it has stored.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.table import sized
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


def every(recipe: Recipe, layout: Layout, count: int) -> Iterator[tuple[str, str, Problem]]:
    """Yield `count` problems of each size and slice of a recipe, with their size and slice."""
    settings = recipe.evaluation
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            for slice_name in slices(layout, task.operator):
                problems = drawn(layout, task.operator, slice_name, size, count, settings.seed)
                yield from ((str(size), slice_name, problem) for problem in problems)


def keep(path: Path, recipe: Recipe, layout: Layout) -> None:
    """Store problems and texts in a run's folder, so that others need not run foreign code."""
    recorder = layout.recorder
    if recorder is None or isinstance(recorder, StoredTexts):
        return
    settings = recipe.evaluation
    rows = list(every(recipe, layout, min(COUNT, settings.count)))
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
