"""Position encodings. A new one is a class, its settings, and one line here."""

from importlib import import_module
from typing import TYPE_CHECKING

from curta.config import positions
from curta.config.positions import Positions
from curta.config.recipe import Recipe

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.model.positions.base import Encoding, Shape

BUILDERS: dict[type, str] = {
    positions.Abacus: "vectors.build_abacus",
    positions.ALiBi: "biases.build_alibi",
    positions.Coupled: "vectors.build_coupled",
    positions.CoupledSinusoidal: "vectors.build_coupled_sinusoidal",
    positions.FIRE: "biases.build_fire",
    positions.Learned: "vectors.build_learned",
    positions.NoPE: "base.build_nope",
    positions.PositionCoupling: "vectors.build_position_coupling",
    positions.Randomised: "vectors.build_randomised",
    positions.RoPE: "rope.build_rope",
    positions.Sinusoidal: "vectors.build_sinusoidal",
    positions.T5: "biases.build_t5",
    positions.UserEncoding: "user.build_user",
    positions.Window: "window.build_window",
}
"""For each class of settings the function that builds the encoding, imported on first use."""


def build(settings: Positions, shape: "Shape") -> "Encoding":
    """Return the encoding, its weights described but not drawn.

    Raises UserError if the model or layout cannot have these positions.
    """
    module, function = BUILDERS[type(settings)].split(".")
    encoding: Encoding = getattr(import_module(f"{__name__}.{module}"), function)(settings, shape)
    return encoding


def encoding(recipe: Recipe, layout: "Layout") -> "Encoding":
    """Return the encoding of a recipe for texts of this layout."""
    from curta.model.positions.base import Shape

    model = recipe.model
    return build(
        recipe.positions, Shape(layout, model.width, model.heads, model.num_attention_layers)
    )
