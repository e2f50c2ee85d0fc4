"""A transformer without positions, written out plainly: one text, one head after the other.

What the tests hold the model's designs against. Weights are taken from a model, all else
is here; arrays are JAX's only so that gradients can be taken of it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.model.transformer import Transformer


def norm(name: str, x: Array, gain: Array | None) -> Array:
    centred = x if name == "rms" else x - x.mean(-1, keepdims=True)
    scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
    return scaled if gain is None else scaled * gain[None]


def attention(model: Transformer, block: int, h: Array) -> Array:
    """Each query head sees with the keys and values of its group."""
    config, weight = model.config, jax.tree.map(lambda leaf: leaf[block], model.attention)
    features = config.width // config.heads
    group = config.heads // (config.num_kv_heads or config.heads)
    mask = jnp.tri(len(h), dtype=bool) if config.causal else jnp.ones((len(h), len(h)), bool)
    seen = []
    for head in range(config.heads):
        own = slice(head * features, (head + 1) * features)
        shared = slice(head // group * features, (head // group + 1) * features)
        scores = (h @ weight.query[:, own]) @ (h @ weight.key[:, shared]).T
        if config.attention_scale:
            scores = scores / jnp.sqrt(features)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        seen.append(weights @ (h @ weight.value[:, shared]))
    return jnp.concatenate(seen, axis=1) @ weight.out


def feedforward(model: Transformer, block: int, h: Array) -> Array:
    weight = jax.tree.map(lambda leaf: leaf[block], model.mlp)
    activations = {
        "relu": lambda x: jnp.maximum(x, 0),
        "relu2": lambda x: jnp.maximum(x, 0) ** 2,
        "gelu": lambda x: x / 2 * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3))),
        "silu": lambda x: x / (1 + jnp.exp(-x)),
    }
    activate = activations[model.config.activation]
    if model.config.gated:
        return activate(h @ weight.gate) * (h @ weight.up) @ weight.down
    return activate(h @ weight.up) @ weight.down


def sublayer(model: Transformer, role: str, block: int, x: Array, kept: Array | None) -> Array:
    """The state after attention or feed-forward; `kept` is what dropout leaves of its output."""
    config, weight = model.config, getattr(model, role)
    gains = [None if gain is None else gain[block] for gain in (weight.gain, weight.after)]
    function = {"attention": attention, "mlp": feedforward}[role]
    change = function(model, block, norm(config.norm, x, gains[0]))
    if kept is not None:
        change = jnp.where(kept, change / (1 - config.dropout), 0.0)
    if config.norm_placement == "pre":
        return x + change
    return norm(config.norm, x + change, gains[1])


def loop(model: Transformer, x: Array, entry: Array, kept: Array | None = None) -> Array:
    """All blocks; `kept` is blocks x 2 x tokens x width."""
    config = model.config
    for block in range(config.num_layers):
        left = (None, None) if kept is None else kept[block]
        if config.input_injection != "none":
            x = x + entry
        if block < config.num_attention_layers:
            x = sublayer(model, "attention", block, x, left[0])
            if config.input_injection == "sublayer":
                x = x + entry
        x = sublayer(model, "mlp", block, x, left[1])
    return x


def entry(model: Transformer, tokens: Array, roles: Array) -> Array:
    """The embedded input."""
    return model.tokens[tokens] + (0.0 if model.roles is None else model.roles[roles])


def begin(model: Transformer, entry: Array) -> Array:
    """The state before the first block; where the input is injected, it is still to be added."""
    return entry if model.config.input_injection == "none" else jnp.zeros_like(entry)


def logits(model: Transformer, x: Array) -> Array:
    h = norm(model.config.norm, x, model.gain)
    return h @ (model.tokens.T / jnp.sqrt(model.config.width) if model.head is None else model.head)


def whole(model: Transformer, tokens: Array, roles: Array) -> Array:
    """Logits at every token of one text."""
    embedded = entry(model, tokens, roles)
    x = begin(model, embedded)
    for _ in range(model.config.num_recurrences):
        x = loop(model, x, embedded)
    return logits(model, x)
