"""The layers of a block: their weights, and what MLP, norm and dropout compute.

Attention is in `transformer`, beside the position encoding that it uses. A bias is named after the
weight it follows: `up_bias` follows `up`, `gain_bias` a norm's gain.
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

from curta.config.sections import Bias, DropoutSite, ModelConfig
from curta.layouts import TokenPositions
from curta.model.weights import Weight, constant, normal

Flat = Float[Array, "tokens width"]
Gains = Float[Array, "*blocks width"] | None
Biases = Weight | None  # blocks features

Tokens = Int[Array, "batch time"]
Queries = Int[Array, "batch queries"]
Logits = Float[Array, "batch queries vocabulary"]
KVHeads = Float[Array, "batch time kv_heads features"]

Tap = Callable[[str, Array], Array]
"""Takes the name of a site and its value, and returns the value that the model goes on with.

The model calls `tap(site, value)` at named sites of the forward pass. `no_tap` leaves no trace in
the compiled program.
"""


def no_tap(site: str, value: Array) -> Array:
    """Return the value unchanged."""
    return value


def prefixed(tap: Tap, prefix: str) -> Tap:
    """Return a tap that adds a prefix, such as `layer.0.`, to the names of its sites."""
    if tap is no_tap:
        return no_tap
    return lambda site, value: tap(prefix + site, value)


class States(NamedTuple):
    """States of the queries: after each recurrence but the last (if recorded), and at the end."""

    earlier: Float[Array, "recurrences queries width"] | None
    last: Flat

    def after(self, num_recurrences: Int[Array, ""]) -> Flat:
        """Return the state after `num_recurrences`, at least one."""
        if self.earlier is None:
            return self.last
        return jnp.concatenate([self.earlier, self.last[None]])[num_recurrences - 1]


def one_hot_rows(
    table: Float[Array, "rows width"], index: Int[Array, "batch time"]
) -> Float[Array, "batch time width"]:
    """Return `table[index]` as a matrix product, whose gradient is no serial scatter."""
    return jax.nn.one_hot(index, len(table), dtype=table.dtype) @ table


def select_queries(tree: Any, queries: Int[Array, "batch queries"]) -> Any:
    """Return the rows at `queries` of flat activations, or of a whole `TokenPositions`.

    Two texts of three tokens are rows 0-2 and 3-5; queries [[2], [1]] select rows 2 and 4.
    """
    rows = jnp.arange(len(queries))[:, None]
    if isinstance(tree, TokenPositions):
        return jax.tree.map(lambda column: column[rows, queries], tree)
    time = len(tree) // len(queries)
    return tree[(rows * time + queries).reshape(-1)]


DropoutMask = Bool[Array, "..."] | None
"""True where a number stays; None if all stay."""


class Dropout(NamedTuple):
    """The masks of all blocks in one recurrence; those of a single block lack the first axis."""

    output: DropoutMask = None  # blocks 2 tokens width
    attention: DropoutMask = None  # blocks batch queries heads keys
    mlp: DropoutMask = None  # blocks tokens wide

    def for_queries(self, queries: Int[Array, "batch queries"]) -> "Dropout":
        """Return the masks of some tokens only; texts are rows of equal length.

        Two texts of three tokens, queries [[2], [1]]: the masks of tokens 2 and 4.
        """
        rows = jnp.arange(len(queries))[:, None]

        def select(mask: Bool[Array, "..."]) -> Bool[Array, "..."]:
            *blocks, _, width = mask.shape  # blocks, batch * time, width
            by_text = mask.reshape(*blocks, len(queries), -1, width)  # blocks batch time width
            return by_text[..., rows, queries, :].reshape(*blocks, -1, width)

        return Dropout(
            None if self.output is None else select(self.output),
            None if self.attention is None else self.attention[:, rows, queries],
            None if self.mlp is None else select(self.mlp),
        )


NO_DROPOUT = Dropout()
"""The masks of a model outside of training."""

_SITE_NUMBER: dict[DropoutSite, int] = {"embedding": 0, "output": 1, "attention": 2, "mlp": 3}


def dropout_mask(
    key: PRNGKeyArray | None, config: ModelConfig, site: DropoutSite, *shape: int
) -> DropoutMask:
    """Draw the mask of one site; None without a key, or if the recipe has no dropout there.

    Each random word of 32 bits decides on two numbers, which takes half the time. A number stays if
    its 16 bits are at least the dropout rate times 65,536, so the rate is exact to 1 / 131,072.
    Source: Srivastava et al., JMLR 15, 2014.
    """
    if key is None or not config.dropout or site not in config.dropout_sites:
        return None
    count = prod(shape)
    words = jax.random.bits(jax.random.fold_in(key, _SITE_NUMBER[site]), (-(-count // 2),))
    # The word 0x00070009 gives the numbers 9 and 7; of the last word, one may be left over.
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1)[:count]
    return halves.reshape(shape).astype(jnp.int32) >= round(config.dropout * 2**16)


def apply_dropout(config: ModelConfig, x: Array, mask: DropoutMask) -> Array:
    """Return `x` with zeros outside the mask, scaled up so that its mean stays."""
    return x if mask is None else jnp.where(mask, x / (1 - config.dropout), 0.0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "relu2": lambda x: jnp.square(jax.nn.relu(x)),
    "gelu": jax.nn.gelu,
    "gelu_erf": partial(jax.nn.gelu, approximate=False),
    "silu": jax.nn.silu,
}


class AttentionWeights(eqx.Module):
    """Weights of an attention layer, or of all of them, stacked along a leading axis.

    A weight that follows from others by `model.weight_sharing` is None: see `weights.unshared`.
    """

    query: Weight  # blocks width width
    key: Weight | None  # blocks width kv_width
    value: Weight | None  # blocks width kv_width
    out: Weight | None  # blocks width width
    gain: Gains  # of the norm before the sub-layer
    after: Gains = None  # the gain of the norm after it
    turn: Weight | None = None  # blocks 1: the angle by which shared keys differ from queries
    query_bias: Biases = None
    key_bias: Biases = None
    value_bias: Biases = None
    out_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


class MLPWeights(eqx.Module):
    """Feed-forward weights of a block, or of all of them, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains  # of the norm before the sub-layer
    after: Gains = None  # the gain of the norm after it
    gate: Weight | None = None  # blocks width wide
    up_bias: Biases = None
    down_bias: Biases = None
    gate_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


