"""Exact match by scoring, confirmed by generation on a sample.

Every evaluation also generates a sample token by token and reports whether both agree.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from curta.config.sections import EvaluationSettings
from curta.config.task import Task
from curta.evaluation.evaluation_set import drawn, drawn_slices, held_out_places
from curta.evaluation.results import (
    HELD_OUT,
    Example,
    Generated,
    Grid,
    SliceResult,
    WholeTable,
    Written,
    WrongAnswer,
)
from curta.evaluation.scoring import Models, exact_match, room_for, rounded, scores
from curta.evaluation.writing import MOST_NATS, answers, compared, truth_text
from curta.layouts import ShapeBounds
from curta.problems import tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, widths
from curta.problems.problem_table import ProblemTable

TABLE_BLOCK = 8192
"""Problems of a whole table in one pass."""

GridRow = list[list[float]]
"""A row of a grid: each member's exact match by digits of the second operand."""


def lengths(
    models: Models, operator: str, size: int | str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return exact match for each slice of the problems of one size, for each member."""
    sets = drawn_slices(models.layout, operator, size, settings.count, settings.seed)
    return _evaluated(models, sets, str(size), settings)


def held_out(
    models: Models, task: Task, first: int, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return exact match on problems that the task holds out, from place `first` of them on.

    Each other layout in the settings gets further held-out problems, written in that layout.
    """
    assert task.values is not None
    size, rows = "{}..{}".format(*task.values), list[SliceResult]()
    for slice_name, places in held_out_places(task, first, settings).items():
        name = slice_name.removeprefix(HELD_OUT).removeprefix(", ")
        other = replace(models, layout=models.layout.other(name)) if name else models
        rows += _evaluated(other, {slice_name: tasks.held_out(task, places)}, size, settings)
    return rows


def grid_row(models: Models, operator: str, settings: EvaluationSettings, first: int) -> GridRow:
    """Measure all pairs whose first operand has `first` digits; `grid` joins the rows."""
    draw = partial(drawn, models.layout, operator, tasks.RANDOM, seed=settings.seed)
    # room for the largest problems, so that all rows are one program; in layouts that are not
    # linear a smaller problem may be longer
    bounds = room_for(models, draw(settings.grid, 1)) if models.layout.linear else None
    seconds = range(1, settings.grid + 1)
    samples = (draw(f"{first}/{second}", settings.grid_count) for second in seconds)
    problems = list(chain.from_iterable(samples))
    cells = exact_match(models, problems, bounds).reshape(models.members, len(seconds), -1)
    return [rounded(member) for member in cells.mean(axis=-1)]


def grid_place(name: str) -> tuple[str, int, int] | None:
    """Return operator, row and number of rows of a grid's part; None for another part.

    >>> grid_place("grid of + mod 97: 3 of 40"), grid_place("+, held out")
    (('+ mod 97', 3, 40), None)
    """
    place = re.fullmatch(r"grid of (.+): (\d+) of (\d+)", name)
    return None if place is None else (place[1], int(place[2]), int(place[3]))


def grid(operator: str, settings: EvaluationSettings, rows: Sequence[GridRow]) -> Grid:
    """Return exact match for every pair of digit counts up to `settings.grid`."""
    counts = list(range(1, settings.grid + 1))
    members = [list(cells) for cells in zip(*rows, strict=True)]
    return Grid(operator, settings.grid, counts, settings.grid_count, members)


def whole_table(
    models: Models, operator: str, limit: int, progress: Callable[[float], None]
) -> WholeTable:
    """Count for each member the correct answers to all problems with operands from 0 to `limit`."""
    pairs = table_pairs(operator, limit)
    correct = np.zeros(models.members, np.int64)
    for start in range(0, len(pairs), TABLE_BLOCK):
        block = pairs[start : start + TABLE_BLOCK].tolist()
        problems = [Problem(operator, tuple(pair)) for pair in block]
        correct += exact_match(models, problems).sum(axis=1)
        progress(min(1.0, (start + TABLE_BLOCK) / len(pairs)))
    return WholeTable(operator, limit, len(pairs), correct.tolist())


def table_pairs(operator: str, limit: int) -> Int[np.ndarray, "problems 2"]:
    """Return all operands that have an answer, in a random order that is always the same."""
    table, operation = ProblemTable(operator, 0, limit), OPERATIONS[operator]
    pairs = np.asarray(table.pairs(jnp.arange(table.rows)))
    if operation.on_device:
        return pairs
    return pairs[[operation.refuse(pair) is None for pair in map(tuple, pairs.tolist())]]


def examples(
    models: Models, operator: str, size: int | str, settings: EvaluationSettings
) -> list[Example]:
    """Return a few generated answers of every member."""
    sets = drawn_slices(models.layout, operator, size, 2, settings.seed + 1)
    problems = list(chain.from_iterable(sets.values()))
    pairs = [(member, problem) for member in range(models.members) for problem in problems]
    texts = answers(models, pairs, room_for(models, problems))
    rows = [
        compared(models.layout, problem, text)
        for (_, problem), text in zip(pairs, texts, strict=True)
    ]
    return [
        Example(str(problem), truth_text(problem), row.answer, member, row.text, row.first_error)
        for (member, problem), row in zip(pairs, rows, strict=True)
    ]


def _evaluated(
    models: Models, sets: dict[str, list[Problem]], size: str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return a row for each slice of problems, all of one size."""
    every = [problem for problems in sets.values() for problem in problems]
    bounds = room_for(models, every)
    if models.memo is None:
        # compiles, so that only writing is timed
        answers(models, [(0, problem) for problem in every[: settings.generated or 1]], bounds)
    digits = max(max(widths(problem)) for problem in every)
    all_scores, rows, begin = scores(models, every, bounds), list[SliceResult](), 0
    for name, problems in sets.items():
        part = all_scores.part(slice(begin, begin := begin + len(problems)))
        sample = problems[: settings.generated or 1]
        count, begun = len(sample), time.perf_counter()
        pairs = [(member, problem) for member in range(models.members) for problem in sample]
        texts = answers(models, pairs, bounds)
        seconds = time.perf_counter() - begun
        written = [
            compared(models.layout, problem, text)
            for (_, problem), text in zip(pairs, texts, strict=True)
        ]
        # An answer may be right although its working is not.
        right = [
            (row.first_error is None, row.answer == truth_text(problem))
            for (_, problem), row in zip(pairs, written, strict=True)
        ]
        same, correct = np.moveaxis(np.reshape(right, (models.members, count, 2)), -1, 0)
        rows.append(
            SliceResult(
                operator=every[0].operator,
                size=size,
                digits=digits,
                slice_name=name,
                count=len(problems),
                exact_match=rounded(part.exact_match.mean(axis=1)),
                token_accuracy=rounded(part.token_accuracy),
                perplexity=np.exp(np.minimum(part.loss, MOST_NATS)).round(6).tolist(),
                generated=Generated(
                    count=count,
                    exact_match=rounded(correct.mean(axis=1)),
                    agrees=bool((same == part.exact_match[:, :count]).all()),
                    tokens_per_second=round(sum(len(text) for text, _ in texts) / seconds),
                ),
                errors=_errors(models, problems, part.exact_match, written, bounds),
            )
        )
    return rows


def _errors(
    models: Models,
    problems: Sequence[Problem],
    exact_match: Bool[np.ndarray, "members problems"],
    written: Sequence[Written],
    bounds: ShapeBounds | None,
) -> list[WrongAnswer]:
    """Return the first wrong answer of each member that has any.

    `written` has each member's texts of the first problems; a text of a later one is generated.
    """
    first = {m: int(np.argmin(row)) for m, row in enumerate(exact_match) if not row.all()}
    count = len(written) // models.members
    repeat = count if models.memo is None else 1  # as many as what is compiled writes
    pairs = [(m, problems[n]) for m, n in first.items() if n >= count for _ in range(repeat)]
    further = iter(answers(models, pairs, bounds)[::repeat])
    errors = list[WrongAnswer]()
    for member, number in first.items():
        problem = problems[number]
        if number < count:
            row = written[member * count + number]
        else:
            row = compared(models.layout, problem, next(further))
        if row.first_error is not None:
            truth = truth_text(problem)
            errors.append(WrongAnswer(str(problem), truth, row.answer, member, row.first_error))
    return errors
