"""The layers of a block: weights, what MLP, norm and dropout calculate, what passes between.

Attention is in `transformer`, with its encoding of positions. A bias is named after what it
follows: `up_bias`, and `gain_bias` of a norm.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curta.config.model import Bias, DropoutSite, ModelConfig
from curta.layouts import TokenPositions
from curta.model.weights import Weight, constant, normal

Flat = Float[Array, "tokens width"]
Gains = Float[Array, "*blocks width"] | None
Biases = Weight | None  # blocks features

Tap = Callable[[str, Array], Array]
"""Given the name of a site and its value, the value that the model goes on with.

The model calls `tap(site, value)` at named sites of the forward pass. Without a tap that is
`untouched`, which returns the value itself: the compiled program is as if there were no sites.
"""


def untouched(site: str, value: Array) -> Array:
    """No tap at all."""
    return value


def below(tap: Tap, prefix: str) -> Tap:
    """The same tap for sites whose names lack what they begin with, such as `layer.0.`."""
    if tap is untouched:
        return untouched
    return lambda site, value: tap(prefix + site, value)


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


NO_DROPOUT = Dropout()
"""Left out of a model that is not in training."""


def draw_dropout(key: PRNGKeyArray | None, config: ModelConfig, batch: int, time: int) -> Dropout:
    """The masks of every block; nothing is left out without a key.

    There are four sites: the embedding, attention weights, the MLP's inner layer, and what each
    sub-layer adds to the state. Source: Srivastava et al., JMLR 15, 2014.
    """
    site, tokens = partial(dropout_mask, key, config), batch * time
    return Dropout(
        site("output", config.num_layers, 2, tokens, config.width),
        site("attention", config.num_attention_layers, batch, time, config.heads, time),
        site("mlp", config.num_layers, tokens, config.mlp_width),
    )


def dropout_mask(
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
    values = jax.lax.bitcast_convert_type(words, jnp.uint16)
    return values.reshape(-1)[:count].reshape(shape).astype(jnp.int32)


_NUMBER: dict[DropoutSite, int] = {"embedding": 0, "output": 1, "attention": 2, "mlp": 3}


def dropped(config: ModelConfig, x: Array, mask: DropoutMask) -> Array:
    """`x` with only what the mask leaves, scaled up so that its mean stays."""
    return x if mask is None else jnp.where(mask, x / (1 - config.dropout), 0.0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "relu2": lambda x: jnp.square(jax.nn.relu(x)),
    "gelu": jax.nn.gelu,
    "gelu_erf": partial(jax.nn.gelu, approximate=False),
    "silu": jax.nn.silu,
}


class Attention(eqx.Module):
    """Weights of an attention layer, or of all of them, stacked along a leading axis.

    What follows from others, by `model.weight_sharing`, is None (`sharing`).
    """

    query: Weight  # blocks width width
    key: Weight | None  # blocks width kv_width
    value: Weight | None  # blocks width kv_width
    out: Weight | None  # blocks width width
    gain: Gains
    after: Gains = None
    turn: Weight | None = None  # blocks 1
    query_bias: Biases = None
    key_bias: Biases = None
    value_bias: Biases = None
    out_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


class MLP(eqx.Module):
    """Feed-forward weights of a block, or of all of them, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains
    after: Gains = None
    gate: Weight | None = None  # blocks width wide
    up_bias: Biases = None
    down_bias: Biases = None
    gate_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


def attention(config: ModelConfig) -> Attention:
    """Weights of all attention layers, still to be drawn."""
    width, count, scale = config.width, config.num_attention_layers, config.width**-0.5
    smaller = 1.0 if config.attention_scale else config.head_dim**-0.5
    query, out = (normal(count, width, width, scale=scale * by) for by in (smaller, 1.0))
    kv_width = config.kv_heads * config.head_dim
    shared = normal(count, width, kv_width, scale=scale)
    return Attention(
        *(query, shared, shared, out, *_gains(config, count)),
        query_bias=bias(config, "qkv", count, width),
        key_bias=bias(config, "qkv", count, kv_width),
        value_bias=bias(config, "qkv", count, kv_width),
        out_bias=bias(config, "out", count, width),
        **_norm_biases(config, count),
    )


def mlp(config: ModelConfig) -> MLP:
    """Feed-forward weights of all blocks, still to be drawn."""
    width, count, wide = config.width, config.num_layers, config.mlp_width
    up = normal(count, width, wide, scale=width**-0.5)
    down = normal(count, wide, width, scale=wide**-0.5)
    return MLP(
        *(up, down, *_gains(config, count), up if config.gated else None),
        up_bias=bias(config, "mlp", count, wide),
        down_bias=bias(config, "mlp", count, width),
        gate_bias=bias(config, "mlp", count, wide) if config.gated else None,
        **_norm_biases(config, count),
    )


def bias(config: ModelConfig, of: Bias, *shape: int) -> Biases:
    """Zeros where a recipe has this bias, and None where it has not."""
    return constant(np.zeros(shape)) if of in config.biases else None


def _gains(config: ModelConfig, count: int) -> tuple[Gains, Gains]:
    """Gains of the norms before a sub-layer and after it, where there are any."""
    gains = jnp.ones((count, config.width)) if config.has_gains else None
    return gains if config.norms_before else None, gains if config.norms_after else None


def _norm_biases(config: ModelConfig, count: int) -> dict[str, Any]:
    """The same of their biases."""
    zeros = bias(config, "norms", count, config.width)
    before, after = config.norms_before, config.norms_after
    return {"gain_bias": zeros if before else None, "after_bias": zeros if after else None}


def linear(
    x: Float[Array, "tokens inputs"],
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"] | None,
) -> Float[Array, "tokens outputs"]:
    """`x` times a matrix, and its bias if it has one."""
    return plus_bias(x @ weight, bias)


def plus_bias(
    x: Float[Array, "tokens outputs"], bias: Float[Array, " outputs"] | None
) -> Float[Array, "tokens outputs"]:
    """`x`, and a bias if there is one."""
    return x if bias is None else x + bias[None].astype(x.dtype)


def feedforward(
    config: ModelConfig, mlp: MLP, x: Flat, mask: DropoutMask = None, tap: Tap = untouched
) -> Flat:
    """Two layers, the inner one multiplied by a gate if there is one (Shazeer, 2002.05202)."""
    activate, inner = ACTIVATIONS[config.activation], linear(x, mlp.up, mlp.up_bias)
    if mlp.gate is None:
        inner = activate(inner)
    else:
        inner = activate(linear(x, mlp.gate, mlp.gate_bias)) * inner
    inner = tap("mlp.inner", inner)
    return linear(dropped(config, inner, mask), mlp.down, mlp.down_bias)


def normed(
    config: ModelConfig,
    x: Flat,
    gain: Float[Array, " width"] | None,
    bias: Float[Array, " width"] | None = None,
) -> Flat:
    """`x` with each token's root mean square 1, and its mean 0 unless the norm is "rms".

    [3, 4] becomes [0.85, 1.13] with "rms" and [-1, 1] with the others, times `gain`, and `bias`
    added; with "none" it stays as it is. Calculated in float32, whatever the dtype of `x`.
    """
    if config.norm == "none":
        return x
    exact = x.astype(jnp.float32)
    if config.norm != "rms":
        exact = exact - jnp.mean(exact, axis=-1, keepdims=True)
    square = jnp.mean(jnp.square(exact), axis=-1, keepdims=True)
    exact = exact * jax.lax.rsqrt(square + config.norm_epsilon)
    exact = exact if gain is None else exact * gain[None]
    return (exact if bias is None else exact + bias[None]).astype(x.dtype)
