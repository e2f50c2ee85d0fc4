"""Exact match in-distribution and out-of-distribution, as a report says it first."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from curta.report.run_folder import Trained, read_run
from curta.report.sections import Headline, Score, headlines
from curta.report.summary import percent

from . import sample
from .parsed import told, visible


def row(size: str, digits: int, name: str = "random", share: float = 1.0) -> dict[str, Any]:
    one = sample.length("+", "10", "random", 2)
    return one | {"exact_match": [share, 1.0], "size": size, "digits": digits, "slice": name}


def found(folder: Path, rows: list[Any], grid: list[Any] | None = None) -> Headline:
    """Of a run that was trained on 1 to 10 digits."""
    sample.write_run(folder, members=2)
    data = sample.evaluation(2, 12) | {"lengths": rows}
    data["grids"] = grid if grid is not None else []
    sample.write_json(folder / "evaluation.json", data)
    (one,) = headlines(read_run(folder))
    return one


def test_each_side_is_its_largest_size_in_the_hardest_slice(tmp_path: Path) -> None:
    sizes = [("5", 5, 0.1), ("10", 10, 0.9), ("20", 20, 0.3), ("100", 100, 0.2)]
    rows = [row(size, digits, share=share) for size, digits, share in sizes]
    rows.append(row("10", 10, "carry", 0.8))
    one = found(tmp_path, rows)
    assert one.inside is not None
    assert one.outside is not None
    assert (one.inside.members, one.inside.of) == ([0.8, 1.0], "10 digits, the hardest of 2 slices")
    assert (one.outside.members, one.outside.of) == ([0.2, 1.0], "100 digits")


def test_without_such_a_size_problems_held_out_are_in_distribution(tmp_path: Path) -> None:
    found(tmp_path, [row("20", 20)], [sample.grid(2, 12)])
    data = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))
    share = {"count": 200, "exact_match": [0.75, 1.0]}
    data["gaps"] = [
        {"operator": "+", "problems": "1 to 10 digits", "trained": share, "held_out": share}
        | {"gap": [0.0, 0.0]}
    ]
    sample.write_json(tmp_path / "evaluation.json", data)
    page = visible(told(tmp_path)).partition("Structure given")[0]
    assert "87.5%, worst 75.0%1 to 10 digits, held out" in page
    assert "not evaluated" not in page
    assert "short ones may have been trained on" not in page


def test_without_such_a_size_the_grid_says_what_is_in_distribution(tmp_path: Path) -> None:
    one = found(tmp_path, [row("20", 20)], [sample.grid(2, 12)])
    assert one.inside is not None
    lowest = [min(1 - 0.05 * max(9 - 8 + m - 2, 0), 1) for m in range(2)]
    assert (one.inside.members, one.inside.of) == (lowest, "the hardest of 100 pairs of lengths")


def test_without_either_it_is_what_training_counted_and_says_so(tmp_path: Path) -> None:
    one = found(tmp_path, [row("20", 20)])
    last = [line["exact_match"] for line in sample.metrics(2, 200)[-2:]]
    assert one.inside is not None
    assert one.inside == Score(last, "problems of the last training steps")
    assert "not evaluated" not in visible(told(tmp_path)).partition("Structure given")[0]
    window = sample.RECIPE + '[positions]\nname = "window"\n'
    (tmp_path / "recipe.toml").write_text(window, encoding="utf-8")
    said = f"not evaluated{percent(median(last))}%, worst {percent(min(last))}% of the windows"
    assert said in visible(told(tmp_path))


@pytest.mark.parametrize(
    ("size", "slice_name", "inside"),
    [("5", "random", True), ("6", "random", False), ("1", "random", False),
     ("5/3", "random", True), ("5/6", "random", False), ("3x5", "random", True),
     ("9x5", "random", False), ("0..99", "held out", True), ("0..99", "held out, plain", False)],
)  # fmt: skip
def test_sizes_of_training_are_in_distribution(size: str, slice_name: str, inside: bool) -> None:
    (one,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row(size, 5, slice_name)]})
    assert Trained((2, 5), (2, 5), (2, 4)).covers(one) == inside


@pytest.mark.parametrize(("size", "inside"), [("6/3", True), ("6", False), ("3x3", False)])
def test_the_other_operands_have_bounds_of_their_own(size: str, inside: bool) -> None:
    (one,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row(size, 6)]})
    assert Trained((1, 6), (1, 3), None).covers(one) == inside
