"""What is found of an evaluation so far: by part, and only where it is of the same weights."""

from pathlib import Path

import pytest

from curta.evaluation.suite import PartResult
from curta.runs import evaluations
from curta.runs.evaluations import KeptParts, kept_parts


def never() -> PartResult:
    pytest.fail("it is known")


def test_rows_of_a_grid_are_known_until_the_evaluation_has_ended(tmp_path: Path) -> None:
    path, cells = tmp_path / "evaluations" / "grid-2.jsonl", [[1.0, 0.25], [0.5, 0.0]]
    assert KeptParts(path, "weights")("grid of +: 1 of 2", lambda: cells) == cells
    assert KeptParts(path, "weights")("grid of +: 1 of 2", never) == cells
    with kept_parts(path, "weights"):
        assert path.exists()
    assert not path.exists()


def test_what_was_found_of_other_weights_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / evaluations.PARTIAL
    KeptParts(path, "weights")("+ at 3 digits", list)
    assert list(KeptParts(path, "weights").results) == ["+ at 3 digits"]
    assert not KeptParts(path, "others").results


def test_what_follows_a_torn_line_is_known(tmp_path: Path) -> None:
    path = tmp_path / evaluations.PARTIAL
    KeptParts(path, "weights")("+ at 3 digits", list)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"of": "weights", "na')
    KeptParts(path, "weights")("+ at 4 digits", list)
    assert list(KeptParts(path, "weights").results) == [
        "+ at 3 digits",
        "+ at 4 digits",
    ]
