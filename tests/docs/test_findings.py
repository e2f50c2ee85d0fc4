"""Findings: claims that figures can refute, and figures that are what they say."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curta.frontends import api
from curta.problems.problem import Problem
from docs import findings, instruments
from docs.findings import CLAIMS, MODELS
from tests.docs.handmade import kept


def test_every_claim_is_of_a_model_and_has_one_bound() -> None:
    assert {name.partition("-")[0] for name in CLAIMS} == set(MODELS) == set(findings.CURVES)
    for name, claim in CLAIMS.items():
        assert (claim.least is None) != (claim.most is None), name
        assert claim.words.endswith("."), name
        assert claim.figure, name


@pytest.mark.parametrize("name", MODELS)
def test_its_recipe_is_one(name: str) -> None:
    api.resolve(*MODELS[name])


def test_a_bound_may_be_met_and_not_passed() -> None:
    least, most = (findings.Claim("", "", list, **{bound: 0.5}) for bound in ("least", "most"))
    assert [least.holds(value) for value in (0.4, 0.5, 0.6)] == [False, True, True]
    assert [most.holds(value) for value in (0.4, 0.5, 0.6)] == [True, True, False]


def test_the_table_has_the_verdict_and_the_command(tmp_path: Path) -> None:
    known = {
        "window-gap": {"seeds": [0.0, 0.005, 0.02]},
        "window-far": {"seeds": [1.0, 1.0, 1.0]},
        "memoriser-near": {"seeds": [0.1, 0.2, 0.3]},
    }
    made = findings.tables(kept(tmp_path, "findings", known))
    window, memoriser = ([*made[f"findings, {name}"]][2:] for name in ("window", "memoriser"))
    assert window[0].endswith(
        "| ≤ 0.01 | 0.01 (0.00 to 0.02) | 2 of 3 | `curta evaluate findings-window` |"
    )
    assert (
        "| 1.00 (all) | confirmed | `curta evaluate findings-window --digits 200 --count 1000` |"
        in window[1]
    )
    assert "| refuted | `python -m docs.findings memoriser-near` |" in memoriser[0]
    assert set(made) == {"findings, window", "findings, memoriser"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two members of a small model over whole texts, of 3 digits at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("findings")))
        changes = {"task.digits": [1, 3], "model.width": 16, "training.steps": 5}
        made = api.begin("addition-position-coupling", 2, "two", changes)
        made.train()
        yield made


def test_places_are_those_of_asking_digit_by_digit(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right is what each member would write after the true text; looked adds up two weights."""
    monkeypatch.setattr(instruments, "LOOKED", 40)
    monkeypatch.setattr(instruments, "TOGETHER", 20)
    found, layout = instruments.places(run, size=3), run.layout
    assert found.right.shape == found.looked.shape == (2, 3)
    problems = instruments.random_sums(3, instruments.LOOKED)
    for place in range(3):
        right, looked = np.zeros((2, len(problems))), []
        for number, problem in enumerate(problems):
            given = run.activations([str(problem)], "*.attention.weights")
            tokens, prompt = layout.tokens_of(problem)
            right[:, number] = given.likeliest[:, 0, prompt - 1 + place] == tokens[prompt + place]
            keys = [2 - place, 4 + 2 - place]  # 123+456=: the units of both stand at 2 and 6
            looked.append([given[site][:, 0, :, prompt - 1 + place][:, :, keys] for site in given])
        assert found.right[:, place] == pytest.approx(right.mean(axis=1))
        shares = np.array(looked).sum(axis=-1).mean(axis=0)  # layers, members, heads
        assert found.looked[:, place] == pytest.approx(shares.max(axis=(0, 2)), abs=1e-5)


def test_the_share_of_the_worst_places(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.array([[1.0, 0.5, 1.0, 1.0, 0.5, 1.0], [0.9, 0.8, 0.7, 0.6, 1.0, 1.0]])
    monkeypatch.setattr(instruments, "places", lambda run: instruments.Places(right, right))
    assert instruments.worst(None) == pytest.approx([1.0, 0.9])


def test_growth_is_by_the_least_loss_of_each_member() -> None:
    losses = [(0, 2.0), (1, 1.0), (0, 1.0), (1, None), (0, 3.0), (1, 0.5)]
    rows = [SimpleNamespace(member=member, validation_loss=loss) for member, loss in losses]
    folder = SimpleNamespace(read_metrics=lambda: rows)
    assert instruments.growth(SimpleNamespace(folder=folder)) == [3.0, 1.0]


def test_near_is_within_ten_and_no_answer_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each four problems one answer is right, one ten off, one eleven off, one none at all."""
    errors = (0, -10, 11, None)
    asked: list[Problem] = []

    def ask(problem: Problem, member: int) -> int | None:
        asked.append(problem)
        error = errors[len(asked) % 4]
        return None if error is None else problem.truth + error

    recipe = api.resolve(*MODELS["memoriser"])
    run = SimpleNamespace(recipe=recipe, seeds=[0, 1], ask=ask)
    assert instruments.near(run) == pytest.approx([0.5, 0.5], abs=0.01)
    assert len(set(asked)) == len(asked) / 2
    assert len(set(asked)) in (instruments.NEAR - 1, instruments.NEAR)  # without half a pair
