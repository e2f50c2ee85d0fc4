"""Trained problems beside held-out ones, in a report and on the terminal."""

from pathlib import Path
from typing import Any

import pytest

from . import sample
from .parsed import Page, page_without_figures

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
    return page_without_figures(folder)


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
