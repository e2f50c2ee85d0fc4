"""Pictures and tables as a notebook draws them."""

import pytest

import curta
from curta.report.rendering import Rows
from tests.made_once import Shared

from .parsed import Page


def test_rows_are_drawn_as_a_table_and_escaped() -> None:
    rows = Rows(
        [{"name": "<b>", "exact": 0.5, "count": 1000}, {"name": None, "exact": 1, "count": 2}]
    )
    assert Page(rows._repr_html_()).rows == [
        ["name", "exact", "count"], ["<b>", "0.500", "1,000"], ["", "1", "2"]
    ]  # fmt: skip
    assert Rows()._repr_html_() == "No rows yet."


def test_a_run_that_is_not_evaluated_has_no_rows(shared_runs: Shared) -> None:
    run = shared_runs.trained()
    assert run.read_rows() == []
    assert "No rows yet." in run._repr_html_()


def test_a_run_shows_its_evaluation_its_pictures_and_its_probes(shared_runs: Shared) -> None:
    run = shared_runs.finished()
    evaluation, rows = run.folder.read_evaluation(), run.read_rows()
    assert evaluation is not None
    worst = min(min(row.exact_match) for row in evaluation.lengths)
    assert repr(run).endswith(f"digits, worst slice {worst:.3f}>")
    assert [row["slice"] for row in rows] == [row.slice_name for row in evaluation.lengths]
    assert all(row["min"] <= row["median"] <= row["max"] for row in rows)
    assert {"learning", "lengths"} <= set(run.find_pictures())
    probed = curta.probe(run, "top-k", members=[1], problem="1+2", k=2)
    assert {row["member"] for row in probed} == {1}
    svg = run.find_pictures()["probes/top-k"]._repr_svg_()
    assert svg == (run.folder.path / "probes" / "top-k.svg").read_text("utf-8")
    with pytest.raises(curta.UserError, match="did you mean 'top-k'"):
        curta.probe(run, "tpo-k")
