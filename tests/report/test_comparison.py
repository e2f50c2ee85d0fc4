"""The page of a comparison: every entry, its structure, and its ranges, in one file."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import pytest

from curta.report.compared import read_comparison
from curta.report.comparison_figures import against
from curta.report.page import write_comparison, write_together
from curta.report.rendering import PagePart

from . import sample
from .parsed import Page, blank, visible


def page_of(folder: Path) -> Page:
    """The page with empty pictures: to draw them takes nearly all of its time."""
    with patch("curta.report.page.svg_element", blank):
        return Page(write_comparison(folder).read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("three")
    sample.write_comparison(path)
    write_comparison(path)
    return path


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def rows(folder: Path) -> list[Any]:
    return list(json.loads((folder / "comparison.json").read_text())["rows"])


def line(page: Page, start: str) -> list[str]:
    """Cells of the first row of a table whose first cell begins so."""
    return next(cells for cells in page.rows if cells and cells[0].startswith(start))


def shown(slices: list[Any], size: str) -> str:
    """What stands in a cell: median and range over members, each in its hardest slice."""
    worst = sample.hardest(slices, size)
    middle, low, high = (f"{100 * f(worst):.1f}" for f in (median, min, max))
    return middle if low == high else f"{middle} {low} to {high}"


def test_every_entry_has_its_structure_its_cost_and_its_ranges(folder: Path, page: Page) -> None:
    for row in rows(folder):
        entry, parameters, steps, time, _, *exact = line(page, row["name"])
        assert entry == row["name"] + row["structure"]
        assert (parameters, steps, time) == (f"{row['parameters']:,}", "400", "1 min 1 s")
        there = [size for size in ("5", "20", "100") if not (row["unplaced"] and size == "100")]
        assert exact[: len(there)] == [shown(row["lengths"], size) for size in there]
        assert exact[len(there) :] == ["no positions"] * (3 - len(there))
    assert "Three <entries>" in visible(page)
    assert "<entries>" not in page.source
    assert "<as it is>" not in page.source


def test_the_conclusion_names_the_best_entry_and_what_learned_nothing(tmp_path: Path) -> None:
    sample.write_comparison(tmp_path, members=6)
    content = json.loads((tmp_path / "comparison.json").read_text())
    for row, factor in zip(content["rows"], (0.01, 0.5, 1.0), strict=True):
        row["settings"] = {"training": {"steps": 400, "batch": 32}}
        for summary in row["lengths"]:
            values = [value * factor for value in summary["exact_match"]["members"]]
            summary["exact_match"] = sample.statistics(values)
    plain = content["rows"][0]["lengths"]  # also where a slice is easy
    plain.append(plain[0] | {"slice": "easy", "exact_match": sample.statistics([0.9] * 6)})
    sample.write_json(tmp_path / "comparison.json", content)
    means = [
        [sum(values) / len(values) for values in zip(*(
            summary["exact_match"]["members"]
            for summary in row["lengths"]
            if summary["digits"] > 10
        ), strict=True)]
        for row in content["rows"][1:]
    ]  # fmt: skip
    second, best = (100 * sum(values) / 6 for values in means)
    text = visible(page_of(tmp_path))
    assert (
        "Out-of-distribution, window is best: on average over sizes and slices,"
        f" {best:.1f} % of the problems are right. reversed & padded follows with {second:.1f} %;"
        f" the difference is {best - second:.1f} points"
        " (95 % interval "
    ) in text
    assert "Nothing learned: plain." in text
    assert "400 steps of 32" in text


def test_an_entry_that_waits_is_shown_as_such(tmp_path: Path) -> None:
    sample.write_comparison(tmp_path)
    measured = ("steps", "parameters", "training_seconds", "loss", "exact_match", "stopped")
    content = json.loads((tmp_path / "comparison.json").read_text())
    last = content["rows"][2] | {"status": "waiting", "lengths": [], "run": "not-there"}
    content["rows"][2] = {key: value for key, value in last.items() if key not in measured}
    sample.write_json(tmp_path / "comparison.json", content)
    page = page_of(tmp_path)
    assert line(page, "window")[1:] == ["—"] * 4 + ["waiting"] * 3
    assert "window: waiting." in visible(page)


def test_of_a_named_evaluation_only_its_own_problems_are_shown(tmp_path: Path) -> None:
    """A gap of the recipe's evaluation, and another one of an evaluation with other settings."""
    rows = sample.write_comparison(tmp_path, members=2)[:1]
    run = tmp_path / rows[0]["run"]
    for path, held_out in (("evaluation.json", 0.25), ("evaluations/count-2.json", 0.75)):
        (run / path).parent.mkdir(exist_ok=True)
        gap: dict[str, Any] = {"operator": "+", "problems": "0..99", "gap": [1 - held_out] * 2}
        gap["trained"] = {"count": 1000, "exact_match": [1.0, 1.0]}
        gap["held_out"] = {"count": 900, "exact_match": [held_out] * 2}
        sample.write_json(run / path, sample.evaluation(2, 5) | {"gaps": [gap]})
    results = read_comparison(tmp_path).results
    results = replace(results, rows=results.rows[:1])
    for name, told in (("", ["25.0", "75.0"]), ("count-2", ["75.0", "25.0"])):
        path = write_together(tmp_path / "out", results, {"plain": run}, PagePart(), name)
        cells = Page(path.read_text(encoding="utf-8")).rows
        start = cells.index(["Entry", "Problems", "Trained", "Held out", "Gap"])
        assert cells[start + 1] == ["plain", "+, 0..99", "100.0", *told]


def test_the_legend_of_swept_values_says_what_the_marks_are(folder: Path) -> None:
    compared = read_comparison(folder)
    widths = [
        replace(row, changes={"model.width": 2**number})
        for number, row in enumerate(compared.results.rows)
    ]
    figure = against(
        replace(compared, results=replace(compared.results, rows=widths)), "model.width", []
    )
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["median", "a member", "least to greatest"]
