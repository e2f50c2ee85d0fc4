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
    costs = [_costs(row, seen.tokens) for row in rows]
    sums = [sum(column) for column in zip(*costs, strict=True)]

    def sides(shape: tuple[int, ...]) -> str:
        return " x ".join(f"{side:,}" for side in shape)

    columns = [
        Column("layer", words=True, fold=True),
        *(Column(name, text=sides) for name in ("weight", "input", "output")),
        *(Column(name) for name in ("parameters", "mult-adds a token", "bytes", "activations")),
    ]
    table = [
        [row.name, row.shape, *_shapes(row, seen.tokens), *cost]
        for row, cost in zip(rows, costs, strict=True)
    ]
    view = Table("", columns, table, [["total", (), (), (), *sums]])
    which = "this problem" if problem is not None else "the longest in training"
    return Group(
        view,
        f"Attention: {seen.keys:,} keys scored for each query, in texts of up to {seen.tokens:,}"
        f" tokens ({which}), keys that it may not see included.",
        "Multiply-adds are those of matrix products, for a token that goes through everything;"
        " look-ups, norms and what positions calculate are left out. Blocks are stacked along"
        " the first axis of a weight's shape.",
        "Inputs and outputs are those of one text and one block, tokens x features; activations"
        " are the bytes that the outputs of all blocks and recurrences take.",
    )


def _shapes(row: "Layer", tokens: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What goes in and what comes out, for one text."""
    return (tokens, row.inputs) if row.inputs else (tokens,), (tokens, row.outputs)


def _costs(row: "Layer", tokens: int) -> tuple[int, int, int, int]:
    return row.parameters, row.multiply_adds, row.bytes, row.activation_bytes * tokens
