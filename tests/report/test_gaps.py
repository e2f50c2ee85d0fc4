"""Trained problems beside held-out ones, in a report and on the terminal."""

import json
from pathlib import Path
from typing import Any

import pytest
from curta.report.tables.evaluation import trained_and_held_out

from curta.config.typed import parse
from curta.evaluation.results import Gap
from curta.frontends.cli.display import Screen

from . import sample
from .parsed import Page, told

GAP: dict[str, Any] = {
    "operator": "+",
    "problems": "0..99",
    "trained": {"count": 1000, "exact_match": [1.0, 0.75]},
    "held_out": {"count": 900, "exact_match": [0.5, 0.25]},
    "gap": [0.5, 0.5],
}
TWINS = {"twins": {"count": 800, "exact_match": [0.625, 0.375]}}


def page(folder: Path, **gap: Any) -> Page:
    sample.write_run(folder, 2)
    data = sample.evaluation(2, 5) | {"gaps": [GAP | gap]}
    sample.write_json(folder / "evaluation.json", data)
    return told(folder)


@pytest.mark.parametrize("more", [{}, TWINS], ids=["together", "apart"])
def test_all_rows_are_in_the_report(tmp_path: Path, more: dict[str, Any]) -> None:
    rows = page(tmp_path, **more).rows
    start = rows.index(["+, 0..99"])
    assert rows[start + 1 : start + 4] == [
        ["trained", "1,000", "87.5", "75.0", "100.0", "100.0", "75.0"],
        ["held out", "900", "37.5", "25.0", "50.0", "50.0", "25.0"],
        ["gap", "—", "50.0", "50.0", "50.0", "50.0", "50.0"],
    ]
    twins = ["held out, mirrored in training", "800", "50.0", "37.5", "62.5", "62.5", "37.5"]
    assert (twins in rows) == bool(more)


@pytest.mark.parametrize("more", [{}, TWINS], ids=["together", "apart"])
def test_the_terminal_has_the_same_rows(
    more: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gap = parse(Gap, json.dumps(GAP | more), "a test", "a gap")
    Screen(width=100).print(trained_and_held_out([gap], [0, 1]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["+", "0..99", "trained", "1,000", "0.875", "0.750", "1.000"] in lines
    assert ["held", "out", "900", "0.375", "0.250", "0.500"] in lines
    assert ["gap", "0.500", "0.500", "0.500"] in lines
    assert (["held", "out,", "twin", "in", "training"] in [one[:5] for one in lines]) == bool(more)
