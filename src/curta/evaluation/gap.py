"""Learned or memorised: exact match on trained problems, on held-out ones, and the gap.

The gap is defined where the problems of training are known: a program's are recorded, and those of
a table (`task.values`) or of a fixed set (`task.rows`) are finite. Where every step draws new
problems, none is known to be new. The same problems are watched during training.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from curta.config.recipe import Recipe
from curta.config.table import spanned
from curta.config.task import Task
from curta.evaluation import evaluation_set, scoring
from curta.evaluation.results import HELD_OUT, TRAINED, Gap, Share
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.problems import task_sizes, tasks
from curta.problems.problem import Problem
from curta.training import records

TRIES = 20
"""Problems that are drawn for each new one that is needed."""


class TrainedAndHeldOut(NamedTuple):
    """Problems of one task: of each member's training, equally many; held-out ones; and `twins`.

    `twins` are held-out problems whose mirrored pair (2+1 for 1+2) some member was trained on.
    """

    trained: list[list[Problem]]
    held_out: list[Problem]
    twins: list[Problem]


def known_problems(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int]
) -> TrainedAndHeldOut | None:
    """Return at most `evaluation.held_out` problems of each kind; None where they are not known.

    Validation problems are not among them.
    """
    if not can_be_known(layout, task):
        return None
    count = recipe.evaluation.held_out
    if layout.machine is not None:
        base = layout.base(task.operator)
        trained = [records.problems(recipe, layout, task, seed, count) for seed in seeds]
        each = [[Problem(task.operator, operands, base) for operands in of] for of in trained]
    else:
        each = [tasks.trained_problems(task, count)]
    if task.values:
        first = evaluation_set.watched(recipe)
        places = evaluation_set.held_out_places(task, first, recipe.evaluation)
        held_out = tasks.held_out(task, places[HELD_OUT])
        rows = records.trained_rows(recipe, layout, task, seeds)
        twins = tasks.with_trained_twin(task, held_out, rows)
    else:
        held_out, twins = list(islice(_new(recipe, layout, task, seeds, count), count)), []
    return TrainedAndHeldOut(each, held_out, twins) if held_out else None


def can_be_known(layout: Layout, task: Task) -> bool:
    """Return whether trained problems are recorded or finite, and others can be drawn."""
    if task.values:
        return task.held_out > 0
    if layout.machine is None:
        return task.rows > 0
    # A recorder without programs knows stored texts alone.
    return layout.recorder is not None and bool(layout.recorder.programs)


def measure(models: Models, recipe: Recipe, task: Task) -> list[Gap]:
    """Return the gap of every member on a task; empty where problems cannot be told apart."""
    problems = known_problems(recipe, models.layout, task, models.seeds)
    if problems is None:
        return []
    every = [*chain.from_iterable(problems.trained), *problems.held_out]
    bounds = scoring.room_for(models, every)

    def share(exact_match: Bool[np.ndarray, "members problems"]) -> Share:
        return Share(exact_match.shape[1], scoring.rounded(exact_match.mean(axis=1)))

    trained = share(own_exact_match(models, problems.trained, bounds))
    held_out = share(scoring.exact_match(models, problems.held_out, bounds))
    twins = share(scoring.exact_match(models, problems.twins, bounds)) if problems.twins else None
    pairs = zip(trained.exact_match, held_out.exact_match, strict=True)
    gap = [round(ours - other, 6) for ours, other in pairs]
    values = "{}..{}".format(*task.values) if task.values else ""
    operands = values or spanned(task_sizes.span(task), "digit")
    return [Gap(task.operator, operands, trained, held_out, gap, twins)]


def own_exact_match(
    models: Models, each: Sequence[Sequence[Problem]], bounds: Any
) -> Bool[np.ndarray, "members problems"]:
    """Return whether each member answers its own problems; all have as many, or share one list.

    Windowed members look up all windows at once; other members are evaluated one by one.
    """
    if len(each) == 1:
        return scoring.exact_match(models, each[0], bounds)
    if models.memo is None:
        matches = [scoring.exact_match(models.only(m), mine, bounds) for m, mine in enumerate(each)]
        return np.concatenate(matches)
    every = scoring.exact_match(models, [problem for mine in each for problem in mine], bounds)
    by_owner = every.reshape(len(each), len(each), -1)  # members, whose problems, problems
    own_part: Bool[np.ndarray, "members problems"] = np.einsum("mmp->mp", by_owner)
    return own_part


def watched_problems(
    recipe: Recipe, layout: Layout, seeds: Sequence[int]
) -> dict[str, list[list[Problem]]]:
    """Return the problems of each curve that is watched during training.

    Keys are names such as `+ held out` and `+ 20`, values a list for each member, or one for all.
    Sizes without positions are left out. The problems are the same each time, so curves can be
    compared, and programs are compiled once.
    """
    curves = dict[str, list[list[Problem]]]()
    count, sizes = recipe.training.evaluate_count, recipe.training.evaluate_digits
    settings = replace(recipe.evaluation, held_out=count, digits=sizes or recipe.evaluation.digits)
    for task in recipe.tasks:
        operator = task.operator
        problems = known_problems(replace(recipe, evaluation=settings), layout, task, seeds)
        if problems is not None:
            curves[f"{operator} {TRAINED}"] = problems.trained
            curves[f"{operator} {HELD_OUT}"] = [problems.held_out]
        for size in settings.sizes(operator):
            if evaluation_set.refusal(recipe, operator, size) is None:
                curves[f"{operator} {size}"] = [
                    evaluation_set.drawn(layout, operator, tasks.RANDOM, size, count, settings.seed)
                ]
    return curves


def watched_exact_match(
    models: Models, curves: dict[str, list[list[Problem]]]
) -> dict[str, list[float]]:
    """Return exact match of every member, for each curve."""
    shares = {}
    for name, each in curves.items():
        bounds = scoring.room_for(models, [problem for mine in each for problem in mine])
        shares[name] = scoring.rounded(own_exact_match(models, each, bounds).mean(axis=1))
    return shares


def _new(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int], count: int
) -> Iterator[Problem]:
    """Yield problems drawn as in training on which no member was trained or validated.

    Neither was any member trained on their mirrored pairs.
    """
    watched = records.validation(recipe, layout, task) if recipe.training.validate_every else []
    met = {_key(task, problem.operands) for problem in watched}
    if layout.machine is None:
        fresh = tasks.fresh_problems(task, count + len(watched))
        yield from (problem for problem in fresh if _key(task, problem.operands) not in met)
        return
    for seed in seeds:
        met |= {_key(task, operands) for operands in records.problems(recipe, layout, task, seed)}
    candidates = records.draw(layout, task, f"held out {recipe.evaluation.seed}")
    for operands in islice(candidates, TRIES * count):
        key = _key(task, operands)
        if key not in met:
            met.add(key)
            yield Problem(task.operator, operands, layout.base(task.operator))


def _key(task: Task, operands: Sequence[int]) -> tuple[int, ...]:
    """Return equal keys for mirrored pairs: for 1+2 and 2+1, but not for 1-2 and 2-1."""
    return tuple(sorted(operands) if task_sizes.operation(task).commutes else operands)
