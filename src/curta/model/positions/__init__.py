"""Position encodings. A new one is one file and one line here."""

from curta.model.positions.abacus import Abacus
from curta.model.positions.alibi import ALiBi
from curta.model.positions.base import Encoding, Links, Shape
from curta.model.positions.coupled import Coupled
from curta.model.positions.fire import FIRE
from curta.model.positions.learned import Learned
from curta.model.positions.nope import NoPE
from curta.model.positions.own import Own
from curta.model.positions.position_coupling import PositionCoupling
from curta.model.positions.randomised import Randomised
from curta.model.positions.rope import RoPE
from curta.model.positions.sinusoidal import Sinusoidal
from curta.model.positions.t5 import T5
from curta.model.positions.window import Window

Positions = (
    Learned | NoPE | Sinusoidal | Randomised | RoPE | ALiBi | T5 | FIRE
    | Abacus | Coupled | PositionCoupling | Window | Own
)  # fmt: skip
"""Settings of every encoding; `name` in a recipe tells them apart."""

__all__ = ["Encoding", "Links", "Positions", "Shape"]
