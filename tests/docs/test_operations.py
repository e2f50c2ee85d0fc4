"""The study of five operations: its tables, and what is kept of a run."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from docs import operations
from docs.evidence import Results
from tests.docs.handmade import kept

TINY = {
    "model.width": 8, "model.heads": 2, "model.num_layers": 1, "model.num_attention_layers": 1,
    "training.steps": 20, "training.batch": 10, "training.validate_every": 10,
    "training.validation": 10, "training.checkpoint_every": 10, "training.stop_at": None,
    "training.stop_after": 0, "evaluation.held_out": 6, "evaluation.count": 2,
    "evaluation.digits": [1],
}  # fmt: skip


def contender(right: float, **changed: Any) -> dict[str, Any]:
    return {
        "parameters": 796_288,
        "problems trained on": 1_536_000,
        "seconds": 3000.4,
        "whole text": dict.fromkeys(operations.OPERATORS, right),
        "result": dict.fromkeys(operations.OPERATORS, 1.0),
        "curve": [[12_800, 1.5, 0.25], [25_600, 1.0, right]],
    } | changed


def test_the_tables_have_both_designs(tmp_path: Path) -> None:
    known = {
        "small, seed 0": contender(0.75), "small, seed 1": contender(0.25, seconds=1000.0),
        "full": contender(0.5, curve=[[6400, 2.0, 0.0], [20_000, 1.5, 0.5]]),
    }  # fmt: skip
    found = operations.tables(kept(tmp_path, "operations", known))
    lines = [*found["operations"]]
    assert lines[0] == "|  | small: whole text | small: result | full: whole text | full: result |"
    means = "| mean | 0.5000 (0.2500 to 0.7500) | 1.0000 (all) | 0.5000 (all) | 1.0000 (all) |"
    assert means in lines
    assert lines[-4] == "| seeds | 2 |  | 1 |  |"
    assert lines[-1] == "| seconds of a core | 2,000 (1,000 to 3,000) |  | 3,000 |  |"
    curve = [*found["operations, curve"]]
    assert curve[2:] == ["| 6,400 |  | 0.000 (all) |", "| 20,000 | 0.250 (all) | 0.500 (all) |"]
    assert operations.tables(Results(tmp_path / "none")) == {}


def test_what_was_trained_on_stands_beside_it_and_has_no_curve(tmp_path: Path) -> None:
    known = {"small, seed 2": contender(0.75), "small, seed 2, on": contender(0.25)}
    found = operations.tables(kept(tmp_path, "operations", known))
    line = "| + | 0.7500 (all) | 1.0000 (all) | 0.2500 (all) | 1.0000 (all) |"
    assert line in [*found["operations"]]
    assert next(iter(found["operations, curve"])) == "| problems shown | small |"


def test_the_mean_weighs_operations_alike() -> None:
    shares = {"+": 1.0, "-": 0.5}
    assert operations._share(shares, "mean") == 0.75
    assert operations._share(shares, "-") == 0.5


def test_a_long_curve_is_shown_at_ten_points() -> None:
    assert operations._points([[n, 1.0, 0.5] for n in range(1, 21)]) == [*range(2, 21, 2)]
    assert operations._points([[5, 1.0, 0.5], [7, 1.0, 0.5]]) == [5, 7]


@pytest.mark.slow
def test_what_is_kept_is_of_the_held_out_problems() -> None:
    found = operations.measured("tiny", operations.SMALL, TINY, 3)
    assert found["steps"] == 20
    assert found["problems trained on"] == 200
    assert [shown for shown, _, _ in found["curve"]] == [100, 200]
    assert {*found["whole text"]} == {*found["result"]} == {*operations.OPERATORS}
    assert set(found["problems"].values()) == {6}
    assert found["seconds"] > 0
    assert operations.measured("tiny", operations.SMALL, TINY, 3) == found


@pytest.mark.slow
def test_a_small_one_is_trained_on_and_to_its_earlier_ends_before_that(
    monkeypatch: pytest.MonkeyPatch, runs_folder: Path
) -> None:
    monkeypatch.setattr(operations, "ASKED", TINY)
    monkeypatch.setattr(operations, "ENDS", (20, 25, 30))
    monkeypatch.setattr(operations, "ON", operations.course(30))
    operations.measured(operations._run(3), operations.SMALL, TINY, 3)
    found = operations.on(3)
    assert found["problems trained on"] == 300
    shutil.rmtree(runs_folder)
    again = operations.on(3)
    assert again | {"seconds": 0.0} == found | {"seconds": 0.0}
