"""The page of a comparison: every entry, its structure, and its ranges, in one file."""

import base64
import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import pytest

from curta.config.errors import UserError
from curta.report.compared import read_comparison
from curta.report.comparison import (
    draw_comparison,
    render_comparison,
    write_comparison,
    write_together,
)
from curta.report.rendering import PagePart

from . import sample
from .parsed import Page, blank, visible


def page_of(folder: Path) -> Page:
    """The page with empty pictures: to draw them takes nearly all of its time."""
    compared = read_comparison(folder)
    with patch("curta.report.comparison.svg_element", blank):
        return Page(render_comparison(compared, draw_comparison(compared), {}, PagePart()))


def written(folder: Path) -> Page:
    return Page(write_comparison(folder).read_text(encoding="utf-8"))


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


def change(folder: Path, number: int, **fields: Any) -> None:
    content = json.loads((folder / "comparison.json").read_text())
    content["rows"][number] |= fields
    sample.write_json(folder / "comparison.json", content)


def line(page: Page, start: str) -> list[str]:
    """Cells of the first row of a table whose first cell begins so."""
    return next(cells for cells in page.rows if cells and cells[0].startswith(start))


def shown(slices: list[Any], size: str) -> str:
    """What stands in a cell: median and range over members, each in its hardest slice."""
    mine = [one["exact_match"]["members"] for one in slices if one["size"] == size]
    worst = [min(member) for member in zip(*mine, strict=True)]
    middle, low, high = (f"{100 * f(worst):.1f}" for f in (median, min, max))
    return middle if low == high else f"{middle} {low} to {high}"


def test_page_and_pictures_are_written(folder: Path) -> None:
    for name in ("learning", "lengths"):
        assert b"<svg" in (folder / f"{name}.svg").read_bytes()
    assert {path.suffix for path in folder.iterdir() if path.is_file()} == {
        ".html", ".json", ".svg",
    }  # fmt: skip


def test_page_needs_nothing_but_itself(page: Page) -> None:
    pointing = ("src", "href", "xlink:href", "action", "srcset", "data", "poster")
    values = [attrs[name] for _, attrs in page.elements for name in pointing if name in attrs]
    assert all(str(value).startswith("#") for value in values)
    (policy,) = [m for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in str(policy["content"])
    assert not any("style" in attrs for _, attrs in page.elements)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_every_entry_has_its_structure_its_cost_and_its_ranges(folder: Path, page: Page) -> None:
    for row in rows(folder):
        entry, parameters, steps, time, _, *exact = line(page, row["name"])
        assert entry == row["name"] + row["structure"]
        assert (parameters, steps, time) == (f"{row['parameters']:,}", "400", "1 min 1 s")
        there = [size for size in ("5", "20", "100") if not (row["unplaced"] and size == "100")]
        assert exact[: len(there)] == [shown(row["lengths"], size) for size in there]
        assert exact[len(there) :] == ["no positions"] * (3 - len(there))


def test_names_are_escaped(page: Page) -> None:
    assert "Three <entries>" in visible(page)
    assert "<entries>" not in page.source
    assert "<as it is>" not in page.source


def test_what_limits_a_comparison_is_said_first(tmp_path: Path) -> None:
    sample.write_comparison(tmp_path)
    change(tmp_path, 0, status="stopped", lengths=[], stopped={"0": 3, "1": 3, "2": 3})
    change(tmp_path, 1, stopped={"2": 30})
    page = page_of(tmp_path)
    assert "plain: every member stopped" in visible(page)
    assert "reversed & padded: 1 member stopped early" in visible(page)
    assert line(page, "plain")[5:] == ["stopped", "stopped", "no positions"]


def test_an_entry_that_waits_is_shown_as_such(tmp_path: Path) -> None:
    sample.write_comparison(tmp_path)
    known = ("steps", "parameters", "training_seconds", "loss", "exact_match", "stopped")
    content = json.loads((tmp_path / "comparison.json").read_text())
    last = content["rows"][2] | {"status": "waiting", "lengths": [], "run": "not-there"}
    content["rows"][2] = {key: value for key, value in last.items() if key not in known}
    sample.write_json(tmp_path / "comparison.json", content)
    page = page_of(tmp_path)
    assert line(page, "window")[1:] == ["—"] * 4 + ["not trained yet"] * 3
    assert "window: not trained yet." in visible(page)


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 3])
def test_a_sweep_has_a_figure_for_parameters_and_for_every_value(
    tmp_path: Path, members: int
) -> None:
    sample.write_comparison(tmp_path, members, swept=("model.width", "model.num_layers"))
    page = written(tmp_path)
    for name in ("by-parameters", "by-model.width", "by-model.num_layers"):
        assert (tmp_path / f"{name}.svg").exists()
        assert f"{name}.svg" in visible(page)
    assert visible(page).count(sample.SAME) == 1
    assert line(page, "window")[0] == "window"


