"""A run in training, watched in a real browser while it is trained."""

import base64
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from rich.console import ConsoleDimensions

from curta.evaluation import scoring
from curta.evaluation.results import Grid
from curta.frontends.api import load, train
from curta.frontends.cli.display import grid_map
from curta.frontends.serve import live
from curta.runs import metrics
from curta.runs.folders import Folder
from curta.runs.loop import Progress
from curta.training import windows
from tests import tiny
from tests.export.html.tabs import expect_complaint, fits, screens

from .conftest import Served

pytestmark = pytest.mark.slow

POINTS = "document.querySelector('.chart .median').points.length"
PATIENCE = 60_000
"""Milliseconds, for what a training has to come to first."""


class Paced:
    """A real training, one chunk of ten steps at a time."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Semaphore(0), threading.Event()
        changes = tiny.overrides(training__steps=40)
        job = {"run": "watched", "show": self._pause} | changes
        self.thread = threading.Thread(target=train, args=("addition", 2), kwargs=job)
        self.thread.start()

    def _pause(self, now: Progress) -> None:
        self.begun.set()
        self.go.acquire()

    def end(self) -> None:
        self.go.release(99)
        self.thread.join()


@pytest.fixture
def paced(runs_folder: Path) -> Iterator[Paced]:
    training = Paced()
    assert training.begun.wait(300)
    yield training
    training.end()


def begins(text: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(text)}")


def shares(tab: Page) -> set[str]:
    """Every share of the way that the page tells, in words and to whoever cannot see it."""
    bar = tab.get_by_role("progressbar")
    value = bar.evaluate("bar => Math.floor(100 * bar.value / bar.max) + '%'")
    words = [tab.title(), tab.locator("#now").inner_text(), tab.locator("#said").inner_text()]
    texts = [*words, str(bar.get_attribute("aria-valuetext"))]
    return {value, *(share for text in texts for share in re.findall(r"\d+%", text))}


def test_curves_grow_as_the_run_is_trained_until_it_says_what_it_has_learned(
    paced: Paced, server: Served, tab: Page
) -> None:
    tab.goto(server.address)
    link = tab.get_by_role("link", name="watched", exact=True)
    expect(link).to_have_attribute("href", re.compile(r"live\.html$"))
    tab.goto(f"{server.address}runs/watched/")
    now, lengths = tab.locator("#now"), []
    for step in (10, 20, 30):
        expect(now).to_have_text(begins(f"step {step} of 40"))
        lengths.append(tab.evaluate(POINTS))
        expect(tab.locator(".chart .member")).to_have_count(4)
        assert shares(tab) == {f"{100 * step // 40}%"}
        paced.go.release()
    assert lengths == [1, 2, 3]
    expect(now).to_contain_text("steps a second")
    expect(tab).to_have_title(re.compile("% watched: in training · Curta$"))
    paced.end()
    expect(tab.locator("#status")).to_have_text("finished", timeout=PATIENCE)
    ended = tab.get_by_role("region", name="What it learned")
    expect(ended).to_contain_text(re.compile("windows"))
    expect(ended.get_by_role("link", name="Let it calculate")).to_be_visible()
    expect(tab.get_by_role("link", name="The report so far")).to_be_hidden()
    ended.get_by_role("link", name="Read its report").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("watched finished")


def test_the_list_is_renewed_without_losing_the_focus(
    paced: Paced, server: Served, tab: Page
) -> None:
    tab.goto(server.address)
    link = tab.get_by_role("link", name="watched", exact=True)
    link.focus()
    steps = tab.locator("tbody td").first
    expect(steps).to_have_text(re.compile("10 of 40 steps$"))
    paced.go.release()
    expect(steps).to_have_text(re.compile("20 of 40 steps$"))
    expect(link).to_be_focused()
    paced.end()
    expect(steps).to_have_text(begins("finished"))
    expect(link).to_have_attribute("href", re.compile(r"report\.html$"))
    focused = "document.activeElement.getAttribute('href')"
    assert tab.evaluate(focused) in ("/runs/watched/report.html", None)


@pytest.fixture
def watched(small: Path, server: Served, tab: Page) -> Page:
    """The curves of a run of two members that is trained already."""
    (small / "evaluation.json").unlink()
    tab.goto(f"{server.address}runs/small/live.html")
    expect(tab.locator("#now")).to_have_text(begins("step 20"))
    return tab


def test_a_curve_can_be_read_with_the_keyboard_and_without_eyes(watched: Page) -> None:
    loss = watched.get_by_role("slider", name="Loss by training step")
    expect(watched.get_by_role("slider")).to_have_count(2)
    expect(watched.get_by_role("slider", name="Exact match on training problems")).to_be_visible()
    for role in ("progressbar", "status", "main", "heading", "link"):
        expect(watched.get_by_role(role).first).to_be_attached()
    expect(loss).to_have_attribute("aria-valuetext", begins("step 20: "))
    loss.press("Home")
    expect(loss).to_have_attribute("aria-valuetext", re.compile("^step 10: .* to "))
    cursor = watched.locator(".chart").first.locator(".cursor")
    expect(cursor).to_have_count(1)
    for _ in range(2):
        loss.press("ArrowRight")
    expect(loss).to_have_attribute("aria-valuetext", begins("step 20: "))
    loss.press("Escape")
    expect(cursor).to_have_count(0)


@pytest.mark.parametrize("tab", screens(320, 1100), indirect=True)
@pytest.mark.parametrize(
    "path", ["", "runs/small/live.html", "playground.html?recipe=sources/ladder-3-rope"]
)
def test_nothing_is_wider_than_the_screen(watched: Page, server: Served, path: str) -> None:
    watched.goto(server.address + path)
    expect(watched.locator(".median, tbody a, #command").first).to_be_attached()
    assert fits(watched)


def test_a_page_of_a_run_calculates_and_reaches_nothing_else(
    small: Path, server: Served, tab: Page, complaints: list[str]
) -> None:
    tab.goto(f"{server.address}runs/small/page-1.html")
    assert len(tab.evaluate("curta.write('12+34', 1)")) == 1
    expect(tab.get_by_role("textbox", name="Problem", exact=True)).to_be_focused()
    tab.keyboard.type("12+34")
    tab.keyboard.press("Enter")
    expect(tab.locator("#work")).to_be_visible()
    assert complaints == []
    assert tab.evaluate("origin") == "null"
    assert tab.evaluate("fetch('/').then(() => 'read', () => 'refused')") == "refused"
    expect_complaint(tab, complaints, "Content Security Policy")


def test_a_strange_report_is_alone_too(
    small: Path, server: Served, tab: Page, complaints: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run folder may come from anyone: scripts in its report must not read other pages."""
    script = "<script>fetch('/').catch(() => { window.refused = 1 })</script>"
    strange = f"<!DOCTYPE html><title>x</title>{script}"
    monkeypatch.setattr("curta.frontends.serve.server.make", lambda paths, member, state: strange)
    tab.goto(f"{server.address}runs/small/report.html")
    tab.wait_for_function("window.refused === 1")
    expect_complaint(tab, complaints, "Content Security Policy")


