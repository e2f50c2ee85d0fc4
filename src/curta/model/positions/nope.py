"""No positional encoding: order is only what causal masking lets the model infer.

Source: Kazemnejad et al., arXiv 2305.19466.
"""

from dataclasses import dataclass
from typing import Literal

from curta.model.positions.base import Encoding, Shape


@dataclass(frozen=True)
class NoPE:
    """No positions are given to the model."""

    name: Literal["nope"] = "nope"

    def build(self, shape: Shape) -> Encoding:
        return Encoding()
