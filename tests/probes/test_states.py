"""What is read from states: the logit lens, direct attribution, carries by linear probes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.probes.inside.question import Question
from curta.probes.linear import Linear, carry_into, inputs
from curta.probes.logits import DirectLogits, LogitLens, contributions
from curta.problems.problem import Problem, parse
from tests import adder, tiny

from . import by_hand
from .helpers import alone, rows_of

SUMS = [parse(text) for text in ("12+34", "957+68", "9+9")]
DIGITS = Task("+", digits=(1, 3))


def drawn(**changes: Any) -> Models:
    recipe = tiny.recipe(**tiny.WRITTEN_WITH_ROPE | changes)
    return alone(tiny.drawn(recipe, tiny.layout_of(recipe)))


DESIGNS: list[dict[str, Any]] = [
    {"model__num_attention_layers": 2},
    {"model__num_recurrences": 2, "model__norm": "layer"},
    {"model__final_norm": False, "model__tie_embeddings": True},
    {"model__norm": "none"},
]


@pytest.mark.parametrize("changes", DESIGNS, ids=str)
def test_what_all_parts_add_is_the_whole_logit(changes: dict[str, Any]) -> None:
    models = drawn(**changes)
    question = Question(models, SUMS)
    added, digits = contributions(question), question.digits
    assert "biases" not in added
    whole = np.asarray(question.values(question.whole, ["logits"])["logits"])
    logits = whole[:, digits.problem, digits.query]
    right = np.stack([logits[:, n, token] for n, token in enumerate(digits.token)], axis=1)
    centred = right - logits.mean(axis=-1)
    np.testing.assert_allclose(sum(added.values()), centred, rtol=1e-4, atol=1e-4)


def test_a_part_that_adds_nothing_has_no_share() -> None:
    model = drawn(model__num_attention_layers=2).member(0)
    silent = model.attention.out.at[1, model.config.head_dim :].set(0.0)
    down = model.mlp.down.at[0].set(0.0)
    models = alone(replace(
        model, attention=replace(model.attention, out=silent), mlp=replace(model.mlp, down=down)
    ))  # fmt: skip
    rows = rows_of(DirectLogits(count=5), models, DIGITS)
    for part in dict.fromkeys(row["part"] for row in rows):
        every = [row["median"] for row in rows if row["part"] == part]
        assert (part in ("layer 1 head 1", "layer 0 MLP")) == (not any(every)), part


def test_a_solved_adder_has_its_digits_after_the_mlp_only() -> None:
    """35 weights: after attention the state is no digit yet, after the MLP it is."""
    rows = rows_of(LogitLens(count=30), alone(adder.solved()), Task("+", digits=(10, 10)))
    shares = {s: [r["median"] for r in rows if r["state"] == s] for s in
              ("embedding", "state amid layer 0", "state after layer 0")}  # fmt: skip
    assert set(shares["state after layer 0"]) == {1.0}
    assert np.mean(shares["embedding"][:-1]) < 0.4
    assert np.mean(shares["state amid layer 0"][:-1]) < 0.9
    assert all(row["p"] > 0.5 for row in rows if row["state"] == "state after layer 0")


UP_TO_FOUR = Task("+", digits=(1, 4))


def column(rows: list[dict[str, Any]], state: str, name: str) -> list[float]:
    return [row[name] for row in rows if row["state"] == state]


def test_a_carry_in_one_direction_is_read_without_an_error() -> None:
    """Before attention the state has the digit just written, which says it in 3 of 4 cases."""
    rows = rows_of(Linear(), by_hand.adder(), UP_TO_FOUR)
    assert column(rows, "embedding", "into") == [1, 2, 3]
    assert column(rows, "embedding", "median") == pytest.approx([0.75] * 3, abs=0.07)
    for state in ("state amid layer 0", "state after layer 0"):
        assert column(rows, state, "median") == [1.0, 1.0, 1.0]
        assert min(column(rows, state, "selectivity")) > 0.25
    assert max(column(rows, "embedding", "selectivity")) < 0.25


def test_a_carry_that_no_state_has_is_not_read() -> None:
    """Digits in the usual order, and nothing but the last one in the state."""
    recipe = tiny.recipe(layout="plain", positions__name="nope", model__num_layers=1)
    models = alone(tiny.drawn(recipe, tiny.layout_of(recipe)))
    rows = rows_of(Linear(count=1000), models, UP_TO_FOUR)
    for row in (row for row in rows if row["state"] == "embedding"):
        assert row["median"] == pytest.approx(row["majority"], abs=0.08)
        assert abs(row["selectivity"]) < 0.08


numbers = st.integers(0, 10**12)


@given(numbers, numbers, st.integers(0, 8))
def test_the_inputs_decide_the_carry(a: int, b: int, place: int) -> None:
    """So a random function of them is as much of one as the carry is, or the borrow."""
    x, y, carry = inputs(Problem("+", (a, b)), place, 10)
    assert carry_into(Problem("+", (a, b)), place + 1, 10) == int(x + y + carry >= 10)
    x, y, borrow = inputs(Problem("-", (a, b)), place, 10)
    assert carry_into(Problem("-", (a, b)), place + 1, 10) == int(x < y + borrow)
