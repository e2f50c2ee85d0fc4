"""A run in training, watched in a real browser while it is trained."""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from curta.frontends.api import train
from curta.runs.loop import Progress
from tests import tiny
from tests.export.html.browser import Tab

from .conftest import Served

pytestmark = pytest.mark.slow

NOW = "document.getElementById('now').textContent"
POINTS = "document.querySelector('.chart .median').points.length"
CHART = "document.querySelector('.chart svg')"


class Paced:
    """A real training, one chunk of ten steps at a time."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Semaphore(0), threading.Event()
        changes = tiny.overrides(training__steps=40)
        job = {"run": "watched", "overrides": changes, "show": self._pause}
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
    found = Paced()
    assert found.begun.wait(300)
    yield found
    found.end()


def arrived(tab: Tab, path: str) -> bool:
    """Waits for another page; a promise of the one before would be broken by its end."""
    until = time.monotonic() + 60
    while tab.value("location.pathname + document.readyState") != f"{path}complete":
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@pytest.fixture
def tab(browser: Tab) -> Iterator[Tab]:
    yield browser
    browser.open("about:blank")  # so that nothing is asked of a server that has ended
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_curves_grow_as_the_run_is_trained_and_give_way_to_the_report(
    paced: Paced, server: Served, tab: Tab
) -> None:
    tab.open(server.address)
    assert tab.value("document.querySelector('tbody a').getAttribute('href')").endswith("live.html")
    tab.open(f"{server.address}runs/watched/")
    lengths = []
    for step in (10, 20, 30):
        tab.wait(f"{NOW}.startsWith('step {step} of 40')")
        lengths.append(tab.value(POINTS))
        assert tab.value("document.querySelectorAll('.chart .member').length") == 4
        assert tab.value("document.getElementById('progress').value") == step
        paced.go.release()
    assert lengths == [1, 2, 3]
    assert "steps a second" in tab.value(NOW)
    assert tab.value("document.title").endswith("% watched: in training · Curta")
    assert tab.complaints == []
    paced.end()
    assert arrived(tab, "/runs/watched/report.html")
    assert tab.value("document.querySelector('h1').textContent") == "watched finished"
    assert tab.complaints == []


def test_the_list_is_renewed_without_losing_the_focus(
    paced: Paced, server: Served, tab: Tab
) -> None:
    tab.open(server.address)
    tab.value("document.querySelector('tbody a').focus()")
    steps = "document.querySelector('tbody td').textContent"
    tab.wait(f"{steps}.endsWith('10 of 40 steps')")
    paced.go.release()
    tab.wait(f"{steps}.endsWith('20 of 40 steps')")
    assert tab.value("document.activeElement.textContent") == "watched"
    paced.end()
    tab.wait(f"{steps}.startsWith('finished')")
    link = "document.activeElement.getAttribute('href')"
    tab.wait("document.querySelector('tbody a').getAttribute('href').endsWith('report.html')")
    assert tab.value(link) in ("/runs/watched/report.html", None)


@pytest.fixture
def watched(small: Path, server: Served, tab: Tab) -> Tab:
    """The curves of a run of two members that is trained already."""
    (small / "evaluation.json").unlink()
    tab.open(f"{server.address}runs/small/live.html")
    tab.wait(f"{NOW}.startsWith('step 20')")
    return tab


def test_a_curve_can_be_read_with_the_keyboard_and_without_eyes(watched: Tab) -> None:
    nodes = watched.call("Accessibility.getFullAXTree")["nodes"]
    seen = [node for node in nodes if not node["ignored"]]
    sliders = [node["name"]["value"] for node in seen if node["role"]["value"] == "slider"]
    assert sliders == ["Loss by training step", "Exact match on training problems by training step"]
    roles = {node["role"]["value"] for node in seen}
    assert {"progressbar", "status", "main", "heading", "link"} <= roles
    watched.value(f"{CHART}.focus()")
    told = f"{CHART}.getAttribute('aria-valuetext')"
    assert watched.value(told).startswith("step 20: ")
    watched.press("Home")
    assert watched.value(told).startswith("step 10: ")
    assert " to " in watched.value(told)
    assert watched.value(f"{CHART}.querySelectorAll('.cursor').length") == 1
    watched.press("ArrowRight", "ArrowRight")
    assert watched.value(f"{CHART}.getAttribute('aria-valuenow')") == "20"
    watched.press("Escape")
    assert watched.value(f"{CHART}.querySelectorAll('.cursor').length") == 0


def test_every_member_stands_in_a_table(watched: Tab) -> None:
    watched.value("document.querySelector('details').open = true")
    rows = "[...document.querySelectorAll('#members tr')].map((row) => row.cells.length)"
    assert watched.value(rows) == [5, 5]
    assert watched.value("document.querySelector('#members').textContent").startswith("0020")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1100])
@pytest.mark.parametrize("path", ["", "runs/small/live.html"])
def test_nothing_is_wider_than_the_screen(
    watched: Tab, server: Served, scheme: str, width: int, path: str
) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    watched.call("Emulation.setEmulatedMedia", features=media)
    watched.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=800, deviceScaleFactor=1, mobile=width < 500,
    )  # fmt: skip
    watched.open(server.address + path)
    watched.wait("document.querySelector('.median, tbody a')")
    assert watched.value("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.body).backgroundColor"
    assert (watched.value(colour) == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_page_of_a_run_calculates_and_reaches_nothing_else(
    small: Path, server: Served, tab: Tab
) -> None:
    tab.open(f"{server.address}runs/small/page-1.html")
    assert tab.value("curta.write('12+34', 1).length") == 1
    tab.press(*"12+34", "Enter")
    tab.wait("!document.getElementById('work').hidden")
    assert tab.complaints == []
    assert tab.value("origin") == "null"
    assert tab.value("fetch('/').then(() => 'read', () => 'refused')") == "refused"


def test_a_strange_report_is_alone_too(small: Path, server: Served, tab: Tab) -> None:
    """A run folder may come from anyone: scripts of its report must not read other pages."""
    script = "<script>fetch('/').catch(() => { window.refused = 1 })</script>"
    (small / "report.html").write_text(f"<!DOCTYPE html><title>x</title>{script}")
    tab.open(f"{server.address}runs/small/report.html")
    tab.wait("window.refused === 1")


def test_a_run_that_is_gone_is_said(watched: Tab, small: Path) -> None:
    shutil.rmtree(small)
    watched.wait(f"{NOW}.startsWith('No answer')")
