"""A transformer without positions, written out plainly: one text, one head after the other.

What the tests hold the model's designs against. Weights are taken from a model, all else
is here; arrays are JAX's only so that gradients can be taken of it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.config.model import ModelConfig
from curta.model.transformer import Transformer


class Masks(NamedTuple):
    """What dropout leaves of one text in one recurrence; None: all."""

    output: Any = None  # blocks 2 tokens width
    attention: Any = None  # blocks queries heads keys
    mlp: Any = None  # blocks tokens wide


EVERYTHING = Masks()


def norm(config: ModelConfig, x: Array, gain: Array | None, bias: Array | None = None) -> Array:
    centred = x if config.norm == "rms" else x - x.mean(-1, keepdims=True)
    scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + config.norm_epsilon)
    return plus(scaled if gain is None else scaled * gain[None], bias)


def plus(x: Array, bias: Array | None) -> Array:
    return x if bias is None else x + bias[None]


def left(config: ModelConfig, x: Array, kept: Array | None) -> Array:
    return x if kept is None else jnp.where(kept, x / (1 - config.dropout), 0.0)


def attention(model: Transformer, block: int, h: Array, kept: Masks) -> Array:
    """Each query head sees with the keys and values of its group."""
    config, weight = model.config, jax.tree.map(lambda leaf: leaf[block], model.attention)
    features = config.width // config.heads
    group = config.heads // (config.num_kv_heads or config.heads)
    mask = jnp.tri(len(h), dtype=bool) if config.causal else jnp.ones((len(h), len(h)), bool)
    query = plus(h @ weight.query, weight.query_bias)
    key = plus(h @ weight.key, weight.key_bias)
    value = plus(h @ weight.value, weight.value_bias)
    seen = []
    for head in range(config.heads):
        own = slice(head * features, (head + 1) * features)
        shared = slice(head // group * features, (head // group + 1) * features)
        scores = query[:, own] @ key[:, shared].T
        if config.attention_scale:
            scores = scores / jnp.sqrt(features)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        drop = None if kept.attention is None else kept.attention[block, :, head]
        seen.append(left(config, weights, drop) @ value[:, shared])
    return plus(jnp.concatenate(seen, axis=1) @ weight.out, weight.out_bias)


def feedforward(model: Transformer, block: int, h: Array, kept: Masks) -> Array:
    weight = jax.tree.map(lambda leaf: leaf[block], model.mlp)
    activations = {
        "relu": lambda x: jnp.maximum(x, 0),
        "relu2": lambda x: jnp.maximum(x, 0) ** 2,
        "gelu": lambda x: x / 2 * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3))),
        "gelu_erf": lambda x: x / 2 * (1 + jax.lax.erf(x / jnp.sqrt(2))),
        "silu": lambda x: x / (1 + jnp.exp(-x)),
    }
    activate = activations[model.config.activation]
    inner = plus(h @ weight.up, weight.up_bias)
    if model.config.gated:
        inner = activate(plus(h @ weight.gate, weight.gate_bias)) * inner
    else:
        inner = activate(inner)
    mask = None if kept.mlp is None else kept.mlp[block]
    return plus(left(model.config, inner, mask) @ weight.down, weight.down_bias)


def sublayer(
    model: Transformer, role: str, block: int, x: Array, entry: Array, kept: Masks
) -> Array:
    """The state after attention or feed-forward."""
    config, weight = model.config, jax.tree.map(lambda leaf: leaf[block], getattr(model, role))
    function = {"attention": attention, "mlp": feedforward}[role]
    h = x if config.norm_placement == "post" else norm(config, x, weight.gain, weight.gain_bias)
    h = h + entry if config.input_injection == "normed" else h
    mask = None if kept.output is None else kept.output[block, ("attention", "mlp").index(role)]
    x = x + left(config, function(model, block, h, kept), mask)
    return x if config.norm_placement == "pre" else norm(config, x, weight.after, weight.after_bias)


def loop(model: Transformer, x: Array, entry: Array, kept: Masks = EVERYTHING) -> Array:
    """All blocks."""
    config = model.config
    if config.input_injection == "recurrence":
        x = x + entry
    for block in range(config.num_layers):
        if config.input_injection in ("block", "sublayer"):
            x = x + entry
        if block < config.num_attention_layers:
            x = sublayer(model, "attention", block, x, entry, kept)
            if config.input_injection == "sublayer":
                x = x + entry
        x = sublayer(model, "mlp", block, x, entry, kept)
    return x


def entry(model: Transformer, tokens: Array, roles: Array) -> Array:
    """The embedded input."""
    return model.tokens[tokens] + (0.0 if model.roles is None else model.roles[roles])


def begin(model: Transformer, entry: Array) -> Array:
    """The state before the first block; where the input is injected, it is still to be added."""
    injected = model.config.input_injection in ("recurrence", "block", "sublayer")
    return jnp.zeros_like(entry) if injected else entry


def logits(model: Transformer, x: Array) -> Array:
    config = model.config
    h = norm(config, x, model.gain, model.gain_bias) if config.final_norm else x
    scale = jnp.sqrt(config.width) if config.tied_scale else 1.0
    head = model.tokens.T / scale if model.head is None else model.head
    return plus(h @ head, model.head_bias)


def whole(model: Transformer, tokens: Array, roles: Array) -> Array:
    """Logits at every token of one text."""
    embedded = entry(model, tokens, roles)
    x = begin(model, embedded)
    for _ in range(model.config.num_recurrences):
        x = loop(model, x, embedded)
    return logits(model, x)
