"""Published ways of writing problems down. A new one is one file and one line here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from curta.config.lazy import Family, Registry
from curta.problems.operations.modular import MODULI

if TYPE_CHECKING:
    from curta.layouts.base import Layout, Role, ShapeBounds, Text, TokenPositions

LAYOUTS: "Registry[Layout]" = Registry(
    "layout",
    {
        "plain": "curta.layouts.plain:Plain",
        "reversed": "curta.layouts.reversed:Reversed",
        "padded": "curta.layouts.padded:Padded",
        "plain-padded": "curta.layouts.plain_padded:PlainPadded",
        "begun": "curta.layouts.begun:Begun",
        "filled": "curta.layouts.filled:Filled",
        "filled-left": "curta.layouts.filled:FilledLeft",
        "blanks": "curta.layouts.blanks:Blanks",
        "carries": "curta.layouts.carries:Carries",
        "hints": "curta.layouts.hints:Hints",
        "coupled": "curta.layouts.coupled:Coupled",
        "position-coupling": "curta.layouts.position_coupling:PositionCoupling",
        "columns": "curta.layouts.columns:Columns",
        "fields": "curta.layouts.fields:Fields",
        "framed": "curta.layouts.framed:Framed",
        "labelled": "curta.layouts.labelled:Labelled",
        "spaced": "curta.layouts.spaced:Spaced",
        "spaced-apart": "curta.layouts.spaced:SpacedApart",
    },
    make=lambda layout, *number: layout(*number),
    families={"residues": Family("curta.layouts.residues:Residues", MODULI, listed=(97,))},
)

__all__ = [
    "LAYOUTS",
    "Layout",
    "Role",
    "ShapeBounds",
    "Text",
    "TokenPositions",
    "layout_named",
]


def layout_named(name: str) -> "Layout":
    """The layout of that name; a UserError with the nearest one otherwise."""
    LAYOUTS.check(name)
    return LAYOUTS[name]


def __getattr__(name: str) -> Any:
    """The classes of `base`, imported on first use: names of layouts are known without JAX."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("curta.layouts.base"), name)
