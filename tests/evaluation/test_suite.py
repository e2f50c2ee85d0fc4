"""Longer sizes are left out once every member is wrong on shorter ones."""

from typing import Any

import jax
import pytest

from curta.config.sections import EvaluationSettings
from curta.evaluation import suite
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from tests import tiny
from tests.evaluation.rows import row

STOPS: dict[str, tuple[dict[str, Any], dict[str, Any], list[int | str]]] = {
    "after a size at which every seed is wrong": (
        {"digits": (1, 10)}, {"digits": (100, 20, 50, 10)}, [100],
    ),
    "unless all sizes are wanted": (
        {"digits": (1, 10)}, {"digits": (20, 50, 100), "all_sizes": True}, [],
    ),
    "never at sizes of training": ({"digits": (1, 100)}, {"digits": (50, 100)}, []),
    "not for a size that is shorter than any of training": (
        {"digits": (60, 70)}, {"digits": (50, 100)}, [],
    ),
    "not where one operand is shorter": (
        {"digits": (1, 10)}, {"digits": ("50/20", "20/50", "60/20")}, ["60/20"],
    ),
}  # fmt: skip
"""A task, settings of the evaluation, and the sizes that are left out."""


@pytest.mark.parametrize("name", STOPS)
def test_the_evaluation_stops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"10": (0.5, 1.0), "20": (0.0, 0.1)}
    monkeypatch.setattr(
        suite,
        "evaluate_size",
        lambda models, operator, size, settings: [
            row(operator, str(size), "random", shares=(0.0, 0.0)),
            row(operator, str(size), "carry", shares=right.get(str(size), (0.0, 0.0))),
        ],
    )
    monkeypatch.setattr(suite, "generate_examples", lambda *given: [])
    task, settings, left_out = STOPS[name]
    recipe = tiny.dense(layout="plain", task=[{"operator": "+", **task}])
    stacked = jax.tree.map(lambda leaf: leaf[None], tiny.drawn(recipe, layout_of(recipe)))
    models = Models(stacked, layout_of(recipe), 1)
    said = list[str]()
    found = suite.evaluate(recipe, models, EvaluationSettings(**settings), said.append)
    assert [one.size for one in found.unevaluated] == [str(size) for size in left_out]
    assert said == list(dict.fromkeys(f"+ at {one.size} digits" for one in found.lengths))
    assert len(said) + len(left_out) == len(settings["digits"])
    for one in found.unevaluated:
        assert one.reason == "every seed is wrong on every problem at 50 digits" or "/" in one.size
