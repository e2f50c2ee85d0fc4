"""Training: pure in (seed, step), resumable to the bit, members that do not disturb each other."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.layouts.base import completion_batch
from curta.layouts.texts import layout_of
from curta.model.transformer import logits_of_windows
from curta.problems import task_sizes, tasks
from curta.training import records, trainer
from curta.training.records import Data
from curta.training.trainer import KEY_USES, Member, Metrics, TaskBounds, step_keys, task_keys
from tests import tiny

RECIPE = tiny.recipe()
DENSE = tiny.dense()
LAYOUT, LAYOUT_OF_WINDOWS = layout_of(DENSE), layout_of(RECIPE)
TRAINED = 1e-3
"""Tolerance for weights after a few steps: Adam divides small gradients, rounding included."""


@cache
def program(members: int, devices: int) -> Callable[..., tuple[Member, Metrics]]:
    """A recipe's steps for that many members on that many devices, compiled once."""
    mesh = trainer.mesh_for(members, RECIPE.training.batch, jax.devices()[:devices])
    call = trainer.compile_steps(RECIPE, bounds_in(RECIPE), mesh)

    def run(state: Member, first: int, count: int) -> tuple[Member, Metrics]:
        data, _ = records.training_data(RECIPE, LAYOUT_OF_WINDOWS, state.seed.tolist())
        state, data = trainer.shard(state, mesh), trainer.place_data(data, mesh)
        after = call(state, data, jnp.int32(first), jnp.int32(count))
        members, metrics = jax.device_get(after)
        return members, jax.tree.map(lambda column: column[:, :count], metrics)

    return run


def bounds_in(recipe: Recipe) -> TaskBounds:
    """Return room for the texts of training."""
    _, bounds = records.training_data(recipe, layout_of(recipe), [0])
    return bounds


def begun(recipe: Recipe, *seeds: int) -> Member:
    return trainer.init(recipe, layout_of(recipe), jnp.asarray(seeds))


def fresh(*seeds: int) -> Member:
    return jax.device_get(begun(RECIPE, *seeds))


def member(of: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[number], of)


@pytest.fixture(scope="module")
def four() -> tuple[Member, Metrics]:
    """Seeds 0 and 1 after four steps, on one device."""
    return program(2, 1)(fresh(0, 1), 0, 4)


@pytest.mark.parametrize("number", [0, 1])
def test_a_member_trained_with_another_is_the_member_trained_alone(
    four: tuple[Member, Metrics], number: int
) -> None:
    alone = program(1, 1)(fresh(number), 0, 4)
    tiny.assert_close(member(alone, 0), member(four, number), TRAINED)


def test_a_batch_divided_over_devices_has_the_loss_of_the_whole_batch(
    four: tuple[Member, Metrics],
) -> None:
    """Up to rounding: each device adds up its own half first."""
    state, metrics = program(1, 2)(fresh(0), 0, 4)
    tiny.assert_close(metrics.loss[0], four[1].loss[0])
    np.testing.assert_array_equal(metrics.exact_match[0], four[1].exact_match[0])
    assert state.alive.all()


@pytest.mark.slow
def test_what_is_drawn_for_each_text_does_not_depend_on_the_devices_that_share_a_batch() -> None:
    """Hints and starts: one device's half of a batch is not the other's."""
    recipe = tiny.with_encoding("position-coupling", layout="hints", training__batch=4)
    losses = []
    for devices in (1, 2):
        mesh = trainer.mesh_for(1, 4, jax.devices()[:devices])
        state = trainer.shard(begun(recipe, 0), mesh)
        call = trainer.compile_steps(recipe, bounds_in(recipe), mesh)
        _, metrics = call(state, Data(), jnp.int32(0), jnp.int32(3))
        losses.append(np.asarray(metrics.loss)[0, :3])
    tiny.assert_close(*losses)


def test_a_member_that_diverges_stays_as_it_was_and_stays_stopped(
    four: tuple[Member, Metrics],
) -> None:
    start = fresh(0, 1)
    hyperparams = start.hyperparams._replace(learning_rate=np.array([0.01, 1e30], np.float32))
    after, _ = program(2, 1)(start._replace(hyperparams=hyperparams), 0, 4)
    assert after.alive.tolist() == [True, False]
    assert tiny.same(member(after.model, 1), member(start.model, 1))
    assert tiny.same(member(after.model, 0), member(four[0].model, 0))
    harmless = after._replace(hyperparams=start.hyperparams)
    later, _ = program(2, 1)(harmless, 4, 1)
    assert later.alive.tolist() == [True, False]
    assert tiny.same(member(later.model, 1), member(start.model, 1))


# What is scored.


