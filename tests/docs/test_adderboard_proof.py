"""A trained adder is proved right on all sums, and a spoilt one has a wrong sum named."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curta
from curta.config.errors import UserError
from curta.frontends import api
from curta.layouts import Text
from curta.layouts.base import completion_batch
from curta.model.transformer import Transformer
from curta.model.weights import unshared
from curta.problems.problem import Problem, parse
from curta.runs import checkpoints
from curta.training import trainer
from docs import adderboard_proof as proof
from docs.adderboard_proof import Ball, exact
from tests import adder, tiny

EDGES = [Problem("+", pair) for pair in ((0, 0), (10**10 - 1, 1), (10**10 - 1, 10**10 - 1))]
SUMS = [*tiny.random_sums(200, 10), *EDGES]


def leads(model: Transformer, problems: list[Problem]) -> np.ndarray:
    """Return by how much the right digit leads the next best, at each digit of true answers."""
    layout = model.layout
    bounds, count = layout.bounds_of(problems), len(problems)
    tokens = jnp.array([layout.tokens_of(problem)[0] for problem in problems])
    text = Text(tokens, jnp.full(count, bounds.prompt), jnp.full(count, bounds.total))
    batch = completion_batch(text, layout.where(text), bounds)
    logits = np.asarray(model(batch.tokens, batch.where, batch.queries, bounds))
    goals = np.asarray(batch.goals)[..., None]
    rivals = np.where(np.arange(10) == goals, -np.inf, logits)
    right: np.ndarray = np.take_along_axis(logits, goals, axis=-1)[..., 0] - rivals.max(axis=-1)
    return right


@pytest.mark.slow
def test_members_of_a_run_are_proved_or_have_a_wrong_sum_that_they_write() -> None:
    """By the file as a probe; the margin is at most that of any sum."""
    run = api.begin("adderboard", 2, "adders", adder.CHANGES)
    state = trainer.init(run.recipe, run.layout, jnp.asarray(run.seeds))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), adder.solved(), adder.nearly())
    owner = checkpoints.owner(run.recipe, run.seeds, 10)
    checkpoints.save(run.folder.checkpoints, 10, state._replace(model=stacked), owner)
    right, wrong = curta.probe(curta.load("adders"), str(Path(proof.__file__)))
    assert (right["grade"], right["problem"]) == ("proved", None)
    assert 1 < right["margin"] <= leads(adder.solved(), SUMS).min()
    assert (wrong["grade"], wrong["margin"]) == ("wrong", None)
    assert wrong["written"] != sum(map(int, wrong["problem"].split("+")))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_verdict_on_a_disturbed_adder_is_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, amount = adder.solved(), 10 ** rng.uniform(-3, -1)
    model = jax.tree.map(lambda leaf: leaf * (1 + amount * rng.standard_normal(leaf.shape)), model)
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model)
    verdict = proof.every_sum(model)
    if verdict.grade == "wrong":
        assert leads(model, [parse(verdict.problem or "")]).min() < 0
    if verdict.grade == "proved":
        assert leads(model, SUMS).min() > 0


@pytest.mark.parametrize("out", ["out-query", "out-value"])
def test_weights_that_stand_for_others_are_known_up_to_their_rounding(out: str) -> None:
    shared = adder.shared(out)
    ours, theirs = proof.matrices_of(shared), proof.matrices_of(unshared(shared))
    query, angle = np.asarray(shared.attention.query[0], float), np.asarray(shared.attention.turn)
    rotated = (query[:, ::2] + 1j * query[:, 1::2]) * np.exp(1j * angle.item())
    key = np.stack([rotated.real, rotated.imag], axis=-1).reshape(query.shape)
    assert (np.abs(ours.key.middle - key) <= ours.key.radius).all()
    assert 0 < ours.key.radius.min() <= ours.key.radius.max() < 1e-5
    assert (ours.passed.radius > theirs.passed.radius).all()


def test_other_designs_are_refused() -> None:
    model = adder.solved()
    for field, value in {"norm": "plain", "qk_input": "state", "activation": "gelu"}.items():
        other = replace(model, config=replace(model.config, **{field: value}))
        with pytest.raises(UserError, match=f"no proof for model.{field} '{value}'"):
            proof.every_sum(other)
    for recipe in (tiny.recipe(), tiny.dense(), adder.recipe(model__qk_input="state")):
        assert proof.EverySum.unfit(recipe) is not None
    assert proof.EverySum.unfit(adder.recipe()) is None


def holds(ball: Ball, values: np.ndarray) -> bool:
    return bool((np.abs(values.astype(np.float64) - ball.middle) <= ball.radius).all())


@given(st.integers(0, 10_000))
def test_results_are_in_the_ball(seed: int) -> None:
    """In single precision, in any order; and of all numbers in the operands."""
    rng = np.random.default_rng(seed)
    x, y = (
        (rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2)).astype(np.float32)
        for shape in ((3, 40), (40, 2))
    )
    total = np.zeros((3, 2), np.float32)
    for number in rng.permutation(40):
        total = total + x[:, number, None] * y[None, number]
    assert holds(proof.product(exact(x), exact(y)), total)
    assert holds(proof.added(*map(exact, x)), (x[2] + x[0]) + x[1])
    assert holds(proof.scaled(exact(x), exact(x)), x * x)
    wide = [Ball(rng.standard_normal(s), rng.uniform(0, 1, s)) for s in ((3, 5), (5, 2))]
    inner = [ball.middle + rng.uniform(-1, 1, ball.radius.shape) * ball.radius for ball in wide]
    assert holds(proof.product(*wide), inner[0] @ inner[1])
    weights = np.exp(inner[0])
    assert holds(proof.softmax(wide[0]), weights / weights.sum(axis=-1, keepdims=True))
    assert holds(proof.wave(wide[0], np.sin), np.sin(inner[0]))


@pytest.mark.parametrize("squared", [False, True])
def test_margins_of_states_in_a_ball_are_within_the_bounds(squared: bool) -> None:
    rng = np.random.default_rng(0)
    up, down, head = (rng.standard_normal(shape) for shape in ((2, 6), (6, 2), (2, 10)))
    after, target = proof.Feedforward(up, down, exact(head), squared), rng.integers(0, 10, 200)
    state = Ball(rng.standard_normal((200, 2)) * 3, rng.uniform(0, 0.5, (200, 2)))
    sure, possible = proof.margins(after, state, target)
    rows = np.arange(200)
    for _ in range(100):
        x = state.middle + rng.uniform(-1, 1, state.radius.shape) * state.radius
        logits = (x + after.activate(x @ up) @ down) @ head
        right = logits[rows, target]
        logits[rows, target] = -np.inf
        assert (sure <= right - logits.max(axis=1)).all()
        assert (right - logits.max(axis=1) <= possible).all()
