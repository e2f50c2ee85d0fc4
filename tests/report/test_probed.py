"""What probes found, as a report shows it, and pictures drawn from their data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.probes.pictures import Heat, Lines, Paths, Picture, Stems
from curta.report import charts, figures

from . import sample
from .parsed import Page, visible, written
from .test_figures import drawn, legend

HEAT: Heat = {
    "form": "heat", "title": "+", "across": "second", "down": "first",
    "columns": ["0", "1", "2"], "rows": ["0", "1"],
    "values": [[1.0, 0.5, None], [0.95, 0.0, 1.0]],
    "texts": [["a", "b", ""], ["$x", "<c>", "d"]], "exact_match": True,
}  # fmt: skip
LINES: Lines = {
    "form": "lines", "title": "+", "across": "digits", "points": ["3", "4", "9"],
    "curves": [[1.0, 0.5, None], [0.5, 0.25, None], [0.9, 0.0, None]], "inside": 1,
}  # fmt: skip
STEMS: Stems = {
    "form": "stems", "title": "embedding", "across": "frequency", "points": ["1", "2", "3"],
    "names": ["member 0", "member 1"], "curves": [[0.1, 0.7, 0.2], [0.5, 0.5, 0.0]],
}  # fmt: skip
PATHS: Paths = {
    "form": "paths", "title": "member 0", "names": ["0", "1"],
    "paths": [[[0.0, 0.0], [1.0, 2.0]], [[3.0, 1.0], [2.0, 2.0]]],
}  # fmt: skip
FOUND: dict[str, Any] = {
    "format": 2, "probe": "longer", "summary": "exact match beyond training", "step": 1200,
    "members": [0, 1, 2], "options": {"count": 30, "seed": 1}, "notes": ["A <note>."],
    "columns": ["operator", "digits", "median", "members"],
    "rows": [
        {"operator": "+", "digits": 3, "median": 0.9, "members": [1.0, 0.5, 0.9], "more": 1},
        {"operator": "+", "digits": 9, "median": None, "members": None, "more": 2},
    ],
    "picture": {"shows": "Exact match by digits.", "panels": [LINES]},
}  # fmt: skip


def picture(*panels: Any) -> Picture:
    return {"shows": "what it shows", "panels": list(panels)}


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """A run to which two probes were put."""
    sample.write_run(tmp_path)
    (tmp_path / "probes").mkdir()
    sample.write_json(tmp_path / "probes" / "longer.json", FOUND)
    tables = FOUND | {"probe": "tables", "picture": picture(HEAT, HEAT, HEAT)}
    sample.write_json(tmp_path / "probes" / "tables.json", tables)
    return written(tmp_path)


def test_a_report_shows_what_every_probe_found(page: Page, tmp_path: Path) -> None:
    text = visible(page)
    assert "longer: exact match beyond training" in text
    assert "Members 0 to 2 as of step 1,200; count 30, seed 1." in text
    assert "A <note>." in text
    assert ["operator", "digits", "median", "members"] in page.rows
    assert ["+", "3", "0.900", "1.000 0.500 0.900"] in page.rows
    assert ["+", "9", "\N{EM DASH}", "\N{EM DASH}"] in page.rows
    for name in ("longer", "tables"):
        assert (tmp_path / "probes" / f"{name}.svg").is_file()
    labels = [attributes.get("aria-label") for attributes in page.all("svg")]
    assert {"Exact match by digits.", "what it shows"} <= set(labels)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_a_heat_map_has_its_values_and_texts() -> None:
    exact = charts.draw(picture(HEAT))
    (axes,) = [axes for axes in exact.axes if axes.images]
    data = np.ma.filled(axes.images[0].get_array(), np.nan)
    bands = len(figures.BANDS) - 1
    expected = [[1, 2 / bands, np.nan], [4 / bands, 0, 1]]
    np.testing.assert_allclose(data, expected)
    assert [t.get_text() for t in axes.texts] == ["a", "b", "", "$x", "<c>", "d"]
    assert legend(exact) == [name for _, name, _ in figures.BANDS]
    shares = charts.draw(picture(HEAT | {"exact_match": False}))
    (axes,) = [axes for axes in shares.axes if axes.images]
    assert np.ma.filled(axes.images[0].get_array(), 2).tolist() == [[1, 0.5, 2], [0.95, 0, 1]]


def test_lines_show_every_member_and_the_median_of_what_is_known() -> None:
    figure = charts.draw(picture(LINES))
    (axes,) = figure.axes
    assert drawn(axes, figures.MEMBER) == [
        ([0, 1], [1.0, 0.5]), ([0, 1], [0.5, 0.25]), ([0, 1], [0.9, 0.0]),
    ]  # fmt: skip
    assert drawn(axes, figures.MEDIAN) == [([0, 1], [0.9, 0.25])]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["3", "4", "9"]
    assert legend(figure) == ["each member", "median", "as in training"]


def test_stems_stand_beside_each_other_from_the_axis_to_the_value() -> None:
    figure = charts.draw(picture(STEMS))
    (axes,) = figure.axes
    for member, stems in enumerate(axes.collections):
        ends = np.array(stems.get_segments())
        assert ends[:, 0, 1].tolist() == [0, 0, 0]
        assert ends[:, 1, 1].tolist() == STEMS["curves"][member]
        assert np.round(ends[:, 0, 0]).tolist() == [0, 1, 2]
    first, second = (np.array(stems.get_segments())[:, 0, 0] for stems in axes.collections)
    assert (first < second).all()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    assert legend(figure) == ["member 0", "member 1"]


def test_paths_mark_start_and_end_of_each_name() -> None:
    figure = charts.draw(picture(PATHS, PATHS))
    axes = figure.axes[0]
    assert drawn(axes, figures.ALERT) == [([0.0], [0.0]), ([3.0], [1.0])]
    assert drawn(axes, figures.END) == [([1.0], [2.0]), ([2.0], [2.0])]
    assert [text.get_text() for text in axes.texts] == ["0", "1"]
    assert legend(figure) == ["start", "end"]
