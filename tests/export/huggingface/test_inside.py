"""States and attentions that are handed out, held against Curta's sites and the library's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.model.transformer import Transformer
from tests import tiny
from tests.designs import DESIGNS

from ..made import asked, drawn, inside, rows
from .made import folder, opened, tokenizer, told

pytestmark = pytest.mark.slow

WANTED = {"output_hidden_states": True, "output_attentions": True}


def batch(at: Path, model: Transformer, of: Recipe) -> tuple[Any, list[list[int]]]:
    """Whole texts of different lengths, filled up on the left, and their tokens."""
    texts = rows(model, asked(of.tasks[0].operator))
    return tokenizer(at)(told(model, texts), return_tensors="pt", padding=True), texts


def sites(of: Recipe, kind: str, layers: int) -> list[str]:
    """The names of a site in every layer of every recurrence, in their order."""
    count = of.model.num_recurrences
    prefixes = [f"recurrence.{number}." if count > 1 else "" for number in range(count)]
    return [f"{prefix}layer.{layer}.{kind}" for prefix in prefixes for layer in range(layers)]


@pytest.mark.parametrize("name", ["t5", "position coupling", "window, two axes"])
def test_they_are_what_curta_calculates(tmp_path: Path, name: str) -> None:
    import torch

    of = tiny.recipe(**DESIGNS[name])
    model, at = drawn(of), folder(tmp_path / "own", of)
    given, texts = batch(at, model, of)
    with torch.no_grad():
        found = opened(at)(**given, **WANTED)
    states = ["embedding", *sites(of, "after", of.model.num_layers)[:-1], "final"]
    weights = sites(of, "attention.weights", of.model.num_attention_layers)
    assert (len(found.hidden_states), len(found.attentions)) == (len(states), len(weights))
    scale = model.config.width**-0.5 if model.config.tied_scale else 1.0
    near = {"rtol": 1e-4, "atol": 1e-4}
    for row, expected in enumerate(inside(model, texts)):
        size = len(texts[row])
        for site, state in zip(states, found.hidden_states, strict=True):
            value = expected[site] * (scale if site == "final" and model.head is None else 1.0)
            np.testing.assert_allclose(state[row, -size:], value, **near, err_msg=site)
        for site, shares in zip(weights, found.attentions, strict=True):
            np.testing.assert_allclose(
                shares[row, :, -size:, -size:], expected[site], **near, err_msg=site
            )
            assert not shares[row, :, -size:, :-size].any()
