"""Dropout: what is left out in training, drawn from the step's key.

There are four sites: the embedding, attention weights, the MLP's inner layer, and what each
sub-layer adds to the state.
Source: Srivastava et al., JMLR 15, 2014.
"""

from functools import partial
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from curta.config.model import DropoutSite, ModelConfig

DropoutMask = Bool[Array, "..."] | None
"""Which numbers stay; None if all do."""


class Dropout(NamedTuple):
    """The masks of all blocks in one recurrence; those of a single block lack the first axis."""

    output: DropoutMask = None  # blocks 2 tokens width
    attention: DropoutMask = None  # blocks batch queries heads keys
    mlp: DropoutMask = None  # blocks tokens wide

    def of(self, queries: Int[Array, "batch queries"]) -> "Dropout":
        """The masks of all blocks for some of the tokens; texts are rows of equal length.

        Of two texts of three tokens, queries [[2], [1]] keep what is left of tokens 2 and 4.
        """
        rows = jnp.arange(len(queries))[:, None]

        def flat(mask: Bool[Array, "*blocks tokens width"]) -> Bool[Array, "*blocks queries width"]:
            *first, _, width = mask.shape
            each = mask.reshape(*first, len(queries), -1, width)
            return each[..., rows, queries, :].reshape(*first, -1, width)

        return Dropout(
            None if self.output is None else flat(self.output),
            None if self.attention is None else self.attention[:, rows, queries],
            None if self.mlp is None else flat(self.mlp),
        )

    def without_attention(self) -> "Dropout":
        """Those of blocks that do not attend."""
        return self._replace(attention=None)


NOTHING = Dropout()
"""Left out of a model that is not in training."""


def drawn(key: PRNGKeyArray | None, config: ModelConfig, batch: int, time: int) -> Dropout:
    """The masks of every block; nothing is left out without a key."""
    site, tokens = partial(mask, key, config), batch * time
    return Dropout(
        site("output", config.num_layers, 2, tokens, config.width),
        site("attention", config.num_attention_layers, batch, time, config.heads, time),
        site("mlp", config.num_layers, tokens, config.mlp_width),
    )


def mask(
    key: PRNGKeyArray | None, config: ModelConfig, site: DropoutSite, *shape: int
) -> DropoutMask:
    """One draw for all numbers of a site; None if the recipe leaves out none of them.

    Half a random word decides on each: that is exact to 1 / 131,072, in half the time.
    """
    if key is None or not config.dropout or site not in config.dropout_sites:
        return None
    key = jax.random.fold_in(key, _NUMBER[site])
    return halves(key, shape) >= round(config.dropout * 2**16)


def halves(key: PRNGKeyArray, shape: tuple[int, ...]) -> Int[Array, "..."]:
    """Random numbers below 2^16 of that shape: two of each word, 9 and 7 of 0x00070009."""
    count = prod(shape)
    words = jax.random.bits(key, (-(-count // 2),))
    found = jax.lax.bitcast_convert_type(words, jnp.uint16)
    return found.reshape(-1)[:count].reshape(shape).astype(jnp.int32)


_NUMBER: dict[DropoutSite, int] = {"embedding": 0, "output": 1, "attention": 2, "mlp": 3}


def dropped(config: ModelConfig, x: Array, mask: DropoutMask) -> Array:
    """`x` with only what the mask leaves, scaled up so that its mean stays."""
    return x if mask is None else jnp.where(mask, x / (1 - config.dropout), 0.0)
