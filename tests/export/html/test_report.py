"""Reports in a real browser: what moves, what is looked into, and the model that writes."""

import base64
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from curta.export.html import Carried, at_work, folded
from curta.frontends.api import report, train
from curta.frontends.cli import main
from curta.frontends.run import Run
from curta.problems.problem import parse
from curta.report import write_report
from curta.runs import embedding_history
from tests import tiny
from tests.report import sample

from .browser import Tab
from .made import shipped

pytestmark = pytest.mark.slow

STATUS = "document.getElementById('status').textContent"
SIZES = {"evaluation.digits": [3], "evaluation.count": 8, "evaluation.grid": 4}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run]]:
    """Two short trainings of two members: one with a window and a history, one with neither."""
    given = tiny.overrides(training__history_every=5) | SIZES
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("trained")))
        first = train("addition", 2, "first", given)
        rope = {"positions.name": "rope", "training.history_every": 0}
        yield first, train("addition", 1, "second", given | rope)


@pytest.fixture
def opened(runs: tuple[Run, Run], browser: Tab) -> Iterator[Tab]:
    browser.open(runs[0].report)
    yield browser
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith("file:")] == []


def emulate(tab: Tab, **features: str) -> None:
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    tab.call("Emulation.setEmulatedMedia", features=named)


def clicked(tab: Tab, selector: str) -> None:
    tab.value(f"document.querySelector({selector!r}).click()")


def changed(tab: Tab, selector: str, value: str, event: str = "change") -> None:
    """Gives a field a value as a person does."""
    field = f"const field = document.querySelector({selector!r}); field.value = {value!r};"
    tab.value(f"(() => {{ {field} field.dispatchEvent(new Event({event!r})); }})()")


def marks(tab: Tab) -> list[list[float]]:
    """Where the marks of all digits stand."""
    found = tab.value(
        "[...document.querySelectorAll('.mark')].map((m) => m.getAttribute('transform'))"
    )
    return [[float(part) for part in re.findall(r"-?[\d.]+", text)] for text in found]


def ways(tab: Tab) -> list[list[list[float]]]:
    found = tab.value("[...document.querySelectorAll('.way')].map((w) => w.getAttribute('points'))")
    return [[[float(x) for x in pair.split(",")] for pair in text.split()] for text in found]


def test_marks_stand_at_the_end_and_go_where_the_slider_says(opened: Tab) -> None:
    paths = ways(opened)
    assert len(paths) == 2 * 10
    assert marks(opened) == [path[-1] for path in paths]
    for moment, step in ((0, 0), (2, 10)):
        changed(opened, ".player input", str(moment), "input")
        assert marks(opened) == [path[moment] for path in paths]
        assert opened.value("document.querySelector('.player .told').textContent").startswith(
            f"step {step}"
        )


def test_play_moves_the_marks_from_start_to_end_and_can_be_paused(opened: Tab) -> None:
    paths, button = ways(opened), "document.querySelector('.player button').textContent"
    opened.value("document.querySelector('.player button').focus()")
    assert opened.value(button) == "Play"
    opened.press("Enter")
    opened.wait("Number(document.querySelector('.player input').value) >= 1")
    assert opened.value(button) == "Pause"
    opened.press("Enter")
    assert opened.value(button) == "Play"
    held = marks(opened)
    assert held not in ([path[0] for path in paths], [path[-1] for path in paths])
    opened.value("new Promise((done) => setTimeout(done, 200))")
    assert marks(opened) == held
    clicked(opened, ".player button")
    opened.wait("document.querySelector('.player input').value === '4'")
    opened.wait(f"{button} === 'Play'")
    assert marks(opened) == [path[-1] for path in paths]


def test_where_motion_is_not_wanted_nothing_moves_by_itself(
    runs: tuple[Run, Run], browser: Tab
) -> None:
    emulate(browser, prefers_reduced_motion="reduce")
    browser.open(runs[0].report)
    assert browser.value("document.querySelector('.player button').textContent") == "A tenth on"
    for moment in (0, 1):
        clicked(browser, ".player button")
        assert marks(browser) == [path[moment] for path in ways(browser)]
    browser.value("new Promise((done) => setTimeout(done, 200))")
    assert marks(browser) == [path[1] for path in ways(browser)]
    emulate(browser)


def test_both_members_write_what_python_writes(runs: tuple[Run, Run], opened: Tab) -> None:
    problems = ["1+2", "99+1", "12+34"]
    for member in (0, 1):
        changed(opened, "#model", str(member))
        for problem, text in zip(problems, runs[0].write(problems, member), strict=True):
            assert opened.value(f"curta.write('{problem}', {len(text)})") == text


