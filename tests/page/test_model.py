"""The page's forward pass against the Python model: logits, attention, and what is written."""

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tiny
from curta.errors import UserError
from curta.generation import complete
from curta.layouts import Room
from curta.model import Transformer
from curta.page.folded import refuse
from curta.problems import Problem

from .browser import Tab
from .made import PROBLEMS, drawn, logits, page, problems, shipped


def window(**reach: tuple[int, int]) -> dict[str, Any]:
    """A window over the axes of another layout than the tiny recipe's."""
    return {"positions__name": "window", "positions__reach": reach}


DESIGNS: dict[str, dict[str, Any]] = {
    "two blocks attend": {"model__attending": 2},
    "layer norm, gated, gelu": {
        "model__norm": "layer", "model__gated": True, "model__activation": "gelu"
    },
    "norm without gains, silu": {"model__norm": "plain", "model__activation": "silu"},
    "norm after, relu": {
        "model__norm_placement": "post_residual", "model__activation": "relu"
    },
    "tied, shared keys": {"model__tied": True, "model__key_value_heads": 1},
    "no kinds, no scale": {"model__kinds": False, "model__attention_scale": False},
    "carried": {"layout": "carried", **window(place=(-1, 1))},
    "spelled": {"layout": "running", "model__spelled": True,
                **window(place=(0, 1), row=(-1, 0))},
}  # fmt: skip
WRITTEN = 30


def differs(browser: Tab, model: Transformer, asked: list[Problem]) -> float:
    """The greatest difference between logits of the page and of Python, over whole texts."""
    texts = json.dumps([model.layout.write(problem) for problem in asked])
    found = browser.value(f"{texts}.map(curta.logits)")
    pairs = zip(found, logits(model, asked), strict=True)
    return max(float(np.abs(np.array(page) - python).max()) for page, python in pairs)


def greedy(model: Transformer, asked: list[Problem]) -> list[str]:
    """What Python writes, in a room beyond which no coordinate goes in so few tokens."""
    layout = model.layout
    prompts = [layout.encode(layout.prompt(problem)) for problem in asked]
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    tokens = np.zeros((len(prompts), lengths.max()), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[: len(prompt)] = prompt
    room = Room(int(lengths.max()), WRITTEN, ((-64, 64),) * len(layout.axes))
    written = complete(
        model, jnp.asarray(tokens), jnp.asarray(lengths), layout=layout, room=room
    ).tolist()
    texts = [layout.decode(line) for line in written]
    return [text[: text.find("$") + 1] or text for text in texts]


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_page_has_pythons_logits_and_writes_the_same(
    name: str, browser: Tab, tmp_path: Path
) -> None:
    recipe, model = shipped(name)
    browser.open(page(tmp_path, recipe, model))
    assert differs(browser, model, problems(name)) < 1e-4
    asked = json.dumps([str(problem) for problem in problems(name)])
    written = browser.value(f"{asked}.map((text) => curta.write(text, {WRITTEN}))")
    assert written == greedy(model, problems(name))
    assert browser.complaints == []


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_that_is_not_refused_has_pythons_logits(
    name: str, browser: Tab, tmp_path: Path
) -> None:
    recipe = tiny.recipe(**DESIGNS[name])
    model = drawn(recipe)
    browser.open(page(tmp_path, recipe, model))
    assert differs(browser, model, tiny.random_sums(2, 4)) < 1e-4


def test_a_page_looks_where_the_model_looks(browser: Tab, tmp_path: Path) -> None:
    recipe = tiny.recipe(model__attending=2)
    model, problem = drawn(recipe), Problem("+", (57, 968))
    layout, text = model.layout, model.layout.write(problem)
    tokens = jnp.asarray(layout.encode(text))[None]
    where = layout.follow(tokens, jnp.array([len(text)], jnp.int32))[1]
    expected = np.asarray(model.attention_weights(tokens, where, layout.room("+", (3, 3))))[:, 0]
    browser.open(page(tmp_path, recipe, model))
    found = np.zeros_like(expected)
    for number, token in enumerate(browser.value(f"curta.weights({text!r})")):
        for share, key in zip(np.moveaxis(token["weights"], -1, 0), token["keys"], strict=True):
            found[:, :, number, key] += share
    assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model__loops": 2}, "model.loops 2"),
        ({"model__inject": "block"}, "model.inject 'block'"),
        ({"positions__name": "rope"}, "positions 'window' only"),
        (
            {
                "layout": "spaced",
                "positions__name": "window",
                "positions__reach": {"index": (0, 1)},
            },
            "layout 'spaced'",
        ),
        (
            {"layout": "framed", "positions__name": "nope", "model__causal": False},
            "layout 'framed'",
        ),
        ({"positions__name": "nope", "model__causal": False, "layout": "reversed"}, "model.causal"),
    ],
)
def test_what_a_page_cannot_calculate_is_refused_by_name(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match="no page of this run: ") as caught:
        refuse(drawn(tiny.recipe(**changes)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_leaving_a_token_out_of_the_cache_is_as_never_having_written_it(
    browser: Tab, tmp_path: Path
) -> None:
    recipe = tiny.recipe()
    browser.open(page(tmp_path, recipe, drawn(recipe)))
    cut = browser.value(
        """(() => { const w = new curta.Writing(curta.design, curta.tensors, curta.step);
        for (const t of [1, 2, 10, 3, 11, 4, 9, 9]) w.append(t);
        w.cut(6); return [...w.append(5).logits]; })()"""
    )
    assert np.allclose(cut, browser.value("curta.logits('12+3=45')")[-1])
