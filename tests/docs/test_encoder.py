"""The study of the encoder: its table, and what it reads of a run."""

from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from docs import encoder
from docs.evidence import Results
from tests.docs.handmade import kept

TINY = {
    "model.width": 8, "training.steps": 30, "training.batch": 8, "training.checkpoint_every": 10,
    "training.validate_every": 10, "training.validation": 20, "evaluation.count": 5,
    "evaluation.digits": [1, 21], "task.digits": [1, 3], "task.rows": 200,
}  # fmt: skip


PROBES = {
    "single-digits": [{"members": [0.25, 0.5, 1.0]}],
    "patterns": [{"verdicts": [1.0, 0.0, 1.0]}, {"verdicts": [1.0, 0.0, 0.0]}],
}


def contender(**changed: Any) -> dict[str, Any]:
    epoch = {"token accuracy": [0.5, 0.25, 0.75], "exact match": [0.0, 0.5, 0.25]}
    return {
        "parameters": 104_206,
        "seconds of training": 900.0,
        "epochs": [{"step": 6250, **epoch}] * 3,
        "training set again": [0.75, 0.5, 0.25],
        "both orders": [0.5, 0.5, 0.5],
        "probes": PROBES,
        "sizes": {"20, random": [0.25] * 3, "21, random": [0.0] * 3, "30, random": [0.0] * 3},
    } | changed


def test_longer_trainings_are_whole_epochs() -> None:
    for name, changes in encoder.LONGER.items():
        recipe = api.resolve(f"sources/{name}", changes)
        assert recipe.training.steps * recipe.training.batch == 9 * recipe.tasks[0].rows
        assert recipe.training.steps % recipe.training.validate_every == 0


def test_the_table_has_a_column_for_each_recipe(tmp_path: Path) -> None:
    products = contender(sizes={"20, random": [0.0] * 3}, probes={}) | {"both orders": None}
    known = {"digit-encoder-multiplication": products, "digit-encoder": contender()}
    lines = [*encoder.tables(kept(tmp_path, "encoder", known))["encoder"]]
    assert lines[0] == "|  | `digit-encoder` | `digit-encoder-multiplication` |"
    cells = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in lines[2:]}
    assert cells["parameters"] == ["104,206", "104,206 |"]
    assert cells["token accuracy on test problems, epoch 2"][0] == "0.500 (0.250 to 0.750)"
    assert cells["exact match after the last"][0] == "0.250 (0.000 to 0.500)"
    assert cells["epochs"] == ["3", "3 |"]
    assert cells["token accuracy after the last"][0] == "0.500 (0.250 to 0.750)"
    assert cells["single-digit pairs in both orders"] == ["0.500 (all)", " |"]
    assert cells["all 100 single-digit sums"] == ["0.500 (0.250 to 1.000)", " |"]
    assert cells["the five named patterns"] == ["0.500 (0.000 to 1.000)", " |"]
    assert cells["exact match, 21 digits"] == ["0.000 (all)", " |"]
    assert cells["seconds of training a seed"][0] == "300"
    assert encoder.tables(Results(tmp_path / "none")) == {}


@pytest.mark.slow
def test_what_is_kept_is_what_a_run_says(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = encoder.finished("tiny", "sources/digit-encoder", 2, TINY)
    monkeypatch.setattr(encoder, "finished", lambda *asked: tiny)
    monkeypatch.setattr(encoder, "AGAIN", 20)
    found = encoder.measured("digit-encoder")
    assert [epoch["step"] for epoch in found["epochs"]] == [10, 20, 30]
    rows = [row for row in tiny.folder.read_metrics() if row.validation_loss is not None]
    accuracies = [share for epoch in found["epochs"] for share in epoch["token accuracy"]]
    assert accuracies == [row.validation_token_accuracy for row in rows]
    pairs = [(a, b) for a in range(10) for b in range(a, 10)]
    for member in range(2):
        asked = [f"{a}+{b}" for a, b in pairs] + [f"{b}+{a}" for a, b in pairs]
        right = [tiny.ask(one, member) == sum(map(int, one.split("+"))) for one in asked]
        assert found["both orders"][member] == round(sum(right) / 110, 4)
    assert {*found["probes"]} == {"single-digits", "patterns", "longer"}
    assert {*found["sizes"]} >= {"1, random", "21, random"}
