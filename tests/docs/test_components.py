"""The ladder of components: its rungs, and losses over whole texts and over answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.frontends import api
from curta.problems import tasks
from docs import components
from docs.evidence import Results
from docs.shared import own_run
from tests.docs.handmade import kept

SMALL = {
    "model.width": 16, "model.heads": 2, "training.steps": 20, "training.batch": 16,
    "training.validate_every": 10, "training.validation": 5, "task.held_out": 20,
    "evaluation.held_out": 7,
}  # fmt: skip


@pytest.fixture(autouse=True)
def runs_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path / "runs"))


def test_rungs_have_300_epochs() -> None:
    for recipe, changes in components.rungs().values():
        found = api.resolve(recipe, changes)
        assert found.training.steps * found.training.batch == pytest.approx(300 * 7200, rel=1e-4)


def test_losses_are_those_of_asking_token_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """By activations that anybody can ask for, text by text, in NumPy."""
    monkeypatch.setattr(components, "SEEDS", 2)
    found = components._of_rung("small", "sources/ladder-4-tied", SMALL)
    run = api.load("components-small")
    whole, answers = np.zeros((2, 2)), np.zeros((2, 2))
    for problem in components.asked(run):
        logits = run.activations([str(problem)], "logits")["logits"][:, 0].astype(np.float64)
        tokens, prompt = run.layout.tokens_of(problem)
        for place, token in enumerate(tokens[1:], 1):
            after = logits[:, place - 1]
            loss = np.log(np.exp(after).sum(axis=1)) - after[:, token]
            for sums, counts in ((whole, True), (answers, place >= prompt)):
                sums += np.stack([loss, np.ones(2)]) * counts
    for name, sums in (("held-out loss, whole text", whole), ("held-out loss", answers)):
        assert found[name] == pytest.approx(list(sums[0] / sums[1]), rel=6e-3)
    assert found["problems"] == 7


def test_the_table_tells_small_losses_apart(tmp_path: Any) -> None:
    known = {
        "parameters": 1, "training loss": [0.5, 0.25], "held-out loss, whole text": [1.5, 1.25],
        "held-out loss": [1.2e-5, 3e-5], "exact match": [1.0, 1.0], "problems": 7, "curve": [],
    }  # fmt: skip
    (line,) = [*components.tables(kept(tmp_path, "components", {"Adam": known}))["components"]][2:]
    assert "| 2.10e-05 (1.20e-05 to 3.00e-05) | 1.000 (all) |" in line
    assert components.tables(Results(tmp_path / "none")) == {}


@pytest.mark.parametrize("high", [49, 50])
def test_the_fourteen_sums_are_told_apart_by_training(high: int) -> None:
    table = {"task.values": [0, high], "task.held_out": 2000}
    run = own_run("range", components.LAST, 2, SMALL | table)
    run.train()
    found, (task,) = components.fourteen(run), run.recipe.tasks
    trained = {p.operands for p in tasks.trained_problems(task, tasks.trained_count(task))}
    sums = [(50, k) for k in range(1, 9)] + [(k, 50) for k in range(1, 7)]
    met = [pair in trained or pair[::-1] in trained for pair in sums]
    assert found["trained on"] == sum(met)
    assert (sum(met) > 0) == (high == 50)
    for part, wanted in (("right of these", True), ("of the others", False)):
        asked = [pair for pair, known in zip(sums, met, strict=True) if known == wanted]
        for member in range(2):
            right = [run.ask(f"{a}+{b}", member) == a + b for a, b in asked]
            assert found[part][member] == (sum(right) / len(right) if right else None)


def test_the_table_of_ranges_has_the_fourteen_first(tmp_path: Path) -> None:
    known = {
        "trained on": 9, "right of these": [1.0, 0.5], "of the others": [None, None],
        "shares": {"held out": [0.5, 0.5]},
    }  # fmt: skip
    name = next(iter(components.RANGES))
    lines = [*components.tables(kept(tmp_path, "components", {name: known}))["range"]]
    assert lines[2] == f"| {name} | 9 | 0.750 (0.500 to 1.000) | none | 0.500 (all) |"
