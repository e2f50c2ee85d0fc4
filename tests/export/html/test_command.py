"""The command that a page shows: one that the command line accepts, and that does the same."""

import json
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import Page

from curta.export.html import render_page
from curta.frontends.cli import main
from curta.problems.problem import parse
from tests import tiny
from tests.export.made import begun

from . import made
from .tabs import numbers
from .test_engine import DENSE, HEAD
from .test_page import calculate, over, part

pytestmark = pytest.mark.slow


def command(tab: Page) -> list[str]:
    """The words of the shown command as a shell takes them."""
    return shlex.split(tab.locator("#command").text_content() or "")


@pytest.mark.parametrize("typed", ["sort(7, 1, 12)", "0XC - 0x0345=", "3#2<3#12"])
def test_problems_are_written_as_python_writes_them(typed: str, tab: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    of = made.carried(*made.shipped("own", model__norm="none"), "it's mine")
    path.write_text(render_page(of, 0), encoding="utf-8")
    tab.goto(path.as_uri())
    tab.evaluate("curta.design.tokens = 30")
    calculate(tab, typed)
    part(tab, "MLP of layer 0").click()
    over(tab)
    assert command(tab)[2] == "it's mine"
    assert command(tab)[4] == str(parse(typed.lower()))


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
    words = command(tab)
    assert words[:7] == ["curta", "probe", "my run", "activations", "57+68", "--member", "1"]
    assert main([*words[1:], "sites=logits", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["about"]["members"] == [1]
    assert found["about"]["interventions"] == [
        f"zero {HEAD}",
        "patch embedding:position=3 from 57+69",
    ]
    changes = (
        f"{{zeroed: ['{HEAD}'], patch: {{site: 'embedding', positions: [3], source: '57+69'}}}}"
    )
    assert (
        found["answers"][0]["changed"] == numbers(tab, f"curta.ask('57+68', {changes})")["answer"]
    )
