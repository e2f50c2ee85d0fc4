"""The whole evaluation of some models, as a recipe's evaluation section asks for it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe, changed_evaluation
from curta.config.task import Task
from curta.evaluation import exact_match, exhaustive, gap
from curta.evaluation.evaluation_set import size_name, within
from curta.evaluation.results import Evaluation, Example, Gap, Grid, SliceResult, UnevaluatedSize
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.model import unread
from curta.problems import task_sizes, tasks
from curta.problems.operations import Operation, operation_named
from curta.problems.sizes import Split
from curta.problems.tasks import as_size
from curta.training import records

Say = Callable[[str], None]


Found = list[SliceResult] | exact_match.Cells | list[Gap]
"""What is found in a part of an evaluation: rows of a size, a row of a grid, or a gap."""

Find = Callable[[], Found]

ShowGrid = Callable[[Grid], None]
"""Called after each row of a grid, with the rows so far."""

Keep = Callable[[str, Find], Any]
"""Gives what is found in a part by its name, by the function where it is not known."""


def fresh(name: str, find: Find) -> Found:
    """Keeps nothing."""
    return find()


def settings_of(recipe: Recipe, layout: Layout, changes: Mapping[str, Any]) -> sections.Evaluation:
    """The recipe's section with fields changed; UserError for what means nothing."""
    settings = changed_evaluation(recipe.evaluation, changes)
    for path, error in unread.unread(replace(recipe, evaluation=settings)).items():
        if path.removeprefix("evaluation.") in changes:
            raise error
    for name in settings.layouts:
        layout.other(name)
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            layout.accept(task.operator, as_size(size, task.operator))
    return settings


def evaluate(
    recipe: Recipe,
    models: Models,
    settings: sections.Evaluation,
    say: Say,
    keep: Keep = fresh,
    drop: Say = lambda name: None,
    show_grid: ShowGrid = lambda grid: None,
) -> Evaluation:
    """Exact match by size and slice, on what was held out, grids, whole tables, examples.

    Once every member is wrong on all problems of a size, longer ones are left out unless the
    settings want `all_sizes`, but never those of training. `drop` is called with the names of such
    parts. Raises UserError for a grid, or a table, of a recipe without operators of two operands.
    """
    tables = _of_pairs(recipe, "table", settings.table, lambda one: one.takes(2))
    grids = _grids(recipe, models, settings)

    def found(parts: Mapping[str, Find]) -> Iterator[Any]:
        for name, find in parts.items():
            say(name)
            yield keep(name, find)

    def filled(operator: str, parts: Mapping[str, Find]) -> Grid:
        rows = list[exact_match.Cells]()
        for cells in found(parts):
            rows.append(cells)
            grid = exact_match.grid(operator, settings, rows)
            show_grid(grid)
        return grid

    lengths, unevaluated = list[SliceResult](), list[UnevaluatedSize]()
    for task in recipe.tasks:
        # of each size so far, why longer ones are left out; that of the longest counts, and a size
        # that is shorter than any of training says nothing of longer ones
        reasons = dict[tuple[int, ...], str]()
        fewest, most = task_sizes.span(task)[0], task_sizes.widest(task)
        for size, (name, find) in _sizes(models, settings, task.operator).items():
            digits = as_size(size, task.operator)
            shorter = [reason for other, reason in reasons.items() if within(other, digits)]
            reason = shorter[-1] if shorter and not within(digits, most) else ""
            if reason and not settings.all_sizes:
                drop(name)
                unevaluated.append(UnevaluatedSize(task.operator, str(size), max(digits), reason))
            else:
                say(name)
                rows: list[SliceResult] = keep(name, find)
                lengths += rows
                wrong = min(digits) >= fewest and not any(any(row.exact_match) for row in rows)
                reason = f"every seed is wrong on every problem at {size} digits" if wrong else ""
            reasons[digits] = reason

    return Evaluation(
        seed=settings.seed,
        lengths=[*lengths, *chain.from_iterable(found(_held_out(recipe, models, settings)))],
        grids=tuple(filled(operator, rows) for operator, rows in grids.items()),
        tables=tuple(
            exhaustive.table(models, o, settings.table, _share(say, f"all of {o}")) for o in tables
        ),
        examples=list(_examples(recipe, models, settings)),
        gaps=tuple(chain.from_iterable(found(_gaps(recipe, models, settings)))),
        splits=tuple(_splits(recipe, models, settings)),
        unevaluated=tuple(unevaluated),
    )


