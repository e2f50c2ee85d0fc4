"""What trained members write by themselves after problems of any size and operation."""

from collections.abc import Sequence

import numpy as np

from curta.evaluation.exact_match import MOST_NATS, generate
from curta.evaluation.first_error import first_error
from curta.evaluation.generation import bucket
from curta.evaluation.results import NamedProblem
from curta.evaluation.results import Written as Answered
from curta.evaluation.scoring import Models, room_for, scores
from curta.problems.problem import Problem, answer_text, parse, widths

TOGETHER = 1 << 14
"""Tokens of problems that are calculated with at once: more do not fit into the caches.

512 sums of 20 digits: 1,268 a second with 32 at once, 613 with all.
"""

ALONE = 8192
"""Problems that are written at once under a window, where all that is kept are tokens."""


def written(models: Models, problems: Sequence[Problem], member: int) -> list[list[int]]:
    """The tokens that a member writes after each problem, up to and with its end."""
    texts = dict[int, list[int]]()
    for group in _by_size(problems):
        bounds = room_for(models, [problems[i] for i in group])
        together = ALONE if bounds is None else max(1, TOGETHER // bounds.total)
        for start in range(0, len(group), together):
            part = group[start : start + together]
            found = generate(models, member, [problems[i] for i in part], bounds)
            texts |= dict(zip(part, found, strict=True))
    return [texts[i] for i in range(len(problems))]


def named(texts: Sequence[str], before: Models, after: Models) -> list[NamedProblem]:
    """For each problem the truth and what every member wrote before training and after it."""
    problems = [parse(text) for text in texts]
    begun, trained = (answers_of_all(models, problems) for models in (before, after))
    return [
        NamedProblem(problem.operator, str(problem), _truth(problem), earlier, later)
        for problem, earlier, later in zip(problems, begun, trained, strict=True)
    ]


def perplexities(models: Models, problems: Sequence[Problem]) -> list[list[float]]:
    """For each problem the perplexity of the right answer, by member."""
    losses = dict[int, list[float]]()
    for group in _by_size(problems):
        part = [problems[i] for i in group]
        found = scores(models, part, room_for(models, part))
        mean = np.minimum(found.losses / found.tokens, MOST_NATS)
        losses |= dict(zip(group, np.exp(mean).T.round(6).tolist(), strict=True))
    return [losses[i] for i in range(len(problems))]


def answers_of_all(models: Models, problems: Sequence[Problem]) -> list[list[Answered]]:
    """Of each problem what every member wrote, and the answer in it; None if it is malformed."""
    every = [written(models, problems, member) for member in range(models.members)]
    return [
        [_answered(models, problem, text) for text in texts]
        for problem, texts in zip(problems, zip(*every, strict=True), strict=True)
    ]


def _answered(models: Models, problem: Problem, written: list[int]) -> Answered:
    layout, answer = models.layout, models.layout.answer(problem, written)
    tokens, prompt = layout.tokens_of(problem)
    wrong = first_error(written, tokens[prompt:], layout.characters)
    shown = None if answer is None else answer_text(answer, problem.answer_base)
    return Answered(layout.decode(written), shown, wrong)


def _truth(problem: Problem) -> str:
    return answer_text(problem.truth, problem.answer_base)


def _by_size(problems: Sequence[Problem]) -> list[list[int]]:
    """Indices of problems that fit the same compiled program."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, problem in enumerate(problems):
        shape = (problem.operator, *map(bucket, widths(problem)))
        groups.setdefault(shape, []).append(number)
    return list(groups.values())