def test_what_is_watched_has_charts_of_its_own(
    runs_folder: Path, server: Served, tab: Page
) -> None:
    watched = {"training__evaluate_every": 5, "training__evaluate_count": 12}
    train("addition", 2, run="seen", **tiny.overrides(**watched), evaluate=False)
    tab.goto(f"{server.address}runs/seen/live.html")
    heads = tab.locator(".chart h2")
    expect(heads).to_have_text(
        [
            "Loss",
            "Exact match on training problems",
            "Exact match, +: trained and held-out problems",
            "Exact match, + at 3 digits",
        ]
    )
    both, size = tab.locator(".chart").nth(2), tab.locator(".chart").nth(3)
    expect(both.locator(".member")).to_have_count(2)
    expect(both.locator(".validation")).to_have_count(1)
    expect(size.locator(".validation")).to_have_count(0)
    before = size.locator(".median").get_attribute("points")
    tab.get_by_label("logarithmic").check()
    expect(size.locator(".median")).not_to_have_attribute("points", str(before))


def test_named_problems_and_a_grid_appear_as_they_are_answered(
    runs_folder: Path, server: Served, tab: Page
) -> None:
    """Every member's answers at each checkpoint, and a grid on the page while it is evaluated."""
    named = {
        "training__named_at_checkpoints": True, "evaluation__named": ["12+34", "999+1"],
        "evaluation__grid": 3, "evaluation__grid_count": 4,
    }  # fmt: skip
    run = train("addition", 2, run="seen", **tiny.overrides(**named), evaluate=False)
    rows = [row for row in run.folder.read_metrics() if row.named]
    assert [(row.step, row.member) for row in rows] == [(10, 0), (10, 1), (20, 0), (20, 1)]
    for row in rows[2:]:
        for problem, output in row.named.items():
            answer = run.ask(problem, row.member)
            assert output.answer == (None if answer is None else str(answer))
            assert output.correct == (answer == sum(map(int, problem.split("+"))))
            assert output.perplexity >= 1
    tab.goto(f"{server.address}runs/seen/live.html")
    expect(tab.locator("#answers tr")).to_have_count(4)
    first = tab.locator("#answers tr").first
    expect(first.locator("th")).to_have_text("12+34")
    expect(first.locator("td").last).to_have_text("46")
    wrote = rows[2].named["12+34"].answer or "no answer"
    expect(first.locator("td").first).to_have_text(wrote)
    right = [a == b for a, b in zip(wrote[::-1], "64", strict=False)]
    expect(first.locator("b.right")).to_have_count(sum(right) if wrote.isdecimal() else 0)
    seen: list[str] = []

    def look(grid: Grid) -> None:
        filled = len(grid.exact_match[0])
        seen.append(grid_map(grid, ConsoleDimensions(80, 24)).plain)
        expect(tab.locator("#grids rect")).to_have_count(3 * filled)
        text = tab.locator("#grids figcaption").text_content() or ""
        assert f"{filled} of 3 rows" in text
        assert ("left" in text) == (filled == 2)

    evaluation = run.evaluate(show_grid=look)
    assert [len(text.splitlines()) for text in seen] == [5, 5, 5]
    assert [text.splitlines()[1].strip() for text in seen[:2]] == ["3", "3"]  # not yet there
    assert len(seen[2].splitlines()[1].strip()) > 1
    assert evaluation.grids[0].digits == [1, 2, 3]


