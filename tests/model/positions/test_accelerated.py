"""Attention as accelerators calculate it: JAX's own, with the same results."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.layouts.texts import layout_of
from curta.model import decoding, precision
from curta.model.positions import base
from curta.model.transformer import Transformer
from tests import tiny

DENSE = [name for name in tiny.ENCODINGS if name != "window"]
QUICK = [("rope", "whole"), ("fire", "grouped")]
IMPOSSIBLE = [
    ("abacus, inside", "grouped"),  # its vectors have the width of all heads
    ("t5", "whole"),  # it has no buckets for tokens to the right
]
DESIGNS: dict[str, dict[str, Any]] = {
    "causal": {"model__num_attention_layers": 2},
    "grouped": {"model__heads": 4, "model__num_kv_heads": 2},
    "whole": {"model__causal": False, "layout": "framed"},
}


@pytest.fixture
def accelerated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As on an accelerator; holds the dtype of queries at every call of JAX's attention."""
    calls: list[Any] = []
    attention = jax.nn.dot_product_attention

    def noted(q: Any, *given: Any) -> Any:
        calls.append(q.dtype)
        with jax.numpy_dtype_promotion("standard"):  # its own code mixes dtypes
            return attention(q, *given)

    monkeypatch.setattr(base, "on_accelerator", lambda: True)
    monkeypatch.setattr(jax.nn, "dot_product_attention", noted)
    return calls


def squares(model: Transformer, recipe: Recipe) -> tuple[jax.Array, jax.Array]:
    """The logits of all tokens of three texts, of different lengths, and the sum of squares."""
    layout = layout_of(recipe)
    bounds = tiny.bounds(layout, 4)
    text = tiny.text(layout, tiny.random_sums(3, 4), bounds.total)
    logits = model(text.tokens, layout.where(text), tiny.every_index(text), bounds)
    return jnp.sum(jnp.square(logits)), logits


def written_out(name: str, design: str) -> tuple[Recipe, Transformer, Any]:
    recipe = tiny.with_encoding(name, **DESIGNS[design])
    model = tiny.drawn(recipe, layout_of(recipe))
    return recipe, model, jax.grad(squares, has_aux=True)(model, recipe)


@pytest.mark.parametrize(
    ("name", "design"),
    [
        pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow)
        for one in product(DENSE, DESIGNS)
        if one not in IMPOSSIBLE
    ],
)
def test_logits_and_gradients_are_those_of_attention_written_out(
    name: str, design: str, request: pytest.FixtureRequest
) -> None:
    recipe, model, (gradients, logits) = written_out(name, design)
    calls = request.getfixturevalue("accelerated")
    found_gradients, found = jax.grad(squares, has_aux=True)(model, recipe)
    assert calls
    np.testing.assert_allclose(found, logits, atol=2e-5)
    for one, other in zip(
        jax.tree.leaves(found_gradients), jax.tree.leaves(gradients), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_in_mixed_precision_queries_are_bfloat16(accelerated: list[Any]) -> None:
    recipe = tiny.with_encoding("alibi")
    model = tiny.drawn(recipe, layout_of(recipe))
    exact = squares(model, recipe)[1]
    found = squares(precision.cast(model, "bfloat16"), recipe)[1]
    assert {dtype.name for dtype in accelerated} == {"float32", "bfloat16"}
    assert np.abs(np.asarray(found - exact)).max() < 0.1 * np.abs(np.asarray(exact)).max()


def test_a_window_and_an_encoding_with_weights_of_its_own_keep_them(
    accelerated: list[Any],
) -> None:
    class Sharp(base.Encoding):
        def weights(self, layer: Any, visible_keys: Any, q: Any, k: Any) -> jax.Array:
            scores = self.scores(layer, visible_keys, q, k)
            return jax.nn.one_hot(jnp.argmax(scores, axis=-1), k.shape[1])

    heads = jax.random.normal(jax.random.key(0), (1, 8, 2, 4))
    layout = tiny.layout_for("nope")
    text = tiny.text(layout, tiny.random_sums(1, 1), 8)
    where = layout.where(text)
    encoding = Sharp()
    encoding.attend((), encoding.visible_keys(where, where), heads, heads, heads)
    recipe = tiny.with_encoding("window")
    squares(tiny.drawn(recipe, layout_of(recipe)), recipe)
    assert accelerated == []


def test_long_texts_go_part_by_part_here_too(
    accelerated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny.with_encoding("t5")
    model = tiny.drawn(recipe, layout_of(recipe))
    whole = squares(model, recipe)[1]
    monkeypatch.setattr(base, "LONG", 0)
    monkeypatch.setattr(base, "PAIRS", 64)
    np.testing.assert_allclose(squares(model, recipe)[1], whole, atol=2e-5)


@pytest.mark.slow
def test_token_by_token_it_is_the_same(accelerated: list[Any]) -> None:
    recipe = tiny.with_encoding("rope", **DESIGNS["grouped"])
    model, layout = tiny.drawn(recipe, layout_of(recipe)), layout_of(recipe)
    bounds = tiny.bounds(layout, 4)
    text = tiny.text(layout, tiny.random_sums(2, 4), bounds.total)
    where = layout.where(text)
    cache = decoding.empty_cache(model, where, bounds.total, bounds)
    _, found = decoding.decode_step(model, cache, text.tokens, where)
    assert accelerated
    whole = model(text.tokens, where, tiny.every_index(text), bounds)
    np.testing.assert_allclose(found, whole, atol=2e-5)
