"""Where tokens stand in the page and on its sheet, and interventions.

Plain logits: `test_conformance.py`.
"""

import json
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from curta.frontends.cli import main
from curta.probes.inside.interventions import Intervention, parsed
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import tiny
from tests.export.made import begun, inside

from .made import PROBLEMS, dense, layout, page, random_texts, shipped
from .tabs import numbers
from .test_page import calculate, over, part

pytestmark = pytest.mark.slow


def test_places_below_those_of_the_operands(tab: Page, tmp_path: Path) -> None:
    """A prompt of `spaced` begins at place -3."""
    of, model = dense(tiny.with_encoding("coupled", program="spaced"))
    tab.goto(page(tmp_path, of, model).as_uri())
    tokens, _ = model.layout.tokens_of(parse("12+345"))
    logits = numbers(tab, f"curta.sites({tokens}).logits.map((row) => [...row])")
    np.testing.assert_allclose(logits, inside(model, [tokens])[0]["logits"], atol=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_tokens_of_a_machine_stand_and_see_as_in_python(
    name: str, tab: Page, tmp_path: Path
) -> None:
    machine = layout(name).machine
    tab.goto(page(tmp_path, *shipped(name)).as_uri())
    tokens, rows = random_texts(name, 12, 50)
    texts = numbers(tab, f"{json.dumps(tokens.tolist())}.map(curta.follow)")
    for text, expected, followed in zip(tokens, rows, texts, strict=True):
        places = [each["coordinates"] for each in followed]
        assert np.array_equal(places, machine.positions(text))
        ids = [*text.tolist(), len(machine.tokens)]  # the last one for a square without a token
        windows = [[ids[at] for at in each["cells"]] for each in followed]
        for window, row in zip(windows, expected.tolist(), strict=True):
            none = [len(machine.tokens)] * (len(row) - len(window))
            assert [*window, *none] == row


def test_the_same_window_is_calculated_once(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    counted = f"(curta.write('{'7' * 100}+{'6' * 100}', 300), curta.model.memo.size)"
    before = numbers(tab, counted)
    assert before < 100
    assert numbers(tab, counted) == before


DENSE = {"layout": "coupled", "model__compositional_embeddings": False}
HEAD = "layer.0.attention.heads:head=1"
MLP = "layer.1.mlp.output"
SOURCE = "9+345"
PROBLEM = "12+678"
RECIPES: dict[str, dict[str, Any]] = {
    "looped": {"model__num_recurrences": 2, "model__input_injection": "block"},
    "norm after": {"model__norm_placement": "post", "model__biases": ["out", "mlp"]},
    "an encoder": {"layout": "framed", "positions__name": "alibi", "model__causal": False},
    "a window": {"program": "addition", "positions__name": "window"},
}
CHANGES: dict[str, tuple[list[str], tuple[str, list[int]] | None]] = {
    "a head": ([HEAD], None),
    "an mlp": ([MLP], None),
    "the embedding": ([], ("embedding", [0, 1, 3])),
    "all": ([HEAD], ("layer.1.after", [0, 4, 5])),
}


def begin(monkeypatch: pytest.MonkeyPatch, folder: Path, changes: dict[str, Any]) -> Run:
    """A run with random weights."""
    monkeypatch.setenv("CURTA_RUNS", str(folder))
    layout_changes = {} if "program" in changes else DENSE
    overrides = tiny.overrides(**layout_changes | {"positions__name": "rope"} | changes)
    return begun("addition", **{path.replace(".", "__"): to for path, to in overrides.items()})


def interventions(zeroed: Sequence[str], patch: tuple[str, list[int]] | None) -> list[Intervention]:
    edits = [parsed(name, "zero") for name in zeroed]
    if patch:
        site, positions = patch
        edits.append(Intervention(site, "patch", SOURCE, where={"position": positions}))
    return edits


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
    plain = np.array(numbers(tab, f"curta.logits('{PROBLEM}', 1)"))[:prompt]
    for zeroed, patch in CHANGES.values():
        made = interventions(zeroed, patch)
        python = run.activations([PROBLEM], "logits", made)["logits"][0, 0, :prompt]
        expression = f"curta.logits('{PROBLEM}', 1, {as_json(zeroed, patch)})"
        mine = np.array(numbers(tab, expression))[:prompt]
        assert np.abs(mine - python).max() < 1e-4
        assert np.abs(mine - plain).max() > 1e-2


def test_the_command_line_accepts_it_and_answers_as_the_page_does(
    tab: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path))
    small = tiny.overrides(**DENSE, positions__name="rope", model__num_attention_layers=2)
    run = begun("addition", 2, "my run", **{key.replace(".", "__"): small[key] for key in small})
    tab.goto(run.write_page(1, tmp_path / "page.html").as_uri())
    tab.evaluate("curta.design.tokens = 30")
    calculate(tab, "57+68=")
    part(tab, "head 1 of layer 0").click()
    tab.get_by_role("textbox", name="Other problem").fill("57+69=")
    tab.keyboard.press("Enter")
    tab.locator("#places button").nth(3).click()
    over(tab)
    words = shlex.split(tab.locator("#command").text_content() or "")
    assert words[:7] == ["curta", "probe", "my run", "activations", "57+68", "--member", "1"]
    assert main([*words[1:], "sites=logits", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert answers["about"]["members"] == [1]
    assert answers["about"]["interventions"] == [
        f"zero {HEAD}",
        "patch embedding:position=3 from 57+69",
    ]
    changes = (
        f"{{zeroed: ['{HEAD}'], patch: {{site: 'embedding', positions: [3], source: '57+69'}}}}"
    )
    assert (
        answers["answers"][0]["changed"] == numbers(tab, f"curta.ask('57+68', {changes})")["answer"]
    )


PLACED = """[...document.querySelectorAll('#text li')].map((item) => {
  const { left, top, right, bottom } = item.getBoundingClientRect();
  return [item.textContent, left, top, right, bottom]; })"""


def test_digits_of_one_place_stand_below_each_other(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    calculate(tab, "123+45")
    items = numbers(tab, PLACED)  # 3 2 1 + 5 4 =
    first, second = items[:3], items[4:6]
    assert [item[0] for item in first] == list("321")
    assert all(after[1] < before[1] for before, after in pairwise(first))
    assert [item[1] for item in second] == [item[1] for item in first[:2]]
    assert all(low[2] > high[2] for high, low in zip(first, second, strict=False))


@pytest.mark.parametrize("name", PROBLEMS)
def test_roles_never_stand_upon_each_other(name: str, tab: Page, tmp_path: Path) -> None:
    """A square of a role is drawn in one place, and in that place nothing else is."""
    tab.goto(page(tmp_path, *shipped(name)).as_uri())
    tokens, _ = random_texts(name, 10, 60)
    squares = numbers(
        tab,
        f"{tokens.tolist()}.map((text) => {{"
        "const { cells } = curta.sheetOf(text), { roles } = curta.design.layout;"
        "return curta.follow(text).map(({ role, coordinates }, i) => {"
        "const { block, track, line, column } = cells[i];"
        "const square = coordinates.map((at, axis) => roles[role].broadcast[axis] ? '*' : at);"
        "const place = [block.top + line.number, track, column].join();"
        "return [[role, ...square].join(), place]; }); })",
    )
    for text in squares:
        assert len({square for square, _ in text}) == len({place for _, place in text})
        assert len({tuple(pair) for pair in text}) == len({place for _, place in text})
