"""The whole evaluation of some models, as a recipe's evaluation section asks for it."""

from collections.abc import Callable, Iterator
from functools import partial

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation import exact_match, exhaustive
from curta.evaluation.results import Evaluation, Example, SliceResult
from curta.evaluation.scoring import Models
from curta.problems.operations.base import Operation
from curta.problems.problem import operation_named
from curta.problems.tasks import split

Say = Callable[[str], None]


Keep = Callable[[str, Callable[[], list[SliceResult]]], list[SliceResult]]
"""Gives the rows of a part by its name, found anew by the function where they are not known."""


def fresh(name: str, find: Callable[[], list[SliceResult]]) -> list[SliceResult]:
    """Keeps nothing."""
    return find()


def evaluate(
    recipe: Recipe, models: Models, settings: sections.Evaluation, say: Say, keep: Keep = fresh
) -> Evaluation:
    """Exact match by size and slice, on what was held out, grids, whole tables, examples.

    Raises UserError for a grid, or a table, of a recipe without operators of two operands.
    """
    grids = _of_pairs(recipe, "grid", settings.grid, lambda one: one.least == 2)
    tables = _of_pairs(recipe, "table", settings.table, lambda one: one.takes(2))
    lengths = [*_sizes(recipe, models, settings, say, keep), *_held_out(recipe, models, settings)]
    return Evaluation(
        seed=settings.seed,
        lengths=lengths,
        grids=tuple(
            exact_match.grid(models, o, settings, _share(say, f"grid of {o}")) for o in grids
        ),
        tables=tuple(
            exhaustive.table(models, o, settings.table, _share(say, f"all of {o}")) for o in tables
        ),
        examples=list(_examples(recipe, models, settings)),
        splits=tuple(split(task) for task in recipe.tasks if task.held_out),
    )


def _sizes(
    recipe: Recipe, models: Models, settings: sections.Evaluation, say: Say, keep: Keep
) -> Iterator[SliceResult]:
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            name = f"{task.operator} at {size} digits"
            say(name)
            find = partial(exact_match.lengths, models, task.operator, size, settings)
            yield from keep(name, find)


def _held_out(
    recipe: Recipe, models: Models, settings: sections.Evaluation
) -> Iterator[SliceResult]:
    """What tasks hold out, but for the problems that the training was watched by."""
    watched = recipe.training.validation if recipe.training.validate_every else 0
    for task in recipe.tasks:
        if task.held_out:
            yield from exact_match.held_out(models, task, watched, settings)


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
