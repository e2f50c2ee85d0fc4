"""Windows: looked up, each calculated once, and learned as whole texts are."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import Array

from curta.layouts.base import completion_batch
from curta.model.transformer import Transformer, logits_of_windows
from curta.training import trainer
from curta.training.records import padded_texts
from curta.training.trainer import step_keys
from tests import paper, tiny


@pytest.mark.parametrize("operator", ["+", pytest.param("*", marks=pytest.mark.slow)])
def test_learning_from_texts_is_learning_from_distinct_windows_by_how_often_they_are(
    operator: str,
) -> None:
    """The same loss and gradient: it is the premise of training on windows."""
    program = {"+": "addition", "*": "multiplication"}[operator]
    recipe = tiny.recipe(
        program=program, task__operator=operator, task__digits=[1, 3], model__role_embeddings=True
    )
    layout = paper.layout(recipe)
    problems = paper.some(operator, 3, 4) + paper.some(operator, 1, 16)
    texts = [layout.tokens_of(problem) for problem in problems]
    bounds = layout.room_for(texts)
    text = padded_texts(texts, bounds.total, layout.end)
    batch = completion_batch(text, layout.where(text), bounds)
    counts = Counter(one for problem in problems for one in paper.windows(layout, problem))
    rows, targets = map(jnp.asarray, paper.rows(list(counts)))
    weights = jnp.asarray(list(counts.values()), jnp.float32)
    assert len(counts) < 0.9 * sum(counts.values())

    def of_texts(model: Transformer) -> Array:
        keys = step_keys(0, 0)
        return trainer.loss_and_exact_match(model, batch, bounds, keys, recipe.training)[0]

    def of_windows(model: Transformer) -> Array:
        logits = logits_of_windows(model, rows)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
        return jnp.sum(weights * losses) / jnp.sum(weights)

    (loss, gradient), (same, expected) = (
        jax.jit(jax.value_and_grad(function))(tiny.drawn(recipe, layout, 1))
        for function in (of_texts, of_windows)
    )
    assert float(loss) == pytest.approx(float(same), rel=1e-5)
    leaves = zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True)
    for one, other in leaves:
        assert np.linalg.norm(other) > 0
        assert np.linalg.norm(one - other) < 1e-5 * np.linalg.norm(other)
