"""What the ladder's source announces of the last rung: its tables, and small runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config.errors import UserError
from curta.frontends import api
from curta.problems import tasks
from curta.problems.problem import Problem
from docs import announced
from docs.evidence import Results
from docs.shared import ended, own_run
from tests.docs.handmade import kept
from tests.made_once import Shared

SMALL = {
    "model.width": 8, "model.heads": 2, "model.num_layers": 2, "model.num_attention_layers": 2,
    "training.batch": 64,
}  # fmt: skip


def contender(**changed: Any) -> dict[str, Any]:
    """The figures of one, of which two seeds know enough."""
    return {
        "pairs": 10_000,
        "pairs in training": 7200,
        "asked": 1400,
        "without twin": 400,
        "steps": 2800,
        "held-out loss": [0.5, 0.25, 0.125],
        "exact match": [0.9, 1.0, 0.95],
        "exact match without twin": [0.8, 0.9, 0.7],
        "exact match in training": [1.0, 1.0, 1.0],
        "absolute error": [None, 1.5, 2.5],
        "malformed": [1400, 0, 3],
        "enough": [None, 980, 1120],
        "seconds": 906.0,
    } | changed


def test_nothing_measured_makes_no_table(tmp_path: Path) -> None:
    assert announced.tables(Results(tmp_path)) == {}


def test_the_tables_have_what_is_measured(tmp_path: Path) -> None:
    known = {"9": contender(pairs=100), "subtraction": contender(), "99": contender()}
    found = announced.tables(kept(tmp_path, "announced", known))
    made = {name: list(lines) for name, lines in found.items()}
    assert [len(lines) - 2 for lines in made.values()] == [2, 2, 1]
    assert made["announced, operands"][2] == (
        "| 0 to 9 | 100 | 7,200 | 1,400 | 400 | 2,800 | 0.250 (0.125 to 0.500)"
        " | 0.950 (0.900 to 1.000) | 0.800 (0.700 to 0.900) | 1.000 (all) | 302 |"
    )
    assert made["announced, losses"][2] == (
        "| cross entropy | 0.250 (0.125 to 0.500) | 0.950 (0.900 to 1.000)"
        " | 0.800 (0.700 to 0.900) | 1.000 (all) | 2.000 (1.500 to 2.500)"
        " | 0 to 1,400 | 2 of 3: 980 to 1,120 | 302 |"
    )


def test_seeds_without_a_figure_are_told(tmp_path: Path) -> None:
    none = contender(enough=[None] * 3) | {"absolute error": [None] * 3}
    found = announced.tables(kept(tmp_path, "announced", {"numeric": none}))
    assert [*found["announced, losses"]][2].endswith("| none | 0 to 1,400 | 0 of 3 | 302 |")


def test_every_row_has_a_contender() -> None:
    rows = [*announced.OPERANDS.values(), *announced.OPERATIONS.values()]
    assert {*rows, *announced.LOSSES.values()} == {*announced.CONTENDERS}


def test_of_every_table_the_same_part_is_trained_on() -> None:
    for name in announced.CONTENDERS:
        recipe = api.resolve(announced.RECIPE, announced.changes(name))
        (task,) = recipe.tasks
        assert task.values is not None
        assert task.held_out / (task.values[1] + 1) ** 2 == 0.28, name
        asked = recipe.training.validation + recipe.evaluation.held_out
        assert asked == min(task.held_out, 2 * announced.MOST), name


def test_distances_are_those_of_the_answers(shared_runs: Shared) -> None:
    run = shared_runs.trained()
    asked = [Problem("+", (a, b)) for a in (3, 27) for b in (5, 48, 99)]
    found = announced.distances(run, asked)
    for member in range(2):
        answers = [run.ask(problem, member) for problem in asked]
        off = [abs(a - sum(p.operands)) for a, p in zip(answers, asked, strict=True) if a]
        mean = round(sum(off) / len(off), 5) if off else None
        assert found["absolute error"][member] == mean
        assert found["malformed"][member] == answers.count(None)


def test_what_is_read_of_a_training_is_each_members_own(
    shared_runs: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shared_runs.trained(training__validate_every=10)
    last = [row.loss for row in run.folder.read_metrics() if row.step == 20]
    assert announced.final_losses(run) == [pytest.approx(loss, abs=1e-6) for loss in last]
    monkeypatch.setattr(announced, "ENOUGH", 0.0)
    assert announced.reached(run) == [10, 10]
    monkeypatch.setattr(announced, "ENOUGH", 1.1)
    assert announced.reached(run) == [None, None]


def test_a_run_of_other_settings_is_not_gone_on_with() -> None:
    few = SMALL | {"training.steps": 20, "training.validate_every": 0}
    begun = [own_run("mine", announced.RECIPE, 2, few) for _ in range(2)]
    assert begun[0].folder.path == begun[1].folder.path
    for seeds, changes in ((2, few | {"training.steps": 30}), (3, few)):
        with pytest.raises(UserError, match="'mine' is of other settings"):
            own_run("mine", announced.RECIPE, seeds, changes)


def test_what_was_broken_off_is_no_result() -> None:
    few = SMALL | {"training.steps": 20, "training.validate_every": 0}
    run = own_run("half", announced.RECIPE, 1, few)
    with pytest.raises(SystemExit, match="half was broken off"):
        ended(run)
    run.train()
    ended(run)


def test_problems_are_told_apart_by_whether_their_twin_is_trained_on() -> None:
    (task,) = api.resolve(announced.RECIPE, announced.changes("9")).tasks
    problems = tasks.held_out(task, range(28))
    trained = {(a, b) for a in range(10) for b in range(10)} - {p.operands for p in problems}
    alone = np.array([p.operands[::-1] not in trained or len({*p.operands}) == 1 for p in problems])
    right = np.stack([alone, ~alone])
    found = announced.without_twin(task, problems, right)
    assert found == {"without twin": alone.sum(), "exact match without twin": [1.0, 0.0]}
    assert 0 < alone.sum() < 28
    assert announced.without_twin(task, [], right[:, :0])["exact match without twin"] == [None] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["9", "subtraction", "numeric"])
def test_a_contender_is_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {"training.steps": 60, "training.checkpoint_every": 30, "training.validate_every": 20}
    monkeypatch.setattr(announced, "COMMON", SMALL | steps)
    found = announced.measured(name)
    cells = [
        announced.cell(found[figure], figure)
        for columns in (announced.PAIRS, announced.LEARNED, announced.NUMBERS, announced.SPEED)
        for _, figure in columns
    ]
    assert all(cells)
    assert (found["steps"], found["asked"]) == (60, 14 if name == "9" else 1400)
    assert {len(found[figure]) for figure in ("exact match", "held-out loss")} == {3}
