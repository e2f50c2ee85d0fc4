"""Position encodings. A new one is one file, its settings, and one line here."""

from importlib import import_module
from typing import TYPE_CHECKING

from curta.config import positions
from curta.config.positions import Positions
from curta.config.recipe import Recipe

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.model.positions.base import Encoding, Shape

MODULES: dict[type, str] = {
    positions.Abacus: "abacus",
    positions.ALiBi: "alibi",
    positions.Coupled: "coupled",
    positions.CoupledSinusoidal: "coupled_sinusoidal",
    positions.FIRE: "fire",
    positions.Learned: "learned",
    positions.NoPE: "nope",
    positions.PositionCoupling: "position_coupling",
    positions.Randomised: "randomised",
    positions.RoPE: "rope",
    positions.Sinusoidal: "sinusoidal",
    positions.T5: "t5",
    positions.UserEncoding: "user",
    positions.Window: "window",
}
"""The module whose `build` makes an encoding of its settings; imported on first use."""


def build(settings: Positions, shape: "Shape") -> "Encoding":
    """The encoding, its weights described but not drawn; UserError where it does not fit."""
    module = import_module(f"{__name__}.{MODULES[type(settings)]}")
    found: Encoding = module.build(settings, shape)
    return found


def encoding(recipe: Recipe, layout: "Layout") -> "Encoding":
    """The encoding of a recipe, for texts of that layout."""
    from curta.model.positions.base import Shape

    model = recipe.model
    return build(
        recipe.positions, Shape(layout, model.width, model.heads, model.num_attention_layers)
    )
