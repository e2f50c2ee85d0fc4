"""An encoding: scores fall with the distance."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp

from curta import Encoding


@dataclass(frozen=True)
class Decay:
    """Scores fall by `strength` with each token between."""

    name: str = "decay"
    strength: float = 0.5

    def build(self, shape):
        return DecayEncoding(self.strength)


class DecayEncoding(Encoding):
    strength: float = eqx.field(static=True)

    def bias(self, layer, visible_keys):
        far = visible_keys.queries.index[:, :, None] - visible_keys.keys.index[:, None, :]
        return -self.strength * far[:, None].astype(jnp.float32)
