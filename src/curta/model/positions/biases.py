"""Encodings that add a bias to attention scores, by how far a key stands from its query."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.positions import FIRE, T5, ALiBi
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.positions.base import Encoding, Shape, VisibleKeys, distances, one_for_all
from curta.model.positions.vectors import check_subset, subset
from curta.model.weights import Weight, constant, normal


def build_alibi(settings: ALiBi, shape: Shape) -> Encoding:
    slopes = series(shape.heads)
    if not settings.learned:
        return ALiBiEncoding(tuple(slopes.tolist()))
    return LearnedALiBiEncoding(constant(np.tile(slopes, (shape.num_attention_layers, 1))))


class ALiBiEncoding(Encoding):
    """ALiBi: attention scores fall off in a straight line with the distance, head by head.

    The score of key j for query i has slope x (j - i) added. Slopes are the geometric series
    of the paper, 2^(-8h/heads) for h = 1 to heads, for any number of heads (the authors'
    code takes another series where that number is no power of two). Learned slopes begin
    there, and each attention layer then has its own.
    Source: Press et al., arXiv 2108.12409.
    """

    slopes: tuple[float, ...] = eqx.field(static=True)

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        return sloped(jnp.array(self.slopes), visible_keys)


class LearnedALiBiEncoding(Encoding):
    slopes: Weight  # attention_layers heads

    @property
    def layers(self) -> Any:
        return self.slopes

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        return sloped(layer, visible_keys)


def series(heads: int) -> Float[np.ndarray, " heads"]:
    """2^(-8/heads), and its powers."""
    return np.exp2(-8.0 * np.arange(1, heads + 1) / heads).astype(np.float32)


def sloped(
    slopes: Float[Array, " heads"], visible_keys: VisibleKeys
) -> Float[Array, "#batch heads queries keys"]:
    away = jnp.abs(distances(one_for_all(visible_keys))).astype(jnp.float32)
    return -slopes[None, :, None, None] * away[:, None]


def build_t5(settings: T5, shape: Shape) -> Encoding:
    table = normal(settings.num_buckets, shape.heads, scale=shape.width**-0.5)
    return T5Encoding(table, settings.max_distance)


class T5Encoding(Encoding):
    """T5's relative bias: a learned number per head for each bucket of distances.

    The first half of the buckets are distances 0, 1, 2 ...; the others grow as the logarithm,
    up to `max_distance`; whatever is farther shares the last one. This is the causal form.
    As in T5, one table serves all blocks. Its queries are not scaled down, ours are.
    Source: Raffel et al., arXiv 1910.10683, and `_relative_position_bucket` of its code.
    """

    table: Weight  # buckets heads
    max_distance: int = eqx.field(static=True)

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        count = len(self.table)
        known = jnp.asarray(buckets(count, self.max_distance))
        bucket = known[jnp.clip(distances(one_for_all(visible_keys)), 0, self.max_distance)]
        # A matrix product, not `table[bucket]`: its gradient is one too, not a serial scatter.
        chosen = jax.nn.one_hot(bucket, count, dtype=self.table.dtype)
        return jnp.moveaxis(chosen @ self.table, -1, 1)


def buckets(count: int, max_distance: int) -> Int[np.ndarray, " distances"]:
    """The bucket of each distance from 0 to `max_distance`."""
    exact = count // 2
    distance = np.arange(max_distance + 1)
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(max_distance / exact)
    far = exact + (ratio * (count - exact)).astype(np.int32)
    return np.where(distance < exact, distance, np.minimum(far, count - 1)).astype(np.int32)


THRESHOLD = 512.0
"""Position below which distances are not taken relative to the query's, times `m`."""


def build_fire(settings: FIRE, shape: Shape) -> Encoding:
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
