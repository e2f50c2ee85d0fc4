"""Tabs for tests of pages, and what such tests have in common."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from .browser import CHROMIUM, MISSING, chromium

PATIENCE = 60_000
"""Milliseconds that a page is waited for."""

OWN = ("file:", "http://127.0.0.1:")
"""What a page may ask for: files, and a server of the test's own."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a folder. Where there is none, they fail and say so."""
    if not CHROMIUM:
        pytest.fail(MISSING, pytrace=False)
    with chromium() as running:
        yield running


@pytest.fixture(scope="package")
def complaints() -> list[str]:
    """Exceptions, errors in the console, requests of others; who expects one takes it away."""
    return []


@pytest.fixture(scope="package")
def first_tab(browser: Browser, complaints: list[str]) -> Page:
    """One tab for most tests: a new one for each takes as long as the rest of them."""
    return new_tab(browser, complaints)


@pytest.fixture
def tab(
    browser: Browser, first_tab: Page, complaints: list[str], request: pytest.FixtureRequest
) -> Iterator[Page]:
    """A tab, of such a screen as the test may ask for; its pages may not complain."""
    screen = getattr(request, "param", None)
    page = new_tab(browser, complaints, **screen) if screen else first_tab
    yield page
    page.goto("about:blank")  # after which nothing is asked of a server that ends
    if screen:
        page.close()
    else:
        page.emulate_media(media="null", reduced_motion="null")
    heard = "\n".join(complaints)
    complaints.clear()
    if heard:
        pytest.fail(f"the page complained:\n{heard}", pytrace=False)


def new_tab(browser: Browser, complaints: list[str], **screen: Any) -> Page:
    """A tab that enters what its pages complain of."""
    page = browser.new_page(**screen)
    page.set_default_timeout(PATIENCE)
    enter = complaints.append
    page.on("pageerror", lambda error: enter(str(error)))
    page.on("console", lambda said: enter(said.text) if said.type == "error" else None)
    page.on("request", lambda sent: None if sent.url.startswith(OWN) else enter(sent.url))
    return page


def expect_complaint(tab: Page, complaints: list[str], words: str) -> None:
    """That the page, which is left, complained of this and of nothing else."""
    tab.goto("about:blank")
    assert complaints
    assert all(words in line for line in complaints), complaints
    complaints.clear()


def screens(*widths: int) -> list[Any]:
    """Parameters of `tab`: a phone or a desk of each width, by day and by night."""
    return [
        pytest.param(
            {
                "viewport": {"width": width, "height": 800},
                "is_mobile": width < 500,
                "color_scheme": scheme,
            },
            id=f"{width}-{scheme}",
        )
        for width in widths
        for scheme in ("light", "dark")
    ]


def numbers(tab: Page, expression: str) -> Any:
    """What a JavaScript expression comes to, as JSON: thousands of numbers take no time so."""
    return json.loads(tab.evaluate(f"JSON.stringify({expression})"))


def fits(tab: Page) -> bool:
    """Whether nothing is wider than the screen, and the page as light or dark as is wanted."""
    light = tab.evaluate("matchMedia('(prefers-color-scheme: light)').matches")
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    width = tab.viewport_size["width"] if tab.viewport_size else 0
    inside: bool = tab.evaluate("document.documentElement.scrollWidth") <= width
    return inside and (colour == "rgb(255, 255, 255)") == light
