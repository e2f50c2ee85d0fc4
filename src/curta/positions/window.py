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
from jaxtyping import Array, Float, Int

from ..errors import UserError, unknown
from ..initial import Weight, normal
from ..layouts import Kind, Layout, Room, Where
from .base import HIDDEN, Encoding, Keys, Links, Queries, Shape

ABSENT = -1
NOBODY, SELF = -1, -2
"""In a list of neighbours, instead of a kind: a gap, and the query's own token."""

Reach = dict[str, tuple[int, int]]
Neighbour = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Window:
    """Attention limited to `reach`, lowest and highest displacement on each axis.

    With `sees`, a query sees only itself and the kinds named there; where a kind
    names an axis, that reach is its own.
    """

    name: Literal["window"] = "window"
    reach: Reach = field(default_factory=lambda: {"place": (0, 1)})
    sees: dict[str, Reach] = field(default_factory=dict)

    def build(self, shape: Shape) -> Encoding:
        self._check(shape.layout)
        near = neighbours(shape.layout, self)
        count = len(near) * len(near[0])
        biases = normal(shape.attending, shape.heads, count, scale=1.0)
        return WindowEncoding(biases, near, shape.layout)

    def _check(self, layout: Layout) -> None:
        kinds = [kind.name for kind in layout.kinds]
        for kind in self.sees:
            if kind not in kinds:
                raise unknown(f"kind of layout {layout.name!r}", kind, kinds)
        _check_reach("positions.reach", self.reach, layout, must_see_itself=not self.sees)
        for kind, reach in self.sees.items():
            _check_reach(f"positions.sees.{kind}", reach, layout)
        missing = set(layout.axes) - set(self.reach)
        if missing:
            raise UserError(f"positions.reach lacks the layout's axis {min(missing)!r}")


class Table(NamedTuple):
    """For each address the index of the token that stands there, or ABSENT."""

    slots: Int[Array, "batch addresses"]
    lows: Int[Array, " axes"]
    highs: Int[Array, " axes"]
    strides: Int[Array, "kinds axes"]
    offsets: Int[Array, " kinds"]


