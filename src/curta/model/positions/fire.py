"""FIRE: a score bias that a small network learns from the distance, relative to where it is.

For a query at p_i and a key at p_j, every attention layer has

    (log(|c (p_i - p_j)| + 1)) / (log(|c max(p_i, |512 m|)| + 1) + 1e-6)

pass through a linear layer to 32 features, ReLU, and a linear layer to one bias a head;
c begins at 0.1 and m at 1, both learned. With `max_length`, positions are a sorted random
subset of 0 to `max_length` - 1 in training, one for each block, shared by the batch;
otherwise they are the indices. This is McLeish et al.'s form (arXiv 2405.17399, class
`FIRE` of their code) of Li et al., arXiv 2310.04418. Their linear layers begin as Xavier
normal times a factor for deep networks, which is left out here, with biases of 0.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from curta.config.positions import FIRE
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.deferred_init import Weight, constant, normal
from curta.model.positions.base import Encoding, Shape, VisibleKeys, one_for_all
from curta.model.positions.randomised import check_subset, subset

THRESHOLD = 512.0
"""Position below which distances are not taken relative to the query's, times `m`."""


def build(settings: FIRE, shape: Shape) -> Encoding:
    blocks, hidden, heads = shape.num_attention_layers, settings.hidden, shape.heads
    maps = Maps(
        scale=constant(np.full(blocks, 0.1)),
        threshold=constant(np.ones(blocks)),
        up=normal(blocks, hidden, scale=(2 / (1 + hidden)) ** 0.5),
        up_bias=constant(np.zeros((blocks, hidden))),
        down=normal(blocks, hidden, heads, scale=(2 / (hidden + heads)) ** 0.5),
        down_bias=constant(np.zeros((blocks, heads))),
    )
    return FIREEncoding(maps, len(shape.layout.axes), settings.max_length)


class Maps(eqx.Module):
    """What every attention layer learns, stacked along a leading axis."""

    scale: Weight  # blocks
    threshold: Weight  # blocks
    up: Weight  # blocks hidden
    up_bias: Weight  # blocks hidden
    down: Weight  # blocks hidden heads
    down_bias: Weight  # blocks heads


class FIREEncoding(Encoding):
    maps: Maps
    axes: int = eqx.field(static=True)
    max_length: int = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        """Each block's maps and its number."""
        return self.maps, jnp.arange(len(self.maps.scale))

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        if training and self.max_length:
            check_subset(bounds, self.max_length)

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        """Each block's positions, as further coordinates."""
        if not self.max_length:
            return where
        keys = jax.random.split(key, len(self.maps.scale))
        time = where.index.shape[1]
        drawn = jax.vmap(lambda key: subset(key, self.max_length, time))(keys)
        positions = jnp.moveaxis(drawn[:, where.index], 0, -1)
        coordinates = jnp.concatenate([where.coordinates, positions], axis=-1)
        return replace(where, coordinates=coordinates)

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        maps, number = layer
        visible_keys = one_for_all(visible_keys)
        query = self._positions(visible_keys.queries, number)[:, :, None]
        key = self._positions(visible_keys.keys, number)[:, None, :]
        least = jnp.abs(maps.threshold * THRESHOLD)
        near = jnp.log(jnp.abs(maps.scale * (query - key)) + 1)
        far = jnp.log(jnp.abs(maps.scale * jnp.maximum(query, least)) + 1)
        relative = (near / (far + 1e-6))[..., None]
        up, up_bias, down_bias = (
            part[None, None, None] for part in (maps.up, maps.up_bias, maps.down_bias)
        )
        features = jax.nn.relu(relative * up + up_bias)
        return jnp.moveaxis(features @ maps.down + down_bias, -1, 1)

    def _positions(self, where: TokenPositions, number: Array) -> Float[Array, "batch time"]:
        """Where tokens stand for one block: at what was drawn for it, else at their index."""
        drawn = where.coordinates[..., self.axes :]
        position = drawn[..., number] if drawn.shape[-1] else where.index
        return position.astype(jnp.float32)
