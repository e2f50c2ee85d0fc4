"""The certificate in a report and in a terminal: sentence, wrong windows and learned tables."""

import base64
import io
import json
import re
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from curta.evaluation.results import Certificate, ClosureResult, Listing, MemberWindows, Rounding
from curta.frontends.cli import main
from curta.frontends.cli.display import certificate_view
from curta.report.certificate import DRAWN, headline, plain_words
from curta.runs.run import program_layout
from tests.made_once import Shared

from .parsed import Page, visible

MEMBER = MemberWindows(
    member=0, seed=0, shown=5, correct=1000, wrong=0, held_out=995, held_out_correct=995,
    margin=1.5, below_bound=0,
)  # fmt: skip
LISTING = Listing(
    problems=9, tokens=99, sizes={}, once=0, bound=0.00123, good_turing=0.0, confidence=0.99,
    growth=[],
)  # fmt: skip
CERTIFICATE = Certificate(
    grade="closed", windows=1000, conflicts=0, unwritable=[], listing=LISTING, operators={},
    closure=ClosureResult(closed=True, open=0, reason=""), rounding=Rounding(bound=0.01, how=""),
    roles=[], members=[MEMBER], wrong=[],
)  # fmt: skip


def content(**changes: Any) -> Certificate:
    return replace(CERTIFICATE, **changes)


def members(*wrong: int, **changes: Any) -> list[MemberWindows]:
    return [replace(MEMBER, member=i, wrong=bad, **changes) for i, bad in enumerate(wrong)]


def test_exactness_is_claimed_only_where_it_is_proved() -> None:
    assert "exact at every length" in headline(content())
    assert "at any length, was checked, and it is right in all of them" in plain_words(content())
    for changes in (
        {"grade": "saturated"},
        {"members": members(0, 3, 0)},
        {"conflicts": 1},
        {"unwritable": ["gcd 6,4"]},
        {"members": members(0, below_bound=2)},
        {"rounding": Rounding(None, "")},
    ):
        assert "exact at every length" not in headline(content(**changes))
        assert "right in all of them" not in plain_words(content(**changes)).lower()
    assert "other hardware" in headline(content(members=members(0, below_bound=2)))


@pytest.fixture
def page(shared_runs: Shared) -> Page:
    """The report of two members of a program that are barely trained."""
    return Page((shared_runs.finished().folder.path / "report.html").read_text("utf-8"))


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


def test_a_run_is_shown_by_its_own_machine(
    shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(shared_runs.finished().folder.path), "12+34"]) == 0
    lines = capsys.readouterr().out.replace("│", " ").splitlines()
    assert ["sum", "4", "6"] in [line.split() for line in lines]


def test_wrong_windows_are_printed_on_squared_paper(
    shared_runs: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curta.frontends.cli.display.DRAWN", 1)
    run, out = shared_runs.finished(), io.StringIO()
    content = run.folder.read_certificate()
    assert content is not None
    Console(file=out, width=80).print(certificate_view(content, program_layout(run)))
    wrong, text = content.wrong[0], " ".join(out.getvalue().split())
    assert f"writes {wrong.written} where {wrong.expected} is right" in text
    assert f"in {wrong.problem}, after token {wrong.at + 1}" in text
    assert "┌" in text
    total = sum(member.wrong for member in content.members)
    assert f"and {total - 1:,} more" in text
