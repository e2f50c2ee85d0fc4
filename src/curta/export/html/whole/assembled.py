"""Assemble the page of one member of a model over whole texts."""

from typing import TYPE_CHECKING, Any

from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.export.html.scripts import PACKAGE, joined, packed
from curta.export.html.whole import design, weights
from curta.report.document import Part, own
from curta.report.rendering import render

if TYPE_CHECKING:
    from curta.export.html.assembled import Carried

POSITIONS = (
    "base", "nope", "learned", "sinusoidal", "randomised", "rope", "alibi", "t5", "fire",
    "abacus", "coupled", "coupled_sinusoidal", "window", "registry",
)  # fmt: skip
"""The files of encodings."""

SHARED = (
    "numbers.js", "elements.js", "asking.js", "pacing.js", "machine.js", "compound.js",
    "problems.js", "rights.js",
)  # fmt: skip
"""Scripts that pages under a window use as well."""

MODULES = SHARED + tuple(
    f"whole/{name}.js"
    for name in (
        "layers", "taps", "blocks", *(f"positions/{one}" for one in POSITIONS), "transformer",
        "automaton", "layouts", "text", "changes", "drawing", "answers", "inside", "app",
    )
)  # fmt: skip
"""Each after those that it imports."""


def page_part(run: "Carried", member: int, told: dict[str, Any]) -> Part:
    """Render the page of one member; `told` are the template's values for the run."""
    layout: Any = run.layout
    refusal = reason(run.recipe.positions.name, run.parameters)
    if refusal is not None:
        raise UserError(f"no page of this run: {refusal}")
    tensors = weights.tensors(run.recipe.model, run.members[member], layout.parts())
    body = render(
        "export/whole.html", **told, design=design.table(run, layout), weights=packed(tensors)
    )
    style = own("page.css", PACKAGE) + own("whole/page.css", PACKAGE)
    return Part(body, style, joined(MODULES))


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
