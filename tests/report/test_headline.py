"""Exact match in-distribution and out-of-distribution, as a report says it first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curta.report.run_folder import Trained, read_run
from curta.report.sections import headlines

from . import sample


def row(size: str, digits: int, name: str = "random", share: float = 1.0) -> dict[str, Any]:
    one = sample.length("+", "10", "random", 2)
    return one | {"exact_match": [share, 1.0], "size": size, "digits": digits, "slice": name}


def test_each_side_is_its_largest_size_in_the_hardest_slice(tmp_path: Path) -> None:
    """Of a run that was trained on 1 to 10 digits."""
    sizes = [("5", 5, 0.1), ("10", 10, 0.9), ("20", 20, 0.3), ("100", 100, 0.2)]
    rows = [row(size, digits, share=share) for size, digits, share in sizes]
    rows.append(row("10", 10, "carry", 0.8))
    data = sample.evaluation(2, 12) | {"lengths": rows, "grids": []}
    sample.write_json(sample.write_run(tmp_path, members=2) / "evaluation.json", data)
    (line,) = headlines(read_run(tmp_path))
    assert line.inside is not None
    assert line.outside is not None
    inside = ([0.8, 1.0], "10 digits, the hardest of 2 slices")
    assert (line.inside.members, line.inside.of) == inside
    assert (line.outside.members, line.outside.of) == ([0.2, 1.0], "100 digits")


def test_the_lengths_of_training_are_those_of_all_operands() -> None:
    assert Trained((2, 5), (1, 8), None).lengths == (1, 8)
    assert Trained((2, 9), (3, 8), None).lengths == (2, 9)


@pytest.mark.parametrize(
    ("size", "slice_name", "operands", "operator", "inside"),
    [("5", "random", (2, 4), "+", True), ("6", "random", (2, 4), "+", False),
     ("1", "random", (2, 4), "+", False), ("5/3", "random", (2, 4), "+", True),
     ("5/6", "random", (2, 4), "+", False), ("3x5", "random", (2, 4), "+", True),
     ("9x5", "random", (2, 4), "+", False), ("0..99", "held out", (2, 4), "+", True),
     ("0..99", "held out, plain", (2, 4), "+", False), ("5", "random", (3, 4), "+", False),
     ("5", "random", (3, 4), "of a user", True)],
)  # fmt: skip
def test_sizes_of_training_are_in_distribution(
    size: str, slice_name: str, operands: tuple[int, int], operator: str, inside: bool
) -> None:
    """A size without a count is of two numbers in a sum; of a user's operation, as in training."""
    (line,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row(size, 5, slice_name)]})
    line = replace(line, operator=operator)
    assert Trained((2, 5), (2, 5), operands).covers(line) == inside
