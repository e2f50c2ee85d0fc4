"""Texts as a model is shown them, and what is known of each token."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int

from curta.config.model import ModelConfig
from curta.evaluation.scoring import Models, room_for
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.batches import prompt_batch
from curta.problems.problem import Problem
from curta.training.records import padded_texts

Tokens = tuple[list[int], int]
"""A written text, and how many of its tokens are its prompt's."""

NOTHING = -1
"""In place of a goal, where nothing is asked."""


class Texts(NamedTuple):
    """Texts, a row each; what follows `lengths` positions is padding.

    A decoder is shown all tokens but the last, and asked at each for the one after it. An encoder
    is shown the prompt, and asked at the i-th position for the i-th token of the completion.
    """

    given: Text
    lengths: Int[np.ndarray, " problems"]
    roles: Int[np.ndarray, "problems positions"]
    coordinates: Int[np.ndarray, "problems positions axes"]

    @classmethod
    def of(
        cls, layout: Layout, config: ModelConfig, texts: Sequence[Tokens], bounds: ShapeBounds
    ) -> "Texts":
        """From written texts; the prompt alone, with nothing written yet, is one too."""
        if not config.causal:
            given = padded_texts([(t[:p], p) for t, p in texts], bounds.total, 0)
            lengths = [max(prompt, len(tokens) - prompt) for tokens, prompt in texts]
        else:
            given = padded_texts(texts, bounds.total, 0)
            lengths = [len(tokens) for tokens, _ in texts]
        where = shown_to(layout, config, given, bounds)[1]
        return cls(given, np.array(lengths), np.asarray(where.role), np.asarray(where.coordinates))

    @property
    def there(self) -> np.ndarray:
        """Which positions are no padding: problems by positions."""
        found: np.ndarray = np.arange(self.roles.shape[1]) < self.lengths[:, None]
        return found

    def part(self, rows: Int[np.ndarray, " rows"]) -> "Texts":
        """Some of them."""
        return Texts(Text(*(one[rows] for one in self.given)), *(one[rows] for one in self[1:]))


def shown_to(
    layout: Layout, config: ModelConfig, text: Text, bounds: ShapeBounds
) -> tuple[Int[Array, "batch time"], TokenPositions]:
    """The tokens that a model is given, and where they stand."""
    where = layout.where(text)
    if config.causal:
        return text.tokens, where
    given = prompt_batch(text.tokens, where, text.prompts, bounds)
    return given.tokens, given.where


def unfinished(config: ModelConfig, text: Tokens) -> Tokens:
    """A text without its last token, which a decoder is never shown."""
    tokens, prompt = text
    return (tokens[:-1] if config.causal else tokens), prompt


def goals(
    config: ModelConfig, texts: Sequence[Tokens], positions: int
) -> Int[np.ndarray, "problems positions"]:
    """The token that is right to come after each position, where the model is asked for one.

    Of 2+2=4$, a decoder's: nothing three times, then 4 and $; an encoder's: 4 and $ at first.
    """
    found = np.full((len(texts), positions), NOTHING, np.int32)
    for row, (tokens, prompt) in zip(found, texts, strict=True):
        begin, asked = (prompt - 1 if config.causal else 0), tokens[prompt:]
        row[begin : begin + len(asked)] = asked
    return found


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Room for texts of all these problems, of whatever operators.

    Raises UserError for a problem that the layout cannot write, or the model has no positions for.
    """
    by_operator: dict[str, list[Problem]] = {}
    for problem in problems:
        by_operator.setdefault(problem.operator, []).append(problem)
    every = [
        room_for(models, mine) or models.layout.bounds_of(mine) for mine in by_operator.values()
    ]
    extents = zip_longest(*(one.extents for one in every), fillvalue=(0, 0))
    return ShapeBounds(
        max(one.prompt for one in every),
        max(one.completion for one in every),
        tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in extents),
    )


def aligned(
    layout: Layout, texts: Texts, others: Texts, rows: Int[np.ndarray, " problems"]
) -> Int[np.ndarray, "problems positions"]:
    """Where in its other text, one of `rows`, each token's counterpart stands; -1 if nowhere.

    That is the digit of the same role on the same square, and the sign of the same role; of
    several, the one of the same rank. From 21+4= the 4 and = are tokens 3 and 4, in 213+45= 4
    and 6.
    """
    found = np.full(texts.roles.shape, -1)
    for row, other in enumerate(rows.tolist()):
        index = {key: place for place, key in enumerate(_keys(layout, others, other))}
        mine = [index.get(key, -1) for key in _keys(layout, texts, row)]
        found[row, : len(mine)] = mine
    return found


def _keys(layout: Layout, texts: Texts, row: int) -> list[tuple[int, ...]]:
    """Role, square and rank of each token of a text; of a sign, whose square may be any, none."""
    count, ranks, found = texts.lengths[row], dict[tuple[int, ...], int](), []
    roles, squares = texts.roles[row, :count].tolist(), texts.coordinates[row, :count].tolist()
    for role, square in zip(roles, squares, strict=True):
        key = (role, *square) if role >= 0 and layout.roles[role].digit else (role,)
        ranks[key] = ranks.get(key, -1) + 1
        found.append((*key, ranks[key]))
    return found
