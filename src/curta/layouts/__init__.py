"""Published ways of writing problems. To add one, write its class and a line here."""

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from curta.config.errors import Registry
from curta.problems.operations import MODULI

if TYPE_CHECKING:
    from curta.layouts.base import Layout, ShapeBounds, Text, TokenPositions, TokenRole


@cache
def _residues(name: str) -> "Layout | None":
    """Return the layout of a modulus, such as `residues-113`; None for any other name."""
    match = re.fullmatch("residues-([1-9][0-9]{0,8})", name)
    if match is None or int(match[1]) not in MODULI:
        return None
    from curta.layouts.special import Residues

    return Residues(int(match[1]))


LAYOUTS: "Registry[Layout]" = Registry(
    "layout",
    {
        "plain": "curta.layouts.direct:PlainLayout",
        "reversed": "curta.layouts.direct:Reversed",
        "padded": "curta.layouts.direct:Padded",
        "plain-padded": "curta.layouts.direct:PlainPadded",
        "begun": "curta.layouts.direct:Begun",
        "filled": "curta.layouts.direct:Filled",
        "filled-left": "curta.layouts.direct:FilledLeft",
        "blanks": "curta.layouts.direct:Blanks",
        "carries": "curta.layouts.special:Carries",
        "hints": "curta.layouts.special:Hints",
        "coupled": "curta.layouts.direct:CoupledLayout",
        "position-coupling": "curta.layouts.direct:PositionCouplingLayout",
        "columns": "curta.layouts.direct:ColumnsLayout",
        "fields": "curta.layouts.special:Fields",
        "framed": "curta.layouts.direct:Framed",
        "labelled": "curta.layouts.special:Labelled",
        "spaced": "curta.layouts.direct:Spaced",
        "spaced-apart": "curta.layouts.direct:SpacedApart",
        "residues-97": "curta.layouts.special:Residues",
    },
    load=lambda layout: layout(),
    numbered=_residues,
)

__all__ = [
    "LAYOUTS",
    "Layout",
    "ShapeBounds",
    "Text",
    "TokenPositions",
    "TokenRole",
    "layout_named",
]


def layout_named(name: str) -> "Layout":
    """Return the layout of this name; UserError, with the nearest name, if there is none."""
    LAYOUTS.check(name)
    return LAYOUTS[name]


def __getattr__(name: str) -> Any:
    """Import the classes of `base` on first use, so that names of layouts need no JAX."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("curta.layouts.base"), name)
