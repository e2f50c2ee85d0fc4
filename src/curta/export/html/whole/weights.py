"""A member's weights by name, as the page calculates with them, one for each layer.

Written out is what several weights are made of: those that stand for others, the vectors of
tokens that are sums of parts or lie on an arc, and the matrix of a tied head.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from curta import reference
from curta.config.model import ModelConfig
from curta.export.html.scripts import Tensors

PARAMETERS = 500_000
"""The most parameters of a model that a page calculates over whole texts.

A member of that many is 2.7 MB of a page, and writes a sum of ten digits in less than a second.
"""


def tensors(
    config: ModelConfig, weights: Mapping[str, np.ndarray], parts: Float[np.ndarray, "tokens parts"]
) -> Tensors:
    """Tensors by name: those of several layers are stacked, matrices have a row for each input."""
    found = reference.unshared(config, weights)
    characters = reference.character_vectors(config, found, parts)
    found |= {
        "characters": characters,
        "head": reference.head_matrix(config, found, characters),
    }
    del found["tokens"]
    return {name: np.asarray(tensor, np.float32, order="C") for name, tensor in found.items()}
