"""What probes found, as a report shows it, and pictures drawn from their data."""

from pathlib import Path
from typing import Any

from curta.probes.pictures import Heat, Lines

from . import sample
from .parsed import saved_page, visible

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
TABLE: dict[str, Any] = {
    "format": 2, "probe": "longer", "summary": "exact match beyond training", "step": 1200,
    "members": [0, 1, 2], "options": {"count": 30, "seed": 1}, "notes": ["A <note>."],
    "columns": ["operator", "digits", "median", "members"],
    "rows": [
        {"operator": "+", "digits": 3, "median": 0.9, "members": [1.0, 0.5, 0.9], "more": 1},
        {"operator": "+", "digits": 9, "median": None, "members": None, "more": 2},
    ],
}  # fmt: skip


def test_a_report_shows_the_tables_and_pictures_of_probes(tmp_path: Path) -> None:
    sample.write_run(tmp_path)
    (tmp_path / "probes").mkdir()
    for name, panels in {"longer": [LINES], "tables": [HEAT, HEAT, HEAT]}.items():
        picture = {"shows": f"{name} <shown>", "panels": panels}
        table = TABLE | {"probe": name, "picture": picture}
        sample.write_json(tmp_path / "probes" / f"{name}.json", table)
    page = saved_page(tmp_path)
    text = visible(page)
    assert "longer: exact match beyond training" in text
    assert "Members 0 to 2 as of step 1,200; count 30, seed 1." in text
    assert "A <note>." in text
    assert ["operator", "digits", "median", "members"] in page.rows
    assert ["+", "3", "0.900", "1.000 0.500 0.900"] in page.rows
    assert ["+", "9", "\N{EM DASH}", "\N{EM DASH}"] in page.rows
    labels = {attributes.get("aria-label") for attributes in page.all("svg")}
    for name in ("longer", "tables"):
        assert (tmp_path / "probes" / f"{name}.svg").is_file()
        assert f"{name} <shown>" in labels
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
