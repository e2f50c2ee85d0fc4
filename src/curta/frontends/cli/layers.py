"""`curta show RECIPE --layers`: the layer table of a recipe's model."""

from typing import TYPE_CHECKING

from rich.console import Group

from curta.config.table import Column, Table

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
    sums = [sum(column) for column in zip(*map(_costs, rows), strict=True)]
    columns = [
        Column("layer", words=True, fold=True),
        Column("shape", text=lambda shape: " x ".join(f"{side:,}" for side in shape)),
        *(Column(name) for name in ("parameters", "mult-adds a token", "bytes")),
    ]
    view = Table(
        "", columns, [[row.name, row.shape, *_costs(row)] for row in rows], [["total", (), *sums]]
    )
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
