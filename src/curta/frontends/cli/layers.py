"""`curta show RECIPE --layers`: the layer table of a recipe's model."""

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.model.model_cost import Layer
    from curta.problems.problem import Problem


def layers_view(recipe: "Recipe", problem: "Problem | None") -> Group:
    """Every weight, what it costs, and for which texts that holds.

    Texts are those of the problem, and without one the longest of training.
    """
    from curta.layouts.texts import layout_of
    from curta.model.model_cost import layers, scored

    seen = scored(recipe, problem)
    rows = layers(recipe, layout_of(recipe), seen.keys)
    view = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, show_footer=True)
    sums = [sum(column) for column in zip(*map(_costs, rows), strict=True)]
    view.add_column("layer", "total", overflow="fold")
    view.add_column("shape", justify="right")
    for heading, amount in zip(("parameters", "mult-adds a token", "bytes"), sums, strict=True):
        view.add_column(heading, f"{amount:,}", justify="right")
    for row in rows:
        shape = " x ".join(f"{side:,}" for side in row.shape)
        view.add_row(row.name, shape, *(f"{amount:,}" for amount in _costs(row)))
    which = "this problem" if problem is not None else "the longest in training"
    return Group(
        view,
        f"Attention: {seen.keys:,} keys scored for each query, in texts of up to {seen.tokens:,}"
        f" tokens ({which}), keys that it may not see included.",
        "Multiply-adds are those of matrix products, for a token that goes through everything;"
        " look-ups, norms and what positions calculate are left out. Blocks are stacked along"
        " the first axis of a shape.",
    )


def _costs(row: "Layer") -> tuple[int, int, int]:
    return row.parameters, row.multiply_adds, row.bytes
