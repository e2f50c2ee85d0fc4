"""Reports in a real browser: what moves, what is looked into, and the model that writes."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import Page, expect

from curta.export.html.page import at_work
from curta.frontends.api import train
from curta.frontends.cli import main
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import tiny

from .made import carried, shipped
from .tabs import numbers

pytestmark = pytest.mark.slow

SIZES = {"evaluation.digits": [3], "evaluation.count": 8, "evaluation.grid": 4}


def uneven(run: Run) -> Run:
    """The run with a grid of some right problems, which so short a training has none of."""
    evaluation = json.loads(run.folder.evaluation.read_text("utf-8"))
    evaluation["grids"][0]["exact_match"][1][1][2] = 0.5
    run.folder.evaluation.write_text(json.dumps(evaluation), "utf-8")
    run.write_report()
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run]]:
    """Two short trainings of two members: one with a window and a history, one with neither."""
    settings = tiny.overrides(training__history_every=5) | SIZES
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("trained")))
        first = uneven(train("addition", 2, "first", **settings))
        rope = {"positions.name": "rope", "training.history_every": 0}
        yield first, train("addition", 1, "second", **(settings | rope))


@pytest.fixture
def opened(runs: tuple[Run, Run], tab: Page) -> Page:
    tab.goto(runs[0].folder.report.as_uri())
    return tab


def marks(tab: Page) -> list[list[float]]:
    """Where the marks of all digits stand."""
    transforms = tab.evaluate(
        "[...document.querySelectorAll('.mark')].map((m) => m.getAttribute('transform'))"
    )
    return [[float(part) for part in re.findall(r"-?[\d.]+", text)] for text in transforms]


def ways(tab: Page) -> list[list[list[float]]]:
    points = tab.evaluate(
        "[...document.querySelectorAll('.way')].map((w) => w.getAttribute('points'))"
    )
    return [[[float(x) for x in pair.split(",")] for pair in text.split()] for text in points]


def test_marks_go_where_the_slider_says_and_play_to_the_end(opened: Page) -> None:
    paths = ways(opened)
    assert len(paths) == 2 * 2 * 10  # in two dimensions of the vectors, and in principal ones
    assert marks(opened) == [path[-1] for path in paths]
    for moment, step in ((0, 0), (2, 10)):
        opened.get_by_role("slider", name="Moment of training").fill(str(moment))
        expect(opened.locator(".player .told")).to_have_text(re.compile(f"^step {step}"))
        assert marks(opened) == [path[moment] for path in paths]
    opened.locator(".player button").press("Enter")
    expect(opened.get_by_role("slider", name="Moment of training")).to_have_value("4")
    expect(opened.locator(".player button")).to_have_text("Play")
    assert marks(opened) == [path[-1] for path in paths]


def test_the_marked_token_is_the_first_that_python_writes_wrong(
    runs: tuple[Run, Run], opened: Page
) -> None:
    run, layout = runs[0], runs[0].load_models().layout
    shown = numbers(
        opened,
        "[...document.querySelectorAll('#part-errors .watch')].map((button) => {"
        "const code = button.closest('tr').querySelector('.written code');"
        "return [button.dataset.problem, Number(button.dataset.member), button.hidden,"
        "code.querySelector('mark').textContent]; })",
    )
    evaluation = run.folder.read_evaluation()
    assert len(shown) == len([row for row in evaluation.lengths if row.errors]) > 0
    for problem, member, hidden, mark in shown:
        (text,) = run.write([problem], member)
        right, prompt = layout.tokens_of(parse(problem))
        pairs = zip(text, right[prompt:], strict=False)
        at = next(number for number, (wrote, wanted) in enumerate(pairs) if wrote != wanted)
        assert not hidden
        assert mark == layout.characters[text[at]]
    opened.get_by_label("Speed").select_option("at once")
    opened.locator("#part-errors").get_by_role("button", name="Watch").first.click()
    expect(opened.get_by_role("textbox", name="Problem", exact=True)).to_have_value(shown[0][0])
    expect(opened.get_by_label("Model", exact=True)).to_have_value(str(shown[0][1]))
    expect(opened.locator("#work")).to_have_attribute("data-right", "false")


def test_the_map_tells_each_cell_of_all_members_or_one(runs: tuple[Run, Run], opened: Page) -> None:
    (grid,) = runs[0].folder.read_evaluation().grids
    exact = grid.exact_match
    told = opened.locator(".heat .told")
    field = opened.get_by_role("application", name="Heat map of exact match")
    for key in ("ArrowLeft", "ArrowDown", "ArrowDown"):
        field.press(key)
    expected = f"{100 * median(member[1][2] for member in exact):.1f}%"
    expect(told).to_have_text(re.compile(f"^2 by 3 digits: median {expected}"))
    cells = field.locator(".cells")
    size = (cells.bounding_box() or {})["width"]
    cells.hover(position={"x": size / 8, "y": size * 7 / 8})
    expect(told).to_have_text(re.compile("^1 by 1 digits: median "))
    opened.locator(".heat select").select_option("1")
    expect(told).to_have_text(re.compile(": member 1 .*, median of all "))
    squares = opened.evaluate(
        "[...document.querySelectorAll('.cells rect:not(.cursor)')].map((rect) =>"
        "[Number(rect.getAttribute('x')), Number(rect.getAttribute('y')), rect.className.baseVal])"
    )
    edges = [0, 0.25, 0.5, 0.75, 0.9, 1]
    for second, line, band in squares:
        share = exact[1][3 - line][second]
        assert band == f"band-{max(i for i, edge in enumerate(edges) if share >= edge)}"
    assert len(squares) == 16


def test_every_control_has_a_name_and_every_link_leads_somewhere(opened: Page) -> None:
    for role in ("slider", "application", "link", "button", "textbox", "combobox", "checkbox"):
        every = opened.get_by_role(role)
        assert every.count() == opened.get_by_role(role, name=re.compile(r"\S")).count()
    for role in ("slider", "application", "link"):
        expect(opened.get_by_role(role).first).to_be_attached()
    targets = (
        "[...document.querySelectorAll('a[href]')].map((a) => !!document.querySelector(a.hash))"
    )
    assert all(opened.evaluate(targets))
    levels = opened.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => +h.tagName[1])"
    )
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_several_runs_stand_side_by_side_in_one_page(
    runs: tuple[Run, Run], tab: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.folder.path) for run in runs]
    assert main(["report", *paths, "--out", str(tmp_path)]) == 0
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    tab.goto((tmp_path / "report.html").as_uri())
    for run in runs:
        expect(tab.get_by_role("navigation")).to_contain_text(run.name)
    expect(tab.get_by_role("article")).to_have_count(2)
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    row = tab.locator("tr", has=tab.locator("th.entry", has_text=re.compile(r"^positions\.name$")))
    expect(row.locator("td")).to_have_text(["window", "rope"])
    said = "second does not calculate inside a report, which can run only"
    expect(tab.locator("body")).to_contain_text(said)
    expect(tab.locator(".watch:not([hidden])").first).to_be_attached()
    expect(tab.locator("[data-run=second].watch:not([hidden])")).to_have_count(0)
    heads = tab.get_by_role("columnheader", name="See it", include_hidden=True)
    assert {head.is_visible() for head in heads.all()} == {True, False}
    for name in ("learning", "lengths"):
        assert (tmp_path / f"{name}.svg").exists()


LARGE = {
    "model__width": 32, "model__heads": 4, "model__mlp_ratio": 4, "model__num_layers": 2
}  # fmt: skip
"""Larger than shipped recipes."""


def test_members_beyond_the_budget_stay_out_but_for_the_first_of_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [carried(*shipped("addition", **LARGE), name, 3) for name in "ab"]
    size = len(runs[0].packed(0))
    for budget, kept in ((0, [1, 1]), (3 * size, [2, 1]), (6 * size, [3, 3])):
        monkeypatch.setattr("curta.export.html.page.BUDGET", budget)
        body = at_work(runs).body
        assert body.count('class="weights"') == sum(kept)
        names = re.findall(r'"names":\[(.*?)\]', body)
        assert [len(member_names.split('","')) for member_names in names] == kept
        assert f"weights of {'all 6' if kept == [3, 3] else f'{sum(kept)} of 6'} members" in body
