"""The whole evaluation of some models, as a recipe's evaluation section states it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe, changed_evaluation
from curta.evaluation import exact_match, gap
from curta.evaluation.evaluation_set import held_out_places, size_name, watched, within
from curta.evaluation.results import Evaluation, Gap, Grid, SliceResult, UnevaluatedSize
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.model import unread
from curta.problems import task_sizes, tasks
from curta.problems.operations import Operation, operation_named
from curta.problems.sizes import Split
from curta.problems.tasks import as_size
from curta.training import records

Say = Callable[[str], None]

PartResult = list[SliceResult] | exact_match.GridRow | list[Gap]
"""The result of a part of an evaluation: rows of a size, a row of a grid, or a gap."""

Find = Callable[[], PartResult]

ShowGrid = Callable[[Grid], None]
"""Called after each row of a grid, with the rows so far."""

Keep = Callable[[str, Find], Any]
"""Return the result of a part by its name, calling the function if it is not stored."""


def fresh(name: str, find: Find) -> PartResult:
    """Compute a part without storing it."""
    return find()


def settings_of(
    recipe: Recipe, layout: Layout, changes: Mapping[str, Any]
) -> sections.EvaluationSettings:
    """Return the recipe's section with fields changed; UserError for fields without effect."""
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
    settings: sections.EvaluationSettings,
    say: Say,
    keep: Keep = fresh,
    show_grid: ShowGrid = lambda grid: None,
) -> Evaluation:
    """Measure exact match by size and slice, on held-out problems, grids, whole tables, examples.

    Once every member is wrong on all problems of a size, longer sizes are left out unless the
    settings have `all_sizes`, except those of training. Raises UserError for a grid, or a table, of
    a recipe without operators of two operands.
    """
    tabled = _operators(recipe, "table", settings.table, lambda operation: operation.takes(2))
    paired = _operators(recipe, "grid", settings.grid, lambda operation: operation.least == 2)

    def measure(name: str, find: Find) -> Any:
        say(name)
        return keep(name, find)

    lengths, unevaluated = list[SliceResult](), list[UnevaluatedSize]()
    for task in recipe.tasks:
        # Of each size so far, why longer ones are left out. That of the longest counts, and a size
        # that is shorter than any of training says nothing of longer ones.
        reasons = dict[tuple[int, ...], str]()
        fewest, most = task_sizes.span(task)[0], task_sizes.widest(task)
        for size in settings.sizes(task.operator):
            digits = as_size(size, task.operator)
            shorter = [reason for other, reason in reasons.items() if within(other, digits)]
            reason = shorter[-1] if shorter and not within(digits, most) else ""
            if reason and not settings.all_sizes:
                unevaluated.append(UnevaluatedSize(task.operator, str(size), max(digits), reason))
            else:
                find = partial(exact_match.lengths, models, task.operator, size, settings)
                rows: list[SliceResult] = measure(size_name(task.operator, size), find)
                lengths += rows
                wrong = min(digits) >= fewest and not any(any(row.exact_match) for row in rows)
                reason = f"every seed is wrong on every problem at {size} digits" if wrong else ""
            reasons[digits] = reason
    for task in recipe.tasks:
        if task.held_out:
            find = partial(exact_match.held_out, models, task, watched(recipe), settings)
            lengths += measure(f"{task.operator}, held out", find)

    grids = list[Grid]()
    for operator in paired:
        cells = list[exact_match.GridRow]()
        for first in range(1, settings.grid + 1):
            find_row = partial(exact_match.grid_row, models, operator, settings, first)
            cells.append(measure(f"grid of {operator}: {first} of {settings.grid}", find_row))
            grid = exact_match.grid(operator, settings, cells)
            show_grid(grid)
        grids.append(grid)
    tables = [
        exact_match.whole_table(
            models, operator, settings.table,
            partial(lambda operator, share: say(f"all of {operator}: {share:.0%}"), operator),
        )
        for operator in tabled
    ]  # fmt: skip
    examples = [
        example
        for task in recipe.tasks
        for size in settings.sizes(task.operator)[:1]
        for example in exact_match.examples(models, task.operator, size, settings)
    ]
    gaps, with_settings = list[Gap](), replace(recipe, evaluation=settings)
    for task in recipe.tasks:
        if models.seeds and gap.can_be_known(models.layout, task):
            find_gap = partial(gap.measure, models, with_settings, task)
            gaps += measure(f"{task.operator}, trained on and held out", find_gap)
    return Evaluation(
        seed=settings.seed,
        lengths=lengths,
        grids=tuple(grids),
        tables=tuple(tables),
        examples=examples,
        gaps=tuple(gaps),
        splits=tuple(_splits(recipe, models, settings)),
        unevaluated=tuple(unevaluated),
    )


def _splits(
    recipe: Recipe, models: Models, settings: sections.EvaluationSettings
) -> Iterator[Split]:
    """Yield how tables are divided, with the distribution of answers in each part.

    For a fixed set, yields the number of validation problems in it. For a program with unknown
    seeds, everything that may be trained on counts.
    """
    validated = watched(recipe)
    for task in recipe.tasks:
        if task.held_out:
            seeds = models.seeds
            trained = records.trained_rows(recipe, models.layout, task, seeds) if seeds else None
            places = {"training": tasks.trained(task), "validation": range(validated)}
            places |= held_out_places(task, validated, settings)
            answers = tasks.answer_histograms(task, places, trained)
            yield replace(tasks.split(task, trained), answers=answers)
        elif task.rows and not task.values and validated:
            yield tasks.set_split(task, tasks.validation(task, validated))


def _operators(
    recipe: Recipe, kind: str, limit: int, suits: Callable[[Operation], bool]
) -> list[str]:
    """Return the operators of a grid, or of a table; none if the limit is 0."""
    operators = [task.operator for task in recipe.tasks if suits(operation_named(task.operator))]
    if limit and not operators:
        raise UserError(f"a {kind} is of two operands, and this recipe has no such operator")
    return operators if limit else []
