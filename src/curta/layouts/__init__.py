"""Published ways of writing problems down. A new one is one file and one line here."""

from ..digits import Numbers
from ..errors import unknown
from .base import Kind, Layout, Room, Text, Where
from .begun import Begun, BegunLeft
from .blanks import Blanks
from .coupled import Coupled
from .fields import Fields
from .framed import Framed
from .hints import Hints
from .labelled import Labelled
from .padded import Padded
from .plain import Plain
from .position_coupling import PositionCoupling
from .reversed import Reversed
from .spaced import Spaced, SpacedApart

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Plain(),
        Reversed(),
        Padded(),
        Begun(),
        BegunLeft(),
        Blanks(),
        Hints(),
        Coupled(),
        PositionCoupling(),
        Fields(),
        Framed(),
        Labelled(),
        Spaced(),
        SpacedApart(),
    )
}

__all__ = ["LAYOUTS", "Kind", "Layout", "Numbers", "Room", "Text", "Where", "layout_named"]


def layout_named(name: str) -> Layout:
    """The layout of that name; a UserError with the nearest one otherwise."""
    if name not in LAYOUTS:
        raise unknown("layout", name, LAYOUTS)
    return LAYOUTS[name]
