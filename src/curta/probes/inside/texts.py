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

WrittenText = tuple[list[int], int]
"""A written text, and the number of tokens in its prompt."""

NO_GOAL = -1
"""In place of a goal, where the model predicts nothing."""


class Texts(NamedTuple):
    """Texts, a row each; positions from `lengths` on are padding.

    A decoder reads all tokens but the last, and predicts the next one at each of them. An encoder
    reads the prompt, and predicts the i-th token of the completion at the i-th position.
    """

    text: Text
    lengths: Int[np.ndarray, " problems"]
    roles: Int[np.ndarray, "problems positions"]
    coordinates: Int[np.ndarray, "problems positions axes"]

    @classmethod
    def of(
        cls, layout: Layout, config: ModelConfig, texts: Sequence[WrittenText], bounds: ShapeBounds
    ) -> "Texts":
        """Lay out written texts, complete or partial."""
        lengths = [len(tokens) for tokens, _ in texts]
        if not config.causal:
            lengths = [max(prompt, len(tokens) - prompt) for tokens, prompt in texts]
            texts = [(tokens[:prompt], prompt) for tokens, prompt in texts]
        text = padded_texts(texts, bounds.total, 0)
        where = model_input(layout, config, text, bounds)[1]
        return cls(text, np.array(lengths), np.asarray(where.role), np.asarray(where.coordinates))

    @property
    def present(self) -> Bool[np.ndarray, "problems positions"]:
        """Which positions are not padding."""
        mask: np.ndarray = np.arange(self.roles.shape[1]) < self.lengths[:, None]
        return mask

    def rows(self, rows: Int[np.ndarray, " rows"]) -> "Texts":
        """Return some of the texts."""
        text = Text(*(array[rows] for array in self.text))
        return Texts(text, *(array[rows] for array in self[1:]))


def model_input(
    layout: Layout, config: ModelConfig, text: Text, bounds: ShapeBounds
) -> tuple[Int[Array, "batch time"], TokenPositions]:
    """Return the tokens that a model reads, and their positions."""
    where = layout.where(text)
    if config.causal:
        return text.tokens, where
    prompt = prompt_batch(text.tokens, where, text.prompts, bounds)
    return prompt.tokens, prompt.where


def goals(
    config: ModelConfig, texts: Sequence[WrittenText], positions: int
) -> Int[np.ndarray, "problems positions"]:
    """Return the right token to follow each position, where the model predicts one.

    For 2+2=4$, a decoder has nothing three times, then 4 and $; an encoder has 4 and $ first.
    """
    table = np.full((len(texts), positions), NO_GOAL, np.int32)
    for row, (tokens, prompt) in zip(table, texts, strict=True):
        start, completion = (prompt - 1 if config.causal else 0), tokens[prompt:]
        row[start : start + len(completion)] = completion
    return table


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Return room for texts of all these problems, of any operators.

    Raises UserError for a problem that the layout cannot write, or that has no positions.
    """
    by_operator: dict[str, list[Problem]] = {}
    for problem in problems:
        by_operator.setdefault(problem.operator, []).append(problem)
    all_bounds = [
        room_for(models, mine) or models.layout.bounds_of(mine) for mine in by_operator.values()
    ]
    extents = zip_longest(*(bounds.extents for bounds in all_bounds), fillvalue=(0, 0))
    return ShapeBounds(
        max(bounds.prompt for bounds in all_bounds),
        max(bounds.completion for bounds in all_bounds),
        tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in extents),
    )


def aligned(
    layout: Layout, texts: Texts, others: Texts, rows: Int[np.ndarray, " problems"]
) -> Int[np.ndarray, "problems positions"]:
    """Return the position of each token's counterpart in another text, one of `rows`; -1 for none.

    The counterpart is the digit of the same role on the same square, or the operator of the same
    role; of several, the one of the same rank. In 21+4= the 4 and = are tokens 3 and 4, in 213+45=
    tokens 4 and 6.
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
        counterparts = [index.get(key, -1) for key in keys(texts, row)]
        places[row, : len(counterparts)] = counterparts
    return places
