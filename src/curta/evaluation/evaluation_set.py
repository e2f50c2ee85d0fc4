"""The problems of an evaluation, by size and slice, always the same ones.

They are drawn on the device where the operation has arithmetic there, else in Python, as training
draws them. A run whose program's code is not available uses the problems that it has stored. Beside
them are the problems of training and held-out ones, which are also watched during training.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.sections import EvaluationSettings
from curta.config.table import sized
from curta.config.task import Task
from curta.evaluation.results import HELD_OUT, TRAINED
from curta.layouts import Layout, layout_named
from curta.model.positions import encoding
from curta.problems import task_sizes, tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, parse
from curta.problems.sizes import Sizes
from curta.problems.tasks import RANDOM, as_size
from curta.programs.machine.sampling import draw, rare
from curta.programs.user.run_snapshot import COUNT, StoredTexts, save
from curta.training import records

SPECIAL = "special"
"""The slice of nines, zeros, equal operands and the like."""

DRAWS = {RANDOM: draw, SPECIAL: rare}


def keep(path: Path, recipe: Recipe, layout: Layout) -> None:
    """Store problems and texts in a run's folder, so that others need not run foreign code."""
    recorder = layout.recorder
    if recorder is None or isinstance(recorder, StoredTexts):
        return
    settings, count = recipe.evaluation, min(COUNT, recipe.evaluation.count)
    rows = [
        (str(size), slice_name, problem)
        for task in recipe.tasks
        for size in settings.sizes(task.operator)
        for slice_name in slices(layout, task.operator)
        for problem in drawn(layout, task.operator, slice_name, size, count, settings.seed)
    ]
    rows += [("", "named", parse(text)) for text in settings.named]
    save(path, rows, recorder)


def within(digits: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether problems of these digits are in no way longer than those of others."""
    return len(digits) <= len(others) and all(map(int.__le__, digits, others))


def size_name(operator: str, size: int | str) -> str:
    """Return the name of the part of an evaluation with one operator at one size."""
    return f"{operator} at {sized(size)}"


def slices(layout: Layout, operator: str) -> list[str]:
    """Return the names of the slices: random problems, and each kind of rare ones."""
    if _by_host(layout, operator):
        return list(DRAWS)
    return tasks.slices(operator)


def watched(recipe: Recipe) -> int:
    """Return how many held-out problems, the first ones, are used for validation."""
    return recipe.training.validation if recipe.training.validate_every else 0


def held_out_places(task: Task, first: int, settings: EvaluationSettings) -> dict[str, range]:
    """Return the places of each slice's held-out problems in the table, from place `first` on."""
    names = (HELD_OUT, *(f"{HELD_OUT}, {name}" for name in settings.layouts))
    count = min(settings.held_out, (task.held_out - first) // len(names))
    return {
        name: range(first + number * count, first + (number + 1) * count)
        for number, name in enumerate(names)
    }


def drawn_slices(
    layout: Layout, operator: str, size: int | str, count: int, seed: int
) -> dict[str, list[Problem]]:
    """Return the test problems of one size by slice, of each slice that has any."""
    sets = {
        name: drawn(layout, operator, name, size, count, seed) for name in slices(layout, operator)
    }
    return {name: problems for name, problems in sets.items() if problems}


def drawn(
    layout: Layout, operator: str, slice_name: str, size: int | str, count: int, seed: int
) -> list[Problem]:
    """Return test problems of one size; stored ones where the program's code is not available."""
    stored = layout.recorder
    if isinstance(stored, StoredTexts):
        base = layout.base(operator)
        return [
            replace(problem, base=base)
            for problem in stored.problems(operator, size, slice_name, count)
        ]
    return of_digits(layout, operator, slice_name, as_size(size, operator), count, seed)


def of_digits(
    layout: Layout, operator: str, slice_name: str, digits: Sequence[int], count: int, seed: int
) -> list[Problem]:
    """Return test problems by the digits of their operands, in the base of their texts."""
    if _by_host(layout, operator):  # as those of training are drawn
        if layout.recorder is None:
            raise UserError(
                f"new problems of {operator!r} need the program's code, which was not run"
            )
        program, sizes = layout.recorder.programs[operator], Sizes.exactly(digits)
        rng = random.Random(f"{seed} {slice_name} {digits}")
        every = [DRAWS[slice_name](program, sizes, rng) for _ in range(count)]
        return [Problem(operator, operands, program.base) for operands in every]
    return tasks.problems(operator, slice_name, tuple(digits), count, seed)


def refusal(recipe: Recipe, operator: str, size: int | str) -> str | None:
    """Return why problems of this size do not fit models of this recipe; None if they do."""
    if recipe.layout is None:
        return None
    layout, digits = layout_named(recipe.layout), as_size(size, operator)
    try:
        layout.accept(operator, digits)
        encoding(recipe, layout).check(layout.bounds(operator, digits))
    except UserError as error:
        return str(error)
    return None


def _by_host(layout: Layout, operator: str) -> bool:
    """Return whether problems are drawn in Python, since the device knows base ten alone."""
    return OPERATIONS[operator].on_device and layout.base(operator) != 10


# Learned or memorised: problems of training, and others. They are told apart where the problems of
# training are known: a program's are recorded, and those of a table (`task.values`) or of a fixed
# set (`task.rows`) are finite. Where every step draws new problems, none is known to be new.


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
        first = watched(recipe)
        places = held_out_places(task, first, recipe.evaluation)
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
            if refusal(recipe, operator, size) is None:
                curves[f"{operator} {size}"] = [
                    drawn(layout, operator, RANDOM, size, count, settings.seed)
                ]
    return curves


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
