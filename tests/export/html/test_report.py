"""Reports in a real browser: what moves, what is looked into, and the model that writes."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from curta.export.html import at_work
from curta.frontends.api import report, train
from curta.frontends.cli import main
from curta.problems.problem import parse
from curta.report.page import write_report
from curta.report.rendering import document
from curta.runs import embedding_history
from curta.runs.run import Run
from tests import tiny
from tests.report import sample

from .made import carried, shipped
from .tabs import fits, numbers, screens

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
    given = tiny.overrides(training__history_every=5) | SIZES
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("trained")))
        first = uneven(train("addition", 2, "first", **given))
        rope = {"positions.name": "rope", "training.history_every": 0}
        yield first, train("addition", 1, "second", **(given | rope))


@pytest.fixture
def opened(runs: tuple[Run, Run], tab: Page) -> Page:
    tab.goto(runs[0].folder.report.as_uri())
    return tab


def marks(tab: Page) -> list[list[float]]:
    """Where the marks of all digits stand."""
    found = tab.evaluate(
        "[...document.querySelectorAll('.mark')].map((m) => m.getAttribute('transform'))"
    )
    return [[float(part) for part in re.findall(r"-?[\d.]+", text)] for text in found]


def ways(tab: Page) -> list[list[list[float]]]:
    found = tab.evaluate(
        "[...document.querySelectorAll('.way')].map((w) => w.getAttribute('points'))"
    )
    return [[[float(x) for x in pair.split(",")] for pair in text.split()] for text in found]


def test_marks_stand_at_the_end_and_go_where_the_slider_says(opened: Page) -> None:
    paths = ways(opened)
    assert len(paths) == 2 * 2 * 10  # in two dimensions of the vectors, and in principal ones
    assert marks(opened) == [path[-1] for path in paths]
    for moment, step in ((0, 0), (2, 10)):
        opened.get_by_role("slider", name="Moment of training").fill(str(moment))
        expect(opened.locator(".player .told")).to_have_text(re.compile(f"^step {step}"))
        assert marks(opened) == [path[moment] for path in paths]


def test_play_moves_the_marks_from_start_to_end_and_can_be_paused(opened: Page) -> None:
    paths, button = ways(opened), opened.locator(".player button")
    slider = opened.get_by_role("slider", name="Moment of training")
    expect(button).to_have_text("Play")
    button.press("Enter")
    expect(slider).not_to_have_value("0")
    expect(button).to_have_text("Pause")
    button.press("Enter")
    expect(button).to_have_text("Play")
    held = marks(opened)
    assert held not in ([path[0] for path in paths], [path[-1] for path in paths])
    opened.wait_for_timeout(200)
    assert marks(opened) == held
    button.click()
    expect(slider).to_have_value("4")
    expect(button).to_have_text("Play")
    assert marks(opened) == [path[-1] for path in paths]


def test_where_motion_is_not_wanted_nothing_moves_by_itself(
    runs: tuple[Run, Run], tab: Page
) -> None:
    tab.emulate_media(reduced_motion="reduce")
    tab.goto(runs[0].folder.report.as_uri())
    for moment in (0, 1):
        tab.get_by_role("button", name="A tenth on").click()
        assert marks(tab) == [path[moment] for path in ways(tab)]
    tab.wait_for_timeout(200)
    assert marks(tab) == [path[1] for path in ways(tab)]


def test_both_members_write_what_python_writes(runs: tuple[Run, Run], opened: Page) -> None:
    problems = ["1+2", "99+1", "12+34"]
    for member in (0, 1):
        opened.get_by_label("Model", exact=True).select_option(str(member))
        for problem, text in zip(problems, runs[0].write(problems, member), strict=True):
            assert opened.evaluate(f"curta.write('{problem}', {len(text)})") == text


def rows_of(run: Run) -> list[dict[str, Any]]:
    return json.loads(run.folder.evaluation.read_text("utf-8"))["lengths"]


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
    assert len(shown) == len([row for row in rows_of(run) if row["errors"]]) > 0
    for problem, member, hidden, mark in shown:
        (text,) = run.write([problem], member)
        right, prompt = layout.tokens_of(parse(problem))
        pairs = zip(text, right[prompt:], strict=False)
        at = next(number for number, (wrote, wanted) in enumerate(pairs) if wrote != wanted)
        assert not hidden
        assert mark == layout.characters[text[at]]


def test_a_wrong_problem_can_be_watched(runs: tuple[Run, Run], opened: Page) -> None:
    opened.get_by_label("Speed").select_option("at once")
    watch = opened.locator("#part-errors").get_by_role("button", name="Watch").first
    problem, member = (watch.get_attribute(f"data-{name}") or "" for name in ("problem", "member"))
    watch.click()
    expect(opened.locator("#pause")).to_be_disabled()
    expect(opened.get_by_role("textbox", name="Problem", exact=True)).to_have_value(problem)
    expect(opened.get_by_label("Model", exact=True)).to_have_value(member)
    expect(opened.locator("#work")).to_have_attribute("data-right", "false")
    written = opened.locator("#text").get_by_role("button").all_text_contents()
    (text,) = runs[0].write([problem], int(member))
    most = min(len(text), len(written))
    assert written[:most] == [runs[0].layout.characters[token] for token in text[:most]]


def test_an_address_of_a_report_names_the_problem_and_the_model(opened: Page) -> None:
    expect(opened.locator("#work")).to_be_hidden()
    opened.get_by_label("Speed").select_option("at once")
    opened.get_by_label("Model", exact=True).select_option("1")
    opened.get_by_role("textbox", name="Problem", exact=True).fill("12+34")
    opened.keyboard.press("Enter")
    expect(opened.locator("#work")).to_be_visible()
    address = opened.url
    assert address.endswith("#problem=12%2B34&model=1")
    opened.goto("about:blank")
    opened.goto(address)
    expect(opened.get_by_label("Model", exact=True)).to_have_value("1")
    expect(opened.get_by_role("textbox", name="Problem", exact=True)).to_have_value("12+34")
    opened.evaluate("location.hash = '#part-errors'")
    expect(opened.locator("#work")).to_be_visible()


def test_the_window_of_the_asked_token_is_shaded(opened: Page) -> None:
    opened.get_by_label("Speed").select_option("at once")
    opened.get_by_role("textbox", name="Problem", exact=True).fill("12+34")
    opened.get_by_role("button", name="Calculate").click()
    expect(opened.locator("#pause")).to_be_disabled()
    for head in ("layer 0, head 0", "layer 0, head 1"):
        opened.get_by_label("Looking:").select_option(head)
        looks = opened.evaluate(
            "[...document.querySelectorAll('#text .seen, #grid .empty')].map((token) => "
            "Number(token.style.getPropertyValue('--look')))"
        )
        assert 0 < sum(looks) <= 1 + 1e-6  # what stands on no line is not drawn
    expect(opened.locator("#text .asked.seen")).to_have_count(1)
    expect(opened.locator("#grid .pen")).to_have_count(1)
    assert {"a", "b", "sum"} <= set(opened.locator("#roles li").all_text_contents())


def test_the_map_tells_each_cell_by_pointer_and_by_key(runs: tuple[Run, Run], opened: Page) -> None:
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


def test_the_map_shows_any_member(runs: tuple[Run, Run], opened: Page) -> None:
    (grid,) = runs[0].folder.read_evaluation().grids
    opened.locator(".heat select").select_option("1")
    cells = opened.evaluate(
        "[...document.querySelectorAll('.cells rect:not(.cursor)')].map((rect) =>"
        "[Number(rect.getAttribute('x')), Number(rect.getAttribute('y')), rect.className.baseVal])"
    )
    edges = [0, 0.25, 0.5, 0.75, 0.9, 1]
    for second, line, band in cells:
        share = grid.exact_match[1][3 - line][second]
        assert band == f"band-{max(i for i, edge in enumerate(edges) if share >= edge)}"
    assert len(cells) == 16


def test_the_cell_is_told_anew_of_the_member_that_is_chosen(opened: Page) -> None:
    field = opened.get_by_role("application", name="Heat map of exact match")
    field.press("ArrowLeft")
    opened.locator(".heat select").select_option("1")
    expect(opened.locator(".heat .told")).to_have_text(re.compile(": member 1 .*, median of all "))


@pytest.mark.parametrize("tab", screens(390), indirect=True)
def test_a_phone_needs_no_sideways_scrolling(opened: Page) -> None:
    assert opened.evaluate("innerWidth") == 390
    assert fits(opened)


def test_on_paper_there_are_no_controls(opened: Page) -> None:
    opened.emulate_media(media="print")
    for name in (".contents", ".controls", "#part-errors .watch"):
        expect(opened.locator(name).first).to_be_hidden()
    for name in (".heat svg", ".ways svg", "#part-errors table"):
        expect(opened.locator(name).first).to_be_visible()


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
    said = "The model of second does not calculate here: positions are 'rope'"
    expect(tab.locator("body")).to_contain_text(said)
    (written,) = runs[0].write(["12+34"], 0)
    assert tab.evaluate(f"curta.write('12+34', {len(written)})") == written
    expect(tab.locator(".watch:not([hidden])").first).to_be_attached()
    expect(tab.locator("[data-run=second].watch:not([hidden])")).to_have_count(0)
    heads = tab.get_by_role("columnheader", name="See it", include_hidden=True)
    assert {head.is_visible() for head in heads.all()} == {True, False}
    for name in ("learning", "lengths"):
        assert (tmp_path / f"{name}.svg").exists()


def test_a_report_of_one_run_is_written_anew(runs: tuple[Run, Run], tmp_path: Path) -> None:
    path = report(str(runs[0].folder.path), tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_bytes() == runs[0].folder.report.read_bytes()
    assert (tmp_path / "trails.svg").exists()


def test_a_run_named_twice_is_refused(
    runs: tuple[Run, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(runs[0].folder.path)
    assert main(["report", path, path]) == 2
    assert "two of the runs are called 'first'" in capsys.readouterr().err


def test_a_refusal_of_one_model_does_not_stay_under_the_next(tab: Page, tmp_path: Path) -> None:
    body = at_work([carried(*shipped(name), name) for name in ("addition", "multiplication")])
    (tmp_path / "two.html").write_text(document("two", [body]), encoding="utf-8")
    tab.goto((tmp_path / "two.html").as_uri())
    tab.get_by_role("textbox", name="Problem", exact=True).fill("7*8")
    tab.keyboard.press("Enter")
    expect(tab.locator("#mistake")).to_have_text("This model has no *: it was trained on +.")
    tab.get_by_label("Model", exact=True).select_option("1")
    expect(tab.locator("#mistake")).to_have_text("")
    expect(tab.locator("#work")).to_be_visible()


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
        assert [len(one.split('","')) for one in names] == kept
        assert f"weights of {'all 6' if kept == [3, 3] else f'{sum(kept)} of 6'} members" in body


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of eight members: a grid of 40 by 40, a long history, all weights."""
    folder = tmp_path_factory.mktemp("large")
    sample.write_run(folder, members=8, size=40, steps=10_000)
    (folder / "recipe.toml").write_text('layout = "coupled"\n' + sample.RECIPE, encoding="utf-8")
    rng, vectors = np.random.default_rng(0), np.zeros((8, 13, 32), np.float32)
    for step in range(0, 10_001, 50):
        vectors = vectors + rng.normal(0, 1, vectors.shape).astype(np.float32)
        embedding_history.save(folder / "history", step, vectors)
    run = carried(*shipped("addition", **LARGE), folder.name, 8)
    return write_report(folder, at_work([run]))


def test_eight_members_fit_into_three_megabytes_and_open_at_once(large: Path, tab: Page) -> None:
    assert 1_000_000 < large.stat().st_size < 3_000_000
    tab.goto(large.as_uri())
    expect(tab.locator("#model option")).to_have_count(8)
    # of each member ten digits and two signs, in two planes
    expect(tab.locator(".way")).to_have_count(8 * 2 * 12)
    timing = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    assert 0 < tab.evaluate(timing) < 10_000  # a loose bound: other programs run as well
