"""The window: a query sees itself and a few neighbours, each a role and a displacement.

The neighbours of each role are found from recorded texts (`programs.machine.survey`), or set by the
recipe. With one attention layer a model is then a function of its window, so it is trained,
evaluated and run on windows (`logits_of_windows`). Each cell of each role's window has a
learned score bias. An absent neighbour is a zero vector and is attended to like the others;
otherwise a query beside a token equal to its own could not be told from a query alone. The same
attention over whole texts, by a mask, is here too.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model.positions.base import (
    HIDDEN,
    Encoding,
    KeyHeads,
    QueryHeads,
    Scores,
    Shape,
    VisibleKeys,
)
from curta.model.weights import Weight, normal
from curta.programs.machine.machine import cells_of


def build_window(settings: Window, shape: Shape) -> Encoding:
    layout = shape.layout
    if layout.machine is None:
        raise UserError(f"positions 'window' needs a program; {layout.name!r} is a layout")
    cells = cells_of(layout.windows)
    biases = normal(shape.num_attention_layers, shape.heads, len(layout.roles) * cells, scale=1.0)
    return WindowEncoding(biases, cells, layout)


class WindowEncoding(Encoding):
    """Attention to the cells of a window, with a score bias for each role's cell and head."""

    biases: Weight  # attention_layers heads biases, where biases = roles * cells
    cells: int = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    @property
    def layers(self) -> Any:
        return self.biases

    def of_windows(
        self,
        layer: Float[Array, "heads biases"],
        rows: Int[Array, "batch cells"],
        query: Float[Array, "tokens heads features"],
        keys: Float[Array, "tokens heads features"],
        values: Float[Array, "tokens heads features"],
    ) -> Float[Array, "batch heads features"]:
        """Return what the first token of each window attends to, by head.

        Query, keys and values are those of the whole vocabulary; an absent cell has the number
        after the last token, and zeros. In float32: gradients of looked-up rows sum many terms.
        """
        machine, dtype = self.layout.machine, query.dtype
        query, keys, values = (heads.astype(jnp.float32) for heads in (query, keys, values))
        # batch cells heads features
        k, v = (jnp.pad(heads, ((0, 1), (0, 0), (0, 0)))[rows] for heads in (keys, values))
        scores = jnp.sum(query[rows[:, 0], None] * k, axis=-1) * k.shape[-1] ** -0.5
        scores = scores + self.table(layer)[jnp.asarray(machine.role)[rows[:, 0]]]
        weights = jax.nn.softmax(scores, axis=1)  # batch cells heads
        return jnp.sum(weights[..., None] * v, axis=1).astype(dtype)

    def keys_per_query(self, bounds: ShapeBounds) -> int:
        return self.cells

    def visible_keys(self, index: TokenPositions, queries: TokenPositions) -> VisibleKeys:
        """Let a query see the newest token of each cell: a wrong model may write a square twice."""
        visible_keys = super().visible_keys(index, queries)
        cell = self._cell(visible_keys)  # batch queries keys
        # The index of each key that stands in a cell, else -1: 5 and 8 in cell 1, 6 in cell 2.
        time = jnp.where(
            visible_keys.mask & (cell < self.cells), visible_keys.keys.index[:, None], -1
        )
        # The newest index in each cell, here 8 and 6: batch queries keys cells, then without keys.
        key_cell, cells = jnp.minimum(cell, self.cells - 1), self._all_cells()
        time_by_cell = jnp.where(key_cell[..., None] == cells, time[..., None], -1)
        newest = jnp.take_along_axis(jnp.max(time_by_cell, axis=2), key_cell, axis=2)
        return visible_keys._replace(mask=(time >= 0) & (time == newest))

    def bias(self, layer: Array, visible_keys: VisibleKeys) -> Scores:
        table = jnp.pad(self.table(layer), ((0, 0), (0, 1), (0, 0)))  # roles, cells + 1, heads
        bias = table[visible_keys.queries.role[:, :, None], self._cell(visible_keys)]
        return jnp.moveaxis(bias, -1, 1)  # batch heads queries keys

    def weights(self, layer: Any, visible_keys: VisibleKeys, q: QueryHeads, k: KeyHeads) -> Scores:
        """Return attention weights; the remainder to 1 is attention to absent neighbours."""
        scores, cell = self.scores(layer, visible_keys, q, k), self.cell_of_keys(visible_keys)
        # An absent neighbour is a zero vector, so its score is its bias alone.
        is_present = jnp.any(cell[..., None] == self._all_cells(), axis=2)  # batch queries cells
        bias = self.table(layer)[visible_keys.queries.role]  # batch queries cells heads
        absent_scores = jnp.where(is_present[..., None], HIDDEN, bias)
        all_scores = jnp.concatenate([scores, jnp.moveaxis(absent_scores, -1, 1)], axis=-1)
        return jax.nn.softmax(all_scores, axis=-1)[..., : k.shape[1]]

    def _all_cells(self) -> Int[Array, "1 1 1 cells"]:
        return jnp.arange(self.cells)[None, None, None]

    def table(self, layer: Array) -> Float[Array, "roles cells heads"]:
        """Return the score bias of each cell of each role's window; HIDDEN where it has no cell."""
        table = layer.reshape(len(layer), -1, self.cells).transpose(1, 2, 0)
        return jnp.where(jnp.asarray(self.has_cell())[..., None], table, HIDDEN)

    def has_cell(self) -> Bool[np.ndarray, "roles cells"]:
        """Return which cells each role's window has: the query itself, then its neighbours."""
        windows = self.layout.windows
        counts = [1 + len(windows.get(role.name, ())) for role in self.layout.roles]
        return np.arange(self.cells) < np.array(counts)[:, None]

    def cell_of_keys(self, visible_keys: VisibleKeys) -> Int[Array, "batch queries keys"]:
        """Return the cell of each query's window that each key fills; `cells` if it is not seen."""
        return jnp.where(visible_keys.mask, self._cell(visible_keys), self.cells)

    def _cell(self, visible_keys: VisibleKeys) -> Int[Array, "batch queries keys"]:
        """Return the cell of each query's window that each key stands in; `cells` if in none."""
        cell_table, reach = self._cell_table()
        keys, queries = visible_keys.keys, visible_keys.queries
        # In `12+34=` the digit 2 of `12` is displaced by +1 from the `=` on square -1. Larger
        # displacements than `reach` are clipped to the table's edge: batch queries keys axes.
        broadcast = jnp.asarray(self.layout.machine.broadcast_mask)[keys.role][:, None]
        moved = keys.coordinates[:, None] - queries.coordinates[:, :, None]
        moved = jnp.clip(jnp.where(broadcast, 0, moved), -reach - 1, reach + 1) + reach + 1
        # The address of (query role, key role, displacement on each axis) in the flat table.
        address = queries.role[:, :, None] * len(self.layout.roles) + keys.role[:, None]
        for axis in range(moved.shape[-1]):
            address = address * (2 * reach + 3) + moved[..., axis]
        is_query = queries.index[:, :, None] == keys.index[:, None, :]
        return jnp.where(is_query, 0, jnp.asarray(cell_table.reshape(-1))[address])

    def _cell_table(self) -> tuple[Int[np.ndarray, "queries keys *spans"], int]:
        """Return the cell by roles of query and key and by displacement; the largest displacement.

        Larger displacements belong to no cell: the table has one more place at either end.
        """
        windows, roles = self.layout.windows, len(self.layout.roles)
        names = [role.name for role in self.layout.roles]
        moves = [abs(m) for near in windows.values() for _, d in near for m in d]
        reach = max(moves, default=0)
        spans = (2 * reach + 3,) * len(self.layout.axes)
        cell_table = np.full((roles, roles, *spans), self.cells)
        for role, near in windows.items():
            for cell, (other, moved) in enumerate(near, 1):
                place = tuple(m + reach + 1 for m in moved)
                cell_table[(names.index(role), names.index(other), *place)] = cell
        return cell_table.astype(np.int32), reach