class WindowEncoding(Encoding):
    biases: Weight  # attending heads groups*neighbours
    near: tuple[tuple[Neighbour, ...], ...] = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    @property
    def packs(self) -> bool:
        return True

    @property
    def layers(self) -> Any:
        return self.biases

    def index(self, keys: Where, room: Room) -> Table:
        return self.insert(self.blank(keys, 0, room), keys)

    def blank(self, like: Where, slots: int, room: Room) -> Table:
        extents = np.array(room.extents, np.int32)
        sizes = [self._sizes(kind, extents) for kind in self.layout.kinds]
        seen = self._seen()
        ends = np.cumsum([np.prod(size) * mine for size, mine in zip(sizes, seen, strict=True)])
        strides = [
            self._strides(kind, size) for kind, size in zip(self.layout.kinds, sizes, strict=True)
        ]
        offsets = np.concatenate([[0], ends[:-1]])
        absent = jnp.full((like.texts, int(ends[-1])), ABSENT, jnp.int32)
        plan = (jnp.asarray(part, jnp.int32) for part in (*extents.T, strides, offsets))
        return Table(absent, *plan)

    def _sizes(self, kind: Kind, extents: np.ndarray) -> list[int]:
        spans = zip(self.layout.axes, extents, strict=True)
        return [1 if axis in kind.wild else int(high - low + 1) for axis, (low, high) in spans]

    def _seen(self) -> list[bool]:
        """For each kind whether any query sees it; the others need no address."""
        listed = {kind for group in self.near for kind, _ in group}
        return [number in listed for number in range(len(self.layout.kinds))]

    def _strides(self, kind: Kind, sizes: list[int]) -> list[int]:
        rest = [int(np.prod(sizes[axis + 1 :])) for axis in range(len(sizes))]
        return [
            0 if axis in kind.wild else r for axis, r in zip(self.layout.axes, rest, strict=True)
        ]

    def insert(self, index: Table, new: Where) -> Table:
        address = self._address(index, new.kind, new.coordinates)
        slots = index.slots.at[new.text, address].set(new.index, mode="drop")
        return index._replace(slots=slots)

    def fan_in(self, room: Room) -> int:
        return len(self.near[0])

    def links(self, index: Table, queries: Where) -> Links:
        kinds, displacements = self._listed(queries)
        wanted = queries.coordinates[:, :, None, :] + displacements
        address = self._address(index, kinds, wanted)
        found = index.slots.at[queries.text[:, :, None], address].get(
            mode="fill", fill_value=ABSENT
        )
        keys = jnp.where(kinds == SELF, queries.index[:, :, None], found)
        visible = (keys != ABSENT) & (keys <= queries.index[:, :, None])
        return Links(queries, jnp.where(visible, keys, 0), visible)

    def _listed(self, queries: Where) -> tuple[Array, Array]:
        """Kinds and displacements of each query's neighbours."""
        kinds = jnp.array([[kind for kind, _ in group] for group in self.near])
        displacements = jnp.array([[moved for _, moved in group] for group in self.near])
        if len(self.near) == 1:
            return kinds[0], displacements[0]
        group = self._group(queries)
        return kinds[group], displacements[group]

    def _group(self, queries: Where) -> Int[Array, "batch time"]:
        return jnp.array([kind.group for kind in self.layout.kinds])[queries.kind]

    def _bias(self, layer: Array, queries: Where) -> Array:
        """Score biases, neighbours x heads, of each query or of all alike."""
        groups, heads = len(self.near), len(layer)
        table = layer.reshape(heads, groups, -1).transpose(1, 2, 0)
        if groups == 1:
            return table[0]
        chosen = jax.nn.one_hot(self._group(queries), groups, dtype=layer.dtype)
        biases = chosen @ table.reshape(groups, -1)  # a product: its gradient is one too
        return biases.reshape(*queries.kind.shape, -1, heads)

    def attend(self, layer: Any, links: Links, q: Queries, k: Keys, v: Keys) -> Queries:
        """As the dense form, over the listed neighbours only: no batched matrix products."""
        near_k, near_v = _gather(k, links.keys), _gather(v, links.keys)
        weights = self._near_weights(layer, links, q, near_k)
        return jnp.sum(weights[..., None] * near_v, axis=2)

    def weights(
        self, layer: Any, links: Links, q: Queries, k: Keys
    ) -> Float[Array, "batch heads queries keys"]:
        """As the dense form: each neighbour's weight laid out at its key."""
        near = self._near_weights(layer, links, q, _gather(k, links.keys))
        rows, queries = np.ix_(range(links.keys.shape[0]), range(links.keys.shape[1]))
        blank = jnp.zeros((*links.keys.shape[:2], k.shape[1], near.shape[-1]), near.dtype)
        spread = blank.at[rows[..., None], queries[..., None], links.keys].add(near)
        return jnp.moveaxis(spread, -1, 1)

    def _near_weights(
        self, layer: Any, links: Links, q: Queries, near: Array
    ) -> Float[Array, "batch queries neighbours heads"]:
        scores = jnp.sum(q[:, :, None] * near, axis=-1) * q.shape[-1] ** -0.5
        scores = scores + self._bias(layer, links.queries)
        scores = jnp.where(links.visible[..., None], scores, HIDDEN)
        return jax.nn.softmax(scores, axis=2)

    def _address(self, table: Table, kind: Array, coordinates: Array) -> Array:
        """Where a kind at these coordinates stands in the table; beyond its end if nowhere."""
        offset, stride = table.offsets[kind], table.strides[kind]
        inside = (stride == 0) | (coordinates >= table.lows) & (coordinates <= table.highs)
        address = offset + jnp.sum(stride * (coordinates - table.lows), axis=-1)
        known = (kind >= 0) & jnp.array(self._seen())[kind] & jnp.all(inside, axis=-1)
        return jnp.where(known, address, table.slots.shape[1])


def neighbours(layout: Layout, window: Window) -> tuple[tuple[Neighbour, ...], ...]:
    """Kind and displacement of every neighbour that a query of each group may have."""
    groups: dict[int, list[Neighbour]] = {kind.group: [] for kind in layout.kinds}
    for number, kind in enumerate(layout.kinds):
        if not window.sees or kind.name in window.sees:
            groups[kind.group] += _displaced(number, kind, layout, window)
    own: list[Neighbour] = [(SELF, (0,) * len(layout.axes))] if window.sees else []
    longest = max(map(len, groups.values()))
    gap = (NOBODY, (0,) * len(layout.axes))
    return tuple(
        (*own, *near, *[gap] * (longest - len(near))) for _, near in sorted(groups.items())
    )


def _displaced(number: int, kind: Kind, layout: Layout, window: Window) -> list[Neighbour]:
    reach = window.reach | window.sees.get(kind.name, {})
    ranges = [
        (0,) if axis in kind.wild else range(reach[axis][0], reach[axis][1] + 1)
        for axis in layout.axes
    ]
    return [(number, displacement) for displacement in itertools.product(*ranges)]


def _check_reach(where: str, reach: Reach, layout: Layout, must_see_itself: bool = False) -> None:
    for axis, (low, high) in reach.items():
        if axis not in layout.axes:
            raise unknown(f"axis of layout {layout.name!r}", axis, layout.axes)
        if low > high:
            raise UserError(f"{where}.{axis} must be lowest and highest, not {low}..{high}")
        if must_see_itself and not low <= 0 <= high:
            raise UserError(f"{where}.{axis} must include 0, not {low}..{high}")


def _gather(heads: Keys, keys: Int[Array, "batch queries neighbours"]) -> Array:
    """Rows of `heads` at `keys`, as batch x queries x neighbours x heads x features."""
    rows = jnp.arange(len(heads))[:, None, None]
    return heads[rows, keys]
