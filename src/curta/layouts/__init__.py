"""Published ways of writing problems down. A new one is one file and one line here."""

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from curta.config.registry import Registry
from curta.problems.operations import MODULI

if TYPE_CHECKING:
    from curta.layouts.base import Layout, Role, ShapeBounds, Text, TokenPositions


@cache
def _residues(name: str) -> "Layout | None":
    """Return the layout of a modulus, by its name; None for any other name."""
    match = re.fullmatch("residues-([1-9][0-9]{0,8})", name)
    if match is None or int(match[1]) not in MODULI:
        return None
    from curta.layouts.residues import Residues

    return Residues(int(match[1]))


LAYOUTS: "Registry[Layout]" = Registry(
    "layout",
    {
        "plain": "curta.layouts.direct:Plain",
        "reversed": "curta.layouts.direct:Reversed",
        "padded": "curta.layouts.direct:Padded",
        "plain-padded": "curta.layouts.direct:PlainPadded",
        "begun": "curta.layouts.direct:Begun",
        "filled": "curta.layouts.spaced:Filled",
        "filled-left": "curta.layouts.spaced:FilledLeft",
        "blanks": "curta.layouts.spaced:Blanks",
        "carries": "curta.layouts.marked:Carries",
        "hints": "curta.layouts.marked:Hints",
        "coupled": "curta.layouts.direct:Coupled",
        "position-coupling": "curta.layouts.direct:PositionCoupling",
        "columns": "curta.layouts.columns:Columns",
        "fields": "curta.layouts.fields:Fields",
        "framed": "curta.layouts.framed:Framed",
        "labelled": "curta.layouts.labelled:Labelled",
        "spaced": "curta.layouts.spaced:Spaced",
        "spaced-apart": "curta.layouts.spaced:SpacedApart",
        "residues-97": "curta.layouts.residues:Residues",
    },
    load=lambda layout: layout(),
    numbered=_residues,
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
