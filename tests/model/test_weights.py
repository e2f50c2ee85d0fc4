"""Weights: drawn as described, shared, and cast for a training step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.layouts.texts import layout_of
from curta.model import weights
from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer, parameters
from curta.model.weights import draw, normal
from curta.training import records
from tests import tiny
from tests.model.test_transformer import LAYOUT

TREE = {"a": normal(40, 50, scale=2.0), "b": (jnp.arange(3), normal(2000, scale=0.1)), "c": None}


def test_weights_have_the_described_shapes_and_deviations_and_the_rest_is_untouched() -> None:
    drawn = draw(TREE, jax.random.key(0))
    assert drawn["a"].shape == (40, 50)
    np.testing.assert_allclose([drawn["a"].std(), drawn["b"][1].std()], [2.0, 0.1], rtol=0.1)
    np.testing.assert_allclose([drawn["a"].mean(), drawn["b"][1].mean()], 0.0, atol=0.2)
    np.testing.assert_array_equal(drawn["b"][0], jnp.arange(3))
    assert drawn["c"] is None


SHARED: dict[str, tuple[str, ...]] = {
    "turned": ("key-query",),
    "values": ("value-key",),
    "out": ("out-query",),
    "negative": ("out-value",),
    "norms": ("norms",),
    "all": ("key-query", "value-key", "out-query", "norms"),
    "all, negative": ("key-query", "value-key", "out-value", "norms"),
}
SIZE = {"model__num_layers": 3, "model__num_attention_layers": 2}


def made(shared: tuple[str, ...], **changes: Any) -> Transformer:
    recipe = tiny.with_encoding("nope", model__weight_sharing=list(shared), **SIZE, **changes)
    return tiny.drawn(recipe, LAYOUT)


def test_as_many_weights_are_saved_as_are_shared() -> None:
    """Two attention layers of width 16, three MLPs, five norms before them and the last."""
    whole = parameters(made(()))
    square, all_norms = 2 * 16 * 16, 5 * 16
    both = 3 * square - 2 + all_norms
    saved = [whole - parameters(made(shared)) for shared in SHARED.values()]
    assert saved == [square - 2, square, square, square, all_norms, both, both]


DESIGN = {
    "model__num_kv_heads": 1,
    "model__gated": True,
    "model__tie_embeddings": True,
    "model__norm_placement": "post_residual",
}


ARC = {
    "model__embedding": "arc", "model__width": 2, "model__heads": 1, "model__tie_embeddings": True,
    "model__compositional_embeddings": False, "layout": "coupled",
}  # fmt: skip


def half_logits(recipe: Recipe, model: Transformer) -> jax.Array:
    """Of windows, or of all tokens of two texts."""
    layout = layout_of(recipe)
    if recipe.positions.name == "window":
        data, _ = records.training_data(recipe, layout, [0])
        return logits_of_windows(model, data.shared[0][:32])
    bounds = tiny.bounds(layout, 4)
    text = tiny.text(layout, tiny.random_sums(2, 4), bounds.total)
    return model(text.tokens, layout.where(text), tiny.every_index(text), bounds)


def mean(model: Transformer, recipe: Recipe, chosen: Any) -> tuple[jax.Array, jax.Array]:
    found = half_logits(recipe, weights.cast(model, chosen))
    return jnp.mean(jnp.square(found)), found


@pytest.mark.parametrize(
    ("name", "design"),
    [
        pytest.param("window", {}, id="window"),
        pytest.param("rope", DESIGN, id="rope, other design"),
        pytest.param("nope", ARC, id="nope, arc"),
    ],
)
def test_logits_are_nearly_those_of_float32_and_gradients_are_float32(
    name: str, design: dict[str, Any]
) -> None:
    """Dtypes are mixed nowhere: where they are, the suite's strict promotion raises."""
    recipe = tiny.with_encoding(name, **design)
    model = tiny.drawn(recipe, layout_of(recipe))
    (_, exact), _ = jax.value_and_grad(mean, has_aux=True)(model, recipe, "float32")
    (_, found), gradients = jax.value_and_grad(mean, has_aux=True)(model, recipe, "bfloat16")
    assert found.dtype == jnp.float32
    assert {leaf.dtype for leaf in jax.tree.leaves(gradients)} == {jnp.dtype("float32")}
    off = np.abs(np.asarray(found - exact)).max()
    assert 0 < off < 0.1 * np.abs(np.asarray(exact)).max()


def test_matrices_are_cast_and_what_encodings_norms_and_head_have_is_not() -> None:
    recipe = tiny.with_encoding("learned")
    model = weights.cast(tiny.drawn(recipe, layout_of(recipe)), "bfloat16")
    leaves = jax.tree_util.tree_leaves_with_path(model)
    kept = {jax.tree_util.keystr(path) for path, leaf in leaves if leaf.dtype == jnp.float32}
    assert kept == {".positions.table", ".attention.gain", ".mlp.gain", ".gain", ".head"}
