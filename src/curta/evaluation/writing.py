"""What trained members write for problems of any size and operation, and where it goes wrong."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from curta.evaluation.generation import bucket, completions
from curta.evaluation.results import FirstError, NamedProblem, Written
from curta.evaluation.scoring import Models, bounds_of, room_for, scores
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.problems.operations import Answer
from curta.problems.problem import Problem, answer_text, parse, widths
from curta.programs.machine.writing import Prompts, complete

TokensAndAnswer = tuple[list[int], Answer | None]
"""The tokens that a member wrote, and their answer; None if it is malformed."""

MOST_NATS = 690.0
"""The loss from which all perplexities are equal: the largest that a file can hold."""

AROUND = 60
"""Tokens that are stored before the first wrong one, and from it on: traces may be very long."""

TOGETHER = 1 << 14
"""Tokens of problems that are computed at once: more do not fit into the caches.

512 sums of 20 digits: 1,268 a second with 32 at once, 613 with all.
"""

ALONE = 8192
"""Problems that are written at once under a window, which needs only their tokens."""


def generate(
    models: Models,
    member: int | Sequence[int],
    problems: Sequence[Problem],
    bounds: ShapeBounds | None,
    limit: int = 0,
) -> list[list[int]]:
    """Return the tokens that a member, or each problem's own member, writes after each prompt.

    With a window they are written side by side; a text without end is abandoned after `limit`
    tokens, by default more than any program writes.
    """
    layout, texts = models.layout, list[list[int]]()
    members = [member] * len(problems) if isinstance(member, int) else member
    if models.memo is None:
        bounds = bounds or bounds_of(models, problems)
        for number, group in groupby(zip(members, problems, strict=True), lambda pair: pair[0]):
            own = [problem for _, problem in group]
            texts += completions(models.member(number), layout, own, bounds)
        return texts
    assert isinstance(layout, ProgramLayout)
    look, owner = models.memo.tokens, np.array(members)
    follow = lambda rows, texts: look(rows, owner[texts])
    prompts = Prompts.of([layout.prompt_tokens(problem) for problem in problems])
    return complete(layout.machine, layout.windows, follow, prompts, limit).lists


def answers(
    models: Models, pairs: Sequence[tuple[int, Problem]], bounds: ShapeBounds | None
) -> list[TokensAndAnswer]:
    """Return the texts and answers of members for pairs of member and problem.

    With a window, a text longer than the right one is abandoned.
    """
    if not pairs:
        return []
    layout, limit = models.layout, 0
    members, problems = [member for member, _ in pairs], [problem for _, problem in pairs]
    if models.memo is not None:
        right = [layout.tokens_of(problem) for problem in dict.fromkeys(problems)]
        limit = 16 + max(len(tokens) - prompt for tokens, prompt in right)
    texts = generate(models, members, problems, bounds, limit)
    return [
        (text, layout.answer(problem, text)) for problem, text in zip(problems, texts, strict=True)
    ]


def write_texts(models: Models, problems: Sequence[Problem], member: int) -> list[list[int]]:
    """Return the tokens that a member writes after each problem, including the end."""
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
    """Return for each problem its truth and every member's text before and after training."""
    problems = [parse(text) for text in texts]
    begun, trained = (answers_of_all(models, problems) for models in (before, after))
    return [
        NamedProblem(
            operator=problem.operator,
            problem=str(problem),
            truth=truth_text(problem),
            before=earlier,
            after=later,
        )
        for problem, earlier, later in zip(problems, begun, trained, strict=True)
    ]


def perplexities(models: Models, problems: Sequence[Problem]) -> list[list[float]]:
    """Return for each problem the perplexity of the right answer, by member."""
    losses = dict[int, list[float]]()
    for group in _by_size(problems):
        part = [problems[i] for i in group]
        part_scores = scores(models, part, room_for(models, part))
        mean = np.minimum(part_scores.losses / part_scores.tokens, MOST_NATS)
        losses |= dict(zip(group, np.exp(mean).T.round(6).tolist(), strict=True))
    return [losses[i] for i in range(len(problems))]


def answers_of_all(models: Models, problems: Sequence[Problem]) -> list[list[Written]]:
    """Return for each problem what every member wrote, and its answer."""
    layout, by_problem = models.layout, dict[int, list[Written]]()
    for group in _by_size(problems):
        part = [problems[i] for i in group]
        pairs = [(member, problem) for member in range(models.members) for problem in part]
        texts = answers(models, pairs, room_for(models, part))
        for number, text in zip(group * models.members, texts, strict=True):
            row = compared(layout, problems[number], text)
            by_problem.setdefault(number, []).append(row)
    return [by_problem[number] for number in range(len(problems))]


def truth_text(problem: Problem) -> str:
    return answer_text(problem.truth, problem.answer_base)


def compared(layout: Layout, problem: Problem, pair: TokensAndAnswer) -> Written:
    """Return a text and its answer as people read them, and the first error in it."""
    (tokens, answer), (right, prompt) = pair, layout.tokens_of(problem)
    text = None if answer is None else answer_text(answer, problem.answer_base)
    error = first_error(tokens, right[prompt:], layout.characters)
    return Written(layout.decode(tokens), text, error)


def _by_size(problems: Sequence[Problem]) -> list[list[int]]:
    """Return the indices of problems that fit the same compiled program."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, problem in enumerate(problems):
        shape = (problem.operator, *map(bucket, widths(problem)))
        groups.setdefault(shape, []).append(number)
    return list(groups.values())


def first_error(
    text_tokens: Sequence[int], expected: Sequence[int], symbols: Sequence[str]
) -> FirstError | None:
    """Return the first wrong token of a text and its surroundings; None if all of it is right."""
    if list(text_tokens) == list(expected):
        return None
    shorter = min(len(text_tokens), len(expected))
    at = next((i for i in range(shorter) if text_tokens[i] != expected[i]), shorter)
    around = slice(max(0, at - AROUND), at + AROUND)
    wrote, should = ("".join(symbols[t] for t in text[around]) for text in (text_tokens, expected))
    before = sum(len(symbols[t]) for t in expected[:at])
    start = sum(len(symbols[t]) for t in expected[: around.start])
    return FirstError(before, start, wrote, should, token=at)
