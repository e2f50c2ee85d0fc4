"""The coupled window: a query sees only keys whose coordinates are near its own.

A key is visible when on every axis its coordinate minus the query's lies within
the axis's reach, or when its kind is wild on that axis; and when it was written
before. Since the layout gives no two tokens of one kind the same coordinates,
each query has a fixed list of neighbours, (kind, displacement), of which each is
one token or absent. So nothing here grows with the length of a text: neighbours
are looked up in a table by address, and each has its learned score bias per head.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ..errors import UserError, unknown
from ..initial import Weight, normal
from ..layouts import Kind, Layout, Room, Where
from .base import HIDDEN, Encoding, Keys, Links, Queries, Shape

ABSENT = -1


@dataclass(frozen=True)
class Window:
    """Attention limited to `reach`, lowest and highest displacement on each axis."""

    name: Literal["window"] = "window"
    reach: dict[str, tuple[int, int]] = field(default_factory=lambda: {"place": (0, 1)})

    def build(self, shape: Shape) -> Encoding:
        for axis, (low, high) in self.reach.items():
            if axis not in shape.layout.axes:
                raise unknown(f"axis of layout {shape.layout.name!r}", axis, shape.layout.axes)
            if not low <= 0 <= high:
                raise UserError(f"positions.reach.{axis} must include 0, not {low}..{high}")
        missing = set(shape.layout.axes) - set(self.reach)
        if missing:
            raise UserError(f"positions.reach lacks the layout's axis {min(missing)!r}")
        reach = tuple(self.reach[axis] for axis in shape.layout.axes)
        neighbours = len(neighbourhood(shape.layout, reach)[0])
        biases = normal(shape.attending, shape.heads, neighbours, scale=1.0)
        return WindowEncoding(biases, reach, shape.layout)


class Table(NamedTuple):
    """For each address the index of the token that stands there, or ABSENT."""

    slots: Int[Array, "batch addresses"]
    lows: Int[Array, " axes"]
    highs: Int[Array, " axes"]
    strides: Int[Array, "kinds axes"]
    offsets: Int[Array, " kinds"]


class WindowEncoding(Encoding):
    biases: Weight  # attending heads neighbours
    reach: tuple[tuple[int, int], ...] = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        return self.biases

    def index(self, keys: Where, room: Room) -> Table:
        return self.insert(self.blank(keys, 0, room), keys)

    def blank(self, like: Where, slots: int, room: Room) -> Table:
        extents = np.array(room.extents, np.int32)
        sizes = [self._sizes(kind, extents) for kind in self.layout.kinds]
        ends = np.cumsum([np.prod(size) for size in sizes])
        strides = [
            self._strides(kind, size) for kind, size in zip(self.layout.kinds, sizes, strict=True)
        ]
        offsets = np.concatenate([[0], ends[:-1]])
        absent = jnp.full((len(like.index), int(ends[-1])), ABSENT, jnp.int32)
        plan = (jnp.asarray(part, jnp.int32) for part in (*extents.T, strides, offsets))
        return Table(absent, *plan)

    def _sizes(self, kind: Kind, extents: np.ndarray) -> list[int]:
        spans = zip(self.layout.axes, extents, strict=True)
        return [1 if axis in kind.wild else int(high - low + 1) for axis, (low, high) in spans]

    def _strides(self, kind: Kind, sizes: list[int]) -> list[int]:
        rest = [int(np.prod(sizes[axis + 1 :])) for axis in range(len(sizes))]
        return [
            0 if axis in kind.wild else r for axis, r in zip(self.layout.axes, rest, strict=True)
        ]

    def insert(self, index: Table, new: Where) -> Table:
        rows = jnp.arange(len(new.index))[:, None]
        address = self._address(index, new.kind, new.coordinates)
        return index._replace(slots=index.slots.at[rows, address].set(new.index, mode="drop"))

    def fan_in(self, room: Room) -> int:
        return self.biases.shape[-1]

    def links(self, index: Table, queries: Where) -> Links:
        kinds, displacements = neighbourhood(self.layout, self.reach)
        wanted = queries.coordinates[:, :, None, :] + displacements
        address = self._address(index, jnp.asarray(kinds), wanted)
        rows = jnp.arange(len(address))[:, None, None]
        keys = index.slots.at[rows, address].get(mode="fill", fill_value=ABSENT)
        visible = (keys != ABSENT) & (keys <= queries.index[:, :, None])
        return Links(queries, jnp.where(visible, keys, 0), visible)

    def attend(self, layer: Any, links: Links, q: Queries, k: Keys, v: Keys) -> Queries:
        """As the dense form, over the listed neighbours only: no batched matrix products."""
        near_k, near_v = _gather(k, links.keys), _gather(v, links.keys)
        scores = jnp.sum(q[:, :, None] * near_k, axis=-1) * q.shape[-1] ** -0.5 + layer.T
        scores = jnp.where(links.visible[..., None], scores, HIDDEN)
        weights = jax.nn.softmax(scores, axis=2)
        return jnp.sum(weights[..., None] * near_v, axis=2)

    def _address(self, table: Table, kind: Array, coordinates: Array) -> Array:
        """Where a kind at these coordinates stands in the table; beyond its end if nowhere."""
        offset, stride = table.offsets[kind], table.strides[kind]
        inside = (stride == 0) | (coordinates >= table.lows) & (coordinates <= table.highs)
        address = offset + jnp.sum(stride * (coordinates - table.lows), axis=-1)
        known = (kind >= 0) & jnp.all(inside, axis=-1)
        return jnp.where(known, address, table.slots.shape[1])


def neighbourhood(
    layout: Layout, reach: tuple[tuple[int, int], ...]
) -> tuple[Int[np.ndarray, " neighbours"], Int[np.ndarray, "neighbours axes"]]:
    """Kind and displacement of every neighbour that a query may have."""
    kinds, displacements = [], []
    for number, kind in enumerate(layout.kinds):
        ranges = [
            (0,) if axis in kind.wild else range(low, high + 1)
            for axis, (low, high) in zip(layout.axes, reach, strict=True)
        ]
        for displacement in itertools.product(*ranges):
            kinds.append(number)
            displacements.append(displacement)
    return np.array(kinds, np.int32), np.array(displacements, np.int32)


def _gather(heads: Keys, keys: Int[Array, "batch queries neighbours"]) -> Array:
    """Rows of `heads` at `keys`, as batch x queries x neighbours x heads x features."""
    rows = jnp.arange(len(heads))[:, None, None]
    return heads[rows, keys]
