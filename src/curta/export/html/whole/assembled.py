"""Puts the page of one member together that sees whole texts."""

from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe
from curta.export.html.scripts import PACKAGE, joined, packed
from curta.export.html.whole import design, weights
from curta.model.transformer import Transformer, parameters
from curta.report.document import Part, document, own
from curta.report.rendering import render
from curta.runs.folders import Folder

POSITIONS = (
    "base", "nope", "learned", "sinusoidal", "randomised", "rope", "alibi", "t5", "fire",
    "abacus", "coupled", "coupled_sinusoidal", "window", "registry",
)  # fmt: skip
"""The files of encodings."""

SHARED = (
    "numbers.js", "elements.js", "asking.js", "pacing.js", "machine.js", "compound.js",
    "problems.js", "rights.js",
)  # fmt: skip
"""What pages under a window have too."""

MODULES = SHARED + tuple(
    f"whole/{name}.js"
    for name in (
        "layers", "taps", "blocks", *(f"positions/{one}" for one in POSITIONS), "transformer",
        "automaton", "layouts", "text", "changes", "drawing", "answers", "inside", "app",
    )
)  # fmt: skip
"""Each after those that it imports."""


def render_page(
    recipe: Recipe,
    model: Transformer,
    name: str,
    member: int,
    address: str = "",
    folder: Folder | None = None,
) -> str:
    """A page of one member, as text; UserError for a model that a page cannot calculate.

    See `curta.export.html.assembled.render_page`.
    """
    found = reason(recipe.positions.name, parameters(model))
    if found is not None:
        raise UserError(f"no page of this run: {found}")
    body = render(
        "export/whole.html",
        name=name,
        address=address or name,
        member=member,
        recipe=recipe,
        design=design.table(recipe, model, folder),
        weights=packed(weights.tensors(model)),
    )
    style = own("page.css", PACKAGE) + own("whole/page.css", PACKAGE)
    return document(f"{name}: a model at work", [Part(body, style, joined(MODULES))])


def reason(positions: str, count: int = 0) -> str | None:
    """Why a page cannot calculate a model with these positions, of so many parameters."""
    if positions == UserEncoding.name:
        return "its positions come from a file of code, and a page calculates with Curta's own"
    if count > weights.PARAMETERS:
        return (
            f"it has {count:,} parameters, and a page carries at most {weights.PARAMETERS:,}"
            " of a model without a window"
        )
    return None
