"""What is refused before a run folder is made: what cannot be trained, or evaluated, here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from curta.config.errors import UserError, notify
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.sections import SizesOfEach
from curta.config.table import sized
from curta.evaluation import expected
from curta.evaluation.evaluation_set import drawn, refusal, size_name
from curta.evaluation.scoring import right_text
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.recipes import check_named
from curta.problems.operations import operation_named
from curta.problems.tasks import RANDOM, as_size
from curta.programs.machine.machine import cells_of
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.survey import Recorder
from curta.training import estimate

LONG = 60.0
"""Seconds of an evaluation at one size that are not spent unasked on another model's sizes."""

TRIED = 20
"""Problems of a size of which it is tried whether a user's program writes them."""

Asked = tuple[str, str, int | str]
"""A field of the evaluation, and an operator with a size that it asks for."""


def check_evaluation(recipe: Recipe, layout: Layout) -> None:
    """Raises UserError for an evaluation that models of a recipe cannot be put to."""
    _check(recipe, layout, (*_sizes(recipe, "evaluation.digits", None), *_pairs(recipe)))
    check_named(recipe, layout)


def check_watched(recipe: Recipe, layout: Layout) -> None:
    """The same for what is asked while they are trained."""
    watched = recipe.training.evaluate_digits
    if watched is not None:
        _check(recipe, layout, _sizes(recipe, "training.evaluate_digits", watched))


def _check(recipe: Recipe, layout: Layout, asked: Iterable[Asked]) -> None:
    for field, operator, size in asked:
        layout.accept(operator, as_size(size, operator))
        reason = _refused(recipe, operator, size) or _unwritable(recipe, layout, operator, size)
        if reason is not None:
            raise UserError(f"{field}: no {operator} of {sized(size)}: {reason}")


def _unwritable(recipe: Recipe, layout: Layout, operator: str, size: int | str) -> str | None:
    """What is wrong with texts of such problems by a program of the user's, on a few of them."""
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


def is_other_model(overrides: Mapping[str, Any]) -> bool:
    """Whether it is not the recipe's model that is evaluated, but on its sizes."""
    changed = {path.partition(".")[0] for path in overrides} & {"positions", "model", "layout"}
    return bool(changed) and "evaluation.digits" not in overrides


def affordable(recipe: Recipe, layout: Layout, members: int) -> Recipe:
    """The recipe without sizes whose evaluation takes longer than `LONG`; a notice names them.

    The first size of each operator stays.
    """
    settings, left, out = recipe.evaluation, dict[str, Any](), list[expected.PartEstimate]()
    known = {part.name: part for part in expected.parts(recipe, layout, settings, members)}
    for task in recipe.tasks:
        sizes = settings.sizes(task.operator)
        parts = {size: known[size_name(task.operator, size)] for size in sizes}
        kept = [size for size in sizes if parts[size].seconds <= LONG or size == sizes[0]]
        left[task.operator] = tuple(kept)
        out += [part for size, part in parts.items() if size not in kept]
    if not out:
        return recipe
    named = ", ".join(f"{part.name} (about {expected.duration(part.seconds)})" for part in out)
    notify(f"left out of the evaluation: {named}; evaluation.digits asks for them")
    return replace(recipe, evaluation=replace(settings, digits=_plainly(left)))


def _plainly(sizes: dict[str, Any]) -> Any:
    """The sizes of one operator alone as they are."""
    return next(iter(sizes.values())) if len(sizes) == 1 else sizes


def check_rows(recipes: list[Recipe], members: int) -> None:
    """Raises UserError for runs of a comparison that do not fit the machine, or their grids."""
    for recipe in recipes:
        estimate.check(recipe, members)
        for field, operator, size in _pairs(recipe):
            reason = _refused(recipe, operator, size)
            if reason is not None:
                raise UserError(f"{field}: no {operator} of {sized(size)}: {reason}")


def _sizes(recipe: Recipe, field: str, sizes: SizesOfEach | None) -> Iterator[Asked]:
    """Those of a field, or the evaluation's."""
    settings = replace(recipe.evaluation, digits=sizes or recipe.evaluation.digits)
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            yield field, task.operator, size


def _pairs(recipe: Recipe) -> Iterator[Asked]:
    """The largest problems of each grid and of each table."""
    asked = recipe.evaluation
    for task in recipe.tasks:
        operation = operation_named(task.operator)
        if asked.grid and operation.least == 2:
            yield "evaluation.grid", task.operator, asked.grid
        if asked.table and operation.takes(2):
            yield "evaluation.table", task.operator, f"2x{len(str(asked.table))}"


def _refused(recipe: Recipe, operator: str, size: int | str) -> str | None:
    """Why there are no such problems, or models of the recipe have no positions for them."""
    operation, count = operation_named(operator), len(as_size(size, operator))
    if not operation.takes(count):
        return f"{operation.name} does not take {count} operands"
    return refusal(recipe, operator, size)
