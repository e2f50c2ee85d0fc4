"""Encodings that add a bias to attention scores, by the distance of a key from its query."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.positions import FIRE, T5, ALiBi
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.positions.base import Encoding, Scores, Shape, VisibleKeys, distances, first_text
from curta.model.positions.vectors import check_subset, subset
from curta.model.weights import Weight, constant, normal


def build_alibi(settings: ALiBi, shape: Shape) -> Encoding:
    heads, blocks = shape.heads, shape.num_attention_layers
    slopes = np.exp2(-8.0 * np.arange(1, heads + 1) / heads).astype(np.float32)
    learned = constant(np.tile(slopes, (blocks, 1))) if settings.learned else None
    return ALiBiEncoding(learned, tuple(slopes.tolist()))


class ALiBiEncoding(Encoding):
    """ALiBi: attention scores fall linearly with the distance, with a slope for each head.

    The bias of key j for query i is slope x (j - i). Slopes are the geometric series of the paper,
    2^(-8h/heads) for h = 1 to heads, for any number of heads (the authors' code uses another
    series if that number is no power of two). Learned slopes start there, and differ between
    attention layers.
    Source: Press et al., arXiv 2108.12409.
    """

    slopes: Weight | None  # attention_layers heads, if they are learned
    fixed: tuple[float, ...] = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        return self.slopes

    def bias(self, layer: Any, visible_keys: VisibleKeys) -> Scores:
        """Return -slope x |distance| for each head."""
        slopes = jnp.array(self.fixed) if layer is None else layer
        distance = jnp.abs(distances(first_text(visible_keys))).astype(jnp.float32)
        return -slopes[None, :, None, None] * distance[:, None]


def build_t5(settings: T5, shape: Shape) -> Encoding:
    table = normal(settings.num_buckets, shape.heads, scale=shape.width**-0.5)
    return T5Encoding(table, settings.max_distance)


class T5Encoding(Encoding):
    """T5's relative bias: a learned number per head for each bucket of distances.

    The first half of the buckets hold one distance each, 0, 1, 2 ...; the others grow
    logarithmically up to `max_distance`; all larger distances share the last one. This is the
    causal form. As in T5, all blocks share one table. T5 does not scale scores, Curta does.
    Source: Raffel et al., arXiv 1910.10683, and `_relative_position_bucket` of its code.
    """

    table: Weight  # buckets heads
    max_distance: int = eqx.field(static=True)

    def bias(self, layer: Any, visible_keys: VisibleKeys) -> Scores:
        count = len(self.table)
        bucket_of = jnp.asarray(buckets(count, self.max_distance))
        bucket = bucket_of[jnp.clip(distances(first_text(visible_keys)), 0, self.max_distance)]
        # A matrix product, not `table[bucket]`: its gradient is one too, not a serial scatter.
        is_bucket = jax.nn.one_hot(bucket, count, dtype=self.table.dtype)
        return jnp.moveaxis(is_bucket @ self.table, -1, 1)  # batch heads queries keys


def buckets(count: int, max_distance: int) -> Int[np.ndarray, " distances"]:
    """Return the bucket of each distance from 0 to `max_distance`.

    >>> buckets(4, 8).tolist()
    [0, 1, 2, 2, 3, 3, 3, 3, 3]
    """
    exact = count // 2
    distance = np.arange(max_distance + 1)
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(max_distance / exact)
    far = exact + (ratio * (count - exact)).astype(np.int32)
    return np.where(distance < exact, distance, np.minimum(far, count - 1)).astype(np.int32)


THRESHOLD = 512.0
"""The least position to which distances are relative, in multiples of the learned `m`."""


def build_fire(settings: FIRE, shape: Shape) -> Encoding:
    blocks, hidden, heads = shape.num_attention_layers, settings.hidden, shape.heads
    maps = FIREWeights(
        scale=constant(np.full(blocks, 0.1)),
        threshold=constant(np.ones(blocks)),
        up=normal(blocks, hidden, scale=(2 / (1 + hidden)) ** 0.5),
        up_bias=constant(np.zeros((blocks, hidden))),
        down=normal(blocks, hidden, heads, scale=(2 / (hidden + heads)) ** 0.5),
        down_bias=constant(np.zeros((blocks, heads))),
    )
    return FIREEncoding(maps, len(shape.layout.axes), settings.max_length)


class FIREWeights(eqx.Module):
    """Weights of the bias network of every attention layer, stacked along a leading axis."""

    scale: Weight  # blocks
    threshold: Weight  # blocks
    up: Weight  # blocks hidden
    up_bias: Weight  # blocks hidden
    down: Weight  # blocks hidden heads
    down_bias: Weight  # blocks heads


class FIREEncoding(Encoding):
    """FIRE: a small network maps the distance, relative to the query's position, to a score bias.

    For a query at p_i and a key at p_j, every attention layer has

        (log(|c (p_i - p_j)| + 1)) / (log(|c max(p_i, |512 m|)| + 1) + 1e-6)

    pass through a linear layer to `hidden` features, ReLU, and a linear layer to one bias a head;
    c starts at 0.1 and m at 1, both learned. With `max_length`, positions in training are a sorted
    random subset of 0 to `max_length` - 1, one for each block, shared by the batch; otherwise they
    are the indices. This is McLeish et al.'s form (arXiv 2405.17399, class
    `FIRE` of their code) of Li et al., arXiv 2310.04418. Their linear layers start as Xavier
    normal times a factor for deep networks, which is left out here, with biases of 0.
    """

    maps: FIREWeights
    axes: int = eqx.field(static=True)
    max_length: int = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        """The weights of each block, and its number."""
        return self.maps, jnp.arange(len(self.maps.scale))

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        if training and self.max_length:
            check_subset(bounds, self.max_length)

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        """Draw the positions of each block; they become further coordinates."""
        if not self.max_length:
            return where
        keys = jax.random.split(key, len(self.maps.scale))
        time = where.index.shape[1]
        subsets = jax.vmap(lambda key: subset(key, self.max_length, time))(keys)  # blocks time
        positions = jnp.moveaxis(subsets[:, where.index], 0, -1)  # batch time blocks
        coordinates = jnp.concatenate([where.coordinates, positions], axis=-1)
        return replace(where, coordinates=coordinates)

    def bias(self, layer: Any, visible_keys: VisibleKeys) -> Scores:
        maps, number = layer
        visible_keys = first_text(visible_keys)
        query = self._positions(visible_keys.queries, number)[:, :, None]  # batch queries 1
        key = self._positions(visible_keys.keys, number)[:, None, :]  # batch 1 keys
        least = jnp.abs(maps.threshold * THRESHOLD)
        distance = jnp.log(jnp.abs(maps.scale * (query - key)) + 1)
        reach = jnp.log(jnp.abs(maps.scale * jnp.maximum(query, least)) + 1)
        relative = (distance / (reach + 1e-6))[..., None]  # batch queries keys 1
        up, up_bias, down_bias = (
            row[None, None, None] for row in (maps.up, maps.up_bias, maps.down_bias)
        )
        features = jax.nn.relu(relative * up + up_bias)  # batch queries keys hidden
        return jnp.moveaxis(features @ maps.down + down_bias, -1, 1)

    def _positions(self, where: TokenPositions, number: Array) -> Float[Array, "batch time"]:
        """Return the positions of tokens in one block: drawn in training, else their index."""
        by_block = where.coordinates[..., self.axes :]  # batch time blocks, none outside training
        position = by_block[..., number] if by_block.shape[-1] else where.index
        return position.astype(jnp.float32)
