"""T5's relative bias: a learned number per head for each bucket of distances.

The first half of the buckets are distances 0, 1, 2 ...; the others grow as the logarithm,
up to `max_distance`; whatever is farther shares the last one. This is the causal form.
As in T5, one table serves all blocks. Its queries are not scaled down, ours are.
Source: Raffel et al., arXiv 1910.10683, and `_relative_position_bucket` of its code.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.positions import T5
from curta.model.deferred_init import Weight, normal
from curta.model.positions.base import Encoding, Shape, VisibleKeys, distances, one_for_all


def build(settings: T5, shape: Shape) -> Encoding:
    table = normal(settings.num_buckets, shape.heads, scale=shape.width**-0.5)
    return T5Encoding(table, settings.max_distance)


class T5Encoding(Encoding):
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
