"""The whole examination of some models, as a recipe's evaluation section asks for it."""

from collections.abc import Callable
from typing import Any

from curta.config.recipe import Recipe
from curta.config.sections import Evaluation
from curta.evaluation import exact_match, exhaustive
from curta.evaluation.scoring import Models
from curta.problems.tasks import split


def exam(
    recipe: Recipe, models: Models, settings: Evaluation, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Exact match by size and category, on what was held out, grid, whole tables, examples."""
    table: dict[str, Any] = {"seed": settings.seed, "lengths": [], "examples": []}
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            progress(f"{task.operator} at {size} digits")
            table["lengths"] += exact_match.lengths(models, task.operator, size, settings)
    for task in recipe.tasks:
        if task.held_out:
            table["lengths"] += exact_match.unseen(models, task, _watched(recipe), settings)
            table.setdefault("splits", []).append(split(task))
    if settings.grid:
        table["grid"] = exact_match.grid(
            models, recipe.tasks[0].operator, settings, lambda share: progress(f"grid {share:.0%}")
        )
    if settings.table:
        table["tables"] = _tables(recipe, models, settings.table, progress)
    for task in recipe.tasks:
        for size in settings.sizes(task.operator)[:1]:
            table["examples"] += exact_match.examples(models, task.operator, size, settings)
    return table


def _watched(recipe: Recipe) -> int:
    """How many of a task's held-out problems the training was watched by."""
    return recipe.training.validation if recipe.training.validate_every else 0


def _tables(
    recipe: Recipe, models: Models, limit: int, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """All problems with operands up to the limit, operator by operator."""

    def told(operator: str) -> Callable[[float], None]:
        return lambda share: progress(f"all of {operator} up to {limit:,}: {share:.0%}")

    operators = [task.operator for task in recipe.tasks]
    return [exhaustive.table(models, o, limit, told(o)) for o in operators]