def test_a_page_that_cannot_be_written_leaves_the_last_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    before = (copy / "report.html").read_bytes()

    def refuse(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UserError, match="No space left"):
        write_comparison(copy)
    assert (copy / "report.html").read_bytes() == before


def test_trained_and_held_out_problems_stand_beside_each_other(tmp_path: Path) -> None:
    """A row for each entry that knows both; twins where an entry has them."""
    sample.write_comparison(tmp_path, members=2)
    gap = {
        "operator": "+",
        "problems": "0..99",
        "trained": {"count": 1000, "exact_match": [1.0, 0.75]},
        "held_out": {"count": 900, "exact_match": [0.5, 0.5]},
        "gap": [0.5, 0.25],
    }
    twins = gap | {"twins": {"count": 80, "exact_match": [0.625, 0.375]}}
    for run, found in (("plain", gap), ("window", twins)):
        data = sample.evaluation(2, 5) | {"gaps": [found]}
        sample.write_json(tmp_path / run / "evaluation.json", data)
    page = page_of(tmp_path)
    start = page.rows.index(
        ["Entry", "Problems", "Trained", "Held out", "Gap", "Held out, mirrored in training"]
    )
    known = ["+, 0..99", "87.5 75.0 to 100.0", "50.0", "37.5 25.0 to 50.0"]
    assert page.rows[start + 1 : start + 3] == [
        ["plain", *known, "—"], ["window", *known, "50.0 37.5 to 62.5"],
    ]  # fmt: skip


def test_of_a_named_evaluation_only_its_own_problems_are_shown(tmp_path: Path) -> None:
    """A gap of the recipe's evaluation, and another one of an evaluation with other settings."""
    rows = sample.write_comparison(tmp_path, members=2)[:1]
    run = tmp_path / rows[0]["run"]
    for path, held_out in (("evaluation.json", 0.25), ("evaluations/count-2.json", 0.75)):
        (run / path).parent.mkdir(exist_ok=True)
        gap = {
            "operator": "+",
            "problems": "0..99",
            "trained": {"count": 1000, "exact_match": [1.0, 1.0]},
            "held_out": {"count": 900, "exact_match": [held_out] * 2},
            "gap": [1 - held_out] * 2,
        }
        sample.write_json(run / path, sample.evaluation(2, 5) | {"gaps": [gap]})
    results = read_comparison(tmp_path).results
    results = replace(results, rows=results.rows[:1])
    for name, told in (("", ["25.0", "75.0"]), ("count-2", ["75.0", "25.0"])):
        path = write_together(tmp_path / "out", results, {"plain": run}, PagePart(), name)
        found = Page(path.read_text(encoding="utf-8")).rows
        start = found.index(["Entry", "Problems", "Trained", "Held out", "Gap"])
        assert found[start + 1] == ["plain", "+, 0..99", "100.0", *told]
