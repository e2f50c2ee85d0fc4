"""Look-up: what members say of windows, each calculated once, is what they say of them at once."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from curta.evaluation import memo as looked
from curta.evaluation.memo import Memo
from curta.layouts.texts import layout_of
from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer
from curta.training import trainer
from tests import paper, tiny

RECIPE = tiny.recipe()
MEMBERS = 2


@pytest.fixture(scope="module")
def stacked() -> Transformer:
    return trainer.init(RECIPE, layout_of(RECIPE), jnp.arange(MEMBERS)).model


@pytest.fixture(scope="module")
def windows() -> tuple[np.ndarray, np.ndarray]:
    """Windows of some sums, many of them several times, and what follows each."""
    layout = paper.layout(RECIPE)
    problems = paper.some("+", 4, 12) + paper.some("+", 1, 12)
    return paper.rows([one for problem in problems for one in paper.windows(layout, problem)])


def fresh(stacked: Transformer, rows: np.ndarray) -> Memo:
    return Memo(stacked, MEMBERS, rows.shape[1])


def logits(stacked: Transformer, rows: np.ndarray) -> np.ndarray:
    return np.asarray(jax.vmap(logits_of_windows, (0, None))(stacked, jnp.asarray(rows)))


def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Every window that is calculated from now on."""
    found: list[tuple[int, ...]] = []
    calculate = looked.calculate

    def noted(stacked: Transformer, rows: np.ndarray, targets: np.ndarray) -> looked.WindowOutputs:
        found.extend(map(tuple, rows.tolist()))
        return calculate(stacked, rows, targets)

    monkeypatch.setattr(looked, "calculate", noted)
    return found


def test_tokens_and_losses_are_those_of_a_direct_pass(
    stacked: Transformer, windows: tuple[np.ndarray, np.ndarray]
) -> None:
    (rows, targets), memo = windows, fresh(stacked, windows[0])
    expected = logits(stacked, rows)
    losses = optax.softmax_cross_entropy_with_integer_labels(
        jnp.asarray(expected), jnp.broadcast_to(jnp.asarray(targets), expected.shape[:2])
    )
    number = memo.with_losses(rows, targets)
    np.testing.assert_allclose(memo.loss[:, number], losses, atol=1e-5)
    for member in range(MEMBERS):
        np.testing.assert_array_equal(memo.tokens(rows, member), expected[member].argmax(-1))
        np.testing.assert_array_equal(memo.look(member)(rows), memo.token[member, number])


def test_a_window_is_calculated_once_however_often_it_is_asked(
    stacked: Transformer,
    windows: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (rows, targets), memo = windows, fresh(stacked, windows[0])
    every = asked(monkeypatch)
    half = len(rows) // 2
    memo.with_losses(rows[:half], targets[:half])
    memo.with_losses(rows, targets)
    memo.tokens(rows, 1)
    assert len(every) == len(set(every)) == len(set(map(tuple, rows.tolist()))) < len(rows)


def test_a_window_with_two_right_tokens_is_an_error(
    stacked: Transformer, windows: tuple[np.ndarray, np.ndarray]
) -> None:
    (rows, targets), memo = windows, fresh(stacked, windows[0])
    memo.with_losses(rows[:1], targets[:1])
    with pytest.raises(AssertionError, match="two right tokens"):
        memo.with_losses(rows[:1], targets[:1] + 1)
