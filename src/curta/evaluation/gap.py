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
from curta.layouts.program import ProgramLayout
from curta.problems import task_sizes, tasks
from curta.problems.problem import Problem
from curta.programs.machine.sampling import drawn
from curta.programs.user.run_snapshot import StoredTexts
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
    trained = _trained(recipe, layout, task, seeds, count)
    held_out = _held_out(recipe, layout, task, seeds, count)
    if not held_out:
        return None
    if not task.values:
        return TrainedAndHeldOut(trained, held_out, [])
    rows = records.trained_rows(recipe, layout, task, seeds)
    return TrainedAndHeldOut(trained, held_out, tasks.with_trained_twin(task, held_out, rows))


def can_be_known(layout: Layout, task: Task) -> bool:
    """Return whether trained problems are recorded or finite, and others can be drawn."""
    if task.values:
        return task.held_out > 0
    if isinstance(layout, ProgramLayout):
        return layout.recorder is not None and not isinstance(layout.recorder, StoredTexts)
    return task.rows > 0


def measure(models: Models, recipe: Recipe, task: Task) -> list[Gap]:
    """Return the gap of every member on a task; empty where problems cannot be told apart."""
    problems = known_problems(recipe, models.layout, task, models.seeds)
    if problems is None:
        return []
    every = [*chain.from_iterable(problems.trained), *problems.held_out]
    bounds = scoring.room_for(models, every)
    trained = _share(own_exact_match(models, problems.trained, bounds))
    held_out = _share(scoring.exact_match(models, problems.held_out, bounds))
    twins = _share(scoring.exact_match(models, problems.twins, bounds)) if problems.twins else None
    pairs = zip(trained.exact_match, held_out.exact_match, strict=True)
    gap = [round(ours - other, 6) for ours, other in pairs]
    return [Gap(task.operator, describe_range(task), trained, held_out, gap, twins)]


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
    members = np.arange(len(each))
    own_part: Bool[np.ndarray, "members problems"] = every.reshape(len(each), len(each), -1)[
        members, members
    ]
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


def describe_range(task: Task) -> str:
    """Return the range of problems: `0..99` for a table, else `1 to 10 digits`.

    >>> describe_range(Task("+", special=0.0, values=(0, 99)))
    '0..99'
    >>> describe_range(Task("//", digits=(1, 6), second=(1, 3)))
    '1 to 6 digits'
    """
    if task.values:
        return "{}..{}".format(*task.values)
    return spanned(task_sizes.span(task), "digit")


def _trained(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int], count: int
) -> list[list[Problem]]:
    """Return equally many problems of each member; one list where all learn from the same."""
    if not isinstance(layout, ProgramLayout):
        return [tasks.trained_problems(task, count)]
    base = layout.base(task.operator)
    each = [records.problems(recipe, layout, task, seed, count) for seed in seeds]
    return [[Problem(task.operator, operands, base) for operands in mine] for mine in each]


def _held_out(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int], count: int
) -> list[Problem]:
    """Return held-out problems: of a table those of the evaluation, else new ones."""
    if task.values:
        first = evaluation_set.watched(recipe)
        places = evaluation_set.held_out_places(task, first, recipe.evaluation)
        return tasks.held_out(task, places[HELD_OUT])
    watched = records.validation(recipe, layout, task) if recipe.training.validate_every else []
    if not isinstance(layout, ProgramLayout):
        validated = {_key(task, problem.operands) for problem in watched}
        fresh = tasks.fresh_problems(task, count + len(watched))
        fresh = [problem for problem in fresh if _key(task, problem.operands) not in validated]
        return fresh[:count]
    base = layout.base(task.operator)
    new = islice(_new(recipe, layout, task, seeds, watched, TRIES * count), count)
    return [Problem(task.operator, operands, base) for operands in new]


def _new(
    recipe: Recipe,
    layout: ProgramLayout,
    task: Task,
    seeds: Sequence[int],
    watched: Sequence[Problem],
    tries: int,
) -> Iterator[tuple[int, ...]]:
    """Yield problems drawn as in training on which no member was trained or validated.

    Neither was any member trained on their mirrored pairs.
    """
    assert layout.recorder is not None
    program = layout.recorder.programs[task.operator]
    problems = (records.problems(recipe, layout, task, seed) for seed in seeds)
    met = {_key(task, operands) for mine in problems for operands in mine}
    met |= {_key(task, problem.operands) for problem in watched}
    name = f"held out {recipe.evaluation.seed} {task.operator}"
    for operands in islice(drawn(program, task_sizes.sizes(task), name, task.special), tries):
        key = _key(task, operands)
        if key not in met:
            met.add(key)
            yield operands


def _key(task: Task, operands: Sequence[int]) -> tuple[int, ...]:
    """Return equal keys for mirrored pairs: for 1+2 and 2+1, but not for 1-2 and 2-1."""
    return tuple(sorted(operands) if task_sizes.operation(task).commutes else operands)


def _share(exact_match: Bool[np.ndarray, "members problems"]) -> Share:
    return Share(exact_match.shape[1], scoring.rounded(exact_match.mean(axis=1)))
