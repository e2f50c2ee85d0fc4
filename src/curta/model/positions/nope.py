"""No positional encoding: order is only what causal masking lets the model infer.

Source: Kazemnejad et al., arXiv 2305.19466.
"""

from curta.config.positions import NoPE
from curta.model.positions.base import Encoding, Shape


def build(settings: NoPE, shape: Shape) -> Encoding:
    return Encoding()
