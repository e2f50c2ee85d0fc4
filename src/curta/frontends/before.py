"""What is refused before a run folder is made: what cannot be trained, or evaluated, here."""

from collections.abc import Iterator

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation.evaluation_set import refusal
from curta.layouts import Layout
from curta.problems.problem import operation_named
from curta.problems.tasks import as_size
from curta.training import estimate

Asked = tuple[str, str, int | str]
"""A field of the evaluation, and an operator with a size that it asks for."""


def check_evaluation(recipe: Recipe, layout: Layout) -> None:
    """Raises UserError for an evaluation that models of a recipe cannot be put to."""
    for field, operator, size in (*_sizes(recipe), *_pairs(recipe)):
        layout.accept(operator, len(as_size(size, operator)))
        reason = _refused(recipe, operator, size)
        if reason is not None:
            raise UserError(f"{field}: no {operator} of {size} digits: {reason}")


def check_rows(recipes: list[Recipe], members: int) -> None:
    """Raises UserError for runs of a comparison that do not fit the machine, or their grids."""
    for recipe in recipes:
        estimate.check(recipe, members)
        for field, operator, size in _pairs(recipe):
            reason = _refused(recipe, operator, size)
            if reason is not None:
                raise UserError(f"{field}: no {operator} of {size} digits: {reason}")


def _sizes(recipe: Recipe) -> Iterator[Asked]:
    for task in recipe.tasks:
        for size in recipe.evaluation.sizes(task.operator):
            yield "evaluation.digits", task.operator, size


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
