"""The certificate in a report: its sentence, its tables, wrong windows and learned tables."""

import base64
import json
import re
import zlib
from dataclasses import replace
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
from curta.report.certificate import DRAWN, headline, plain_words
from curta.report.page import write_report
from tests.made_once import Shared

from .parsed import Page, visible

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


@pytest.fixture
def page(shared_runs: Shared) -> Page:
    """The report of two members of a program that are barely trained."""
    return Page((shared_runs.finished().folder.path / "report.html").read_text("utf-8"))


@pytest.mark.parametrize(("version", "says"), [(2, "certify it anew"), (4, "update curta")])
def test_a_certificate_of_another_version_is_refused(
    shared_runs: Shared, version: int, says: str
) -> None:
    path = shared_runs.finished().folder.path
    content = json.loads((path / "certificate.json").read_text("utf-8")) | {"format": version}
    (path / "certificate.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(UserError, match=f"certificate of run .* .format {version}.: {says}"):
        write_report(path)


def test_wrong_windows_are_drawn_in_their_problems(shared_runs: Shared, page: Page) -> None:
    certificate = shared_runs.finished("other").folder.read_certificate()
    assert certificate is not None
    drawn = certificate.wrong[:DRAWN]
    assert page.source.count('class="query"') == len(drawn) == DRAWN
    for wrong in drawn:
        assert f"In {wrong.problem}, token {wrong.at + 1:,}." in visible(page)
        assert f'<td class="query">{wrong.window[0].split()[0]}</td>' in page.source
    symbols = [cell.split(": ")[1] for wrong in drawn for cell in wrong.window[1:]]
    assert page.source.count('class="seen"') == len(symbols) - symbols.count("nothing")


def test_maps_hold_every_window_once(shared_runs: Shared, page: Page) -> None:
    certificate = shared_runs.finished("other").folder.read_certificate()
    assert certificate is not None
    windows = {role.role: role.windows for role in certificate.roles}
    scripts = re.findall(r'<script type="application/json">(.*?)</script>', page.source)
    maps = [data for text in scripts if "packed" in (data := json.loads(text))]
    wrong = 0
    for data in maps:
        planes = np.frombuffer(zlib.decompress(base64.b64decode(data["packed"])), np.uint8)
        columns = planes.reshape(4, -1).T.copy().view("<i4").reshape(-1, data["rows"])
        role = data["cells"][0][0]
        counted = columns[len(data["cells"]) + 1].sum()
        assert counted == windows.get(role, counted)
        assert data["members"] == 2
        wrong += int(columns[-1].sum())
    assert sum(member.wrong for member in certificate.members) >= wrong > 0
    assert any(data["cells"][0][0] in windows for data in maps)
