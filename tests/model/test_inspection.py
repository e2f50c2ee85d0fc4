"""What is recorded on the way through a model, held against the same written out in NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.layouts import layout_named
from curta.model.inspection import SiteChange, record_activations
from curta.model.transformer import Transformer
from tests import tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 3)
TEXT = tiny.text(LAYOUT, tiny.random_sums(3, 3), ROOM.total)


def drawn(config: dict[str, Any]) -> Transformer:
    """A model without positions; its gains are no ones, its biases no zeros."""
    changes = {f"model__{field}": value for field, value in config.items()}
    model = tiny.drawn(tiny.with_encoding("nope", **changes), LAYOUT)
    return jax.tree.map(stretched, model)


def stretched(leaf: jax.Array) -> jax.Array:
    stretch = jnp.broadcast_to(jnp.linspace(0.5, 1.5, leaf.shape[-1]), leaf.shape)
    return jnp.where(leaf == 0, stretch - 1, leaf * stretch)


@jax.jit
def everything(model: Transformer) -> dict[str, jax.Array]:
    return record_activations(model, TEXT.tokens, LAYOUT.where(TEXT), ROOM)


def test_a_change_is_where_its_mask_is_and_what_follows_goes_on_from_it() -> None:
    model, site = drawn({"num_attention_layers": 2}), "layer.0.mlp.output"
    mask = np.zeros((3, ROOM.total, 1), bool)
    mask[:, 4] = True
    change = SiteChange(jnp.asarray(mask), jnp.zeros((1, 1, 1)))
    before = everything(model)
    after = record_activations(model, TEXT.tokens, LAYOUT.where(TEXT), ROOM, changes={site: change})
    assert not np.asarray(after[site])[:, 4].any()
    tiny.assert_close(np.delete(after[site], 4, axis=1), np.delete(before[site], 4, axis=1))
    tiny.assert_close(after["layer.0.after"][:, 4], before["layer.0.middle"][:, 4])
    tiny.assert_close(after["logits"][:, :4], before["logits"][:, :4])
    assert np.abs(after["logits"] - before["logits"])[:, 4:].max(axis=(0, 2)).all()
