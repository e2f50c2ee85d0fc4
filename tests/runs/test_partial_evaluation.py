"""Partial evaluations: a part is evaluated once, as long as weights and settings stay the same."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from curta.evaluation.suite import PartResult
from curta.runs import evaluations


def never() -> PartResult:
    pytest.fail("it was evaluated before")


def interrupted(path: Path, weights: str, name: str, find: Callable[[], PartResult]) -> PartResult:
    """Evaluate one part, and break off."""
    with suppress(KeyboardInterrupt), evaluations.partial_evaluation(path, weights) as keep:
        result = keep(name, find)
        raise KeyboardInterrupt
    return result


def test_a_part_is_evaluated_once_until_the_evaluation_has_ended(tmp_path: Path) -> None:
    path, cells = tmp_path / "evaluations" / "grid-2.jsonl", [[1.0, 0.25], [0.5, 0.0]]
    name = "grid of +: 1 of 2"
    assert interrupted(path, "weights", name, lambda: cells) == cells
    assert interrupted(path, "weights", name, never) == cells
    with evaluations.partial_evaluation(path, "weights") as keep:
        assert keep(name, never) == cells
        assert path.exists()
    assert not path.exists()


def test_parts_of_other_weights_are_evaluated_again(tmp_path: Path) -> None:
    path, cells = tmp_path / evaluations.PARTIAL, [[1.0]]
    interrupted(path, "weights", "+ at 3 digits", list)
    assert interrupted(path, "others", "+ at 3 digits", lambda: cells) == cells


def test_a_torn_line_is_evaluated_again(tmp_path: Path) -> None:
    path = tmp_path / evaluations.PARTIAL
    interrupted(path, "weights", "+ at 3 digits", list)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"of": "weights", "na')
    interrupted(path, "weights", "+ at 4 digits", list)
    for name in ("+ at 3 digits", "+ at 4 digits"):
        assert interrupted(path, "weights", name, never) == []
