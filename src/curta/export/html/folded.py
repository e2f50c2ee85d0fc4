"""A member's weights with everything folded into them that does not depend on the text.

Under a window the one attention layer is the first, so the vector of a token, its query, its key
and its value depend on nothing but the token: they are tables with a row for each token. Gains
go into the matrices after their norm, the scale of the scores into the queries, and keys and
values that queries share are repeated. What is left for the page is tables, matrices, and norms
without gains.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.export.base import Tensors
from curta.model.layers import normed
from curta.model.positions.window import WindowEncoding
from curta.model.sharing import unshared
from curta.model.transformer import Transformer
from curta.model.windows import vocabulary


def reason(positions: str, norm: str) -> str | None:
    """The first reason for which a model has no tables; None if it has."""
    if positions != "window":
        return f"positions are {positions!r}, and only models with 'window' calculate in a report"
    if norm == "none":
        return "model.norm is 'none', and a report calculates with norms"
    return None


def tensors(model: Transformer) -> Tensors:
    """Tables and matrices by name; matrices of several layers are stacked, a row for each input."""
    model = unshared(jax.tree.map(jnp.asarray, model))  # those of a checkpoint are NumPy's
    mlp = model.mlp
    found = _tables(model) | {
        "out": model.attention.out,
        "bias": _biases(model),
        "up": _gained(mlp.up, mlp.gain),
        "down": mlp.down,
        "head": _gained(_head(model), model.gain),
    }
    optional = {
        "gate": None if mlp.gate is None else _gained(mlp.gate, mlp.gain),
        "attended": model.attention.after,
        "fed": mlp.after,
    }
    found |= {name: tensor for name, tensor in optional.items() if tensor is not None}
    return {name: np.asarray(tensor, np.float32, order="C") for name, tensor in found.items()}


def _tables(model: Transformer) -> dict[str, Array]:
    """A row for each token: its vector, and its query, key and value in the attention layer."""
    config, attention = model.config, model.attention
    assert attention.key is not None
    assert attention.value is not None
    x = vocabulary(model)
    h = normed(config, x, None if attention.gain is None else attention.gain[0])
    scale = config.head_dim**-0.5 if config.attention_scale else 1.0
    return {
        "vectors": x,
        "query": h @ attention.query[0] * scale,
        "key": _repeated(model, h @ attention.key[0]),
        "value": _repeated(model, h @ attention.value[0]),
    }


def _biases(model: Transformer) -> Float[Array, "heads roles cells"]:
    encoding = model.positions
    assert isinstance(encoding, WindowEncoding)
    return encoding.biases[0].reshape(model.config.heads, -1, encoding.cells)


def _gained(weight: Array, gain: Array | None) -> Array:
    """The matrix that does to a normed vector what this one does to it after its gain."""
    return weight if gain is None else gain[..., None] * weight


def _repeated(model: Transformer, table: Float[Array, "tokens _"]) -> Float[Array, "tokens width"]:
    """Keys or values, each as often as there are queries that share it."""
    config = model.config
    heads = model.repeat_kv(table.reshape(1, len(table), config.kv_heads, config.head_dim))
    return heads.reshape(len(table), config.width)


def _head(model: Transformer) -> Array:
    if model.head is None:
        head: Array = model.characters().T * model.config.width**-0.5
        return head
    return model.head
