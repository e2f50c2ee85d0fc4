"""Exact match over training, drawn: which curves there are, and when there is a section of it."""

from pathlib import Path

import pytest

from curta.report import watched
from curta.runs.info import Metric

from . import sample
from .parsed import told, visible


def lines(names: tuple[str, ...] = ("+ trained", "+ held out", "+ 20", "- 3")) -> list[Metric]:
    return [
        Metric(step, member, 1.0, 0.5, 1.0, evaluated=dict.fromkeys(names, step / 40))
        for step in (10, 20, 30)
        for member in (0, 1)
    ]


def test_curves_are_those_of_each_operator_and_member() -> None:
    found = watched.by_measure(lines())
    assert {operator: list(own) for operator, own in found.items()} == {
        "+": ["trained", "held out", "20 digits"], "-": ["3 digits"],
    }  # fmt: skip
    assert found["-"]["3 digits"] == {m: {10: 0.25, 20: 0.5, 30: 0.75} for m in (0, 1)}


@pytest.mark.parametrize("log", [False, True])
def test_every_member_is_drawn_and_a_stopped_one_ends(log: bool) -> None:
    figure = watched.watched_curves(lines(), {1: 20}, log)
    assert figure is not None
    first, second = figure.axes
    assert [len(panel.lines) for panel in (first, second)] == [9, 3]
    ends = [max(line.get_xdata()) for line in second.lines]  # type: ignore[arg-type]
    assert ends == [30, 10, 30]
    assert (first.get_xscale() == "log") == log


def test_without_anything_watched_there_is_no_figure(tmp_path: Path) -> None:
    assert watched.watched_curves([Metric(10, 0, 1.0, 0.5, 1.0)], {}) is None
    sample.write_run(tmp_path)
    assert "Exact match over training" not in visible(told(tmp_path))