def init_attention(config: ModelConfig) -> AttentionWeights:
    """Describe the weights of all attention layers; `weights.draw` draws them."""
    width, count, scale = config.width, config.num_attention_layers, config.width**-0.5
    kv_width = config.kv_heads * config.head_dim
    kv = normal(count, width, kv_width, scale=scale)
    query_scale = scale * (1.0 if config.attention_scale else config.head_dim**-0.5)
    return AttentionWeights(
        query=normal(count, width, width, scale=query_scale),
        key=kv,
        value=kv,
        out=normal(count, width, width, scale=scale),
        query_bias=init_bias(config, "qkv", count, width),
        key_bias=init_bias(config, "qkv", count, kv_width),
        value_bias=init_bias(config, "qkv", count, kv_width),
        out_bias=init_bias(config, "out", count, width),
        **_norm_parameters(config, count),
    )


def init_mlp(config: ModelConfig) -> MLPWeights:
    """Describe the feed-forward weights of all blocks; `weights.draw` draws them."""
    width, count, wide = config.width, config.num_layers, config.mlp_width
    up = normal(count, width, wide, scale=width**-0.5)
    return MLPWeights(
        up=up,
        down=normal(count, wide, width, scale=wide**-0.5),
        gate=up if config.gated else None,
        up_bias=init_bias(config, "mlp", count, wide),
        down_bias=init_bias(config, "mlp", count, width),
        gate_bias=init_bias(config, "mlp", count, wide) if config.gated else None,
        **_norm_parameters(config, count),
    )


def init_bias(config: ModelConfig, kind: Bias, *shape: int) -> Biases:
    """Return zeros where the recipe has this bias, else None."""
    return constant(np.zeros(shape)) if kind in config.biases else None


def _norm_parameters(config: ModelConfig, count: int) -> dict[str, Any]:
    """Return gains and biases of the norms before and after `count` sub-layers.

    There are no gains if all norms share those of the last: see `weights.unshared`.
    """
    has_gains = config.has_gains and "norms" not in config.weight_sharing
    gains = jnp.ones((count, config.width)) if has_gains else None
    biases = init_bias(config, "norms", count, config.width)
    return {
        "gain": gains if config.norms_before else None,
        "after": gains if config.norms_after else None,
        "gain_bias": biases if config.norms_before else None,
        "after_bias": biases if config.norms_after else None,
    }


def linear(
    x: Float[Array, "tokens inputs"],
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"] | None,
) -> Float[Array, "tokens outputs"]:
    """Return `x @ weight`, plus the bias if there is one, in the dtype of the product."""
    product = x @ weight
    return product if bias is None else product + bias[None].astype(product.dtype)


def feedforward(
    config: ModelConfig, mlp: MLPWeights, x: Flat, mask: DropoutMask = None, tap: Tap = no_tap
) -> Flat:
    """Return down(activation(up(x))), or with a gate down(activation(gate(x)) * up(x)).

    Source of the gate: Shazeer, arXiv 2002.05202.
    """
    activate = ACTIVATIONS[config.activation]
    inner = linear(x, mlp.up, mlp.up_bias)  # tokens wide
    if mlp.gate is None:
        inner = activate(inner)
    else:
        inner = activate(linear(x, mlp.gate, mlp.gate_bias)) * inner
    inner = tap("mlp.inner", inner)
    output = linear(apply_dropout(config, inner, mask), mlp.down, mlp.down_bias)
    return tap("mlp.output", output)


def normalize(
    config: ModelConfig,
    x: Flat,
    gain: Float[Array, " width"] | None,
    bias: Float[Array, " width"] | None = None,
) -> Flat:
    """Scale each token to root mean square 1, after centring it unless the norm is "rms".

    [3, 4] becomes [0.85, 1.13] with "rms" and [-1, 1] with "layer" and "plain", then times `gain`,
    plus `bias`. The norm "none" returns `x`. Computed in float32 whatever the dtype of `x`.
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
