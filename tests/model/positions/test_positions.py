"""Each encoding against its definition."""

import math
import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.positions import (
    FIRE,
    T5,
    Abacus,
    ALiBi,
    Coupled,
    CoupledSinusoidal,
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


def test_learned_gives_the_vector_of_the_index() -> None:
    encoding = built(Learned(length=16))
    np.testing.assert_array_equal(
        encoding.embed(where_of("21+3=51$")), rows(encoding.table, list(range(8)))
    )


def at(*indices: int) -> TokenPositions:
    index = jnp.array([indices], jnp.int32)
    coordinates = jnp.zeros((1, len(indices), 1), jnp.int32)
    return TokenPositions(index, jnp.zeros_like(index), coordinates)


def test_rope_turns_pairs_of_features_by_the_index_times_their_frequency() -> None:
    encoding = built(RoPE(base=100.0))
    heads = jnp.arange(1.0, 5.0).reshape(1, 1, 1, 4)  # frequencies 1 and 1/10
    turned = np.asarray(encoding.rotate(heads, at(3)))[0, 0, 0]
    for pair, angle in ((0, 3.0), (1, 0.3)):
        expected = complex(1 + pair, 3 + pair) * np.exp(1j * angle)
        assert complex(turned[pair], turned[pair + 2]) == pytest.approx(expected, rel=1e-5)


@given(query=st.integers(0, 50), key=st.integers(0, 50), shift=st.integers(0, 50))
def test_rope_scores_depend_only_on_the_difference_of_indices(
    query: int, key: int, shift: int
) -> None:
    encoding = built(RoPE())
    q, k = jax.random.normal(jax.random.key(1), (2, 1, 1, 1, 4))

    def score(first: int, second: int) -> float:
        return float(jnp.vdot(encoding.rotate(q, at(first)), encoding.rotate(k, at(second))))

    assert score(query, key) == pytest.approx(score(query + shift, key + shift), abs=2e-4)


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


@given(problem=tiny.sums(9), offset=st.integers(0, 6))
def test_abacus_counts_within_each_run_of_digits(problem: Problem, offset: int) -> None:
    """The authors' `helper`: runs are found in the text, by any means but the layout's."""
    encoding, line = built(Abacus(rows=32)), layout_named("reversed").write(problem)
    expected = [
        number + offset if number else 0
        for run in re.findall(r"\d+|\D", line)
        for number in (range(1, len(run) + 1) if run.isdigit() else [0])
    ]
    where = where_of(line, room=32)
    moved = replace(where, coordinates=where.coordinates + offset)
    found = np.asarray(encoding.embed(moved))[:, : len(line)]
    np.testing.assert_array_equal(found, rows(encoding.table, expected))


def test_abacus_inside_adds_each_heads_part_of_the_row_to_queries_and_keys_alone() -> None:
    encoding, where = built(Abacus(rows=16, inject="queries_keys")), where_of("12+9=12$")
    heads = jax.random.normal(jax.random.key(1), (1, 8, HEADS, WIDTH // HEADS))
    turned, part = np.asarray(encoding.rotate(heads, where)), WIDTH // HEADS
    for token, row in enumerate([1, 2, 0, 1, 0, 1, 2, 0]):
        for head in range(HEADS):
            added = np.asarray(encoding.table)[row, head * part : (head + 1) * part]
            expected = np.asarray(heads)[0, token, head] + added
            np.testing.assert_array_equal(turned[0, token, head], expected)
    assert encoding.embed(where) == 0.0
    moved = encoding.shift_batch(where, jax.random.key(0)).coordinates - where.coordinates
    assert len(set(np.asarray(moved).ravel().tolist())) == 1


def test_coupled_gives_equal_places_equal_vectors() -> None:
    encoding = built(Coupled(rows=16), "coupled")
    expected = [1, 2, 3, 1, 2, 0, 1, 2, 3]  # 1 2 + 9 9 = 0 2 $: places 0 1 2 0 1 -1 0 1 2
    np.testing.assert_array_equal(
        encoding.embed(where_of("12+99=02$", "coupled")), rows(encoding.tables[0], expected)
    )


def test_coupled_sinusoids_are_harmonics_of_the_place() -> None:
    encoding = built(CoupledSinusoidal(period=8.0), "coupled")
    places = [0, 1, 2, 0, 1, -1, 0, 1, 2]  # of 1 2 + 9 9 = 0 2 $
    for place, found in zip(
        places, encoding.embed(where_of("12+99=02$", "coupled"))[0], strict=True
    ):
        angles = [2 * math.pi * harmonic * place / 8 for harmonic in range(1, WIDTH // 2 + 1)]
        expected = [part(angle) for angle in angles for part in (math.sin, math.cos)]
        np.testing.assert_allclose(found, expected, atol=1e-5)


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


def test_position_coupling_gives_the_vectors_of_the_ids_and_padding_that_of_0() -> None:
    encoding = built(COUPLING, "position-coupling")
    embedded = encoding.embed(coupling_where((653, 49), (7, 5)))
    ids = [[2, 3, 4, 5, 2, 3, 4, 5, 4, 3, 2, 1, 0, 0], [2, 3, 2, 3, 2, 1, *[0] * 8]]
    for row, known in zip(embedded, ids, strict=True):
        np.testing.assert_array_equal(row[None], rows(encoding.tables[0], known))


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


DENSE = [name for name in tiny.ENCODINGS if name != "window"]


@pytest.mark.parametrize("name", DENSE)
def test_links_are_the_same_whether_the_index_was_built_at_once_or_grew(name: str) -> None:
    """Each query, asked as soon as it is written, sees what it sees in the whole text."""
    recipe, layout = tiny.with_encoding(name), layout_named("coupled")
    encoding = tiny.drawn(recipe, layout).positions
    bounds = tiny.bounds(layout, 4)
    where = layout.where(tiny.text(layout, tiny.random_sums(4, 4), bounds.total))
    whole = encoding.visible_keys(encoding.index(where, bounds), where)
    index = encoding.blank(where, bounds.total, bounds)
    for slot in range(6):
        token = jax.tree.map(lambda part, n=slot: part[:, n : n + 1], where)
        index = encoding.insert(index, token)
        np.testing.assert_array_equal(
            encoding.visible_keys(index, token).mask[:, 0], whole.mask[:, slot]
        )


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
