"""What is refused before a run folder is made: what cannot be trained, or evaluated, here."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from curta.config.errors import UserError, notify, refuse_if
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.table import sized
from curta.evaluation import suite
from curta.evaluation.evaluation_set import drawn, refusal, size_name
from curta.evaluation.scoring import right_text
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model import model_cost
from curta.model.recipes import check_named
from curta.problems.operations import operation_named
from curta.problems.tasks import RANDOM, as_size
from curta.programs.machine.machine import cells_of
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.survey import Recorder

LONG = 60.0
"""Seconds of an evaluation at one size that are not spent unasked on another model's sizes."""

TRIED = 20
"""The number of problems of each size on which a user's program is tried."""


def check_evaluation(recipe: Recipe, layout: Layout, evaluate: bool) -> None:
    """Raise UserError for problems that the recipe's models cannot be given.

    These are what is watched in training, and if it will `evaluate`, all of its evaluation.
    """
    for field, operator, size in _sizes(recipe):
        if not evaluate and field != "training.evaluate_digits":
            continue
        layout.accept(operator, as_size(size, operator))
        reason = _refused(recipe, operator, size) or _unwritable(recipe, layout, operator, size)
        refuse_if(reason, f"{field}: no {operator} of {sized(size)}: {reason}")
    if evaluate:
        check_named(recipe, layout)


def check_rows(recipes: list[Recipe], members: int) -> None:
    """Raise UserError for runs of a comparison that do not fit the machine, or their grids."""
    for recipe in recipes:
        model_cost.check(recipe, members)
        for field, operator, size in _sizes(recipe):
            if field in ("evaluation.grid", "evaluation.table"):
                reason = _refused(recipe, operator, size)
                refuse_if(reason, f"{field}: no {operator} of {sized(size)}: {reason}")


def _sizes(recipe: Recipe) -> Iterator[tuple[str, str, int | str]]:
    """Yield fields of the recipe, each with an operator and a size that it asks for.

    Of a grid, and of a table, that is the largest.
    """
    settings, watched = recipe.evaluation, recipe.training.evaluate_digits
    fields = {"training.evaluate_digits": watched, "evaluation.digits": settings.digits}
    for task in recipe.tasks:
        operation = operation_named(task.operator)
        for field, digits in fields.items():
            if digits is not None:
                for size in replace(settings, digits=digits).sizes(task.operator):
                    yield field, task.operator, size
        if settings.grid and operation.least == 2:
            yield "evaluation.grid", task.operator, settings.grid
        if settings.table and operation.takes(2):
            yield "evaluation.table", task.operator, f"2x{len(str(settings.table))}"


def _refused(recipe: Recipe, operator: str, size: int | str) -> str | None:
    """Return why there are no such problems, or no positions for them."""
    operation, count = operation_named(operator), len(as_size(size, operator))
    if not operation.takes(count):
        return f"{operation.name} does not take {count} operands"
    return refusal(recipe, operator, size)


def _unwritable(recipe: Recipe, layout: Layout, operator: str, size: int | str) -> str | None:
    """Return what is wrong with a user's program on a few such problems, None if nothing is."""
    if not isinstance(layout, ProgramLayout) or not isinstance(layout.recorder, Recorder):
        return None
    if not layout.recorder.programs[operator].file:
        return None
    table, problem = WindowTable(cells_of(layout.windows)), None
    try:
        for problem in drawn(layout, operator, RANDOM, size, TRIED, recipe.evaluation.seed):
            recording = Recording.of([right_text(layout, problem)])
            table.add(recorded_windows(layout.machine, recording, layout.windows))
    except UserError as error:
        return f"{problem}: {error}" if problem else str(error)
    if table.conflicts and isinstance(recipe.positions, Window):
        return "two tokens follow one window: `curta check` shows which"
    return None


def affordable(
    recipe: Recipe, layout: Layout, members: int, overrides: Mapping[str, Any]
) -> Recipe:
    """Return the recipe without sizes whose evaluation takes longer than `LONG`.

    That is for another model than the recipe's own, which is evaluated on the recipe's sizes. A
    notice names what is left out; the first size of each operator stays.
    """
    changed = {path.partition(".")[0] for path in overrides}
    if "evaluation.digits" in overrides or not changed & {"positions", "model", "layout"}:
        return recipe
    settings, sizes, out = recipe.evaluation, dict[str, Any](), list[str]()
    estimates = {
        part.name: part for part in suite.part_estimates(recipe, layout, settings, members)
    }
    for task in recipe.tasks:
        affordable_sizes: list[int | str] = []
        for size in settings.sizes(task.operator):
            part = estimates[size_name(task.operator, size)]
            if affordable_sizes and part.seconds > LONG:
                out.append(f"{part.name} (about {suite.duration(part.seconds)})")
            else:
                affordable_sizes.append(size)
        sizes[task.operator] = tuple(affordable_sizes)
    if not out:
        return recipe
    notify(f"left out of the evaluation: {', '.join(out)}; evaluation.digits asks for them")
    digits = next(iter(sizes.values())) if len(sizes) == 1 else sizes
    return replace(recipe, evaluation=replace(settings, digits=digits))
