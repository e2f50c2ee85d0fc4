"""What is watched while a run is trained: problems of training, held-out ones, and sizes.

The problems are the same each time, so their curves can be read against each other, and so is all
that is compiled for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from curta.config.recipe import Recipe
from curta.evaluation import gap, scoring
from curta.evaluation.evaluation_set import drawn, refusal
from curta.evaluation.scoring import Models
from curta.evaluation.watched import HELD_OUT, TRAINED
from curta.layouts import Layout
from curta.problems import tasks
from curta.problems.problem import Problem


def asked(recipe: Recipe, layout: Layout, seeds: Sequence[int]) -> dict[str, list[list[Problem]]]:
    """The problems of each curve, by names such as `+ held out` and `+ 20`: a list for each member,
    or one for all. Sizes are left out for which models of the recipe have no positions.
    """
    return dict(_asked(recipe, layout, seeds))


def _asked(
    recipe: Recipe, layout: Layout, seeds: Sequence[int]
) -> Iterator[tuple[str, list[list[Problem]]]]:
    count, sizes = recipe.training.evaluate_count, recipe.training.evaluate_digits
    settings = replace(recipe.evaluation, held_out=count, digits=sizes or recipe.evaluation.digits)
    for task in recipe.tasks:
        operator = task.operator
        known = gap.known(replace(recipe, evaluation=settings), layout, task, seeds)
        if known is not None:
            yield f"{operator} {TRAINED}", known.trained
            yield f"{operator} {HELD_OUT}", [known.held_out]
        for size in settings.sizes(operator):
            if refusal(recipe, operator, size) is None:
                problems = drawn(layout, operator, tasks.RANDOM, size, count, settings.seed)
                yield f"{operator} {size}", [problems]


def exact_match(models: Models, asked: dict[str, list[list[Problem]]]) -> dict[str, list[float]]:
    """Of every member, for each curve."""
    found = {}
    for name, each in asked.items():
        bounds = scoring.room_for(models, [one for mine in each for one in mine])
        shares = gap.own_exact_match(models, each, bounds).mean(axis=1)
        found[name] = scoring.rounded(shares)
    return found
