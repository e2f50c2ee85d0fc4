"""Each encoding against its definition."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.config.positions import (
    FIRE,
    T5,
    Abacus,
    ALiBi,
    Coupled,
    Learned,
    NoPE,
    PositionCoupling,
    Positions,
    RoPE,
)
from curta.layouts import Layout, TokenPositions, layout_named
from curta.model import weights
from curta.model.positions import base, build
from curta.model.positions.base import Encoding, Shape
from curta.problems.problem import Problem
from tests import covering, tiny

WIDTH, HEADS = 8, 2


def built(settings: Positions, layout: str | Layout = "reversed") -> Encoding:
    chosen = layout_named(layout) if isinstance(layout, str) else layout
    encoding = build(settings, Shape(chosen, WIDTH, HEADS, num_attention_layers=1))
    return weights.draw((encoding, weights.normal(1, scale=1.0)), jax.random.key(0))[0]


def where_of(line: str, layout: str = "reversed", room: int = 0) -> TokenPositions:
    """Where the characters of one text stand, with so much room for it that it fills or not."""
    chosen = layout_named(layout)
    tokens = np.zeros((1, max(room, len(line))), np.int32)
    tokens[0, : len(line)] = [chosen.characters.index(character) for character in line]
    return chosen.follow(jnp.asarray(tokens), jnp.array([len(line)], jnp.int32))[1]


def rows(table: Any, indices: list[int]) -> np.ndarray:
    return np.stack([np.asarray(table)[index] for index in indices])[None]


# Encodings that know the index in the text, and the one that knows nothing.


def at(*indices: int) -> TokenPositions:
    index = jnp.array([indices], jnp.int32)
    coordinates = jnp.zeros((1, len(indices), 1), jnp.int32)
    return TokenPositions(index, jnp.zeros_like(index), coordinates)


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
    encoding = built(Coupled(rows=16, max_start=3), "coupled")
    where = where_of("1+9=01$", "coupled")
    starts = set()
    for seed in range(40):
        moved = encoding.shift_batch(where, jax.random.key(seed)).coordinates - where.coordinates
        assert len(set(np.asarray(moved).ravel().tolist())) == 1
        starts.add(int(moved[0, 0, 0]))
    assert starts == {0, 1, 2, 3}


COUPLING = PositionCoupling(max_position=9)


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
        (Learned(length=24), "reversed", 6),  # 6 + 6 digits, + and =, 7 digits and an end: 22
        (Abacus(rows=9), "reversed", 6),  # the answer has an 8th place, its end's: row 8
        (Coupled(rows=8), "coupled", 5),  # the end sign stands at place 6, row 7
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
    ("settings", "queries"),
    covering.parameters(
        [
            (settings, queries)
            for settings in (NoPE(), RoPE(), ALiBi(), FIRE(), T5(), Abacus())
            for queries in (12, 5)
        ]
    ),
    ids=str,
)
def test_a_long_text_attended_to_part_by_part_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch, settings: Positions, queries: int
) -> None:
    encoding, where = built(settings), where_of("123+99=0221$")
    both = jax.tree.map(lambda part: jnp.repeat(part, 2, axis=0), where)

    def attended() -> jax.Array:
        q, k, v = jax.random.normal(jax.random.key(0), (3, 2, 12, HEADS, 4))
        asked = jax.tree.map(lambda part: part[:, -queries:], both)
        visible = encoding.visible_keys(both, both if queries == 12 else asked)
        layer = jax.tree.map(lambda leaf: leaf[0], encoding.layers)
        return encoding.attend(layer, visible, q[:, -queries:], k, v)

    whole = jax.jit(lambda: attended())()
    monkeypatch.setattr(base, "LONG", 0)
    monkeypatch.setattr(base, "PAIRS", 50)
    assert base.queries_at_once(12, 12) == 4
    parts = jax.jit(lambda: attended())()  # a function of its own: traced anew
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)
