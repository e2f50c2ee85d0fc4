"""Position encodings. A new one is one file, its settings, and one line here."""

from collections.abc import Callable
from typing import Any

from curta.config.positions import (
    FIRE,
    T5,
    Abacus,
    ALiBi,
    Coupled,
    Learned,
    NoPE,
    PositionCoupling,
    Positions,
    Randomised,
    RoPE,
    Sinusoidal,
    UserEncoding,
    Window,
)
from curta.config.recipe import Recipe
from curta.layouts import Layout
from curta.model.positions import (
    abacus,
    alibi,
    coupled,
    fire,
    learned,
    nope,
    position_coupling,
    randomised,
    rope,
    sinusoidal,
    t5,
    user,
    window,
)
from curta.model.positions.base import Encoding, Shape, VisibleKeys

BUILD: dict[type, Callable[[Any, Shape], Encoding]] = {
    Abacus: abacus.build,
    ALiBi: alibi.build,
    Coupled: coupled.build,
    FIRE: fire.build,
    Learned: learned.build,
    NoPE: nope.build,
    PositionCoupling: position_coupling.build,
    Randomised: randomised.build,
    RoPE: rope.build,
    Sinusoidal: sinusoidal.build,
    T5: t5.build,
    UserEncoding: user.build,
    Window: window.build,
}
"""How an encoding is made of its settings."""

__all__ = ["BUILD", "Encoding", "Shape", "VisibleKeys", "build", "encoding"]


def build(settings: Positions, shape: Shape) -> Encoding:
    """The encoding, its weights described but not drawn; UserError where it does not fit."""
    return BUILD[type(settings)](settings, shape)


def encoding(recipe: Recipe, layout: Layout) -> Encoding:
    """The encoding of a recipe, for texts of that layout."""
    model = recipe.model
    return build(
        recipe.positions, Shape(layout, model.width, model.heads, model.num_attention_layers)
    )
