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
from curta.programs.machine.recording import RecordedWindows, WindowTable
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


def logits(stacked: Transformer, rows: np.ndarray) -> np.ndarray:
    return np.asarray(jax.vmap(logits_of_windows, (0, None))(stacked, jnp.asarray(rows)))


def calculated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Every window that is calculated from now on."""
    every: list[tuple[int, ...]] = []
    calculate = looked.calculate

    def noted(stacked: Transformer, rows: np.ndarray, targets: np.ndarray) -> looked.WindowOutputs:
        every.extend(map(tuple, rows.tolist()))
        return calculate(stacked, rows, targets)

    monkeypatch.setattr(looked, "calculate", noted)
    return every


def enter(table: WindowTable, rows: np.ndarray, targets: np.ndarray) -> WindowTable:
    table.add(RecordedWindows(rows, targets, np.zeros(len(rows), np.int64)))
    return table


def test_tokens_and_losses_are_those_of_a_direct_pass(
    stacked: Transformer, windows: tuple[np.ndarray, np.ndarray]
) -> None:
    table = enter(WindowTable(windows[0].shape[1]), *windows)
    rows, memo = windows[0], Memo(stacked, MEMBERS, windows[0].shape[1])
    losses = optax.softmax_cross_entropy_with_integer_labels(
        logits(stacked, table.rows), jnp.broadcast_to(table.targets, (MEMBERS, len(table)))
    )
    np.testing.assert_allclose(memo.true_outputs(table).loss, losses, atol=1e-5)
    for member, expected in enumerate(logits(stacked, rows).argmax(-1)):
        np.testing.assert_array_equal(memo.tokens(rows, member), expected)
        np.testing.assert_array_equal(memo.look(member)(rows), expected)


def test_a_window_is_calculated_once_however_often_it_is_looked_up(
    stacked: Transformer,
    windows: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (rows, targets), half = windows, len(windows[0]) // 2
    table, memo = WindowTable(rows.shape[1]), Memo(stacked, MEMBERS, rows.shape[1])
    every = calculated(monkeypatch)
    memo.true_outputs(enter(table, rows[:half], targets[:half]))
    memo.true_outputs(enter(table, rows, targets))
    memo.tokens(rows, 1)
    assert len(every) == len(set(every)) == len(set(map(tuple, rows.tolist()))) < len(rows)
