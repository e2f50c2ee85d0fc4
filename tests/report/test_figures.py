"""What the figures of a report show: every member, and no more than was measured."""

from statistics import median
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from curta.report import figures
from curta.report.run_folder import Trained

from . import sample

TRAINED = {"+": Trained((1, 10), (1, 10), None), "//": Trained((1, 6), (1, 3), None)}


def drawn(axes: Axes, colour: str) -> list[tuple[list[float], list[float]]]:
    """Points of every line of one colour."""
    lines = [line for line in axes.lines if line.get_color() == colour]
    points = [np.asarray(line.get_xydata()).T.tolist() for line in lines]
    return [(x, y) for x, y in points]


def values(lines: list[dict[str, Any]], member: int, key: str) -> list[Any]:
    return [line[key] for line in lines if line["member"] == member]


@pytest.mark.parametrize("members", [1, 8])
def test_learning_curves_draw_every_member_and_a_single_one_once(members: int) -> None:
    lines = sample.metrics(members, 200)
    loss, exact = figures.learning_curves(sample.read_metrics(lines)).axes
    for axes, key in ((loss, "loss"), (exact, "exact_match")):
        expected = [values(lines, member, key) for member in range(members)]
        assert [y for _, y in drawn(axes, figures.MEMBER)] == (expected if members > 1 else [])
        middle = [median(step) for step in zip(*expected, strict=True)]
        assert [y for _, y in drawn(axes, figures.MEDIAN)] == [middle]


def test_run_without_a_single_finite_loss_is_survived() -> None:
    lines = sample.metrics(2, 100, {0: 1, 1: 1})
    figures.learning_curves(sample.read_metrics(lines), {0: 1, 1: 1}).draw_without_rendering()


def test_many_lines_are_averaged_not_dropped() -> None:
    lines: list[Any] = [
        {"step": step, "member": 0, "loss": float(step), "exact_match": 0.5, "seconds": 0.0}
        for step in range(1, 10 * figures.POINTS + 1)
    ]
    (curve,) = figures.curves(sample.read_metrics(lines), "loss").values()
    assert len(curve) == figures.POINTS
    assert list(curve)[:2] == [10, 20]
    assert list(curve.values())[:2] == [5.5, 15.5]


def test_lengths_draw_every_member_in_its_hardest_slice() -> None:
    data = sample.evaluation(4, 5)
    figure = figures.exact_match_by_length(sample.rows_of(data), TRAINED)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "+ (trained on 1 to 10 digits)",
        "// (trained on 1 to 6 by 1 to 3 digits)",
    ]
    for axes, operator, hard in zip(figure.axes, ("+", "//"), ("carry", "exact"), strict=True):
        rows = [r for r in data["lengths"] if (r["operator"], r["slice"]) == (operator, hard)]
        digits, exact = [row["digits"] for row in rows], [row["exact_match"] for row in rows]
        expected = [[values[member] for values in exact] for member in range(4)]
        assert drawn(axes, figures.MEMBER) == [(digits, y) for y in expected]
        assert drawn(axes, figures.MEDIAN) == [(digits, list(map(median, exact)))]
        assert axes.get_xscale() == "log"


@pytest.mark.parametrize(
    ("share", "name"), [(0, "< 25%"), (0.25, "≥ 25%"), (0.9999, "≥ 90%"), (1, "100%")]
)
def test_only_perfect_cells_have_the_colour_of_perfect_cells(share: float, name: str) -> None:
    assert figures.BANDS[figures.band(share)][1] == name
