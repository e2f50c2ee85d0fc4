"""Ways of writing problems down. A new one is one file and one line here."""

from ..errors import unknown
from .base import Kind, Layout, Numbers, Room, Text, Where
from .coupled import Coupled
from .padded import Padded
from .plain import Plain
from .reversed import Reversed

LAYOUTS: dict[str, Layout] = {
    layout.name: layout for layout in (Plain(), Reversed(), Padded(), Coupled())
}

__all__ = ["LAYOUTS", "Kind", "Layout", "Numbers", "Room", "Text", "Where", "layout_named"]


def layout_named(name: str) -> Layout:
    """The layout of that name; a UserError with the nearest one otherwise."""
    if name not in LAYOUTS:
        raise unknown("layout", name, LAYOUTS)
    return LAYOUTS[name]