def test_loss_and_exact_are_those_computed_by_hand() -> None:
    """Cross entropy in NumPy over the completion only, from the logits of all tokens."""
    model, bounds = tiny.drawn(DENSE, LAYOUT), tiny.bounds(LAYOUT, 4)
    text = tiny.text(LAYOUT, tiny.random_sums(6, 4), bounds.total)
    every_logit = jax.jit(
        lambda: model(text.tokens, LAYOUT.where(text), tiny.every_index(text), bounds)
    )
    logits, tokens = np.asarray(every_logit()), np.asarray(text.tokens)
    losses, flawless = [], []
    for row, (start, end) in enumerate(zip(text.prompts.tolist(), text.lengths.tolist())):  # noqa: B905
        right = []
        for index in range(start, end):
            scores, truth = logits[row, index - 1], int(tokens[row, index])
            losses.append(np.log(np.exp(scores).sum()) - scores[truth])
            right.append(scores.argmax() == truth)
        flawless.append(all(right))
    keys = step_keys(0, 0)

    @jax.jit
    def observed() -> tuple[jax.Array, jax.Array]:
        batch = completion_batch(text, LAYOUT.where(text), bounds)
        return trainer.loss_and_exact_match(model, batch, bounds, keys, DENSE.training)

    loss, exact = observed()
    assert float(loss) == pytest.approx(np.mean(losses), rel=1e-5)
    assert float(exact) == pytest.approx(np.mean(flawless))


def alone(call: Callable[[], Any]) -> Any:
    """As on one device, for which a step divides its batch."""
    mesh = jax.make_mesh((1,), ("batch",), devices=jax.devices()[:1])
    specs = jax.sharding.PartitionSpec()
    return jax.jit(jax.shard_map(call, mesh=mesh, in_specs=(), out_specs=specs, check_vma=False))()


TASKS = [{"operator": o, "digits": [1, 3], "weight": w} for o, w in (("+", 1.0), ("-", 3.0))]


def test_tasks_count_by_their_share_of_the_batch() -> None:
    """Loss and exact match of a recipe with two tasks are those of both, weighted."""
    recipe = tiny.dense(layout="reversed", task=TASKS)
    layout, how = layout_of(recipe), bounds_in(recipe)
    assert recipe.shares == (2, 6)
    model, keys = tiny.drawn(recipe, layout), step_keys(3, 0)

    def part(number: int) -> tuple[jax.Array, jax.Array]:
        task, share = recipe.tasks[number], recipe.shares[number]
        task_key = jax.random.fold_in(keys.problems, KEY_USES[-1] + number)
        data = task_key if number else keys.problems
        bounds = layout.bounds(task.operator, task_sizes.widest(task))
        text = layout.tokens(task.operator, tasks.draw(task, data, share), bounds)
        batch = completion_batch(text, layout.where(text), bounds)
        return trainer.loss_and_exact_match(model, batch, bounds, keys, recipe.training)

    whole = alone(lambda: trainer.objective(model, recipe, how, Data(), keys, 1, lambda x: x))
    expected = np.array([0.25, 0.75]) @ np.array(jax.jit(lambda: [part(0), part(1)])())
    np.testing.assert_allclose(np.array(whole), expected, rtol=1e-5)


def test_a_step_on_windows_has_the_mean_loss_of_those_it_drew() -> None:
    """Cross entropy in NumPy; exact match is the share of windows that are right."""
    model, keys = tiny.drawn(RECIPE, layout_of(RECIPE)), step_keys(3, 0)
    data, _ = records.training_data(RECIPE, layout_of(RECIPE), [5])
    data = data._replace(by_member=member(data.by_member, 0))
    observed = alone(
        lambda: trainer.objective(model, RECIPE, bounds_in(RECIPE), data, keys, 1, lambda x: x)
    )
    places = np.asarray(trainer.draw_windows(data, keys.problems, RECIPE.training.batch))
    rows, targets = (np.asarray(part)[places] for part in data.shared)
    logits = np.asarray(logits_of_windows(model, jnp.asarray(rows)))
    right = logits[np.arange(len(rows)), targets]
    losses = np.log(np.exp(logits).sum(axis=1)) - right
    expected = losses.mean(), (logits.argmax(axis=1) == targets).mean()
    np.testing.assert_allclose(np.array(observed), expected, rtol=1e-4)


# Devices.


def test_every_use_of_a_step_has_a_key_of_its_own() -> None:
    """On the one device of a batch, in a recipe of nine tasks."""
    every = []
    for seed, number in ((0, 0), (0, 1), (1, 0)):
        keys = step_keys(seed, number)
        of_tasks = alone(lambda keys=keys: [task_keys(keys, task) for task in range(9)])
        every += [keys.problems, keys.starts, keys.recurrences, keys.dropout]
        every += [keys.problems for keys in of_tasks[1:]] + [keys.dropout for keys in of_tasks]
    words = {tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in every}
    assert len(words) == len(every) == 3 * (4 + 8 + 9)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize(
    "changes", [{}, tiny.DENSE | {"positions__name": "t5"}], ids=["window", "text"]
)
def test_accelerators_multiply_float32_in_full_precision(
    platform: str, changes: dict[str, Any]
) -> None:
    """As lowered for their compilers, which needs none of them."""
    recipe = tiny.recipe(**changes)
    layout = layout_of(recipe)
    data, _ = records.training_data(recipe, layout, [0, 1])
    state = jax.eval_shape(lambda: begun(recipe, 0, 1))
    mesh = trainer.mesh_for(1, 1, jax.devices()[:1])
    call: Any = trainer.compile_steps(recipe, bounds_in(recipe), mesh, vectorised=True)
    traced = call.trace(state, data, jnp.int32(0), jnp.int32(0))
    text = str(traced.lower(lowering_platforms=(platform,)).as_text())
    dots = [line for line in text.splitlines() if "dot_general" in line]
    assert dots
    assert all("precision = [HIGHEST, HIGHEST]" in line for line in dots)
