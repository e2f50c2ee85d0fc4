"""The bound on rounding: above what a pass in double precision shows, for every design it knows."""

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from curta.evaluation import rounding, scoring
from curta.export.base import weights_of
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from curta.reference import WindowModel
from tests import paper, tiny

DESIGNS: dict[str, dict[str, Any]] = {
    "compositional_embeddings": {
        "model__role_embeddings": False,
        "model__compositional_embeddings": True,
    },
    "kinds": {"model__role_embeddings": True, "model__compositional_embeddings": False},
    "relu": {"model__activation": "relu", "model__num_layers": 3, "model__heads": 4},
}


@cache
def case(name: str) -> tuple[Transformer, np.ndarray, np.ndarray]:
    """A model of some design, windows, and what follows them."""
    recipe = tiny.recipe(**DESIGNS[name])
    layout = paper.layout(recipe)
    windows = {one for problem in paper.some("+", 4, 12) for one in paper.windows(layout, problem)}
    drawn = tiny.drawn(recipe, layout, 3)
    return jax.tree.map(lambda leaf: leaf * np.float32(1.5), drawn), *paper.rows(sorted(windows))


@pytest.mark.parametrize("name", DESIGNS)
def test_the_bound_is_above_what_single_precision_moves_a_margin(name: str) -> None:
    """And not so far above that it says nothing; the exact margin is one in double precision."""
    model, rows, targets = case(name)
    layout = model.layout
    assert isinstance(layout, ProgramLayout)
    weights = {path: array.astype(float) for path, array in weights_of(model).items()}
    exact = WindowModel(model.config, weights, layout.machine, layout.windows).logits(rows)
    right = exact[np.arange(len(exact)), targets]
    exact[np.arange(len(exact)), targets] = -np.inf
    stacked = jax.tree.map(lambda leaf: leaf[None], model)
    margin = scoring.outputs_after(stacked, rows, targets).margin[0]
    moved, bound = (
        np.abs(margin - (right - exact.max(axis=1))),
        rounding.bounds(model, rows, targets),
    )
    assert (moved < bound).all()
    assert moved.max() > 0
    assert bound.max() < 0.05 * np.abs(margin).max()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, None),
        ({"model__gated": True}, "model.gated True"),
        ({"model__activation": "gelu"}, "model.activation 'gelu'"),
        ({"model__weight_sharing": ["norms"]}, "model.weight_sharing ('norms',)"),
    ],
    ids=str,
)
def test_designs_without_a_bound_are_told_by_their_setting(
    changes: dict[str, Any], says: str | None
) -> None:
    recipe = tiny.recipe(**changes)
    assert rounding.unbounded(tiny.drawn(recipe, paper.layout(recipe))) == says
