"""Exact match by scoring, confirmed by generation on a sample.

Every evaluation also generates a sample token by token and reports whether both agree.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from curta.config.sections import EvaluationSettings
from curta.config.task import Task
from curta.evaluation.evaluation_set import drawn, slices
from curta.evaluation.results import (
    HELD_OUT,
    Example,
    Generated,
    Grid,
    SliceResult,
    WholeTable,
    WrongAnswer,
)
from curta.evaluation.scoring import (
    Models,
    Scores,
    exact_match,
    room_for,
    rounded,
    scores,
)
from curta.evaluation.writing import MOST_NATS, TokensAndAnswer, answers, first_error
from curta.layouts import ShapeBounds
from curta.problems import tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, widths
from curta.problems.problem_table import ProblemTable

TABLE_BLOCK = 8192
"""Problems of a whole table in one pass."""

GridRow = list[list[float]]
"""A row of a grid: each member's exact match by digits of the second operand."""


def lengths(
    models: Models, operator: str, size: int | str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return exact match for each slice of the problems of one size, for each member."""
    count = settings.count
    sets = {
        name: drawn(models.layout, operator, name, size, count, settings.seed)
        for name in slices(models.layout, operator)
    }
    sets = {name: problems for name, problems in sets.items() if problems}
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


def held_out_places(task: Task, first: int, settings: EvaluationSettings) -> dict[str, range]:
    """Return the places of each slice's held-out problems in the table, from place `first` on."""
    names = (HELD_OUT, *(f"{HELD_OUT}, {name}" for name in settings.layouts))
    count = min(settings.held_out, (task.held_out - first) // len(names))
    return {
        name: range(first + number * count, first + (number + 1) * count)
        for number, name in enumerate(names)
    }


def grid_rows(
    models: Models, operator: str, settings: EvaluationSettings
) -> dict[str, Callable[[], GridRow]]:
    """Return the functions that measure each row of a grid, by name; `grid` joins their results."""
    draw = partial(drawn, models.layout, operator, tasks.RANDOM, seed=settings.seed)
    largest = room_for(models, draw(settings.grid, 1))
    bounds = largest if models.layout.linear else None  # else a smaller problem may be longer

    def row(first: int) -> GridRow:
        seconds = range(1, settings.grid + 1)
        samples = (draw(f"{first}/{second}", settings.grid_count) for second in seconds)
        problems = list(chain.from_iterable(samples))
        cells = exact_match(models, problems, bounds).reshape(models.members, len(seconds), -1)
        return [rounded(member) for member in cells.mean(axis=-1)]

    return {
        f"grid of {operator}: {first} of {settings.grid}": partial(row, first)
        for first in range(1, settings.grid + 1)
    }


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
    problems = [
        problem
        for name in slices(models.layout, operator)
        for problem in drawn(models.layout, operator, name, size, 2, settings.seed + 1)
    ]
    pairs = [(member, problem) for member in range(models.members) for problem in problems]
    texts = answers(models, pairs, room_for(models, problems))
    return [_example(models, *pair, text) for pair, text in zip(pairs, texts, strict=True)]


def _evaluated(
    models: Models, sets: dict[str, list[Problem]], size: str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return a row for each slice of problems, all of one size."""
    every = [problem for problems in sets.values() for problem in problems]
    bounds, sample = room_for(models, every), max(1, settings.generated)
    if models.memo is None:
        # compiles, so that only writing is timed
        answers(models, [(0, problem) for problem in every[:sample]], bounds)
    digits = max(max(widths(problem)) for problem in every)
    all_scores, rows, first = scores(models, every, bounds), [], 0
    for name, problems in sets.items():
        slice_scores = all_scores.part(slice(first, first := first + len(problems)))
        texts = [_completion(models, problem) for problem in problems[:sample]]
        generated, generations = _generated(models, problems[:sample], texts, slice_scores, bounds)
        rows.append(
            SliceResult(
                operator=every[0].operator,
                size=size,
                digits=digits,
                slice_name=name,
                count=len(problems),
                exact_match=rounded(slice_scores.exact_match.mean(axis=1)),
                token_accuracy=rounded(slice_scores.token_accuracy),
                perplexity=np.exp(np.minimum(slice_scores.loss, MOST_NATS)).round(6).tolist(),
                generated=generated,
                errors=list(
                    _errors(models, problems, slice_scores.exact_match, generations, bounds)
                ),
            )
        )
    return rows


def _errors(
    models: Models,
    problems: Sequence[Problem],
    exact_match: Bool[np.ndarray, "members problems"],
    generations: list[list[TokensAndAnswer]],
    bounds: ShapeBounds | None,
) -> Iterator[WrongAnswer]:
    """Yield one wrong answer of each member that has any.

    It comes from the generated sample if possible; else the first wrong problems are generated.
    """
    wrong = [np.flatnonzero(~mine).tolist() for mine in exact_match]
    count = len(generations[0]) if models.memo is None else 1  # as many as what is compiled writes
    further = [
        (member, number)
        for member, mine in enumerate(wrong)
        if mine and mine[0] >= len(generations[member])
        for number in (mine * count)[:count]
    ]
    pairs = [(member, problems[number]) for member, number in further]
    more = dict(zip(further, answers(models, pairs, bounds), strict=True))
    for member, sample in enumerate(generations):
        texts = {(member, number): answer for number, answer in enumerate(sample)} | more
        for number in wrong[member]:
            if (member, number) not in texts:
                continue
            example = _example(models, member, problems[number], texts[member, number])
            if example.first_error is not None:
                yield WrongAnswer(  # without the text, which may be very long
                    example.problem, example.truth, example.answer, member, example.first_error
                )
                break


def _example(models: Models, member: int, problem: Problem, pair: TokensAndAnswer) -> Example:
    """Return a problem, a member's text for it, and where the text goes wrong."""
    (tokens, answer), base, layout = pair, problem.answer_base, models.layout
    return Example(
        problem=str(problem),
        truth=answer_text(problem.truth, base),
        answer=None if answer is None else answer_text(answer, base),
        member=member,
        text=layout.decode(tokens),
        first_error=first_error(tokens, _completion(models, problem), layout.characters),
    )


def _generated(
    models: Models,
    sample: Sequence[Problem],
    truths: Sequence[list[int]],
    scored: Scores,
    bounds: ShapeBounds | None,
) -> tuple[Generated, list[list[TokensAndAnswer]]]:
    """Return the statistics of the generated answers, and the answers by member.

    Generation agrees if it writes a text of `texts` exactly where scoring says so. An answer may be
    right although its working is not.
    """
    begun = time.perf_counter()
    pairs = [(member, problem) for member in range(models.members) for problem in sample]
    flat = answers(models, pairs, bounds)
    seconds = time.perf_counter() - begun
    generations = [flat[first : first + len(sample)] for first in range(0, len(pairs), len(sample))]
    tokens = sum(len(text) for answers in generations for text, _ in answers)
    right = np.array(
        [[a == p.truth for (_, a), p in zip(row, sample, strict=True)] for row in generations]
    )
    same = np.array(
        [[t == text for (t, _), text in zip(row, truths, strict=True)] for row in generations]
    )
    agrees = bool((same == scored.exact_match[:, : len(sample)]).all())
    return Generated(
        len(sample), rounded(right.mean(axis=1)), agrees, round(tokens / seconds)
    ), generations


def _completion(models: Models, problem: Problem) -> list[int]:
    """Return the right tokens after the prompt."""
    tokens, prompt = models.layout.tokens_of(problem)
    return tokens[prompt:]
