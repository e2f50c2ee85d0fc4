"""The bound on rounding: above what a pass in double precision shows, for every design it knows."""

from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from curta.evaluation import memo, rounding
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from tests import paper, tiny

DESIGNS: dict[str, dict[str, Any]] = {
    "compositional_embeddings": {
        "model__role_embeddings": False,
        "model__compositional_embeddings": True,
    },
    "kinds": {"model__role_embeddings": True, "model__compositional_embeddings": False},
    "relu": {"model__activation": "relu", "model__num_layers": 3, "model__heads": 4},
}


class Case(NamedTuple):
    model: Transformer
    rows: np.ndarray
    targets: np.ndarray


@cache
def case(config: str) -> Case:
    recipe = tiny.recipe(**DESIGNS[config])
    layout = paper.layout(recipe)
    found = {one for problem in paper.some("+", 4, 12) for one in paper.windows(layout, problem)}
    drawn = tiny.drawn(recipe, layout, 3)
    model = jax.tree.map(lambda leaf: leaf * np.float32(1.5), drawn)
    return Case(model, *paper.rows(sorted(found)))


def double(model: Transformer, row: list[int]) -> np.ndarray:
    """Logits after one window, cell by cell and head by head, in double precision."""
    layout, config = model.layout, model.config
    assert isinstance(layout, ProgramLayout)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), model)
    machine = layout.machine
    vectors = (
        layout.composition() @ weights.tokens if config.compositional_embeddings else weights.tokens
    )
    if weights.roles is not None:
        vectors = vectors + weights.roles[machine.role]

    def norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain

    attention = jax.tree.map(lambda leaf: leaf[0], weights.attention)
    near = layout.windows.get(machine.tokens[row[0]].role, ())
    vectors, gain = np.vstack([vectors, np.zeros(config.width)]), attention.gain  # none: zeros
    h = {c: norm(vectors[t], gain) for c, t in enumerate(row[: 1 + len(near)])}
    size, taken, cells = config.width // config.heads, [], len(row)
    for head in range(config.heads):
        own = slice(head * size, (head + 1) * size)
        query = (h[0] @ attention.query)[own]
        bias = weights.positions.biases[0, head].reshape(-1, cells)[machine.role[row[0]]]
        scores = {c: (x @ attention.key)[own] @ query / size**0.5 + bias[c] for c, x in h.items()}
        shares = {c: np.exp(score - max(scores.values())) for c, score in scores.items()}
        values = [shares[c] * (x @ attention.value)[own] for c, x in h.items()]
        taken.append(sum(values) / sum(shares.values()))
    x = vectors[row[0]] + np.concatenate(taken) @ attention.out
    for block in range(config.num_layers):
        mlp = jax.tree.map(lambda leaf, b=block: leaf[b], weights.mlp)
        inner = np.maximum(norm(x, mlp.gain) @ mlp.up, 0)
        x = x + (inner**2 if config.activation == "relu2" else inner) @ mlp.down
    return norm(x, weights.gain) @ weights.head


@pytest.mark.parametrize("config", DESIGNS)
def test_the_bound_is_above_what_single_precision_moves_a_margin(config: str) -> None:
    """And not so far above that it says nothing."""
    of = case(config)
    found = rounding.margins(of.model, of.rows, of.targets)
    exact = np.array([double(of.model, row) for row in of.rows.tolist()])
    right = exact[np.arange(len(exact)), of.targets]
    exact[np.arange(len(exact)), of.targets] = -np.inf
    moved = np.abs(found.margin - (right - exact.max(axis=1)))
    assert (moved < found.bound).all()
    assert moved.max() > 0
    assert found.bound.max() < 0.05 * np.abs(found.margin).max()


def test_margins_are_those_of_look_up() -> None:
    of = case("compositional_embeddings")
    stacked = jax.tree.map(lambda leaf: leaf[None], of.model)
    expected = memo.calculate(stacked, of.rows, of.targets).margin[0]
    found = rounding.margins(of.model, of.rows, of.targets)
    moved = np.abs(found.margin - expected)
    assert (moved <= 2 * found.bound).all()
    assert moved.max() < 1e-3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, None),
        ({"model__gated": True}, "model.gated True"),
        ({"model__norm": "layer"}, "model.norm 'layer'"),
        ({"model__activation": "gelu"}, "model.activation 'gelu'"),
        ({"model__tie_embeddings": True}, "model.tie_embeddings True"),
        ({"model__weight_sharing": ["norms"]}, "model.weight_sharing ('norms',)"),
        (
            {
                "model__embedding": "arc",
                "model__width": 2,
                "model__heads": 1,
                "model__compositional_embeddings": False,
            },
            "model.embedding 'arc'",
        ),
    ],
    ids=str,
)
def test_designs_without_a_bound_are_told_by_their_setting(
    changes: dict[str, Any], says: str | None
) -> None:
    recipe = tiny.recipe(**changes)
    assert rounding.unbounded(tiny.drawn(recipe, paper.layout(recipe))) == says
