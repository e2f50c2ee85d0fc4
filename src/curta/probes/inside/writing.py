"""What members write, token by token, under interventions."""

from collections.abc import Sequence

import numpy as np

from curta.evaluation import generation
from curta.evaluation.scoring import Models
from curta.probes.inside.interventions import Intervention
from curta.probes.inside.question import Question
from curta.probes.inside.texts import Tokens
from curta.problems.problem import Problem

SPARE = 16
"""Tokens more than are right to write, after which a text without end is given up."""


def written(
    models: Models, problems: Sequence[Problem], interventions: Sequence[Intervention]
) -> list[list[list[int]]]:
    """The tokens that each member writes after each problem's prompt, up to and with its end.

    Before each token a pass over all that is written so far is made anew, with the interventions
    at those of its tokens that they select; values are taken from true texts. A dense model has
    no room for more tokens than are right for problems of this size.
    """
    spare = 0 if models.memo is None else SPARE
    return [
        _written(Question(models.only(member), problems, interventions, spare))
        for member in range(models.members)
    ]


def _written(asked: Question) -> list[list[int]]:
    """What one member writes."""
    prompts = [asked.written[row][1] for row in range(len(asked.problems))]
    now: list[list[int]] = [asked.written[row][0][:count] for row, count in enumerate(prompts)]
    if not asked.config.causal:
        return _at_once(asked, list(zip(now, prompts, strict=True)))
    end, ended = asked.layout.end, np.zeros(len(now), bool)
    for _ in range(asked.bounds.completion):
        likeliest = _likeliest(asked, list(zip(now, prompts, strict=True)))
        for row, text in enumerate(now):
            if not ended[row]:
                text.append(int(likeliest[row, len(text) - 1]))
                ended[row] = text[-1] == end
        if ended.all():
            break
    return [text[count:] for text, count in zip(now, prompts, strict=True)]


def _at_once(asked: Question, given: list[Tokens]) -> list[list[int]]:
    """What an encoder writes, up to the first end."""
    rows = _likeliest(asked, given)[:, : asked.bounds.completion].tolist()
    return [generation.ended(row, asked.layout.end) for row in rows]


def _likeliest(asked: Question, given: Sequence[Tokens]) -> np.ndarray:
    """The likeliest token after each position: problems by positions."""
    logits = asked.values(asked.texts(given), ["logits"])["logits"]
    found: np.ndarray = logits[0].argmax(axis=-1)
    return found
