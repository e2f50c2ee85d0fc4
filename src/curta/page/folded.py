"""A member's weights with everything folded into them that does not depend on the text.

Gains go into the matrices after their norm, the scale of the scores into the queries, what
a letter is made of into the vectors of the letters, and keys and values that queries share
are repeated. What is left for the page is matrices, and norms without gains.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import UserError
from ..model import Transformer
from ..positions.window import WindowEncoding

Tensors = dict[str, Float[np.ndarray, "..."]]


def refuse(model: Transformer) -> None:
    """Raises UserError for a model that a page cannot calculate."""
    found = reason(model)
    if found is not None:
        raise UserError(f"no page of this run: {found}")


def reason(model: Transformer) -> str | None:
    """The first reason for which a page cannot calculate a model; None if it can."""
    design, layout = model.settings, model.layout
    reasons = {
        f"a page has no text of layout {layout.name!r}": not layout.told,
        f"model.loops {design.loops} is more than a page runs": design.loops > 1,
        f"model.inject {design.inject!r} is not in a page": design.inject != "none",
        "without model.causal nothing is written token by token": not design.causal,
        "a page has positions 'window' only": not isinstance(model.positions, WindowEncoding),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def tensors(model: Transformer) -> Tensors:
    """Matrices by name; those of several blocks are stacked, a row for each input."""
    model = jax.tree.map(jnp.asarray, model)  # those of a checkpoint are NumPy's
    attention, mlp = model.attention, model.mlp
    found = {
        "tokens": model.characters(),
        "query": _gained(attention.query, attention.gain) * _scale(model),
        "key": _repeated(model, _gained(attention.key, attention.gain)),
        "value": _repeated(model, _gained(attention.value, attention.gain)),
        "out": attention.out,
        "bias": _encoding(model).biases,
        "up": _gained(mlp.up, mlp.gain),
        "down": mlp.down,
        "head": _gained(_head(model), model.gain),
    }
    optional = {
        "kinds": model.kinds,
        "gate": None if mlp.gate is None else _gained(mlp.gate, mlp.gain),
        "attended": attention.after,
        "thought": mlp.after,
    }
    found |= {name: tensor for name, tensor in optional.items() if tensor is not None}
    return {name: np.asarray(tensor, np.float32, order="C") for name, tensor in found.items()}


def _encoding(model: Transformer) -> WindowEncoding:
    assert isinstance(model.positions, WindowEncoding)
    return model.positions


def _gained(weight: Array, gain: Array | None) -> Array:
    """The matrix that does to a normed vector what this one does to it after its gain."""
    return weight if gain is None else gain[..., None] * weight


def _scale(model: Transformer) -> float:
    """What scores are multiplied by."""
    return model.settings.features**-0.5 if model.settings.attention_scale else 1.0


def _repeated(model: Transformer, weight: Array) -> Array:
    """Keys or values, each as often as there are queries that share it."""
    design = model.settings
    split = weight.reshape(*weight.shape[:-1], design.remembered, design.features)
    heads = jnp.repeat(split, design.heads // design.remembered, axis=-2)
    return heads.reshape(*weight.shape[:-1], design.width)


def _head(model: Transformer) -> Array:
    if model.head is None:
        return model.characters().T * model.settings.width**-0.5
    return model.head
