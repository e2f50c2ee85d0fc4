"""Weights that stand for others: how many are learned, and what is written out of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.model.transformer import Transformer, parameters
from curta.model.weights import turned, unshared
from tests import tiny
from tests.model.test_transformer import LAYOUT, TEXT, logits

SHARED: dict[str, tuple[str, ...]] = {
    "turned": ("key-query",),
    "values": ("value-key",),
    "out": ("out-query",),
    "negative": ("out-value",),
    "norms": ("norms",),
    "all": ("key-query", "value-key", "out-query", "norms"),
    "all, negative": ("key-query", "value-key", "out-value", "norms"),
}
every = pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
SIZE = {"model__num_layers": 3, "model__num_attention_layers": 2}


def made(shared: tuple[str, ...], **changes: Any) -> Transformer:
    recipe = tiny.with_encoding("nope", model__weight_sharing=list(shared), **SIZE, **changes)
    return tiny.drawn(recipe, LAYOUT)


@every
def test_written_out_it_is_the_same_function_without_anything_shared(
    shared: tuple[str, ...],
) -> None:
    model = made(shared)
    other = unshared(model)
    assert other.config.weight_sharing == ()
    assert jax.tree.structure(other) == jax.tree.structure(made(()))
    tiny.assert_close(logits(model, TEXT), logits(other, TEXT))


def test_as_many_weights_are_saved_as_are_shared() -> None:
    """Two attention layers of width 16, three MLPs, five norms before them and the last."""
    whole = parameters(made(()))
    square, all_norms = 2 * 16 * 16, 5 * 16
    both = 3 * square - 2 + all_norms
    saved = [whole - parameters(made(shared)) for shared in SHARED.values()]
    assert saved == [square - 2, square, square, square, all_norms, both, both]


def test_attention_whose_way_out_is_negative_subtracts() -> None:
    """What a value hands on is never along the value's own token: x V O x' is -|x V|^2."""
    attention = unshared(made(("out-value",))).attention
    assert attention.value is not None
    assert attention.out is not None
    both = np.asarray(attention.value[0] @ attention.out[0])
    assert np.linalg.eigvalsh(both).max() < 1e-5


def test_all_norms_have_the_last_ones_gains_where_they_stand_after_too() -> None:
    model = unshared(made(("norms",), model__norm_placement="post_residual"))
    assert model.attention.after is not None
    assert model.mlp.after is not None
    assert model.attention.after.shape == (2, 16)
    assert model.mlp.after.shape == (3, 16)


@every
def test_what_is_shared_learns_from_every_use(shared: tuple[str, ...]) -> None:
    slopes = jax.grad(lambda m: jnp.sum(logits(m, TEXT)[..., 0]))(made(shared))
    assert all((np.abs(leaf) > 0).any() for leaf in jax.tree.leaves(slopes))


def test_turning_keys_turns_scores_between_positions() -> None:
    """A query of length one at 30 degrees, its key turned by another 60: their product is 1/2."""
    query = jnp.array([[[np.cos(np.pi / 6), np.sin(np.pi / 6)]]], jnp.float32)
    key = turned(query, jnp.array([[np.pi / 3]], jnp.float32))
    np.testing.assert_allclose(key[0, 0], [0, 1], atol=1e-6)
    assert float(jnp.vdot(query, key)) == pytest.approx(0.5)
