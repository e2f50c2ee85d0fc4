"""Each encoding against its definition."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config import positions
from curta.config.errors import UserError
from curta.config.positions import FIRE, Abacus, ALiBi, Positions
from curta.layouts import Layout, TokenPositions, layout_named
from curta.model import weights
from curta.model.positions import base, build
from curta.model.positions.base import Encoding, Shape
from curta.problems.problem import Problem
from tests import tiny

WIDTH, HEADS, BLOCKS, TIME = 8, 2, 3, 14
LAYOUT = layout_named("reversed")


def built(settings: Positions, layout: str | Layout = "reversed") -> Encoding:
    chosen = layout_named(layout) if isinstance(layout, str) else layout
    encoding = build(settings, Shape(chosen, WIDTH, HEADS, BLOCKS))
    return weights.draw((encoding, weights.normal(1, scale=1.0)), jax.random.key(0))[0]


def where_of(line: str, layout: str = "reversed", room: int = 0) -> TokenPositions:
    """Where the characters of one text stand, with so much room for it that it fills or not."""
    chosen = layout_named(layout)
    tokens = np.zeros((1, max(room, len(line))), np.int32)
    tokens[0, : len(line)] = [chosen.characters.index(character) for character in line]
    return chosen.follow(jnp.asarray(tokens), jnp.array([len(line)], jnp.int32))[1]


def rows(table: Any, indices: list[int]) -> np.ndarray:
    return np.stack([np.asarray(table)[index] for index in indices])[None]


# Encodings that know coordinates.


def test_abacus_displaces_all_digits_by_one_offset_and_no_sign() -> None:
    encoding, where = built(Abacus(rows=16, max_offset=3)), where_of("12+9=12$")
    seen = set()
    for seed in range(40):
        embedded = encoding.embed(encoding.shift_batch(where, jax.random.key(seed)))
        matches = [
            offset
            for offset in range(16 - 3)
            if np.array_equal(
                embedded,
                rows(encoding.table, [i + offset if i else 0 for i in (1, 2, 0, 1, 0, 1, 2, 0)]),
            )
        ]
        assert len(matches) == 1
        seen |= set(matches)
    assert seen == {0, 1, 2, 3}


def test_coupled_displaces_all_tokens_by_one_start() -> None:
    encoding = built(positions.Coupled(rows=16, max_start=3), "coupled")
    where = where_of("1+9=01$", "coupled")
    starts = set()
    for seed in range(40):
        moved = encoding.shift_batch(where, jax.random.key(seed)).coordinates - where.coordinates
        assert len(set(np.asarray(moved).ravel().tolist())) == 1
        starts.add(int(moved[0, 0, 0]))
    assert starts == {0, 1, 2, 3}


COUPLING = positions.PositionCoupling(max_position=9)


def coupling_where(*problems: tuple[int, int]) -> TokenPositions:
    layout = layout_named("position-coupling")
    return layout.where(tiny.text(layout, [Problem("+", pair) for pair in problems], 14))


def test_position_coupling_starts_each_problem_anywhere_that_its_own_length_allows() -> None:
    """start ~ U{1 .. max_pos - n - 1}: 5 starts of 3 digits, 7 of one; id 0 stays."""
    encoding, where = built(COUPLING, "position-coupling"), coupling_where((653, 49), (7, 5))
    before = np.asarray(where.coordinates)[..., 0] + 1

    def draw(key: Any) -> Any:
        return encoding.shift_each(where, jax.random.split(key)).coordinates[..., 0] + 1

    ids = np.asarray(jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(0), 3000)))
    for row, digits in enumerate((3, 1)):
        length = 2 * digits + 2 + digits + 1
        moved = ids[:, row] - before[row]
        assert (moved[:, :length] == moved[:, :1]).all()  # one start for a problem
        assert (ids[:, row, length:] == 0).all()
        starts, counts = np.unique(1 + moved[:, 0], return_counts=True)
        assert starts.tolist() == list(range(1, 9 - digits))
        np.testing.assert_allclose(counts / 3000, 1 / (9 - digits - 1), atol=0.03)
    assert len({tuple(pair) for pair in (ids[:, :, 0]).tolist()}) == 5 * 7  # independent


# What is too long for a table is refused, what just fits is not.


@pytest.mark.parametrize(
    ("settings", "layout", "longest"),
    [
        (
            positions.Learned(length=24),
            "reversed",
            6,
        ),  # 6 + 6 digits, + and =, 7 digits and an end: 22
        (Abacus(rows=9), "reversed", 6),  # the answer has an 8th place, its end's: row 8
        (positions.Coupled(rows=8), "coupled", 5),  # the end sign stands at place 6, row 7
        (COUPLING, "position-coupling", 7),  # the signs have id 7 + 2
    ],
)
def test_texts_beyond_a_table_are_refused_in_one_line(
    settings: Positions, layout: str, longest: int
) -> None:
    encoding, chosen = built(settings, layout), layout_named(layout)
    encoding.check(tiny.bounds(chosen, longest))
    with pytest.raises(UserError, match=r"too (long|many) for this model") as caught:
        encoding.check(tiny.bounds(chosen, longest + 1))
    assert "\n" not in str(caught.value)


# Long texts.


@pytest.mark.parametrize(
    ("settings", "queries"), [(ALiBi(), 12), (FIRE(), 5), (Abacus(), 5)], ids=str
)
def test_a_long_text_attended_to_part_by_part_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch, settings: Positions, queries: int
) -> None:
    encoding, where = built(settings), where_of("123+99=0221$")
    both = jax.tree.map(lambda part: jnp.repeat(part, 2, axis=0), where)

    def attended() -> jax.Array:
        q, k, v = jax.random.normal(jax.random.key(0), (3, 2, 12, HEADS, 4))
        late = jax.tree.map(lambda part: part[:, -queries:], both)
        visible = encoding.visible_keys(both, both if queries == 12 else late)
        layer = jax.tree.map(lambda leaf: leaf[0], encoding.layers)
        return encoding.attend(layer, visible, q[:, -queries:], k, v)

    whole = jax.jit(lambda: attended())()
    monkeypatch.setattr(base, "LONG", 0)
    monkeypatch.setattr(base, "PAIRS", 50)
    assert base.queries_at_once(12, 12) == 4
    chunked = jax.jit(lambda: attended())()  # a function of its own: traced anew
    np.testing.assert_allclose(chunked, whole, rtol=1e-5, atol=1e-6)


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
        observed = biases(encoding, at(*indices), block)
        for head, (i, j) in ((h, pair) for h in range(HEADS) for pair in earlier(indices)):
            expected = fire(maps, block, head, indices[i], indices[j])
            assert observed[head, i, j] == pytest.approx(expected, abs=1e-5)


def test_fire_draws_positions_for_each_block_and_for_all_texts_alike() -> None:
    """The biases of a moved text are the formula at some sorted subset, block by block."""
    encoding, where = shaken(built(FIRE(max_length=40))), at(*range(TIME), texts=3)
    moved = encoding.shift_batch(where, jax.random.key(1))
    drawn, maps = np.asarray(moved.coordinates)[..., 1:], jax.tree.map(np.asarray, encoding.maps)
    assert (drawn == drawn[:1]).all()
    assert len({tuple(drawn[0, :, block].tolist()) for block in range(BLOCKS)}) == BLOCKS
    for block in range(BLOCKS):
        indices = drawn[0, :, block].tolist()
        assert sorted(set(indices)) == indices
        assert 0 <= indices[0] <= indices[-1] < 40
        bias = biases(encoding, moved, block)
        for i, j in earlier(indices):
            expected = fire(maps, block, 1, indices[i], indices[j])
            assert bias[1, i, j] == pytest.approx(expected, abs=1e-5)


# Randomised positions.


@pytest.mark.parametrize("of", ["learned", "sinusoidal"])
def test_randomised_positions_are_vectors_of_a_sorted_subset(of: Any) -> None:
    encoding, where = built(positions.Randomised(of=of, max_length=20)), at(*range(TIME), texts=2)
    vectors = np.asarray(encoding.embed(at(*range(20))))[0]
    for seed in range(5):
        observed = np.asarray(encoding.embed(encoding.shift_batch(where, jax.random.key(seed))))
        tiny.assert_close(observed[0], observed[1])
        chosen = [int(np.abs(vectors - row).sum(axis=1).argmin()) for row in observed[0]]
        tiny.assert_close(observed[0], vectors[chosen])
        assert chosen == sorted(set(chosen))
        assert chosen != list(range(TIME))


@pytest.mark.parametrize("settings", [positions.Randomised(max_length=22), FIRE(max_length=22)])
def test_a_text_longer_than_what_positions_are_drawn_from_is_refused(settings: Positions) -> None:
    encoding = built(settings)
    encoding.check(tiny.bounds(LAYOUT, 6), training=True)  # 6 + 6 + 7 digits, three signs: 22
    with pytest.raises(UserError, match=r"too long for random positions below 22 \(positions"):
        encoding.check(tiny.bounds(LAYOUT, 7), training=True)
