"""A member's weights by name, as the page calculates with them, one for each layer.

Written out is what several weights are made of: those that stand for others, the vectors of
tokens that are sums of parts or lie on an arc, and the matrix of a tied head.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.export.base import Tensors, weights_of
from curta.model.sharing import unshared
from curta.model.transformer import Transformer

PARAMETERS = 500_000
"""The most parameters of a model that a page calculates over whole texts.

A member of that many is 2.7 MB of a page, and writes a sum of ten digits in less than a second.
"""


def tensors(model: Transformer) -> Tensors:
    """Tensors by name: those of several layers are stacked, matrices have a row for each input."""
    model = unshared(jax.tree.map(jnp.asarray, model))  # those of a checkpoint are NumPy's
    found = {name: weight for name, weight in weights_of(model).items() if name != "tokens"}
    found |= {"characters": np.asarray(model.characters()), "head": np.asarray(_head(model))}
    return {name: np.asarray(tensor, np.float32, order="C") for name, tensor in found.items()}


def _head(model: Transformer) -> Float[Array, "width characters"]:
    if model.head is not None:
        head: Array = model.head
        return head
    scale = model.config.width**-0.5 if model.config.tied_scale else 1.0
    return model.characters().T * scale
