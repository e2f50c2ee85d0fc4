"""Losses of looped models: which recurrences count, and through which gradients go."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import Array

from curta.config.sections import Training
from curta.layouts import layout_named
from curta.layouts.batches import completion_batch
from curta.model.transformer import Transformer
from curta.training import trainer
from curta.training.trainer import Keys, step_keys
from tests import textbook, tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(1, 4), ROOM.total)
WHERE = LAYOUT.where(TEXT)
RECURRENCES = 4
KEYS = [step_keys(seed, 0) for seed in range(24)]


def with_recurrences(inject: str) -> Transformer:
    recipe = tiny.with_encoding(
        "nope",
        model__num_recurrences=RECURRENCES,
        model__input_injection=inject,
        model__width=8,
        model__heads=1,
        model__num_layers=1,
    )
    return tiny.drawn(recipe, LAYOUT)


def learning(model: Transformer, settings: Training) -> Any:
    """Loss and gradient of a step with these keys, compiled once for all of them."""

    def loss(model: Transformer, keys: Keys) -> Array:
        return trainer.loss_and_exact_match(
            model, completion_batch(TEXT, WHERE, ROOM), ROOM, keys, settings
        )[0]

    compiled = jax.jit(jax.value_and_grad(loss))
    return lambda keys: compiled(model, keys)


def by_hand(model: Transformer, no_grad_recurrences: int, taught: int) -> Array:
    """The loss after both numbers of recurrences, the first without gradient, by a plain loop."""
    (start,), (end,) = TEXT.prompts.tolist(), TEXT.lengths.tolist()
    tokens, roles = TEXT.tokens[0, : end - 1], WHERE.role[0, : end - 1]
    frozen, entry = jax.lax.stop_gradient(model), textbook.entry(model, tokens, roles)
    x, still = textbook.begin(model, entry), jax.lax.stop_gradient(entry)
    for _ in range(no_grad_recurrences):
        x = textbook.loop(frozen, jax.lax.stop_gradient(x), still)
    for _ in range(taught):
        x = textbook.loop(model, x, entry)
    goals, logits = TEXT.tokens[0, start:end], textbook.logits(model, x)[start - 1 :]
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, goals))


def learned_by_hand(model: Transformer, no_grad_recurrences: int, taught: int) -> Any:
    return jax.jit(jax.value_and_grad(by_hand), static_argnums=(1, 2))(
        model, no_grad_recurrences, taught
    )


def near(first: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(other), strict=True)
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)


def mean(first: Any, other: Any, share: float = 0.5) -> Any:
    return jax.tree.map(lambda a, b: share * a + (1 - share) * b, first, other)


@pytest.mark.slow
def test_mixed_is_half_the_last_and_half_any_number_of_recurrences() -> None:
    model = with_recurrences("block")
    step = learning(model, Training(recurrence_loss="mixed"))
    by_count = [
        learned_by_hand(model, 0, num_recurrences) for num_recurrences in range(1, RECURRENCES + 1)
    ]
    choices = [mean(part, by_count[-1]) for part in by_count]
    drawn = [[near(step(keys), choice) for choice in choices] for keys in KEYS]
    assert all(sum(row) == 1 for row in drawn)  # one of them, and no other
    assert np.array(drawn).any(axis=0).all()  # each at some step


ALLOWED = {(n, k) for n in range(RECURRENCES) for k in (1, 2) if n + k <= RECURRENCES}


@pytest.mark.parametrize("inject", ["none", pytest.param("sublayer", marks=pytest.mark.slow)])
def test_progressive_is_some_recurrences_without_gradient_and_some_with(inject: str) -> None:
    model = with_recurrences(inject)
    step = learning(model, Training(recurrence_loss="progressive"))
    choices = {pair: learned_by_hand(model, *pair) for pair in sorted(ALLOWED)}
    met = set()
    for keys in KEYS:
        observed = step(keys)
        same = [pair for pair, choice in choices.items() if near(observed, choice)]
        assert len(same) == 1
        met |= set(same)
    assert len(met) >= len(ALLOWED) - 1


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_the_rest_of_a_progressive_loss_has_all_recurrences_half_of_them_with_gradient(
    alpha: float,
) -> None:
    model = with_recurrences("block")
    settings = Training(recurrence_loss="progressive", progressive_alpha=alpha)
    observed = learning(model, settings)(KEYS[1])
    most = learned_by_hand(model, RECURRENCES - 2, 2)
    drawn = learning(model, Training(recurrence_loss="progressive"))(KEYS[1])
    assert near(observed, mean(drawn, most, alpha))
