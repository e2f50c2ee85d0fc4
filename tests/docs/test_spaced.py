"""Sums with spaces: what the splits hold, the tables and the file of figures."""

import csv
from pathlib import Path
from typing import Any

import pytest

from docs import spaced
from docs.evidence import Results
from tests.docs.handmade import kept


def contender(*shares: float, seconds: float = 3000.0) -> dict[str, Any]:
    of = {"exact": [*shares], "spaces left out": [1.0] * len(shares)}
    of["token accuracy"] = [0.5] * len(shares)
    return {"id": of, "ood": of | {"exact": [0.0] * len(shares)}, "seconds": seconds}


KNOWN = {
    "curta": contender(0.25, 0.5, 0.75),
    "trl, seed 2": contender(0.5, seconds=3000.0),
    "trl": contender(0.625, seconds=2000.0),
}


def test_the_table_has_both_spacings_of_both_contenders(tmp_path: Path) -> None:
    lines = [*spaced.tables(kept(tmp_path, "spaced", KNOWN))["spaced"]]
    assert lines[0] == "|  | curta, 3 seeds | trl, 2 seeds |"
    assert lines[2] == (
        "| spaces as in training: exact | 0.5000 (0.2500 to 0.7500) | 0.5625 (0.5000 to 0.6250) |"
    )
    assert lines[5] == "| spaces elsewhere: exact | 0.0000 (all) | 0.0000 (all) |"
    assert lines[-1] == "| seconds of training a seed | 1,000 | 2,500 |"
    part = {"problems": 50_000, "mean": 10_994.5, "histogram": {"2000": 1}}
    of_data = spaced.tables(kept(tmp_path, "spaced", {"data": {"train": part}}))
    assert {name: list(lines) for name, lines in of_data.items()} == {
        "spaced, data": [
            "|  | problems | mean |",
            "|---|---|---|",
            "| `train` | 50,000 | 10,994.5 |",
        ]
    }
    assert spaced.tables(Results(tmp_path / "none")) == {}


def test_the_file_has_a_line_for_each_contender_spacing_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spaced, "RESULTS", Results(tmp_path))
    spaced.write_csv(KNOWN)
    with (tmp_path / "spaced.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (3 + 2)
    assert rows[1] == {
        "contender": "curta", "spacing": "id", "seed": "1", "exact": "0.5",
        "spaces left out": "1.0", "token accuracy": "0.5",
    }  # fmt: skip
    spaced.write_csv({})
    assert (tmp_path / "spaced.csv").read_text("utf-8").splitlines() == [
        "contender,spacing,seed,exact,spaces left out,token accuracy"
    ]


def test_sums_are_described_by_their_range_mean_and_counts() -> None:
    import numpy as np

    found = spaced._sums(np.array([2000, 2999, 3000, 19_998]))
    assert (found["least"], found["most"], found["mean"]) == (2000, 19_998, 6999.2)
    assert found["histogram"][2000] == 2
    assert found["histogram"][3000] == 1
    assert sum(found["histogram"].values()) == 4


@pytest.mark.slow
def test_no_problem_that_is_asked_is_trained_on_but_for_some_twins() -> None:
    found = spaced.data()
    assert {name: of["problems"] for name, of in found.items()} == {
        "train": 50_000, "validation": 1000, "test_id": 10_000, "test_ood": 10_000,
    }  # fmt: skip
    assert {of["in another split"] for of in found.values()} == {0}
    assert found["test_id"]["in training too, either way round"] < 10