def order(tab: Page, server: Served, recipe: str = "addition", **changes: object) -> None:
    """The form of a new run, with the tiny recipe's settings filled in."""
    tab.goto(f"{server.address}playground.html?recipe={recipe}")
    for section in tab.locator("form details").all():
        section.evaluate("section => section.open = true")
    settings = tiny.overrides(**changes) | {"training.validate_every": 10}
    for path, value in settings.items():
        field = tab.locator(f'[name="{path}"]')
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(str(value).lower())
        else:
            field.fill(str(value).lower() if isinstance(value, bool) else str(value))


def test_a_run_is_ordered_trained_watched_and_asked(
    runs_folder: Path, server: Served, tab: Page
) -> None:
    order(tab, server, training__steps=40)
    train_it = tab.get_by_role("button", name="Train")
    width = tab.get_by_label("width", exact=True)
    width.fill("15")
    expect(tab.locator("[id='model.width-wrong']")).to_contain_text("not divisible by model.heads")
    expect(width).to_have_attribute("aria-invalid", "true")
    expect(train_it).to_be_disabled()
    width.fill("16")
    expect(train_it).to_be_enabled()
    train_it.click()
    tab.wait_for_url("**/runs/addition/live.html")
    expect(tab.locator("#now")).to_have_text(re.compile("^step .0 of 40"), timeout=3 * PATIENCE)
    expect(tab.locator("#answers tr")).to_have_count(8)
    expect(tab.locator(".chart .validation")).to_have_count(2)
    expect(tab.locator("#maps i").first).to_be_visible()
    expect(tab.locator("#status")).to_have_text("finished", timeout=3 * PATIENCE)
    run = load("addition")
    bits = [row.windows_right for row in run.folder.read_metrics() if row.windows_right][-1]
    listed = windows.read(run.folder.path)
    assert listed is not None
    sample = listed.sample()
    right = scoring.outputs_after(
        run.load_models().stacked, listed.rows[sample], listed.targets[sample]
    )
    assert base64.b64decode(bits) == np.packbits(right.margin[0] > 0).tobytes()
    groups = live.windows(run.folder.path)
    assert sorted(n for group in groups for n in group["numbers"]) == list(range(len(sample)))
    captions = {text.partition(":")[0] for text in tab.locator("figcaption").all_text_contents()}
    assert captions == {group["role"] for group in groups}
    slider = tab.get_by_role("slider", name="At step")
    slider.press("Home")
    expect(tab.locator("#step")).to_have_text("10")
    tab.get_by_role("link", name="Let it calculate").click()
    expect(tab.get_by_role("textbox", name="Problem", exact=True)).to_have_value("57+68")


def test_a_training_is_stopped_and_gone_on_with(
    runs_folder: Path, server: Served, tab: Page
) -> None:
    order(tab, server, training__steps=1_000_000, training__checkpoint_every=100_000)
    tab.get_by_role("button", name="Train").click()
    tab.wait_for_url("**/runs/addition/live.html")
    expect(tab.locator("#now")).to_contain_text("steps a second", timeout=3 * PATIENCE)
    tab.get_by_role("button", name="Stop").click()
    expect(tab.locator("#status")).to_have_text("interrupted", timeout=PATIENCE)
    step = load("addition").folder.read_info().checkpoint
    assert step
    tab.get_by_role("button", name="Go on training").click()
    expect(tab.locator("#status")).to_have_text("training", timeout=3 * PATIENCE)
    expect(tab.get_by_role("button", name="Go on training")).to_be_hidden()
    tab.get_by_role("button", name="Stop").click()
    expect(tab.locator("#status")).to_have_text("interrupted", timeout=3 * PATIENCE)
    assert load("addition").folder.read_info().checkpoint >= step


@pytest.mark.parametrize("tab", screens(400, 1200), indirect=True)
def test_chosen_runs_are_overlaid(small: Path, server: Served, tab: Page) -> None:
    shorter = shutil.copytree(small, small.parent / "other")
    metrics.cut(Folder(shorter).metrics, 10)
    tab.goto(server.address)
    tab.get_by_label("Choose small").check()
    expect(tab.get_by_role("link", name="Overlay their curves")).to_be_hidden()
    tab.get_by_label("Choose other").check()
    tab.get_by_label("Find").fill("small")
    expect(tab.locator("tbody tr")).to_have_count(1)
    tab.get_by_label("Find").fill("")
    expect(tab.get_by_label("Choose other")).to_be_checked()
    assert fits(tab)
    tab.get_by_role("link", name="Overlay their curves").click()
    expect(tab.locator(".chart .line")).to_have_count(4)
    expect(tab.locator(".chart p").first).to_contain_text(
        re.compile("^step [2-9]0: small .*; other .*, its last at step 10$")
    )
    assert fits(tab)
