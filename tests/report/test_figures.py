"""What the figures of a report show: every member, and no more than was measured."""

from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from curta.report import figures
from curta.report.run_folder import Trained

from . import sample

TRAINED = {"+": Trained((1, 10), (1, 10), None), "//": Trained((1, 6), (1, 3), None)}


def drawn(axes: Axes, colour: str) -> list[tuple[list[float], list[float]]]:
    """Points of every line of one colour."""
    lines = [line for line in axes.lines if line.get_color() == colour]
    points = [np.asarray(line.get_xydata()).T.tolist() for line in lines]
    return [(x, y) for x, y in points]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for box in figure.legends for text in box.get_texts()]


def rectangles(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


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


def test_curve_of_stopped_member_ends_where_it_stopped() -> None:
    figure = figures.learning_curves(sample.read_metrics(sample.metrics(3, 200, {1: 95})), {1: 95})
    for axes in figure.axes:
        ends = [x[-1] for x, _ in drawn(axes, figures.MEMBER)]
        assert ends == [200, 90, 200]
        assert [x for x, _ in drawn(axes, figures.ALERT)] == [[90]]
        assert [text.get_text() for text in axes.texts] == ["1"]
    assert "stopped member" in legend(figure)


def validated(members: int) -> list[dict[str, Any]]:
    """Metrics of 200 steps, validated at every 50th."""
    lines = sample.metrics(members, 200)
    for line in lines:
        if line["step"] % 50 == 0:
            line |= {
                "validation_loss": 2 * line["loss"],
                "validation_exact_match": line["exact_match"] / 2,
            }
    return lines


def test_validation_is_drawn_beside_training_for_every_member() -> None:
    lines = validated(3)
    figure = figures.learning_curves(sample.read_metrics(lines))
    for axes, key, factor in zip(figure.axes, ("loss", "exact_match"), (2, 0.5), strict=True):
        steps = [50, 100, 150, 200]
        expected = [
            [factor * line[key] for line in lines if line["member"] == m and line["step"] in steps]
            for m in range(3)
        ]
        found = drawn(axes, figures.END)
        assert [x for x, _ in found] == [steps] * 4
        assert [y for _, y in found[:3]] == expected
        assert found[3][1] == [median(values) for values in zip(*expected, strict=True)]
        assert len(drawn(axes, figures.MEMBER)) == 3
    assert "validation" in legend(figure)
    assert figure.axes[1].get_title(loc="left") == "Exact match"


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


def test_a_single_length_that_is_trained_has_an_axis_of_some_width() -> None:
    """Matplotlib would warn, and the warning reach the terminal."""
    data = sample.evaluation(2, 5) | {"lengths": [sample.length("+", "10", "random", 2)]}
    (axes,) = figures.exact_match_by_length(
        sample.rows_of(data), {"+": Trained((10, 10), (10, 10), None)}
    ).axes
    assert axes.get_xlim() == (5, 20)


MANY = tuple(f"{step * 10**power}" for power in range(5) for step in (1, 2, 5))


@pytest.mark.parametrize("sizes", [MANY, ("20", "100", "500", "1000"), ("7",)])
def test_every_evaluated_length_has_a_tick_and_no_labels_touch(sizes: tuple[str, ...]) -> None:
    rows = sample.rows_of(sample.evaluation(2, 5, {"+": sizes}))
    figure = figures.exact_match_by_length(rows, {"+": TRAINED["+"]})
    axes = figure.axes[-1]
    assert set(map(int, sizes)) <= set(axes.get_xticks())
    assert not axes.get_xticks(minor=True).size
    figure.draw_without_rendering()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert labels[-1].get_text() == f"{max(10, *map(int, sizes)):,}"


@pytest.mark.parametrize("digits", [(1, 10), (10, 10)])
def test_training_range_is_shaded_and_labelled(digits: tuple[int, int]) -> None:
    trained = {"+": Trained(digits, digits, None)}
    figure = figures.exact_match_by_length(sample.rows_of(sample.evaluation(2, 5)), trained)
    sums, quotients = figure.axes
    (shade,) = rectangles(sums)
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == digits
    assert not quotients.patches
    assert "trained lengths" in legend(figure)


@pytest.mark.parametrize(
    ("share", "name"), [(0, "< 25%"), (0.25, "≥ 25%"), (0.9999, "≥ 90%"), (1, "100%")]
)
def test_only_perfect_cells_have_the_colour_of_perfect_cells(share: float, name: str) -> None:
    assert figures.BANDS[figures.band(share)][1] == name
