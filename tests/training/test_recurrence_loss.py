"""Losses of looped models: which recurrences count, and through which gradients go."""

from collections.abc import Callable

import jax
import numpy as np
import pytest
from jaxtyping import Array
from scipy.special import log_softmax

from curta.config.sections import Training
from curta.layouts import layout_named
from curta.layouts.base import completion_batch
from curta.model.transformer import Transformer
from curta.training import trainer
from curta.training.trainer import StepKeys, step_keys
from tests import naive, tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(1, 4), ROOM.total)
WHERE = LAYOUT.where(TEXT)
RECURRENCES = 4
KEYS = [step_keys(seed, 0) for seed in range(24)]


class Learner:
    """A model and a direction of its weights; what is learned is a loss and its slope along it."""

    def __init__(self, inject: str) -> None:
        self.recipe = tiny.with_encoding(
            "nope",
            model__num_recurrences=RECURRENCES,
            model__input_injection=inject,
            model__width=8,
            model__heads=1,
            model__num_layers=1,
        )
        self.model = tiny.drawn(self.recipe, LAYOUT)
        self.weights, rng = naive.weights_of(self.model), np.random.default_rng(0)
        self.direction = {name: rng.normal(size=w.shape) for name, w in self.weights.items()}

    def step(self, settings: Training) -> Callable[[StepKeys], np.ndarray]:
        """The training's step for some keys, compiled once for all of them."""

        def loss(model: Transformer, keys: StepKeys) -> Array:
            batch = completion_batch(TEXT, WHERE, ROOM)
            return trainer.loss_and_exact_match(model, batch, ROOM, keys, settings)[0]

        compiled = jax.jit(jax.value_and_grad(loss))

        def learned(keys: StepKeys) -> np.ndarray:
            value, gradient = compiled(self.model, keys)
            slopes = naive.weights_of(gradient)
            return np.array([value, sum((slopes[n] * v).sum() for n, v in self.direction.items())])

        return learned

    def by_hand(self, no_grad_recurrences: int, taught: int) -> np.ndarray:
        """Both numbers of recurrences by a plain loop, the first with weights that stay."""
        ahead, here, behind = (
            self.loss(far, no_grad_recurrences, taught) for far in (1e-5, 0.0, -1e-5)
        )
        return np.array([here, (ahead - behind) / 2e-5])

    def loss(self, far: float, no_grad_recurrences: int, taught: int) -> float:
        (start,), (end,) = TEXT.prompts.tolist(), TEXT.lengths.tolist()
        tokens = TEXT.tokens[0, :end].tolist()
        moved = {name: w + far * self.direction[name] for name, w in self.weights.items()}
        still, learning = (
            naive.Forward(self.recipe, weights, LAYOUT, tokens[:-1])
            for weights in (self.weights, moved)
        )
        first = still if no_grad_recurrences else learning
        x = first.begin(first.entry())
        for _ in range(no_grad_recurrences):
            x = still.recurrence(x, still.entry())
        for _ in range(taught):
            x = learning.recurrence(x, learning.entry())
        shares = log_softmax(learning.logits(x)[start - 1 :], axis=1)
        return -shares[np.arange(end - start), tokens[start:]].mean()


def near(one: np.ndarray, other: np.ndarray) -> bool:
    return np.allclose(one, other, rtol=1e-3, atol=1e-5)


def mean(one: np.ndarray, other: np.ndarray, share: float = 0.5) -> np.ndarray:
    return share * one + (1 - share) * other


@pytest.mark.slow
def test_mixed_is_half_the_last_and_half_any_number_of_recurrences() -> None:
    learner = Learner("block")
    step = learner.step(Training(recurrence_loss="mixed"))
    parts = [learner.by_hand(0, num_recurrences) for num_recurrences in range(1, RECURRENCES + 1)]
    choices = [mean(part, parts[-1]) for part in parts]
    drawn = [[near(step(keys), choice) for choice in choices] for keys in KEYS]
    assert all(sum(row) == 1 for row in drawn)  # one of them, and no other
    assert np.array(drawn).any(axis=0).all()  # each at some step


ALLOWED = {(n, k) for n in range(RECURRENCES) for k in (1, 2) if n + k <= RECURRENCES}


@pytest.mark.parametrize("inject", ["none", pytest.param("sublayer", marks=pytest.mark.slow)])
def test_progressive_is_some_recurrences_without_gradient_and_some_with(inject: str) -> None:
    learner = Learner(inject)
    step = learner.step(Training(recurrence_loss="progressive"))
    choices = {pair: learner.by_hand(*pair) for pair in sorted(ALLOWED)}
    met = set()
    for keys in KEYS:
        found = step(keys)
        same = [pair for pair, choice in choices.items() if near(found, choice)]
        assert len(same) == 1
        met |= set(same)
    assert len(met) >= len(ALLOWED) - 1


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_the_rest_of_a_progressive_loss_has_all_recurrences_half_of_them_with_gradient(
    alpha: float,
) -> None:
    learner = Learner("block")
    settings = Training(recurrence_loss="progressive", progressive_alpha=alpha)
    found = learner.step(settings)(KEYS[1])
    most = learner.by_hand(RECURRENCES - 2, 2)
    drawn = learner.step(Training(recurrence_loss="progressive"))(KEYS[1])
    assert near(found, mean(drawn, most, alpha))
