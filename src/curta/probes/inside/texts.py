"""Texts as a model reads them, and what is known of each token."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Int

from curta.config.model import ModelConfig
from curta.evaluation.scoring import Models, room_for
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.batches import prompt_batch
from curta.problems.problem import Problem
from curta.training.records import padded_texts

Tokens = tuple[list[int], int]
"""A written text, and how many of its tokens are its prompt's."""

NO_GOAL = -1
"""In place of a goal, where the model predicts nothing."""


class Texts(NamedTuple):
    """Texts, a row each; what follows `lengths` positions is padding.

    A decoder reads all tokens but the last, and predicts the next one at each of them. An encoder
    reads the prompt, and predicts the i-th token of the completion at the i-th position.
    """

    text: Text
    lengths: Int[np.ndarray, " problems"]
    roles: Int[np.ndarray, "problems positions"]
    coordinates: Int[np.ndarray, "problems positions axes"]

    @classmethod
    def of(
        cls, layout: Layout, config: ModelConfig, texts: Sequence[Tokens], bounds: ShapeBounds
    ) -> "Texts":
        """Lay out written texts, whole or as far as they are written."""
        lengths = [len(tokens) for tokens, _ in texts]
        if not config.causal:
            lengths = [max(prompt, len(tokens) - prompt) for tokens, prompt in texts]
            texts = [(tokens[:prompt], prompt) for tokens, prompt in texts]
        text = padded_texts(texts, bounds.total, 0)
        where = model_input(layout, config, text, bounds)[1]
        return cls(text, np.array(lengths), np.asarray(where.role), np.asarray(where.coordinates))

    @property
    def present(self) -> Bool[np.ndarray, "problems positions"]:
        """Which positions are no padding."""
        mask: np.ndarray = np.arange(self.roles.shape[1]) < self.lengths[:, None]
        return mask

    def rows(self, rows: Int[np.ndarray, " rows"]) -> "Texts":
        """Return some of the texts."""
        return Texts(Text(*(part[rows] for part in self.text)), *(part[rows] for part in self[1:]))


def model_input(
    layout: Layout, config: ModelConfig, text: Text, bounds: ShapeBounds
) -> tuple[Int[Array, "batch time"], TokenPositions]:
    """Return the tokens that a model reads, and where they stand."""
    where = layout.where(text)
    if config.causal:
        return text.tokens, where
    prompt = prompt_batch(text.tokens, where, text.prompts, bounds)
    return prompt.tokens, prompt.where


def goals(
    config: ModelConfig, texts: Sequence[Tokens], positions: int
) -> Int[np.ndarray, "problems positions"]:
    """Return the token that is right to follow each position, where the model predicts one.

    Of 2+2=4$, a decoder's: nothing three times, then 4 and $; an encoder's: 4 and $ at first.
    """
    table = np.full((len(texts), positions), NO_GOAL, np.int32)
    for row, (tokens, prompt) in zip(table, texts, strict=True):
        start, completion = (prompt - 1 if config.causal else 0), tokens[prompt:]
        row[start : start + len(completion)] = completion
    return table


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Return room for texts of all these problems, of whatever operators.

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
    """Return where each token's counterpart stands in another text, one of `rows`; -1 if nowhere.

    That is the digit of the same role on the same square, or the operator of the same role; of
    several, the one of the same rank. From 21+4= the 4 and = are tokens 3 and 4, in 213+45= 4
    and 6.
    """

    def keys(texts: Texts, row: int) -> list[tuple[int, ...]]:
        """Role, square (of a digit) and rank of each token."""
        count, ranks, keys = texts.lengths[row], dict[tuple[int, ...], int](), []
        roles, squares = texts.roles[row, :count].tolist(), texts.coordinates[row, :count].tolist()
        for role, square in zip(roles, squares, strict=True):
            key = (role, *square) if role >= 0 and layout.roles[role].digit else (role,)
            ranks[key] = ranks.get(key, -1) + 1
            keys.append((*key, ranks[key]))
        return keys

    places = np.full(texts.roles.shape, -1)
    for row, other in enumerate(rows.tolist()):
        index = {key: place for place, key in enumerate(keys(others, other))}
        mine = [index.get(key, -1) for key in keys(texts, row)]
        places[row, : len(mine)] = mine
    return places