def _splits(recipe: Recipe, models: Models, settings: sections.Evaluation) -> Iterator[Split]:
    """How tables are divided and how the answers of their parts lie; what a fixed set is tested by.

    Of a program whose seeds are not known, all counts that may be trained on.
    """
    watched = _watched(recipe)
    for task in recipe.tasks:
        if task.held_out:
            seeds = models.seeds
            known = records.trained_rows(recipe, models.layout, task, seeds) if seeds else None
            parts = {"training": tasks.trained(task), "validation": range(watched)}
            parts |= exact_match.held_out_places(task, watched, settings)
            answers = tasks.answer_histograms(task, parts, known)
            yield replace(tasks.split(task, known), answers=answers)
        elif task.rows and not task.values and watched:
            yield tasks.set_split(task, tasks.validation(task, watched))


def parts(recipe: Recipe, models: Models, settings: sections.Evaluation) -> dict[str, Find]:
    """All that `evaluate` asks to be kept, by name, in order."""
    found = dict[str, Find]()
    for task in recipe.tasks:
        found |= _sizes(models, settings, task.operator).values()
    found |= _held_out(recipe, models, settings) | _gaps(recipe, models, settings)
    for rows in _grids(recipe, models, settings).values():
        found |= rows
    return found


def _sizes(
    models: Models, settings: sections.Evaluation, operator: str
) -> dict[int | str, tuple[str, Find]]:
    """The part of each size of an operator, with its name."""
    return {
        size: (
            size_name(operator, size),
            partial(exact_match.lengths, models, operator, size, settings),
        )
        for size in settings.sizes(operator)
    }


def _held_out(recipe: Recipe, models: Models, settings: sections.Evaluation) -> dict[str, Find]:
    """Of what tasks hold out, but for the problems that training was watched by."""
    found = dict[str, Find]()
    for task in recipe.tasks:
        if task.held_out:
            name = f"{task.operator}, held out"
            found[name] = partial(exact_match.held_out, models, task, _watched(recipe), settings)
    return found


def _watched(recipe: Recipe) -> int:
    """How many held-out problems of a task training is watched by: the first ones of them."""
    return recipe.training.validation if recipe.training.validate_every else 0


def _gaps(recipe: Recipe, models: Models, settings: sections.Evaluation) -> dict[str, Find]:
    """Of each operator of which it is known what was trained on."""
    asked = replace(recipe, evaluation=settings)

    def find(task: Task) -> list[Gap]:
        known = gap.known(asked, models.layout, task, models.seeds)
        return [] if known is None else [gap.found(models, task, known)]

    return {
        f"{task.operator}, trained on and held out": partial(find, task)
        for task in recipe.tasks
        if models.seeds and gap.can_be_known(models.layout, task)
    }


def _grids(
    recipe: Recipe, models: Models, settings: sections.Evaluation
) -> dict[str, dict[str, Find]]:
    """The rows of each operator's grid."""
    operators = _of_pairs(recipe, "grid", settings.grid, lambda one: one.least == 2)
    return {o: {**exact_match.grid_rows(models, o, settings)} for o in operators}


def _examples(recipe: Recipe, models: Models, settings: sections.Evaluation) -> Iterator[Example]:
    """Of every operator at its first size."""
    for task in recipe.tasks:
        for size in settings.sizes(task.operator)[:1]:
            yield from exact_match.examples(models, task.operator, size, settings)


def _of_pairs(
    recipe: Recipe, what: str, limit: int, suits: Callable[[Operation], bool]
) -> list[str]:
    """The operators that a grid, or a table, is of; none where the limit is 0."""
    found = [task.operator for task in recipe.tasks if suits(operation_named(task.operator))]
    if limit and not found:
        raise UserError(f"a {what} is of two operands, and this recipe has no such operator")
    return found if limit else []


def _share(say: Say, what: str) -> Callable[[float], None]:
    return lambda share: say(f"{what}: {share:.0%}")
