"""The page of a program of one's own: what is right, by the certificate and recorded problems."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from curta.export.html.page import RECORDED
from curta.frontends.api import train
from curta.runs.run import Run
from tests import tiny

from .tabs import numbers
from .test_page import calculate, enter, longer, text, write_instead

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[3] / "docs" / "examples" / "digit_sum.py"

CERTIFIED = """
const { model, design } = curta, read = model.read.bind(model), all = design.layout.characters;
model.read = (cache, tokens, tap) => {
  read(cache, tokens, tap);
  return tokens.map(({ cells }) => {
    const window = cells.map((at) => (at < 0 ? all.length : cache.tokens[at].token));
    const right = design.certified.targets.get(window.join());
    return Float32Array.from(all, (_, token) => Number(token === right));
  });
};
model.memo.clear();
"""
"""Lets the model write the right token after every window."""


def right(problem: str) -> str:
    return str(sum(map(int, problem.removeprefix("digitsum "))) % 10)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Hardly trained, but certified."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        fields = ("model.", "training.", "evaluation.")
        changes = {path: to for path, to in tiny.overrides().items() if path.startswith(fields)}
        trained = train(str(PROGRAM), 1, **changes, evaluate=False)
        trained.certify(report=False)
        return trained


@pytest.fixture
def opened(run: Run, tab: Page, tmp_path: Path) -> Page:
    tab.goto(run.write_page(out=tmp_path / "own.html").as_uri())
    return tab


def test_what_is_right_follows_from_the_certificate(opened: Page) -> None:
    """Whatever the model writes, and of numbers of any length."""
    problems = ["digitsum 0", "digitsum 7", "digitsum 9182736", f"digitsum {'98' * 150}"]
    truths = numbers(opened, f"{json.dumps(problems)}.map(curta.truth)")
    assert truths == [right(problem) for problem in problems]
    opened.evaluate(CERTIFIED)
    calculate(opened, "digitsum 9182736")
    expect(opened.locator("#status")).to_have_text("It wrote 6, which is right.")
    expect(opened.locator(".token.wrong")).to_have_count(0)


def test_a_wrong_token_is_marked_and_the_right_one_named(opened: Page) -> None:
    opened.evaluate(CERTIFIED)
    enter(opened, "digitsum 123", "slow")
    longer(opened, 4)
    opened.get_by_role("button", name="Pause").click()
    text(opened).get_by_role("button").first.focus()
    opened.keyboard.press("Home")
    opened.get_by_label("Speed").select_option("at once")
    write_instead(opened, "5", "so far")
    said = (
        r"^It wrote 8, which is wrong\. Right is 6\. Token 1 is the first that is wrong: 5 so far,"
    )
    expect(opened.locator("#status")).to_have_text(re.compile(said + r".*; right is 3 so far, "))
    wrong = opened.locator(".token.wrong")
    expect(wrong).to_have_count(1)
    expect(wrong).to_have_accessible_name(re.compile("wrong, right is 3 so far"))


def test_recorded_problems_are_offered_and_marked_right_or_wrong(run: Run, opened: Page) -> None:
    buttons = opened.get_by_role("group", name="Recorded problems").get_by_role("button")
    assert 0 < buttons.count() <= RECORDED
    for number in range(buttons.count()):
        button = buttons.nth(number)
        problem, label = button.get_attribute("value") or "", button.text_content() or ""
        told = f" = {right(problem)} "
        assert told in label
        assert label.endswith("right") == (str(run.ask(problem)) == right(problem))
    buttons.first.click()
    value = buttons.first.get_attribute("value") or ""
    expect(opened.get_by_role("textbox", name="Problem", exact=True)).to_have_value(value)
