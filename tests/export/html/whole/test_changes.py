"""Parts taken away and values put in, in the page and in Python."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from curta.frontends.run import Run
from curta.probes.inside.interventions import Intervention, parsed
from curta.problems.problem import parse
from tests import tiny
from tests.export.made import begun

from ..tabs import numbers
from .made import Made

pytestmark = pytest.mark.slow

DENSE = {"layout": "coupled", "model__compositional_embeddings": False}
HEAD = "layer.0.attention.heads:head=1"
MLP = "layer.1.mlp.output"
SOURCE = "9+345"
PROBLEM = "12+678"
RECIPES: dict[str, dict[str, Any]] = {
    "two layers": {"model__num_attention_layers": 2},
    "looped": {"model__num_recurrences": 2, "model__input_injection": "block"},
    "norm after": {"model__norm_placement": "post", "model__biases": ["out", "mlp"]},
    "an encoder": {"layout": "framed", "positions__name": "alibi", "model__causal": False},
    "a program": {"program": "addition"},
}
CHANGES: dict[str, tuple[list[str], tuple[str, list[int]] | None]] = {
    "a head": ([HEAD], None),
    "an mlp": ([MLP], None),
    "both": ([HEAD, MLP], None),
    "a state": ([], ("layer.0.after", [4, 6])),
    "the embedding": ([], ("embedding", [0, 1, 3])),
    "all": ([HEAD], ("layer.1.after", [0, 4, 5])),
}


def begin(monkeypatch: pytest.MonkeyPatch, folder: Path, changes: dict[str, Any]) -> Run:
    """A run with random weights."""
    monkeypatch.setenv("CURTA_RUNS", str(folder))
    written = {} if "program" in changes else DENSE
    given = tiny.overrides(**written | {"positions__name": "rope"} | changes)
    return begun("addition", **{path.replace(".", "__"): value for path, value in given.items()})


def interventions(zeroed: Sequence[str], patch: tuple[str, list[int]] | None) -> list[Intervention]:
    found = [parsed(name, "zero") for name in zeroed]
    if patch:
        site, positions = patch
        found.append(Intervention(site, "patch", SOURCE, where={"position": positions}))
    return found


def as_json(zeroed: list[str], patch: tuple[str, list[int]] | None) -> str:
    if patch is None:
        return json.dumps({"zeroed": zeroed})
    site, positions = patch
    return json.dumps(
        {"zeroed": zeroed, "patch": {"site": site, "positions": positions, "source": SOURCE}}
    )


@pytest.mark.parametrize("name", RECIPES)
def test_logits_and_answers_are_those_of_pythons_interventions(
    name: str, tab: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(monkeypatch, tmp_path, RECIPES[name])
    prompt = len(run.layout.prompt_tokens(parse(PROBLEM)))
    tab.goto(run.write_page(0, tmp_path / "page.html").as_uri())
    plain = np.array(numbers(tab, f"curta.logits('{PROBLEM}', {{}}, 1)"))[:prompt]
    for zeroed, patch in CHANGES.values():
        made = interventions(zeroed, patch)
        python = run.activations([PROBLEM], "logits", made)["logits"][0, 0, :prompt]
        asked = f"curta.logits('{PROBLEM}', {as_json(zeroed, patch)}, 1)"
        mine = np.array(numbers(tab, asked))[:prompt]
        assert np.abs(mine - python).max() < 1e-4
        assert np.abs(mine - plain).max() > 1e-2


def test_what_is_put_in_from_the_same_problem_changes_nothing(tab: Page, tmp_path: Path) -> None:
    tab.goto(Made(tiny.dense()).page(tmp_path).as_uri())
    same = json.dumps({"patch": {"site": "layer.0.after", "positions": [0, 5], "source": PROBLEM}})
    found = numbers(tab, f"[{{}}, {same}].map((one) => curta.logits('{PROBLEM}', one, 3))")
    assert found[0] == found[1]
