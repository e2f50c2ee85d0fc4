"""A trained adder is proved right on all sums, and a spoilt one has a wrong sum named."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.evaluation import adder_proof
from curta.evaluation.adder_proof import (
    Ball,
    Feedforward,
    every_sum,
    exact,
    margins,
    matrices_of,
)
from curta.evaluation.generation import completions
from curta.layouts import Text
from curta.layouts.batches import completion_batch
from curta.model.transformer import Transformer
from curta.model.weights import unshared
from curta.problems.problem import Problem, parse
from tests import adder, tiny

SUMS = tiny.random_sums(200, 10)
EDGES = [Problem("+", pair) for pair in ((0, 0), (10**10 - 1, 1), (10**10 - 1, 10**10 - 1))]


def logits(model: Transformer, problems: list[Problem]) -> tuple[np.ndarray, np.ndarray]:
    """What the model says at each answer digit of true texts, and what is right."""
    layout = model.layout
    bounds, count = layout.bounds_of(problems), len(problems)
    tokens = jnp.array([layout.tokens_of(problem)[0] for problem in problems])
    text = Text(tokens, jnp.full(count, bounds.prompt), jnp.full(count, bounds.total))
    batch = completion_batch(text, layout.where(text), bounds)
    found = model(batch.tokens, batch.where, batch.queries, bounds)
    return np.asarray(found), np.asarray(batch.goals)


@pytest.mark.slow
def test_a_trained_adder_is_right_on_every_sum() -> None:
    found = every_sum(adder.solved())
    assert found.grade == "proved"
    said, right = logits(adder.solved(), SUMS + EDGES)
    wanted = np.take_along_axis(said, right[..., None], axis=-1)
    rivals = np.where(np.arange(10) == right[..., None], -np.inf, said)
    assert 1 < found.margin <= (wanted - rivals.max(axis=-1, keepdims=True)).min()


def confirmed(model: Transformer, text: str) -> bool:
    """Whether the model, asked token by token, writes another sum."""
    problem = parse(text)
    (written,) = completions(model, model.layout, [problem], model.layout.bounds_of([problem]))
    return model.layout.answer(problem, written) != problem.truth


def test_a_spoilt_adder_has_a_sum_that_it_writes_wrong() -> None:
    found = every_sum(adder.nearly())
    assert found.grade == "wrong"
    assert found.problem is not None
    assert confirmed(adder.nearly(), found.problem)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_found_of_a_disturbed_adder_is_so(seed: int) -> None:
    """Proved ones are right on random sums; wrong sums are written wrong."""
    rng = np.random.default_rng(seed)
    model, amount = adder.solved(), 10 ** rng.uniform(-3, -1)
    model = jax.tree.map(lambda leaf: leaf * (1 + amount * rng.standard_normal(leaf.shape)), model)
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model)
    found = every_sum(model)
    if found.grade == "wrong":
        assert found.problem is not None
        assert confirmed(model, found.problem)
    if found.grade == "proved":
        said, right = logits(model, SUMS + EDGES)
        assert (said.argmax(axis=-1) == right).all()


@pytest.mark.parametrize("out", ["out-query", "out-value"])
def test_weights_that_stand_for_others_are_known_up_to_their_rounding(out: str) -> None:
    shared = adder.shared(out)
    ours, theirs = matrices_of(shared), matrices_of(unshared(shared))
    query, angle = np.asarray(shared.attention.query[0], float), np.asarray(shared.attention.turn)
    rotated = (query[:, ::2] + 1j * query[:, 1::2]) * np.exp(1j * angle.item())
    key = np.stack([rotated.real, rotated.imag], axis=-1).reshape(query.shape)
    assert (np.abs(ours.key.middle - key) <= ours.key.radius).all()
    assert 0 < ours.key.radius.min() <= ours.key.radius.max() < 1e-5
    assert (ours.passed.radius > theirs.passed.radius).all()


@pytest.mark.parametrize(
    ("field", "value"), [("norm", "plain"), ("qk_input", "state"), ("activation", "gelu")]
)
def test_other_designs_are_refused_by_name(field: str, value: str) -> None:
    model = adder.solved()
    other = replace(model, config=replace(model.config, **{field: value}))
    with pytest.raises(UserError, match=f"no proof for model.{field} '{value}'"):
        every_sum(other)


# Numbers known up to a radius, and the feed-forward on them.

SEEDS = st.integers(0, 10_000)


def single(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2)).astype(np.float32)


def holds(ball: Ball, found: np.ndarray) -> bool:
    return bool((np.abs(found.astype(np.float64) - ball.middle) <= ball.radius).all())


@given(SEEDS)
def test_sums_and_products_in_single_precision_are_in_the_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = single(rng, 3, 40), single(rng, 40, 2)
    order = rng.permutation(40)
    total = np.zeros((3, 2), np.float32)
    for number in order:
        total = total + x[:, number, None] * y[None, number]
    assert holds(adder_proof.product(exact(x), exact(y)), total)
    assert holds(adder_proof.added(*map(exact, x)), (x[2] + x[0]) + x[1])
    assert holds(adder_proof.scaled(exact(x), exact(x)), x * x)


@given(SEEDS)
def test_numbers_within_operands_give_results_within_the_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = Ball(rng.standard_normal((3, 5)), rng.uniform(0, 1, (3, 5)))
    y = Ball(rng.standard_normal((5, 2)), rng.uniform(0, 1, (5, 2)))
    inner = [ball.middle + rng.uniform(-1, 1, ball.radius.shape) * ball.radius for ball in (x, y)]
    assert holds(adder_proof.product(x, y), inner[0] @ inner[1])
    weights = np.exp(inner[0])
    assert holds(adder_proof.softmax(x), weights / weights.sum(axis=-1, keepdims=True))
    assert holds(adder_proof.wave(x, np.sin), np.sin(inner[0]))


def random_feedforward(squared: bool) -> Feedforward:
    rng = np.random.default_rng(3)
    up, down, logits = (rng.standard_normal(shape) for shape in ((2, 6), (6, 2), (2, 10)))
    return Feedforward(up, down, exact(logits), squared)


def true_margins(after: Feedforward, state: np.ndarray, target: np.ndarray) -> np.ndarray:
    logits = (state + after.activate(state @ after.up) @ after.down) @ after.logits.middle
    right = logits[np.arange(len(target)), target]
    logits[np.arange(len(target)), target] = -np.inf
    return right - logits.max(axis=1)


@pytest.mark.parametrize("squared", [False, True])
def test_margins_of_states_in_a_ball_are_within_the_bounds(squared: bool) -> None:
    rng, after = np.random.default_rng(0), random_feedforward(squared)
    target = rng.integers(0, 10, 200)
    state = Ball(rng.standard_normal((200, 2)) * 3, rng.uniform(0, 0.5, (200, 2)))
    sure, possible = margins(after, state, target)
    for _ in range(100):
        inner = state.middle + rng.uniform(-1, 1, state.radius.shape) * state.radius
        found = true_margins(after, inner, target)
        assert (sure <= found).all()
        assert (found <= possible).all()
