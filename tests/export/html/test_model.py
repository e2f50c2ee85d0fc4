"""The page against Python: where tokens stand, their windows, logits, and what is written."""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from playwright.sync_api import Page

from curta.model.inspection import recorded

from .made import (
    PROBLEMS,
    layout,
    padded,
    page,
    random_texts,
    shipped,
)  # fmt: skip
from .tabs import numbers

pytestmark = pytest.mark.slow

WRITTEN = 60


@pytest.fixture(scope="module", params=PROBLEMS)
def named(request: pytest.FixtureRequest) -> str:
    """The name of a machine."""
    return str(request.param)


def test_tokens_stand_and_see_as_in_python(named: str, tab: Page, tmp_path: Path) -> None:
    machine = layout(named).machine
    tab.goto(page(tmp_path, *shipped(named)).as_uri())
    tokens, rows = random_texts(named, 12, 50)
    found = numbers(tab, f"{json.dumps(tokens.tolist())}.map(curta.follow)")
    for text, expected, one in zip(tokens, rows, found, strict=True):
        steps, position = [], np.zeros(len(machine.axes), np.int32)
        for token in text:
            position = machine.advance(position, np.array(token))
            steps.append(position)
        assert np.array_equal(one["positions"], np.stack(steps))
        windows = padded(one["windows"], rows.shape[-1], len(machine.tokens))
        assert np.array_equal(windows, expected)


def test_positions_are_the_sum_of_moves(named: str, tab: Page, tmp_path: Path) -> None:
    machine = layout(named).machine
    tab.goto(page(tmp_path, *shipped(named)).as_uri())
    tokens, _ = random_texts(named, 12, 50)
    found = numbers(tab, f"{json.dumps(tokens.tolist())}.map(curta.follow)")
    for text, one in zip(tokens, found, strict=True):
        assert np.array_equal(one["positions"], machine.positions(text))


def test_a_page_looks_where_the_model_looks(tab: Page, tmp_path: Path) -> None:
    made, model = shipped("addition")
    texts = [layout("addition").recorder.record("+", (57, 968))]
    tokens = np.array([texts[0][0]], np.int32)
    where = layout("addition").follow(jnp.asarray(tokens), jnp.array([tokens.shape[1]]))[1]
    bounds = layout("addition").room_for(texts)
    sites = recorded(model, jnp.asarray(tokens), where, bounds)
    expected = np.asarray(sites["layer.0.attention.weights"])[0]
    tab.goto(page(tmp_path, made, model).as_uri())
    found = np.zeros_like(expected)
    asked = f"new curta.Writing(curta.network, {tokens[0].tolist()})"
    looked = numbers(
        tab,
        f"(() => {{ const w = {asked}; return w.paper.seen.map((keys, i) =>"
        "[keys, w.before(i + 1).weights]); })()",
    )
    for number, (keys, weights) in enumerate(looked):
        for cell, key in enumerate(keys):
            if key >= 0:
                found[:, number, key] += [shares[cell] for shares in weights]
    assert np.abs(found - expected).max() < 1e-5


def test_leaving_tokens_out_is_as_never_having_written_them(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("multiplication")).as_uri())
    first, second = (random_texts("multiplication", 2, 30)[0]).tolist()
    mixed = json.dumps([*first[:10], *second[10:]])
    cut = numbers(
        tab,
        f"(() => {{ const w = new curta.Writing(curta.network, {first}); w.paper.cut(10);"
        f"for (const t of {second[10:]}) w.append(t);"
        "return { windows: w.paper.tokens.map((_, i) => w.paper.window(i)),"
        "positions: w.paper.positions }; })()",
    )
    assert cut == numbers(tab, f"curta.follow({mixed})")


def test_the_same_window_is_calculated_once(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    counted = "(curta.write('{}+{}', 300), curta.network.memo.size)"
    before = numbers(tab, counted.format("7" * 100, "6" * 100))
    assert before < 100
    assert numbers(tab, counted.format("7" * 100, "6" * 100)) == before
