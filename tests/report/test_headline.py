"""Exact match in-distribution and out-of-distribution, as a report says it first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curta.report.run_folder import Trained, read_run
from curta.report.sections import Headline, headlines

from . import sample


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


def test_the_lengths_of_training_are_those_of_all_operands() -> None:
    assert Trained((2, 5), (1, 8), None).lengths == (1, 8)
    assert Trained((2, 9), (3, 8), None).lengths == (2, 9)


@pytest.mark.parametrize(("operator", "inside"), [("+", False), ("of a user", True)])
def test_a_size_that_names_no_count_has_the_usual_number_of_operands(
    operator: str, inside: bool
) -> None:
    """Two numbers in a sum; for an operation that is not known here, as many as in training."""
    (one,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row("5", 5)]})
    one = replace(one, operator=operator)
    assert Trained((2, 5), (2, 5), (3, 4)).covers(one) == inside


@pytest.mark.parametrize(
    ("size", "slice_name", "inside"),
    [("5", "random", True), ("6", "random", False), ("1", "random", False),
     ("5/3", "random", True), ("5/6", "random", False), ("3x5", "random", True),
     ("9x5", "random", False), ("0..99", "held out", True), ("0..99", "held out, plain", False)],
)  # fmt: skip
def test_sizes_of_training_are_in_distribution(size: str, slice_name: str, inside: bool) -> None:
    (one,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row(size, 5, slice_name)]})
    assert Trained((2, 5), (2, 5), (2, 4)).covers(one) == inside
