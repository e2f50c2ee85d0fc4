"""The layer table against the model itself, and trainings that are refused before they begin."""

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from curta.config.recipe import Recipe
from curta.frontends.cli import main
from curta.layouts import TokenPositions
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.model.model_cost import layers
from curta.model.transformer import parameters
from tests import tiny

DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tie_embeddings": {"tie_embeddings": True},
    "gated": {"gated": True, "norm_placement": "post_residual"},
    "grouped": {"num_kv_heads": 1, "norm": "plain"},
    "looped": {"num_recurrences": 3, "input_injection": "block"},
    "shared": {"weight_sharing": ["key-query", "out-value"]},
    "norms shared": {"weight_sharing": ["norms"]},
    "one attends": {"num_attention_layers": 1, "num_layers": 3},
}


def designed(name: str) -> Recipe:
    config = {"num_attention_layers": 2} | DESIGNS[name]
    fields = {f"model__{field}": value for field, value in config.items()}
    return tiny.with_encoding("nope", **fields)


def multiplied(jaxpr: Any) -> int:
    """Multiply-adds of all matrix products in a program, those of a loop as often as it runs."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (summed, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += equation.outvars[0].aval.size * math.prod(shape[axis] for axis in summed)
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            total += times * multiplied(inner) if hasattr(inner, "eqns") else 0
    return total


@pytest.mark.parametrize("name", DESIGNS)
def test_parameters_and_multiply_adds_are_those_of_the_program(name: str) -> None:
    recipe, tokens = designed(name), 7
    layout = layout_of(recipe)
    model = tiny.drawn(recipe, layout)
    rows = layers(recipe, layout, tokens)
    assert sum(row.parameters for row in rows) == parameters(model)
    assert sum(row.bytes for row in rows) == sum(x.nbytes for x in jax.tree.leaves(model))

    index = jnp.arange(tokens)[None]
    where = TokenPositions(index, jnp.zeros_like(index), jnp.zeros((1, tokens, 1), jnp.int32))
    bounds = layout.bounds("+", (2, 2))
    program = jax.make_jaxpr(lambda built: built(index, where, index, bounds))(model)
    looked_up = tokens * (len(layout.characters) + len(layout.roles)) * recipe.model.width
    adds = multiplied(program.jaxpr) - looked_up
    assert adds == tokens * sum(row.multiply_adds for row in rows)


def test_members_at_their_best_are_kept_beside_those_at_their_last() -> None:
    weights = {}
    for keep in ("last", "best"):
        recipe = tiny.with_encoding("nope", training__keep=keep, training__validate_every=1)
        weights[keep] = model_cost.estimate(recipe, members=2).weights
    assert weights["best"] * 3 == weights["last"] * 4


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"training.batch": 1_000_000, "model.width": 4_096}, "GB of memory"),
        ({"model.width": 65_536, "model.num_layers": 1_000}, "GB of memory"),
        ({"task.digits": [1, 100_000], "layout": "reversed", "positions.name": "rope"}, "GB"),
        ({"task.digits": [1, 100_000]}, "GB of memory"),
        ({"training.steps": 10**9, "model.width": 1_024}, "years"),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_no_folder(
    runs_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    says: str,
) -> None:
    """As on a machine with 16 GB."""
    monkeypatch.setattr(model_cost, "memory", lambda: 16_000_000_000)
    settings = [f"{path}={value}" for path, value in changes.items()]
    assert main(["train", "addition", *settings]) == 2
    assert main(["compare", "addition", "again: addition", *settings]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(says in line and len(line) < 300 for line in lines), lines
    assert not runs_folder.exists()
