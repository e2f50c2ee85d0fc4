"""Position encodings. A new one is one file and one line here."""

from .abacus import Abacus
from .alibi import ALiBi
from .base import Encoding, Links, Shape
from .coupled import Coupled
from .fire import FIRE
from .learned import Learned
from .nope import NoPE
from .own import Own
from .position_coupling import PositionCoupling
from .randomised import Randomised
from .rope import RoPE
from .sinusoidal import Sinusoidal
from .t5 import T5
from .window import Window

Positions = (
    Learned | NoPE | Sinusoidal | Randomised | RoPE | ALiBi | T5 | FIRE
    | Abacus | Coupled | PositionCoupling | Window | Own
)  # fmt: skip
"""Settings of every encoding; `name` in a recipe tells them apart."""

__all__ = ["Encoding", "Links", "Positions", "Shape"]
