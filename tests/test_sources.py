"""The recipes of the earlier systems are what their sources print."""

import jax
import numpy as np
import pytest

from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model.transformer import parameters
from curta.problems import tasks
from curta.runs import comparison_spec
from docs import components
from tests import tiny

EXTRA = {"digit-encoder": (96 - 42) * 64 + 64 + 65}
"""Rows for longer sums, and a token for products: what the source of the encoder has not."""


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("five-operations", 10_650_624),
        ("five-operations-2048", 10_650_624),
        ("digit-encoder", 104_206),
        ("ladder-1-sgd", 4 * (4 * 64 * 64 + 2 * 64 * 256) + 2 * 16 * 64),
        ("ladder-4-tied", 4 * (4 * 64 * 64 + 2 * 64 * 256) + 16 * 64),
    ],
)
def test_models_have_the_parameters_that_their_sources_count(name: str, count: int) -> None:
    recipe = api.resolve(f"sources/{name}", {})
    layout = layout_of(recipe)
    model = jax.eval_shape(lambda: tiny.drawn(recipe, layout))
    assert parameters(model) == count + EXTRA.get(name, 0)


def test_rungs_have_300_epochs_of_28_batches_and_differ_in_one_thing_each() -> None:
    rows = comparison_spec.plan(["ladder"]).rows
    for row in rows:
        training = row.recipe.training
        assert (training.steps, training.batch, training.order) == (300 * 28, 256, "fixed")
        assert tasks.trained_count(row.recipe.tasks[0]) == 7200
        assert len(row.recipe.evaluation.named) == 7
    assert [row.recipe.training.loss for row in rows[:5]] == ["padded"] * 4 + ["answer"]


def test_the_floor_is_what_two_operands_cost() -> None:
    """By drawing: the mean surprise of every predicted character of all sums up to 99 + 99."""
    texts = [f"{a}+{b}=" for a in range(100) for b in range(100)]
    counts: dict[str, int] = {}
    for text in texts:
        for end in range(len(text) + 1):
            counts[text[:end]] = counts.get(text[:end], 0) + 1
    nats = [
        -np.log(counts[text[: end + 1]] / counts[text[:end]])
        for text in texts
        for end in range(1, len(text))
    ]
    assert sum(nats) / len(texts) / 12 == pytest.approx(components.floor(99, 7168)[2])
