"""The transformer: its weights, recurrences and dropout; see `test_conformance.py` for the rest."""

import itertools
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.config.positions import NoPE, Positions
from curta.config.recipe import Recipe
from curta.config.sections import ModelConfig
from curta.layouts import Text, layout_named
from curta.layouts.texts import layout_of
from curta.model import layers, weights
from curta.model.transformer import Transformer, logits_of_windows
from curta.training import records
from tests import naive, tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(4, 4), ROOM.total)


def named(config: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in config.items())


def under_model(config: dict[str, Any]) -> dict[str, Any]:
    return {f"model__{field}": value for field, value in config.items()}


def designed(name: str, config: dict[str, Any]) -> Transformer:
    recipe = tiny.with_encoding(name, **under_model(config))
    return tiny.drawn(recipe, layout_of(recipe))


@jax.jit
def logits(model: Transformer, text: Text) -> Array:
    """Logits at every token."""
    return model(text.tokens, model.layout.where(text), tiny.every_index(text), ROOM)


def test_states_after_each_recurrence_are_those_of_models_with_so_many_recurrences() -> None:
    model = designed("rope", {"num_recurrences": 4, "input_injection": "block"})
    where, queries = LAYOUT.where(TEXT), tiny.every_index(TEXT)
    found = jax.jit(lambda m: m.states(TEXT.tokens, where, queries, ROOM, each=True))(model)
    for num_recurrences in (1, 3, 4):
        read = model.logits(found.after(jnp.int32(num_recurrences)), queries)
        np.testing.assert_allclose(
            read, logits(model.with_recurrences(num_recurrences), TEXT), atol=2e-5
        )


@pytest.mark.parametrize(
    "config",
    [
        {"num_recurrences": 3, "input_injection": "block", "num_attention_layers": 2},
        {
            "dropout_sites": ("embedding", "attention", "mlp"),
            "num_recurrences": 2,
            "num_attention_layers": 2,
            "input_injection": "normed",
        },
    ],
    ids=named,
)
def test_dropout_leaves_out_embeddings_and_what_else_a_recipe_names(config: dict[str, Any]) -> None:
    """Of each loop others, and none without a key, as in evaluation."""
    model = designed("nope", config | {"dropout": 0.5})
    where, queries, key = LAYOUT.where(TEXT), tiny.every_index(TEXT), jax.random.key(3)
    run = jax.jit(lambda model, key: model(TEXT.tokens, where, queries, ROOM, key))
    found = run(model, key)
    assert tiny.same(run(model, key), found)
    assert not np.allclose(run(model, jax.random.key(4)), found)
    plain = logits(designed("nope", config), TEXT)
    np.testing.assert_allclose(run(model, None), plain, rtol=1e-4, atol=1e-5)
    dropped = [
        model._draw_dropout(key, loop, TEXT.tokens) for loop in range(model.config.num_recurrences)
    ]
    assert not any(tiny.same(one, two) for one, two in itertools.pairwise(dropped))
    row, length = 1, int(TEXT.lengths[1])
    rows = slice(ROOM.total, ROOM.total + length)
    index = model.positions.index(where, ROOM)
    embedded = np.asarray(model.context(TEXT.tokens, where, index, key).embedded[rows])
    tokens = TEXT.tokens[row, :length].tolist()
    recipe = tiny.with_encoding("nope", **under_model(config | {"dropout": 0.5}))
    forward = naive.Forward(recipe, naive.weights_of(model), LAYOUT, tokens)
    clean = forward.entry()
    assert (np.isclose(embedded, 0) | np.isclose(embedded, 2 * clean, atol=1e-6)).all()
    assert 0.3 < np.isclose(embedded, 0).mean() < 0.7
    x = forward.begin(embedded)
    of_row = {
        "output": np.s_[:, :, rows],
        "attention": np.s_[:, row, :length, :, :length],
        "mlp": np.s_[:, rows],
    }
    for masks in dropped:
        forward.dropout = {
            site: 2 * np.asarray(mask)[of_row[site]]
            for site, mask in masks._asdict().items()
            if mask is not None
        }
        x = forward.recurrence(x, embedded)
    np.testing.assert_allclose(found[row, :length], forward.logits(x), atol=1e-4)


def deviations(settings: ModelConfig, positions: Positions) -> dict[str, float]:
    """The deviation of every weight that is drawn, by its path: what comes of drawing ones."""
    with mock.patch.object(jax.random, "normal", lambda key, shape: jnp.ones(shape)):
        model = Transformer.init(settings, positions, LAYOUT, key=jax.random.key(0))
    leaves = jax.tree_util.tree_leaves_with_path(model)
    found = {jax.tree_util.keystr(path): float(leaf.max()) for path, leaf in leaves}
    return {path: scale for path, scale in found.items() if not path.endswith("gain")}


def test_weights_have_the_deviation_of_their_fan_in() -> None:
    found = deviations(ModelConfig(width=16, gated=True), NoPE())
    square, wide = 1 / 4, 1 / 8
    assert found == {
        ".tokens": 1.0,
        **{f".attention.{name}": square for name in ("query", "key", "value", "out")},
        ".mlp.up": square,
        ".mlp.gate": square,
        ".mlp.down": wide,
        ".head": square,
    }


def test_without_a_scale_of_scores_queries_are_smaller_by_it() -> None:
    """(width * features) ** -1/2, as T5 has it."""
    found = deviations(ModelConfig(width=64, heads=4, attention_scale=False), NoPE())
    assert found[".attention.query"] == pytest.approx((64 * 16) ** -0.5)
    assert found[".attention.key"] == 64**-0.5


@pytest.mark.parametrize("share", [1e-3, 0.1, 0.5, 0.999])
def test_the_share_is_exact_and_neighbours_know_nothing_of_each_other(share: float) -> None:
    config = ModelConfig(dropout=share)
    mask = layers.dropout_mask(jax.random.key(1), config, "output", 1001, 999)
    assert mask is not None
    left_out = ~np.asarray(mask).ravel()  # an odd number of them
    spread = (share * (1 - share) / left_out.size) ** 0.5
    assert left_out.mean() == pytest.approx(share, abs=5 * spread)
    both = (left_out[:-1] & left_out[1:]).mean()
    assert both == pytest.approx(share**2, abs=5 * (share**2 / left_out.size) ** 0.5)


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
    _, exact = jax.jit(lambda model: mean(model, recipe, "float32"))(model)
    half = jax.value_and_grad(lambda model: mean(model, recipe, "bfloat16"), has_aux=True)
    (_, found), gradients = jax.jit(half)(model)
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
