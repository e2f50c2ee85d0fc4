"""Encodings by index or distance, each against its definition written out in plain loops."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.config.positions import FIRE, T5, Positions, Randomised
from curta.layouts import TokenPositions, layout_named
from curta.model import weights
from curta.model.positions import build
from curta.model.positions.base import Encoding, Shape
from tests import tiny

WIDTH, HEADS, BLOCKS, TIME = 8, 2, 3, 14
LAYOUT = layout_named("reversed")


def built(settings: Positions, heads: int = HEADS) -> Encoding:
    encoding = build(settings, Shape(LAYOUT, WIDTH, heads, BLOCKS))
    return weights.draw((encoding, weights.normal(1, scale=1.0)), jax.random.key(0))[0]


def at(*indices: int, texts: int = 1) -> TokenPositions:
    index = jnp.array([indices] * texts, jnp.int32)
    return TokenPositions(index, jnp.zeros_like(index), jnp.zeros((*index.shape, 1), jnp.int32))


def biases(encoding: Encoding, where: TokenPositions, block: int = 0) -> np.ndarray:
    """Heads x queries x keys of the first text."""
    layer = jax.tree.map(lambda leaf: leaf[block], encoding.layers)
    return np.asarray(encoding.bias(layer, encoding.visible_keys(where, where)))[0]


def earlier(indices: Any) -> list[tuple[int, int]]:
    """Every query with every key that it sees."""
    return [(i, j) for i in range(len(indices)) for j in range(i + 1)]


# Sinusoidal.


# ALiBi.


# T5.


def t5_bucket(distance: int, buckets: int, max_distance: int) -> int:
    """`_relative_position_bucket` for one distance, not bidirectional."""
    exact = buckets // 2
    if distance < exact:
        return distance
    far = math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)
    return min(exact + int(far), buckets - 1)


@pytest.mark.parametrize("settings", [T5(), T5(num_buckets=8, max_distance=20)])
def test_t5_has_one_number_a_head_for_each_bucket_in_every_block(settings: T5) -> None:
    indices = (0, 1, 7, 15, 16, 31, 32, 33, 90, 127, 128, 129, 1000)
    encoding = built(settings)
    found = biases(encoding, at(*indices))
    assert encoding.layers == ()  # so blocks can have none of their own
    for i, j in earlier(indices):
        bucket = t5_bucket(indices[i] - indices[j], settings.num_buckets, settings.max_distance)
        np.testing.assert_allclose(found[:, i, j], encoding.table[bucket], rtol=1e-6)


# FIRE.


def fire(maps: Any, block: int, head: int, query: int, key: int) -> float:
    """The source's formula for one pair of positions."""
    c, m = float(maps.scale[block]), float(maps.threshold[block])
    near = math.log(abs(c * (query - key)) + 1)
    far = math.log(abs(c * max(query, abs(m * 512.0))) + 1) + 1e-6
    total = float(maps.down_bias[block, head])
    for feature in range(maps.up.shape[1]):
        inner = float(maps.up[block, feature]) * near / far + float(maps.up_bias[block, feature])
        total += max(inner, 0.0) * float(maps.down[block, feature, head])
    return total


def shaken(encoding: Any) -> Any:
    """Everything that blocks learn moved from where it begins, so that all of it matters."""
    leaves, structure = jax.tree.flatten(encoding)
    rng = np.random.default_rng(0)
    moved = [leaf + 0.3 * rng.standard_normal(leaf.shape).astype(np.float32) for leaf in leaves]
    return jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in moved])


@pytest.mark.parametrize("change", [lambda encoding: encoding, shaken], ids=["fresh", "learned"])
def test_fire_biases_are_the_formula_in_each_block(change: Any) -> None:
    indices = (0, 1, 5, 40, 511, 600, 2000)  # both sides of the threshold
    encoding = change(built(FIRE()))
    maps = jax.tree.map(np.asarray, encoding.maps)
    for block in range(BLOCKS):
        found = biases(encoding, at(*indices), block)
        for head, (i, j) in ((h, pair) for h in range(HEADS) for pair in earlier(indices)):
            expected = fire(maps, block, head, indices[i], indices[j])
            assert found[head, i, j] == pytest.approx(expected, abs=1e-5)


def test_fire_draws_positions_for_each_block_and_for_all_texts_alike() -> None:
    """The biases of a moved text are the formula at some sorted subset, block by block."""
    encoding, where = shaken(built(FIRE(max_length=40))), at(*range(TIME), texts=3)
    moved = encoding.shift_batch(where, jax.random.key(1))
    drawn, maps = np.asarray(moved.coordinates)[..., 1:], jax.tree.map(np.asarray, encoding.maps)
    assert (drawn == drawn[:1]).all()
    assert len({tuple(drawn[0, :, block].tolist()) for block in range(BLOCKS)}) == BLOCKS
    for block in range(BLOCKS):
        positions = drawn[0, :, block].tolist()
        assert sorted(set(positions)) == positions
        assert 0 <= positions[0] <= positions[-1] < 40
        found = biases(encoding, moved, block)
        for i, j in earlier(positions):
            expected = fire(maps, block, 1, positions[i], positions[j])
            assert found[1, i, j] == pytest.approx(expected, abs=1e-5)


# Randomised positions.


@pytest.mark.parametrize("of", ["learned", "sinusoidal"])
def test_randomised_positions_are_vectors_of_a_sorted_subset(of: Any) -> None:
    encoding, where = built(Randomised(of=of, max_length=20)), at(*range(TIME), texts=2)
    vectors = np.asarray(encoding.embed(at(*range(20))))[0]
    for seed in range(5):
        found = np.asarray(encoding.embed(encoding.shift_batch(where, jax.random.key(seed))))
        tiny.assert_close(found[0], found[1])
        chosen = [int(np.abs(vectors - row).sum(axis=1).argmin()) for row in found[0]]
        tiny.assert_close(found[0], vectors[chosen])
        assert chosen == sorted(set(chosen))
        assert chosen != list(range(TIME))


@pytest.mark.parametrize("settings", [Randomised(max_length=22), FIRE(max_length=22)])
def test_a_text_longer_than_what_positions_are_drawn_from_is_refused(settings: Positions) -> None:
    encoding = built(settings)
    encoding.check(tiny.bounds(LAYOUT, 6), training=True)  # 6 + 6 + 7 digits, three signs: 22
    with pytest.raises(UserError, match=r"too long for random positions below 22 \(positions"):
        encoding.check(tiny.bounds(LAYOUT, 7), training=True)
