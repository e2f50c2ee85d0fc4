"""Exact match by scoring, confirmed by real generation on a sample.

Every examination also generates a sample token by token and says whether both agree.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from curta.config.sections import Evaluation
from curta.config.task import Task
from curta.evaluation.evaluation_set import categories, drawn
from curta.evaluation.first_error import slip
from curta.evaluation.generation import completions
from curta.evaluation.scoring import Models, Scores, bounds_of, exact, room_for, scores
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.problems.operations import Answer
from curta.problems.problem import Problem, answer_text, widths
from curta.problems.tasks import RANDOM, held_out
from curta.programs.machine.writing import write

Written = tuple[list[int], Answer | None]
"""The tokens that a member wrote, and the answer in them; None if it is malformed."""


def lengths(
    models: Models, operator: str, size: int | str, settings: Evaluation
) -> list[dict[str, Any]]:
    """Exact match for each category of problems of one size, every member on its own."""
    count = settings.count
    exams = {
        category: drawn(models.layout, operator, category, size, count, settings.seed)
        for category in categories(models.layout, operator)
    }
    found = {category: exam for category, exam in exams.items() if exam}
    return _examined(models, found, str(size), settings)


def unseen(models: Models, task: Task, first: int, settings: Evaluation) -> list[dict[str, Any]]:
    """Exact match on problems that the task holds out, from place `first` of them on.

    They are also written in the other layouts that the settings name.
    """
    assert task.values is not None
    end = min(task.held_out, first + settings.held_out)
    exam, size = held_out(task, range(first, end)), "{}..{}".format(*task.values)
    rows = _examined(models, {"held out": exam}, size, settings)
    for name in settings.layouts:
        other = replace(models, layout=models.layout.other(name))
        rows += _examined(other, {f"held out, {name}": exam}, size, settings)
    return rows


def grid(
    models: Models,
    operator: str,
    settings: Evaluation,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Any]:
    """Exact match for every pair of digit counts up to `settings.grid`."""
    counts = list(range(1, settings.grid + 1))
    rows: list[np.ndarray] = []
    widest = drawn(models.layout, operator, RANDOM, settings.grid, 1, settings.seed)
    bounds = room_for(models, widest)
    for first in counts:
        exam = [
            problem
            for second in counts
            for problem in drawn(
                models.layout,
                operator,
                RANDOM,
                f"{first}/{second}",
                settings.grid_count,
                settings.seed,
            )
        ]
        cells = exact(models, exam, bounds).reshape(models.members, len(counts), -1)
        rows.append(cells.mean(axis=-1))
        progress(first / settings.grid)
    table = np.stack(rows, axis=1)
    return {
        "operator": operator,
        "max_digits": settings.grid,
        "digits": counts,
        "count": settings.grid_count,
        "exact": table.round(6).tolist(),
    }


def examples(
    models: Models, operator: str, size: int | str, settings: Evaluation
) -> list[dict[str, Any]]:
    """A few generated answers of every member."""
    exam = [
        problem
        for category in categories(models.layout, operator)
        for problem in drawn(models.layout, operator, category, size, 2, settings.seed + 1)
    ]
    bounds = room_for(models, exam)
    return [
        _told(models, member, problem, written) | {"text": models.layout.decode(written[0])}
        for member in range(models.members)
        for problem, written in zip(exam, _answers(models, member, exam, bounds), strict=True)
    ]


def _examined(
    models: Models, exams: dict[str, list[Problem]], size: str, settings: Evaluation
) -> list[dict[str, Any]]:
    """A row for each category of problems, all of one size."""
    every = [problem for exam in exams.values() for problem in exam]
    bounds, sample = room_for(models, every), max(1, settings.generated)
    if models.memo is None:
        _answers(models, 0, every[:sample], bounds)  # compiles, so that only writing is timed
    digits = max(max(widths(problem)) for problem in every)
    asked = {"operator": every[0].operator, "size": size, "digits": digits}
    found, rows, first = scores(models, every, bounds), [], 0
    for category, exam in exams.items():
        own = found.part(slice(first, first := first + len(exam)))
        rows.append(asked | {"category": category} | _row(models, exam, own, sample, bounds))
    return rows


def _row(
    models: Models, exam: Sequence[Problem], found: Scores, sample: int, bounds: ShapeBounds | None
) -> dict[str, Any]:
    texts = [_completion(models, problem) for problem in exam[:sample]]
    begun = time.perf_counter()
    written = _all_answers(models, exam[:sample], bounds, _limit(texts))
    seconds = time.perf_counter() - begun
    return {
        "count": len(exam),
        "exact": found.right.mean(axis=1).round(6).tolist(),
        "token_accuracy": found.token_accuracy.round(6).tolist(),
        "perplexity": np.exp(found.loss).round(6).tolist(),
        "generated": _generated(exam[:sample], texts, found.right, written, seconds),
        "errors": [
            error
            for member, mine in enumerate(written)
            if (error := _error(models, member, exam, found.right[member], mine, bounds))
        ],
    }


def _error(
    models: Models,
    member: int,
    exam: Sequence[Problem],
    right: Bool[np.ndarray, " problems"],
    sample: list[Written],
    bounds: ShapeBounds | None,
) -> dict[str, Any] | None:
    """A problem that a member has wrong, and what it writes; None if it has all right.

    One of the generated sample if there is one, else the first ones are generated too.
    """
    wrong = np.flatnonzero(~right).tolist()
    known = dict(enumerate(sample))
    if wrong and wrong[0] not in known:
        chosen = (wrong * len(sample))[: len(sample)]
        answers = _answers(models, member, [exam[number] for number in chosen], bounds)
        known = dict(zip(chosen, answers, strict=True))
    told = (_told(models, member, exam[n], known[n]) for n in wrong if n in known)
    return next((one for one in told if one["slip"] is not None), None)


def _told(models: Models, member: int, problem: Problem, written: Written) -> dict[str, Any]:
    """A problem, what a member wrote after it, and where that goes wrong."""
    tokens, answer = written
    right, prompt = models.layout.tokens_of(problem)
    return {
        "problem": str(problem),
        "truth": answer_text(problem.truth, problem.answer_base),
        "answer": None if answer is None else answer_text(answer, problem.answer_base),
        "member": member,
        "slip": slip(tokens, right[prompt:], models.layout.characters),
    }


def _generated(
    sample: Sequence[Problem],
    texts: Sequence[list[int]],
    right: Bool[np.ndarray, "members problems"],
    written: list[list[Written]],
    seconds: float,
) -> dict[str, Any]:
    """Exact match of real generation, whether it agrees, and how fast it wrote.

    It agrees if it writes the true one of `texts` to the letter just where one pass says so; an
    answer may be right although its trace is not.
    """
    tokens = sum(len(text) for answers in written for text, _ in answers)
    exact = np.array(
        [[a == p.truth for (_, a), p in zip(row, sample, strict=True)] for row in written]
    )
    same = np.array(
        [[t == text for (t, _), text in zip(row, texts, strict=True)] for row in written]
    )
    return {
        "count": len(sample),
        "exact": exact.mean(axis=1).round(6).tolist(),
        "agrees": bool((same == right[:, : len(sample)]).all()),
        "tokens_per_second": round(tokens / seconds),
    }


def _completion(models: Models, problem: Problem) -> list[int]:
    """What is right to write after the prompt."""
    tokens, prompt = models.layout.tokens_of(problem)
    return tokens[prompt:]


def generate(
    models: Models, member: int, exam: Sequence[Problem], bounds: ShapeBounds | None, limit: int = 0
) -> list[list[int]]:
    """The tokens that a member writes after each prompt, one after the other.

    Under a window a text without end is given up after `limit` tokens, or after more than any
    program writes.
    """
    layout = models.layout
    if models.memo is None:
        return completions(models.member(member), layout, exam, bounds or bounds_of(models, exam))
    assert isinstance(layout, ProgramLayout)
    prompts = [layout.prompt_tokens(problem) for problem in exam]
    return write(layout.machine, layout.windows, models.memo.look(member), prompts, limit)


def _answers(
    models: Models, member: int, exam: Sequence[Problem], bounds: ShapeBounds | None
) -> list[Written]:
    """What a member writes, and the answer in it; given up when it is longer than is right."""
    limit = _limit([_completion(models, problem) for problem in exam])
    return _read(models.layout, exam, generate(models, member, exam, bounds, limit))


def _all_answers(
    models: Models, exam: Sequence[Problem], bounds: ShapeBounds | None, limit: int
) -> list[list[Written]]:
    """The answers of every member; under a window all members write side by side."""
    layout, every = models.layout, range(models.members)
    if models.memo is None or not isinstance(layout, ProgramLayout):
        return [_read(layout, exam, generate(models, member, exam, bounds)) for member in every]
    prompts = [layout.prompt_tokens(problem) for problem in exam]
    texts = write(
        layout.machine,
        layout.windows,
        models.memo.tokens,
        prompts * models.members,
        limit,
        np.repeat(every, len(exam)),
    )
    return [_read(layout, exam, texts[m * len(exam) : (m + 1) * len(exam)]) for m in every]


def _limit(texts: Sequence[list[int]]) -> int:
    """A few tokens more than are right to write: who has not ended by then is wrong."""
    return 16 + max(map(len, texts))


def _read(layout: Layout, exam: Sequence[Problem], texts: Sequence[list[int]]) -> list[Written]:
    """The texts with the answers in them."""
    return [(t, layout.answer(problem, t)) for t, problem in zip(texts, exam, strict=True)]
