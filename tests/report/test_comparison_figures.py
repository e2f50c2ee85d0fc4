"""Figures of several runs: lines and bands are the medians and ranges of what was measured."""

import json
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from curta.report import comparison_figures as compare
from curta.report import figures
from curta.report.compared import Compared, read_comparison

from . import sample


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    sample.write_comparison(tmp_path)
    return read_comparison(tmp_path)


def sweep(folder: Path, changes: list[dict[str, Any]], parameters: list[int]) -> Compared:
    """A comparison with as many rows as there are changes."""
    sample.write_comparison(folder)
    content = json.loads((folder / "comparison.json").read_text())
    first = content["rows"][-1]
    content["swept"] = list(changes[0])
    content["rows"] = [
        first | {"name": f"{number}", "changes": changed, "parameters": size}
        for number, (changed, size) in enumerate(zip(changes, parameters, strict=True))
    ]
    sample.write_json(folder / "comparison.json", content)
    return read_comparison(folder)


def lines(axes: Axes, colour: str, labelled: bool = True) -> list[tuple[list[float], list[float]]]:
    found = [line for line in axes.lines if line.get_color() == colour]
    kept = [line for line in found if labelled != str(line.get_label()).startswith("_")]
    return [tuple(np.asarray(line.get_xydata()).T.tolist()) for line in kept]  # type: ignore[misc]


def band(axes: Axes) -> list[tuple[float, float, float]]:
    """Place, least and greatest of the one band of a panel."""
    (shape,) = [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
    points = np.concatenate([path.vertices for path in shape.get_paths()])
    places = sorted(set(points[:, 0].tolist()))
    ends = [points[points[:, 0] == place, 1] for place in places]
    return [(p, float(e.min()), float(e.max())) for p, e in zip(places, ends, strict=True)]


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for box in figure.legends for text in box.get_texts()]


def test_every_entry_has_a_panel_of_its_lengths(compared: Compared) -> None:
    figure = compare.lengths(compared, "+")
    assert titles(figure) == list(sample.ENTRIES)
    for axes, row in zip(figure.axes, compared.rows, strict=True):
        sizes = sorted({one.digits for one in row.lengths})
        worst = [
            [
                min(one.exact_match.members[member] for one in row.lengths if one.digits == size)
                for member in range(3)
            ]
            for size in sizes
        ]
        assert lines(axes, figures.MEDIAN) == [(sizes, [median(values) for values in worst])]
        assert band(axes) == [
            (size, pytest.approx(min(values)), pytest.approx(max(values)))
            for size, values in zip(sizes, worst, strict=True)
        ]
        assert len(lines(axes, figures.MUTED)) == len(sample.ENTRIES) - 1


def test_curves_of_learning_are_medians_and_ranges(compared: Compared, tmp_path: Path) -> None:
    figure = compare.learning(compared)
    loss, exact = figure.axes[:2]
    records = sample.metrics(3, 400)
    for axes, key in ((loss, "loss"), (exact, "exact_match")):
        by_step = {
            step: [line[key] for line in records if line["step"] == step]
            for step in range(10, 401, 10)
        }
        ((steps, middle),) = lines(axes, figures.MEDIAN)
        assert steps == list(by_step)
        assert middle == pytest.approx([median(values) for values in by_step.values()])
        ends = [(step, min(values), max(values)) for step, values in by_step.items()]
        assert np.asarray(band(axes)) == pytest.approx(np.asarray(ends))
    assert loss.get_yscale() == "log"
    assert [title for title in titles(figure) if title] == list(sample.ENTRIES)


def test_no_text_of_a_figure_lies_on_another(compared: Compared) -> None:
    for figure in (
        compare.lengths(compared, "+"),
        compare.learning(compared),
    ):
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in written(figure)]
        boxes += [box.get_window_extent() for box in figure.legends]
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def written(figure: Figure) -> list[Text]:
    """Titles, and labels of the ticks that are in sight."""
    titles = [child for axes in figure.axes for child in axes.get_children()]
    found = [text for text in titles if isinstance(text, Text)]
    for axes in figure.axes:
        low, high = axes.get_ylim()
        labels = [label for label in axes.get_yticklabels() if label.get_visible()]
        found += [label for label in labels if low <= label.get_position()[1] <= high]
    return [text for text in found if text.get_text()]


# Sweeps.


def test_a_sweep_of_numbers_is_drawn_against_them(tmp_path: Path) -> None:
    widths, sizes = [16, 32, 64], [100, 400, 1600]
    compared = sweep(tmp_path, [{"model.width": width} for width in widths], sizes)
    slices = compared.rows[0].lengths
    sides = [[e for e in slices if (e.digits > 10) == beyond] for beyond in (False, True)]
    means = [
        median(fmean(e.exact_match.members[m] for e in side) for m in range(3)) for side in sides
    ]
    for figure, places in (
        (compare.by_value(compared, "model.width"), widths),
        (compare.by_size(compared), sizes),
    ):
        loss, within, beyond = figure.axes
        assert lines(loss, figures.MEDIAN) == [(places, [compared.rows[0].loss.median] * 3)]
        for axes, mean in ((within, means[0]), (beyond, means[1])):
            ((x, y),) = lines(axes, figures.MEDIAN)
            assert (x, y) == (places, pytest.approx([mean] * 3))
        assert beyond.get_xscale() == "log"
        assert loss.get_yscale() == "log"
        assert [tick.get_text() for tick in beyond.get_xticklabels()] == [f"{p:,}" for p in places]
        assert len(lines(loss, figures.MEDIAN, labelled=False)[0][0]) == 9


def test_other_values_are_told_apart_by_series(tmp_path: Path) -> None:
    changes = [
        {"model.width": width, "optimizer.name": name}
        for width in (16, 32)
        for name in ("adamw", "sgd")
    ]
    compared = sweep(tmp_path, changes, [100, 100, 400, 400])
    assert legend(compare.by_value(compared, "model.width")) == ["adamw", "sgd"]
    assert legend(compare.by_value(compared, "optimizer.name")) == [
        "width 16",
        "width 32",
    ]
    assert legend(compare.by_size(compared)) == ["adamw", "sgd"]


@pytest.mark.parametrize(
    ("values", "log", "places"),
    [
        ([0.1, 0.001], True, [0.1, 0.001]),
        ([0, 10], False, [0, 10]),
        ([2, 3], False, [2, 3]),
        (["rope", "nope", "rope"], False, [0, 1, 0]),
        ([[1, 5], [1, 10]], False, [0, 1]),
        ([True, False], False, [0, 1]),
    ],
)
def test_places_on_the_axis(values: list[Any], log: bool, places: list[float]) -> None:
    axis = compare.SweptAxis(values)
    assert axis.log == log
    assert [axis.place(value) for value in values] == places