def rows_of(run: Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.folder.evaluation["lengths"]
    return rows


def test_the_marked_token_is_the_first_that_python_writes_wrong(
    runs: tuple[Run, Run], opened: Tab
) -> None:
    run, layout = runs[0], runs[0].models.layout
    shown = opened.value(
        "[...document.querySelectorAll('#part-errors .watch')].map((button) => {"
        "const code = button.closest('tr').querySelector('.written code');"
        "return [button.dataset.problem, Number(button.dataset.member), button.hidden,"
        "code.querySelector('mark').textContent]; })"
    )
    assert len(shown) == len([row for row in rows_of(run) if row["errors"]]) > 0
    for problem, member, hidden, mark in shown:
        (text,) = run.write([problem], member)
        right, prompt = layout.tokens_of(parse(problem))
        pairs = zip(text, right[prompt:], strict=False)
        at = next(number for number, (wrote, wanted) in enumerate(pairs) if wrote != wanted)
        assert not hidden
        assert mark == layout.characters[text[at]]


def test_a_wrong_problem_can_be_watched(runs: tuple[Run, Run], opened: Tab) -> None:
    opened.value("document.getElementById('speed').value = '0'")
    problem = opened.value("document.querySelector('#part-errors .watch').dataset.problem")
    member = opened.value("document.querySelector('#part-errors .watch').dataset.member")
    clicked(opened, "#part-errors .watch")
    opened.wait("document.getElementById('pause').disabled")
    assert opened.value("document.getElementById('problem').value") == problem
    assert opened.value("document.getElementById('model').value") == member
    assert opened.value("document.getElementById('work').dataset.right") == "false"
    written = opened.value(
        "[...document.querySelectorAll('#text button')].map((b) => b.textContent)"
    )
    (text,) = runs[0].write([problem], int(member))
    most = min(len(text), len(written))
    assert written[:most] == [runs[0].layout.characters[token] for token in text[:most]]


def test_the_window_of_the_asked_token_is_shaded(opened: Tab) -> None:
    opened.value("document.getElementById('problem').value = '12+34'")
    opened.value("document.getElementById('speed').value = '0'")
    opened.value("document.getElementById('form').requestSubmit()")
    opened.wait("document.getElementById('pause').disabled")
    for head in ("0", "1"):
        changed(opened, "#head", head)
        looks = opened.value(
            "[...document.querySelectorAll('#text .seen, #grid .empty')].map((token) => "
            "Number(token.style.getPropertyValue('--look')))"
        )
        assert 0 < sum(looks) <= 1 + 1e-6  # what stands on no line is not drawn
    assert opened.value("document.querySelectorAll('#text .asked.seen').length") == 1
    assert opened.value("document.querySelectorAll('#grid .pen').length") == 1
    roles = opened.value("[...document.querySelectorAll('#roles li')].map((li) => li.textContent)")
    assert {"a", "b", "sum"} <= set(roles)


def test_the_map_tells_each_cell_by_pointer_and_by_key(runs: tuple[Run, Run], opened: Tab) -> None:
    exact = runs[0].folder.evaluation["grid"]["exact"]
    told = "document.querySelector('.heat .told').textContent"
    opened.value("document.querySelector('.field').focus()")
    opened.press("ArrowLeft", "ArrowDown", "ArrowDown")
    assert opened.value(told).startswith("2 by 3 digits: median ")
    expected = f"{100 * median(member[1][2] for member in exact):.1f}%"
    assert opened.value(told).split("median ")[1].startswith(expected)
    x, y = opened.value(
        "(() => { const c = document.querySelector('.cells');"
        "c.scrollIntoView({ block: 'center' });"
        "const { left, bottom, width } = c.getBoundingClientRect();"
        "return [left + width / 8, bottom - width / 8]; })()"
    )
    opened.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert opened.value(told).startswith("1 by 1 digits: median ")


def test_the_map_shows_any_member(runs: tuple[Run, Run], opened: Tab) -> None:
    exact = runs[0].folder.evaluation["grid"]["exact"]
    changed(opened, ".heat select", "1")
    cells = opened.value(
        "[...document.querySelectorAll('.cells rect:not(.cursor)')].map((rect) =>"
        "[Number(rect.getAttribute('x')), Number(rect.getAttribute('y')), rect.className.baseVal])"
    )
    edges = [0, 0.25, 0.5, 0.75, 0.9, 1]
    for second, line, band in cells:
        share = exact[1][3 - line][second]
        assert band == f"band-{max(i for i, edge in enumerate(edges) if share >= edge)}"
    assert len(cells) == 16


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(
    runs: tuple[Run, Run], browser: Tab, scheme: str
) -> None:
    emulate(browser, prefers_color_scheme=scheme)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    browser.open(runs[0].report)
    assert browser.value("document.scrollingElement.scrollWidth <= innerWidth")
    assert browser.value("innerWidth") == 390
    colour = "getComputedStyle(document.body).backgroundColor"
    assert (browser.value(colour) == "rgb(255, 255, 255)") == (scheme == "light")
    browser.call("Emulation.clearDeviceMetricsOverride")
    emulate(browser)


def test_on_paper_there_are_no_controls(opened: Tab) -> None:
    opened.call("Emulation.setEmulatedMedia", media="print")
    seen = "['.contents', '.controls', '#part-errors .watch',"
    seen += "'.heat svg', '.ways svg', '#part-errors table']"
    seen += ".map((name) => document.querySelector(name).checkVisibility())"
    assert opened.value(seen) == [False] * 3 + [True] * 3
    opened.call("Emulation.setEmulatedMedia", media="")


def test_every_control_has_a_name_and_every_link_leads_somewhere(opened: Tab) -> None:
    controls = {"button", "textbox", "combobox", "checkbox", "slider", "application", "link"}
    nodes = opened.call("Accessibility.getFullAXTree")["nodes"]
    mine = [n for n in nodes if not n["ignored"] and n["role"]["value"] in controls]
    assert {"slider", "application", "link"} <= {node["role"]["value"] for node in mine}
    assert all(node["name"]["value"].strip() for node in mine)
    targets = (
        "[...document.querySelectorAll('a[href]')].map((a) => !!document.querySelector(a.hash))"
    )
    assert all(opened.value(targets))
    levels = opened.value("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => +h.tagName[1])")
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_several_runs_stand_side_by_side_in_one_page(
    runs: tuple[Run, Run], browser: Tab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(run.folder.path) for run in runs]
    assert main(["report", *paths, "--out", str(tmp_path)]) == 0
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    browser.open(tmp_path / "report.html")
    words = json.dumps([run.name for run in runs])
    assert browser.value(
        f"{words}.every((name) => document.querySelector('nav').innerText.includes(name))"
    )
    assert browser.value("document.querySelectorAll('article').length") == 2
    ids = browser.value("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    differing = browser.value(
        "[...document.querySelectorAll('th.entry')]"
        ".filter((th) => th.textContent === 'positions.name')"
        ".map((th) => [...th.parentElement.querySelectorAll('td')].map((td) => td.textContent))"
    )
    assert differing == [["window", "rope"]]
    text = browser.value("document.body.textContent")
    assert (
        "The model of second does not calculate here: a page has positions 'window' only." in text
    )
    (written,) = runs[0].write(["12+34"], 0)
    assert browser.value(f"curta.write('12+34', {len(written)})") == written
    assert browser.value("document.querySelectorAll('.watch:not([hidden])').length") > 0
    assert (
        browser.value("document.querySelectorAll('[data-run=second].watch:not([hidden])').length")
        == 0
    )
    assert browser.complaints == []
    for name in ("learning", "lengths"):
        assert (tmp_path / f"{name}.png").exists()
        assert (tmp_path / f"{name}.svg").exists()


def test_a_report_of_one_run_is_written_anew(runs: tuple[Run, Run], tmp_path: Path) -> None:
    path = report(str(runs[0].folder.path), tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_bytes() == runs[0].report.read_bytes()
    assert (tmp_path / "trails.svg").exists()


def test_a_run_named_twice_is_refused(
    runs: tuple[Run, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(runs[0].folder.path)
    assert main(["report", path, path]) == 2
    assert "two of the runs are called 'first'" in capsys.readouterr().err


LARGE = {
    "model__width": 32, "model__heads": 4, "model__mlp_factor": 4, "model__blocks": 2
}  # fmt: skip
"""Larger than shipped recipes."""


def test_members_beyond_the_budget_stay_out_but_for_the_first_of_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe, model = shipped("addition", **LARGE)
    runs = [Carried("a", recipe, [model] * 3), Carried("b", recipe, [model] * 3)]
    size = len(base64.b64encode(safetensors.numpy.save(folded.tensors(model))))
    for budget, kept in ((0, [1, 1]), (3 * size, [2, 1]), (6 * size, [3, 3])):
        monkeypatch.setattr("curta.export.html.assembled.BUDGET", budget)
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
    recipe, model = shipped("addition", **LARGE)
    return write_report(folder, at_work([Carried("both", recipe, [model] * 8)]))


def test_eight_members_fit_into_three_megabytes_and_open_at_once(large: Path, browser: Tab) -> None:
    assert 1_000_000 < large.stat().st_size < 3_000_000
    browser.open(large)
    assert browser.value("document.querySelectorAll('#model option').length") == 8
    assert browser.value("document.querySelectorAll('.way').length") == 80
    assert browser.complaints == []
    timing = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    assert 0 < browser.value(timing) < 10_000  # a loose bound: other programs run as well
