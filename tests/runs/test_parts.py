"""What is found of an evaluation so far: by part, and only where it is of the same weights."""

from pathlib import Path

import pytest

from curta.evaluation.suite import Found
from curta.runs import parts


def never() -> Found:
    pytest.fail("it is known")


def test_rows_of_a_grid_are_kept_until_the_evaluation_has_ended(tmp_path: Path) -> None:
    path, cells = tmp_path / "evaluations" / "grid-2.jsonl", [[1.0, 0.25], [0.5, 0.0]]
    with pytest.raises(KeyboardInterrupt), parts.kept(path, ["weights", 1]) as keep:
        assert keep("grid of +: 1 of 2", lambda: cells) == cells
        raise KeyboardInterrupt
    with parts.kept(path, ["weights", 1]) as keep:
        assert list(keep.known) == ["grid of +: 1 of 2"]
        assert keep("grid of +: 1 of 2", never) == cells
    with parts.kept(path, ["weights", 1]) as keep:
        assert not keep.known


def test_what_was_found_of_other_weights_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / parts.FILE
    with pytest.raises(KeyboardInterrupt), parts.kept(path, ["weights", 1]) as keep:
        keep("+ at 3 digits", list)
        raise KeyboardInterrupt
    with parts.kept(path, ["others", 1]) as keep:
        assert not keep.known
