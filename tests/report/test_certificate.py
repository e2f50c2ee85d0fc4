"""The certificate in a report: its sentence, its tables, wrong windows and learned tables."""

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config.errors import UserError
from curta.evaluation.results import (
    Certificate,
    ClosureResult,
    Listing,
    MemberWindows,
    Rounding,
)
from curta.report import certificate
from curta.report.certificate import headline, plain_words
from curta.report.page import write_report

from .certified import write_certified
from .parsed import Page, visible, written

WRONG = ((0, 50), (2, 700), (2, 900))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("right")
    write_certified(folder, "addition")
    return folder


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    write_certified(folder, "multiplication", members=3, wrong=WRONG)
    return folder


@pytest.fixture(scope="module")
def page(wrong: Path) -> Page:
    return written(wrong)


MEMBER = MemberWindows(
    member=0, seed=0, shown=5, correct=1000, wrong=0, held_out=995, held_out_correct=995,
    margin=1.5, below_bound=0,
)  # fmt: skip


def content(**changes: Any) -> Certificate:
    base = Certificate(
        grade="closed",
        windows=1000,
        conflicts=0,
        unwritable=[],
        listing=Listing(
            problems=9, tokens=99, sizes={}, once=0, bound=0.00123, good_turing=0.0,
            confidence=0.99, growth=[],
        ),
        closure=ClosureResult(closed=True, open=0, reason=""),
        operators={},
        rounding=Rounding(bound=0.01, how=""),
        roles=[],
        members=[MEMBER],
        wrong=[],
    )  # fmt: skip
    return replace(base, **changes)


def members(*wrong: int, **changes: Any) -> list[MemberWindows]:
    return [replace(MEMBER, member=i, wrong=bad, **changes) for i, bad in enumerate(wrong)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "All 1,000 windows that can occur are right: exact at every length."),
        (
            {"members": members(0, 0)},
            "All 1,000 windows that can occur are right in every member: exact at every length.",
        ),
        (
            {"grade": "saturated"},
            "All 1,000 windows listed are right. The chance that a new problem contains "
            "an unlisted window is at most 0.0012 (confidence 99%).",
        ),
        ({"members": members(3)}, "3 of the 1,000 windows that can occur are wrong."),
        (
            {"members": members(0, 3, 0)},
            "Of the 1,000 windows that can occur, member 1 has 3 wrong; 2 members of 3 have none.",
        ),
    ],
)
def test_the_sentence_says_no_more_than_is_known(changes: dict[str, Any], says: str) -> None:
    assert headline(content(**changes)) == says


def test_conflicts_and_margins_below_the_bound_end_every_claim_of_exactness() -> None:
    for changes in (
        {"conflicts": 1},
        {"unwritable": ["gcd 6,4"]},
        {"members": members(0, below_bound=2)},
        {"rounding": Rounding(None, "")},
    ):
        assert "exact at every length" not in headline(content(**changes))
        assert "cannot make a mistake" not in plain_words(content(**changes)).lower()
    assert "other hardware" in headline(content(members=members(0, below_bound=2)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "cannot make a mistake"),
        ({"grade": "saturated"}, "there may be others"),
        ({"members": members(3)}, "it makes mistakes"),
        ({"members": members(0, 3, 0)}, "1 of 3 models make mistakes"),
    ],
)
def test_a_line_for_everybody_stands_below_the_sentence(changes: dict[str, Any], says: str) -> None:
    assert says in plain_words(content(**changes))


@pytest.mark.parametrize(("form", "says"), [(2, "certify it anew"), (4, "update curta")])
def test_a_certificate_of_another_version_is_refused(tmp_path: Path, form: int, says: str) -> None:
    write_certified(tmp_path, "addition", problems=5, format=form)
    with pytest.raises(UserError, match=f"certificate of run .* .format {form}.: {says}"):
        write_report(tmp_path)


def test_wrong_windows_are_drawn_in_their_problems(page: Page, wrong: Path) -> None:
    found = json.loads((wrong / "certificate.json").read_text("utf-8"))["wrong"]
    assert page.source.count('class="query"') == len(found) == 3
    for one in found:
        assert f"In {one['problem']}, token {one['at'] + 1:,}." in visible(page)
        own = one["window"][0].split()[0]
        assert f'<td class="query">{own}</td>' in page.source
    seen = [cell.split(": ")[1] for one in found for cell in one["window"][1:]]
    assert page.source.count('class="seen"') == len([cell for cell in seen if cell != "none"])


def held(page: Page) -> list[dict[str, Any]]:
    """The data of all maps."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page.source)
    return [value for text in found if "packed" in (value := json.loads(text))]


def unpacked(one: dict[str, Any]) -> np.ndarray:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(one["packed"])), np.uint8)
    return planes.reshape(4, -1).T.copy().view("<i4").reshape(-1, one["rows"])


def test_maps_hold_every_window_once(page: Page, wrong: Path) -> None:
    table = certificate.read_certified(wrong)
    assert table is not None
    assert table.windows is not None
    counts = {one.role: one.windows for one in table.content.roles}
    told = [one for one in certificate.role_tables(table, table.windows) if one.across is not None]
    maps = held(page)
    assert len(maps) == len(told) > 3
    for one, data in zip(told, maps, strict=True):
        columns = unpacked(data)
        assert columns[len(data["cells"]) + 1].sum() == counts[one.role]
        assert data["members"] == 3
    wrong_ones = sum(int(unpacked(data)[-1].sum()) for data in maps)
    assert wrong_ones == len(WRONG)
