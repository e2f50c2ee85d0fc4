"""Published ways of writing problems down. A new one is one file and one line here."""

from curta.config.errors import unknown
from curta.layouts.base import Layout, Role, ShapeBounds, Text, TokenPositions
from curta.layouts.begun import Begun, BegunLeft
from curta.layouts.blanks import Blanks
from curta.layouts.coupled import Coupled
from curta.layouts.fields import Fields
from curta.layouts.framed import Framed
from curta.layouts.hints import Hints
from curta.layouts.labelled import Labelled
from curta.layouts.padded import Padded
from curta.layouts.plain import Plain
from curta.layouts.position_coupling import PositionCoupling
from curta.layouts.reversed import Reversed
from curta.layouts.spaced import Spaced, SpacedApart
from curta.problems.arithmetic.digits import Numbers

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

__all__ = [
    "LAYOUTS",
    "Layout",
    "Numbers",
    "Role",
    "ShapeBounds",
    "Text",
    "TokenPositions",
    "layout_named",
]


def layout_named(name: str) -> Layout:
    """The layout of that name; a UserError with the nearest one otherwise."""
    if name not in LAYOUTS:
        raise unknown("layout", name, LAYOUTS)
    return LAYOUTS[name]
