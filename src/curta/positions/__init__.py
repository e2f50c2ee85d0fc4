"""Position encodings. A new one is one file and one line here."""

from .abacus import Abacus
from .base import Encoding, Links, Shape
from .coupled import Coupled
from .learned import Learned
from .nope import NoPE
from .rope import RoPE
from .window import Window

Positions = Learned | NoPE | RoPE | Abacus | Coupled | Window
"""Settings of every encoding; `name` in a recipe tells them apart."""

__all__ = ["Encoding", "Links", "Positions", "Shape"]
