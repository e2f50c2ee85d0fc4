"""The whole evaluation of some models, as a recipe's evaluation section asks for it."""

from collections.abc import Callable, Iterator

from curta.config import sections
from curta.config.recipe import Recipe
from curta.evaluation import exact_match, exhaustive
from curta.evaluation.results import Evaluation, Example, Grid, SliceResult, WholeTable
from curta.evaluation.scoring import Models
from curta.problems.tasks import split

Say = Callable[[str], None]


def evaluate(recipe: Recipe, models: Models, settings: sections.Evaluation, say: Say) -> Evaluation:
    """Exact match by size and slice, on what was held out, grid, whole tables, examples."""
    lengths = [*_sizes(recipe, models, settings, say), *_held_out(recipe, models, settings)]
    return Evaluation(
        seed=settings.seed,
        lengths=lengths,
        grid=_grid(recipe, models, settings, say) if settings.grid else None,
        tables=tuple(_tables(recipe, models, settings.table, say)) if settings.table else (),
        examples=list(_examples(recipe, models, settings)),
        splits=tuple(split(task) for task in recipe.tasks if task.held_out),
    )


def _sizes(
    recipe: Recipe, models: Models, settings: sections.Evaluation, say: Say
) -> Iterator[SliceResult]:
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            say(f"{task.operator} at {size} digits")
            yield from exact_match.lengths(models, task.operator, size, settings)


def _held_out(
    recipe: Recipe, models: Models, settings: sections.Evaluation
) -> Iterator[SliceResult]:
    """What tasks hold out, but for the problems that the training was watched by."""
    watched = recipe.training.validation if recipe.training.validate_every else 0
    for task in recipe.tasks:
        if task.held_out:
            yield from exact_match.held_out(models, task, watched, settings)


def _grid(recipe: Recipe, models: Models, settings: sections.Evaluation, say: Say) -> Grid:
    operator = recipe.tasks[0].operator
    return exact_match.grid(models, operator, settings, lambda share: say(f"grid {share:.0%}"))


def _examples(recipe: Recipe, models: Models, settings: sections.Evaluation) -> Iterator[Example]:
    """Of every operator at its first size."""
    for task in recipe.tasks:
        for size in settings.sizes(task.operator)[:1]:
            yield from exact_match.examples(models, task.operator, size, settings)


def _tables(recipe: Recipe, models: Models, limit: int, say: Say) -> list[WholeTable]:
    """All problems with operands up to the limit, operator by operator."""

    def progress(operator: str) -> Callable[[float], None]:
        return lambda share: say(f"all of {operator} up to {limit:,}: {share:.0%}")

    operators = [task.operator for task in recipe.tasks]
    return [exhaustive.table(models, o, limit, progress(o)) for o in operators]
