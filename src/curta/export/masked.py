"""The window as a mask over all pairs of tokens.

The window itself looks a query's neighbours up in a table of fixed room. A graph without a
fixed length has no such table: here every pair of tokens is looked at, which is slower by
the length and says the same.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..layouts import Layout, Where
from ..model import Transformer
from ..positions import Encoding, Links
from ..positions.base import HIDDEN
from ..positions.window import SELF, Neighbour, WindowEncoding


def masked(model: Transformer) -> Transformer:
    """The same model, its window as a mask."""
    window = model.positions
    assert isinstance(window, WindowEncoding)
    return replace(model, positions=Masked(window.biases, window.near, window.layout))


class Masked(Encoding):
    """A window that looks at every key."""

    biases: Float[Array, "attending heads neighbours"]
    near: tuple[tuple[Neighbour, ...], ...] = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        return self.biases

    def links(self, index: Where, queries: Where) -> Links:
        links = super().links(index, queries)
        seen = self._listed(links) < self._count
        return links._replace(visible=links.visible & (seen | self._own(links)))

    def bias(self, layer: Array, links: Links) -> Float[Array, "batch heads queries keys"]:
        absent = jnp.full((len(layer), 1), HIDDEN)
        table = jnp.concatenate([layer, absent], axis=1).T
        bias = jnp.moveaxis(table[self._listed(links)], -1, 1)
        if not self._sees_itself:
            return bias
        own = jnp.moveaxis(self._itself(layer)[self._group(links.queries)], -1, 1)[..., None]
        # a token may be found both as itself and as a neighbour: it then counts twice
        return jnp.where(self._own(links)[:, None], jnp.logaddexp(bias, own), bias)

    @property
    def _count(self) -> int:
        return len(self.near) * len(self.near[0])

    @property
    def _sees_itself(self) -> bool:
        return self.near[0][0][0] == SELF

    def _itself(self, layer: Array) -> Float[Array, "groups heads"]:
        """The bias of each group for the query's own token, which is the first in its list."""
        return layer[:, :: len(self.near[0])].T

    def _own(self, links: Links) -> Bool[Array, "batch queries keys"]:
        same = links.queries.index[:, :, None] == links.keys.index[:, None, :]
        return same & self._sees_itself

    def _group(self, queries: Where) -> Int[Array, "batch queries"]:
        return jnp.array([kind.group for kind in self.layout.kinds])[queries.kind]

    def _listed(self, links: Links) -> Int[Array, "batch queries keys"]:
        """Which neighbour each key is to each query; `_count` if none."""
        numbers, lows = self._numbers()
        wild = np.array(
            [[axis in kind.wild for axis in self.layout.axes] for kind in self.layout.kinds]
        )
        moved = links.keys.coordinates[:, None] - links.queries.coordinates[:, :, None]
        moved = jnp.where(jnp.asarray(wild)[links.keys.kind][:, None], 0, moved)
        place = jnp.clip(moved - lows, 0, np.array(numbers.shape[2:]) - 1)
        address = (
            self._group(links.queries)[:, :, None] * numbers.shape[1] + links.keys.kind[:, None]
        )
        for axis, size in enumerate(numbers.shape[2:]):
            address = address * size + place[..., axis]
        return jnp.asarray(numbers.reshape(-1))[address]

    def _numbers(self) -> tuple[Int[np.ndarray, "groups kinds *spans"], Int[np.ndarray, " axes"]]:
        """Neighbours by group, kind and displacement, and the lowest displacement on each axis.

        A displacement too far out is nobody's: there is one place more at either end.
        """
        moves = np.array([moved for group in self.near for _, moved in group])
        lows, highs = moves.min(axis=0) - 1, moves.max(axis=0) + 1
        shape = (len(self.near), len(self.layout.kinds), *(highs - lows + 1))
        numbers = np.full(shape, self._count, np.int32)
        for place, (kind, moved) in enumerate(entry for group in self.near for entry in group):
            if kind >= 0:
                numbers[place // len(self.near[0]), kind, *(np.array(moved) - lows)] = place
        return numbers, lows.astype(np.int32)
