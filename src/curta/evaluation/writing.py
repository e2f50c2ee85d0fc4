"""What trained members write after problems of any size and operation, and where it goes wrong."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from curta.evaluation.generation import bucket, completions
from curta.evaluation.results import FirstError, NamedProblem, Written
from curta.evaluation.scoring import Models, bounds_of, room_for, scores
from curta.layouts import ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.problems.operations import Answer
from curta.problems.problem import Problem, answer_text, parse, widths
from curta.programs.machine.writing import Prompts, complete, write

TokensAndAnswer = tuple[list[int], Answer | None]
"""The tokens that a member wrote, and the answer in them; None if it is malformed."""

MOST_NATS = 690.0
"""The loss from which on all perplexities are the same: the largest that a file holds."""

AROUND = 60
"""Tokens that are kept before the first wrong one, and from it on: traces may be very long."""

TOGETHER = 1 << 14
"""Tokens of problems that are calculated with at once: more do not fit into the caches.

512 sums of 20 digits: 1,268 a second with 32 at once, 613 with all.
"""

ALONE = 8192
"""Problems that are written at once under a window, where all that is kept are tokens."""


def generate(
    models: Models,
    member: int,
    problems: Sequence[Problem],
    bounds: ShapeBounds | None,
) -> list[list[int]]:
    """Return the tokens that a member writes after each prompt, one after the other.

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
    models: Models, pairs: Sequence[tuple[int, Problem]], bounds: ShapeBounds | None
) -> list[TokensAndAnswer]:
    """Return what members write after problems, and the answers in that.

    Under a window they write side by side: a text is given up that is longer than is right.
    """
    layout, texts = models.layout, list[list[int]]()
    if not pairs:
        return []
    if models.memo is None or not isinstance(layout, ProgramLayout):
        for member, group in groupby(pairs, lambda pair: pair[0]):
            texts += generate(models, member, [problem for _, problem in group], bounds)
    else:
        right = {problem: layout.tokens_of(problem) for problem in {p: None for _, p in pairs}}
        look, members = models.memo.tokens, np.array([member for member, _ in pairs])
        prompts = Prompts.of([right[problem][0][: right[problem][1]] for _, problem in pairs])
        limit = 16 + max(len(tokens) - prompt for tokens, prompt in right.values())
        follow = lambda rows, texts: look(rows, members[texts])
        texts = complete(layout.machine, layout.windows, follow, prompts, limit).lists
    return [
        (text, layout.answer(problem, text))
        for (_, problem), text in zip(pairs, texts, strict=True)
    ]


def written(models: Models, problems: Sequence[Problem], member: int) -> list[list[int]]:
    """The tokens that a member writes after each problem, up to and with its end."""
    texts = dict[int, list[int]]()
    for group in _by_size(problems):
        bounds = room_for(models, [problems[i] for i in group])
        together = ALONE if bounds is None else max(1, TOGETHER // bounds.total)
        for start in range(0, len(group), together):
            part = group[start : start + together]
            tokens = generate(models, member, [problems[i] for i in part], bounds)
            texts |= dict(zip(part, tokens, strict=True))
    return [texts[i] for i in range(len(problems))]


def named(texts: Sequence[str], before: Models, after: Models) -> list[NamedProblem]:
    """For each problem the truth and what every member wrote before training and after it."""
    problems = [parse(text) for text in texts]
    begun, trained = (answers_of_all(models, problems) for models in (before, after))
    return [
        NamedProblem(
            operator=problem.operator,
            problem=str(problem),
            truth=answer_text(problem.truth, problem.answer_base),
            before=earlier,
            after=later,
        )
        for problem, earlier, later in zip(problems, begun, trained, strict=True)
    ]


def perplexities(models: Models, problems: Sequence[Problem]) -> list[list[float]]:
    """For each problem the perplexity of the right answer, by member."""
    losses = dict[int, list[float]]()
    for group in _by_size(problems):
        part = [problems[i] for i in group]
        part_scores = scores(models, part, room_for(models, part))
        mean = np.minimum(part_scores.losses / part_scores.tokens, MOST_NATS)
        losses |= dict(zip(group, np.exp(mean).T.round(6).tolist(), strict=True))
    return [losses[i] for i in range(len(problems))]


def answers_of_all(models: Models, problems: Sequence[Problem]) -> list[list[Written]]:
    """Return of each problem what every member wrote, and the answer in it.

    A text that is longer than the right one is given up: models at their first steps never end it.
    """
    layout, by_problem = models.layout, dict[int, list[Written]]()
    for group in _by_size(problems):
        part = [problems[i] for i in group]
        pairs = [(member, problem) for member in range(models.members) for problem in part]
        texts = iter(answers(models, pairs, room_for(models, part)))
        for (_, problem), number in zip(pairs, group * models.members, strict=True):
            text, answer = next(texts)
            tokens, prompt = layout.tokens_of(problem)
            shown = None if answer is None else answer_text(answer, problem.answer_base)
            wrong = first_error(text, tokens[prompt:], layout.characters)
            row = Written(layout.decode(text), shown, wrong)
            by_problem.setdefault(number, []).append(row)
    return [by_problem[number] for number in range(len(problems))]


def _by_size(problems: Sequence[Problem]) -> list[list[int]]:
    """Indices of problems that fit the same compiled program."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, problem in enumerate(problems):
        shape = (problem.operator, *map(bucket, widths(problem)))
        groups.setdefault(shape, []).append(number)
    return list(groups.values())


def first_error(
    written: Sequence[int], expected: Sequence[int], symbols: Sequence[str]
) -> FirstError | None:
    """The first wrong token of a text and what stands around it; None if all of it is right."""
    if list(written) == list(expected):
        return None
    shorter = min(len(written), len(expected))
    at = next((i for i in range(shorter) if written[i] != expected[i]), shorter)
    around = slice(max(0, at - AROUND), at + AROUND)
    wrote, should = ("".join(symbols[t] for t in text[around]) for text in (written, expected))
    before = sum(len(symbols[t]) for t in expected[:at])
    start = sum(len(symbols[t]) for t in expected[: around.start])
    return FirstError(before, start, wrote, should, token=at)
