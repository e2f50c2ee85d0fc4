"""Exact match by scoring, confirmed by real generation on a sample.

Every evaluation also generates a sample token by token and says whether both agree.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby

import numpy as np
from jaxtyping import Bool

from curta.config.sections import Evaluation
from curta.config.task import Task
from curta.evaluation.evaluation_set import drawn, slices
from curta.evaluation.first_error import first_error
from curta.evaluation.generation import completions
from curta.evaluation.results import Example, Generated, Grid, SliceResult, WrongAnswer
from curta.evaluation.scoring import (
    Models,
    Scores,
    bounds_of,
    exact_match,
    room_for,
    rounded,
    scores,
)
from curta.evaluation.watched import HELD_OUT
from curta.layouts import ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.problems import tasks
from curta.problems.operations import Answer
from curta.problems.problem import Problem, answer_text, widths
from curta.programs.machine.writing import Prompts, complete, write

Written = tuple[list[int], Answer | None]
"""The tokens that a member wrote, and the answer in them; None if it is malformed."""

MOST_NATS = 690.0
"""The loss from which on all perplexities are the same: the largest that a file holds."""

Cells = list[list[float]]
"""A row of a grid: of each member, exact match for each count of digits of the second operand."""


def lengths(
    models: Models, operator: str, size: int | str, settings: Evaluation
) -> list[SliceResult]:
    """Exact match for each slice of the problems of one size, every member on its own."""
    count = settings.count
    sets = {
        name: drawn(models.layout, operator, name, size, count, settings.seed)
        for name in slices(models.layout, operator)
    }
    found = {name: problems for name, problems in sets.items() if problems}
    return _evaluated(models, found, str(size), settings)


def held_out(models: Models, task: Task, first: int, settings: Evaluation) -> list[SliceResult]:
    """Exact match on problems that the task holds out, from place `first` of them on.

    For each other layout that the settings name, further ones are written in that.
    """
    assert task.values is not None
    size, rows = "{}..{}".format(*task.values), list[SliceResult]()
    for slice_name, places in held_out_places(task, first, settings).items():
        name = slice_name.removeprefix(HELD_OUT).removeprefix(", ")
        other = replace(models, layout=models.layout.other(name)) if name else models
        rows += _evaluated(other, {slice_name: tasks.held_out(task, places)}, size, settings)
    return rows


def held_out_places(task: Task, first: int, settings: Evaluation) -> dict[str, range]:
    """Where the held-out problems of each slice stand in the table, from place `first` on."""
    names = (HELD_OUT, *(f"{HELD_OUT}, {name}" for name in settings.layouts))
    count = min(settings.held_out, (task.held_out - first) // len(names))
    return {
        name: range(first + number * count, first + (number + 1) * count)
        for number, name in enumerate(names)
    }


def grid_rows(
    models: Models, operator: str, settings: Evaluation
) -> dict[str, Callable[[], Cells]]:
    """What finds each row of a grid, of which `grid` is made, by names."""
    draw = partial(drawn, models.layout, operator, tasks.RANDOM, seed=settings.seed)
    largest = room_for(models, draw(settings.grid, 1))
    bounds = largest if models.layout.linear else None  # else a smaller problem may be longer

    def row(first: int) -> Cells:
        seconds = range(1, settings.grid + 1)
        cut = (draw(f"{first}/{second}", settings.grid_count) for second in seconds)
        problems = list(chain.from_iterable(cut))
        cells = exact_match(models, problems, bounds).reshape(models.members, len(seconds), -1)
        return [rounded(member) for member in cells.mean(axis=-1)]

    return {
        f"grid of {operator}: {first} of {settings.grid}": partial(row, first)
        for first in range(1, settings.grid + 1)
    }


def grid_place(name: str) -> tuple[str, int, int] | None:
    """The operator, the row and the rows of a grid, by the name of a part; None for another part.

    >>> grid_place("grid of + mod 97: 3 of 40"), grid_place("+, held out")
    (('+ mod 97', 3, 40), None)
    """
    place = re.fullmatch(r"grid of (.+): (\d+) of (\d+)", name)
    return None if place is None else (place[1], int(place[2]), int(place[3]))


def grid(operator: str, settings: Evaluation, rows: Sequence[Cells]) -> Grid:
    """Exact match for every pair of digit counts up to `settings.grid`."""
    counts = list(range(1, settings.grid + 1))
    members = [list(cells) for cells in zip(*rows, strict=True)]
    return Grid(operator, settings.grid, counts, settings.grid_count, members)


def examples(models: Models, operator: str, size: int | str, settings: Evaluation) -> list[Example]:
    """A few generated answers of every member."""
    problems = [
        problem
        for name in slices(models.layout, operator)
        for problem in drawn(models.layout, operator, name, size, 2, settings.seed + 1)
    ]
    asked = [(member, problem) for member in range(models.members) for problem in problems]
    written = answers(models, asked, room_for(models, problems))
    return [_example(models, *one, text) for one, text in zip(asked, written, strict=True)]


def _evaluated(
    models: Models, sets: dict[str, list[Problem]], size: str, settings: Evaluation
) -> list[SliceResult]:
    """A row for each slice of problems, all of one size."""
    every = [problem for problems in sets.values() for problem in problems]
    bounds, sample = room_for(models, every), max(1, settings.generated)
    if models.memo is None:
        # compiles, so that only writing is timed
        answers(models, [(0, problem) for problem in every[:sample]], bounds)
    digits = max(max(widths(problem)) for problem in every)
    found, rows, first = scores(models, every, bounds), [], 0
    for name, problems in sets.items():
        own = found.part(slice(first, first := first + len(problems)))
        texts = [_completion(models, problem) for problem in problems[:sample]]
        generated, written = _generated(models, problems[:sample], texts, own, bounds)
        rows.append(
            SliceResult(
                operator=every[0].operator,
                size=size,
                digits=digits,
                slice_name=name,
                count=len(problems),
                exact_match=rounded(own.exact_match.mean(axis=1)),
                token_accuracy=rounded(own.token_accuracy),
                perplexity=np.exp(np.minimum(own.loss, MOST_NATS)).round(6).tolist(),
                generated=generated,
                errors=list(_errors(models, problems, own.exact_match, written, bounds)),
            )
        )
    return rows


def _errors(
    models: Models,
    problems: Sequence[Problem],
    exact_match: Bool[np.ndarray, "members problems"],
    written: list[list[Written]],
    bounds: ShapeBounds | None,
) -> Iterator[WrongAnswer]:
    """Of each member that is wrong one problem.

    One of the generated sample if there is one, else the first ones are generated too.
    """
    wrong = [np.flatnonzero(~mine).tolist() for mine in exact_match]
    count = len(written[0]) if models.memo is None else 1  # as many as what is compiled writes
    asked = [
        (member, number)
        for member, mine in enumerate(wrong)
        if mine and mine[0] >= len(written[member])
        for number in (mine * count)[:count]
    ]
    further = answers(models, [(member, problems[number]) for member, number in asked], bounds)
    more = dict(zip(asked, further, strict=True))
    for member, sample in enumerate(written):
        known = {(member, number): answer for number, answer in enumerate(sample)} | more
        wrongly = (
            _example(models, member, problems[number], known[member, number])
            for number in wrong[member]
            if (member, number) in known
        )
        yield from [_wrong(one) for one in wrongly if one.first_error is not None][:1]


def _wrong(one: Example) -> WrongAnswer:
    """An example without its text, which may be very long."""
    assert one.first_error is not None
    return WrongAnswer(one.problem, one.truth, one.answer, one.member, one.first_error)


def _example(models: Models, member: int, problem: Problem, written: Written) -> Example:
    """A problem, what a member wrote after it, and where that goes wrong."""
    (tokens, answer), base, layout = written, problem.answer_base, models.layout
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
    texts: Sequence[list[int]],
    scored: Scores,
    bounds: ShapeBounds | None,
) -> tuple[Generated, list[list[Written]]]:
    """How many generated answers are right, whether it agrees, how fast it wrote; what it wrote.

    It agrees if it writes the true one of `texts` to the letter just where one pass says so; an
    answer may be right although its trace is not.
    """
    begun = time.perf_counter()
    asked = [(member, problem) for member in range(models.members) for problem in sample]
    flat = answers(models, asked, bounds)
    seconds = time.perf_counter() - begun
    written = [flat[first : first + len(sample)] for first in range(0, len(asked), len(sample))]
    tokens = sum(len(text) for answers in written for text, _ in answers)
    right = np.array(
        [[a == p.truth for (_, a), p in zip(row, sample, strict=True)] for row in written]
    )
    same = np.array(
        [[t == text for (t, _), text in zip(row, texts, strict=True)] for row in written]
    )
    agrees = bool((same == scored.exact_match[:, : len(sample)]).all())
    return Generated(
        len(sample), rounded(right.mean(axis=1)), agrees, round(tokens / seconds)
    ), written


def _completion(models: Models, problem: Problem) -> list[int]:
    """What is right to write after the prompt."""
    tokens, prompt = models.layout.tokens_of(problem)
    return tokens[prompt:]


def generate(
    models: Models,
    member: int,
    problems: Sequence[Problem],
    bounds: ShapeBounds | None,
) -> list[list[int]]:
    """The tokens that a member writes after each prompt, one after the other.

    Under a window a text without end is given up after more tokens than any program writes.
    """
    layout = models.layout
    if models.memo is None:
        bounds = bounds or bounds_of(models, problems)
        return completions(models.member(member), layout, problems, bounds)
    assert isinstance(layout, ProgramLayout)
    prompts = [layout.prompt_tokens(problem) for problem in problems]
    return write(layout.machine, layout.windows, models.memo.look(member), prompts)


def answers(
    models: Models, asked: Sequence[tuple[int, Problem]], bounds: ShapeBounds | None
) -> list[Written]:
    """What members write after problems, and the answers in that; under a window side by side.

    There a text is given up that is longer than is right.
    """
    layout, texts = models.layout, list[list[int]]()
    if not asked:
        return []
    if models.memo is None or not isinstance(layout, ProgramLayout):
        for member, group in groupby(asked, lambda one: one[0]):
            texts += generate(models, member, [problem for _, problem in group], bounds)
    else:
        right = dict[Problem, tuple[list[int], int]]()
        for _, problem in asked:
            if problem not in right:
                right[problem] = layout.tokens_of(problem)
        look, members = models.memo.tokens, np.array([member for member, _ in asked])
        prompts = Prompts.of([right[problem][0][: right[problem][1]] for _, problem in asked])
        limit = 16 + max(len(tokens) - prompt for tokens, prompt in right.values())
        follow = lambda rows, texts: look(rows, members[texts])
        texts = complete(layout.machine, layout.windows, follow, prompts, limit).lists
    return [
        (text, layout.answer(problem, text))
        for (_, problem), text in zip(asked, texts, strict=True)
    ]
