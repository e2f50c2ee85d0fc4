"""The sheet: digits as numbers are written, a line for each role, and nothing upon another."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .made import PROBLEMS, page, random_texts, shipped
from .tabs import numbers

pytestmark = pytest.mark.slow

PLACED = """[...document.querySelectorAll('#text li')].map((item) => {
  const { left, top, right, bottom } = item.getBoundingClientRect();
  return [item.textContent, left, top, right, bottom]; })"""


def calculated(tab: Page, problem: str) -> list[list[float]]:
    """Each token of a problem and of what was written, with the edges of its square."""
    tab.evaluate("curta.design.tokens = 80")
    tab.get_by_label("Speed").select_option("at once")
    tab.get_by_role("textbox", name="Problem", exact=True).fill(problem)
    tab.get_by_role("button", name="Calculate").click()
    expect(tab.locator("#pause")).to_be_disabled()
    items: list[list[float]] = numbers(tab, PLACED)
    return items


def test_digits_of_one_place_stand_below_each_other(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    items = calculated(tab, "123+45")  # 3 2 1 + 5 4 =
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
