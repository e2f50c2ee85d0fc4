"""What passes between the parts of a transformer: states of tokens, and what is kept of them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts import TokenPositions
from curta.model.layers import Flat

Tokens = Int[Array, "batch time"]
Queries = Int[Array, "batch queries"]
Logits = Float[Array, "batch queries vocabulary"]
Heads = Float[Array, "batch time heads features"]
KVHeads = Float[Array, "batch time kv_heads features"]
Slots = Float[Array, "recurrences batch slots heads features"]


class States(NamedTuple):
    """The queries' state after each recurrence but the last, if any, and after the last."""

    earlier: Float[Array, "recurrences queries width"] | None
    last: Flat

    def after(self, num_recurrences: Int[Array, ""]) -> Flat:
        """The state after so many recurrences, at least one."""
        if self.earlier is None:
            return self.last
        return jnp.concatenate([self.earlier, self.last[None]])[num_recurrences - 1]


def rows_of(
    table: Float[Array, "rows width"], index: Int[Array, "batch time"]
) -> Float[Array, "batch time width"]:
    """`table[index]` as a matrix product: its gradient is one too, not a serial scatter."""
    return jax.nn.one_hot(index, len(table), dtype=table.dtype) @ table


def pick(tree: Any, queries: Int[Array, "batch queries"]) -> Any:
    """The rows that belong to `queries`, of flat activations or of whole `TokenPositions`s.

    Two texts of three tokens are rows 0-2 and 3-5; queries [[2], [1]] are rows 2 and 4.
    """
    rows = jnp.arange(len(queries))[:, None]
    if isinstance(tree, TokenPositions):
        return jax.tree.map(lambda part: part[rows, queries], tree)
    time = len(tree) // len(queries)
    return tree[(rows * time + queries).reshape(-1)]
