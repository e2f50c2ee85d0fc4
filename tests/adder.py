"""A trained adder of 35 parameters, rounded: what proofs and exports of layout `columns` try."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp

from curta.config.recipe import Recipe
from curta.layouts import layout_named
from curta.model import recipes
from curta.model.transformer import Transformer
from tests import tiny

CHANGES = {
    "model.mlp_ratio": 2, "model.activation": "relu2", "model.weight_sharing": [],
}  # fmt: skip
ARC = [8.209, -1.072, 0.147]
ATTENTION = {
    "query": [[-6.386, -5.64], [8.394, -5.527]],
    "key": [[-2.881, -8.235], [5.855, -2.833]],
    "value": [[-2.65, 0.212], [-0.258, 3.688]],
    "out": [[2.936, 0.274], [-0.162, -2.859]],
}
MLP = {
    "up": [[-0.723, 0.533, -0.447, 1.057], [-1.33, 1.37, -1.699, 1.51]],
    "down": [[0.584, -0.592], [1.01, -0.031], [-0.238, 0.762], [-0.769, -0.386]],
}


def recipe(**changes: Any) -> Recipe:
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return recipes.resolve("adderboard", CHANGES | paths, "an adder")


def solved() -> Transformer:
    """Right on every sum of ten digits."""
    drawn = tiny.drawn(recipe(), layout_named("columns"))
    attention = replace(drawn.attention, **{n: jnp.array([v]) for n, v in ATTENTION.items()})
    mlp = replace(drawn.mlp, **{n: jnp.array([v]) for n, v in MLP.items()})
    return replace(drawn, tokens=jnp.array(ARC), attention=attention, mlp=mlp)


def nearly() -> Transformer:
    """The same with a number changed by a tenth, so that some sums are wrong."""
    model = solved()
    return replace(model, mlp=replace(model.mlp, down=model.mlp.down.at[0, 1, 0].multiply(0.9)))


def shared(out: str) -> Transformer:
    """Drawn, not trained: keys are turned queries, values keys, what leaves attention `out`."""
    sharing = recipe(model__weight_sharing=["key-query", "value-key", out])
    return tiny.drawn(sharing, layout_named("columns"))
