"""Probes that count right answers, held against asking problem by problem."""

import itertools
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.task import Task
from curta.evaluation.scoring import exact_match
from curta.frontends.api import load
from curta.probes.behaviour import (
    CarryChains,
    Commutativity,
    OperandRange,
    Recurrences,
    SingleDigits,
    answerable,
    at_limit,
    chained,
)
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.tasks import RANDOM, problems
from curta.runs.run import Run
from tests.made_once import Shared

from .helpers import answers, examined, generated, only, subject

pytestmark = pytest.mark.usefixtures("brief")


def test_single_digits_are_right_where_the_members_answer_them(windowed: Run) -> None:
    finding = examined(SingleDigits(), windowed)
    right = generated(
        windowed, answerable(windowed.recipe.tasks[0], itertools.product(range(10), range(10)))
    )
    assert 0 < right.mean() < 1, "the members should be right at times and wrong at times"
    (row,) = finding.rows
    assert row["problems"] == 100
    assert row["members"] == right.mean(axis=1).round(6).tolist()
    assert row["median"] == pytest.approx(median(right.mean(axis=1)), abs=1e-6)
    assert len(row["missed"]) == 100 - right.all(axis=0).sum()
    (panel,) = finding.picture["panels"]
    assert panel["values"] == right.mean(axis=0).reshape(10, 10).tolist()


def test_orders_agree_just_where_the_answers_do(windowed: Run) -> None:
    finding, task = examined(Commutativity(count=20), windowed), windowed.recipe.tasks[0]
    for digits in (3, 6):
        drawn = subject(windowed).sample(task, 20, 1, (digits, digits))
        exam = [problem for problem in drawn if len(set(problem.operands)) == 2]
        (same,) = only(finding, digits=digits, answers="same")
        (right,) = only(finding, digits=digits, answers="right")
        for member in (0, 1):
            turned = [Problem("+", p.operands[::-1]) for p in exam]
            ahead, back = (answers(windowed, problems, member) for problems in (exam, turned))
            alike = [a is not None and a == b for a, b in zip(ahead, back, strict=True)]
            assert same["members"][member] == pytest.approx(np.mean(alike), abs=1e-6)
            both = [a and x == p.truth for a, x, p in zip(alike, ahead, exam, strict=True)]
            assert right["members"][member] == pytest.approx(np.mean(both), abs=1e-6)


def test_operations_that_say_so_commute_and_no_others() -> None:
    for operation in OPERATIONS.values():
        if operation.takes(2):
            assert (operation.truth(7, 3) == operation.truth(3, 7)) == operation.commutes


def test_chains_are_asked_in_and_out_of_range(windowed: Run) -> None:
    probe = CarryChains(count=6)
    finding = examined(probe, windowed)
    assert [(row["digits"], row["chain"]) for row in finding.rows] == [
        (digits, chain) for digits in (3, 6) for chain in range(digits + 1)
    ]
    (row,) = only(finding, digits=6, chain=4)
    right = generated(windowed, chained("+", 6, 4, 6, probe.seed))
    assert row["members"] == right.mean(axis=1).round(6).tolist()


def test_the_problems_at_a_limit_are_those_of_the_source() -> None:
    texts = [f"50+{other}" for other in range(1, 9)] + [f"{other}+50" for other in range(1, 7)]
    assert [str(problem) for problem in at_limit(Task("+"), (50, 50))] == texts


INSIDE_AND_BELOW = {"none": (2, 2), "one": (1, 1), "both": (2, 0)}
"""How many of the two operands lie in the range, and below the limit."""


@given(
    beyond=st.sampled_from(list(INSIDE_AND_BELOW)), step=st.sampled_from([(1, 2), (5, 10)]),
    limits=st.tuples(st.integers(14, 10**30), st.integers(14, 10**30)),
)  # fmt: skip
def test_operands_lie_where_they_are_said_to(
    beyond: str, step: tuple[int, int], limits: tuple[int, int]
) -> None:
    low, high = (0, 1) if beyond == "none" else step
    sample = OperandRange(count=8).draw(Task("//"), limits, (low, high), beyond)
    assert len(sample) == 8
    for problem in sample:
        pairs = list(zip(problem.operands, limits, strict=True))
        inside = sum(low * limit <= value < high * limit for value, limit in pairs)
        assert (inside, sum(value < limit for value, limit in pairs)) == INSIDE_AND_BELOW[beyond]


@pytest.fixture(scope="module")
def looping(shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return shared_runs.in_folder(
        tmp_path_factory.mktemp("looping"), "looping",
        model__num_recurrences=2, task__digits=[1, 2],
        layout="coupled", positions__name="nope",
        training__steps=200, training__batch=32, training__recurrence_loss="mixed",
    )  # fmt: skip


@pytest.mark.slow
def test_recurrences_are_those_that_a_run_is_loaded_with(
    looping: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(looping.folder.path.parent))
    finding = examined(Recurrences(most=4, count=20), looping)
    assert [(row["digits"], row["recurrences"]) for row in finding.rows] == [
        (digits, num_recurrences) for digits in (2, 3, 4) for num_recurrences in (1, 2, 4)
    ]
    exam = problems("+", RANDOM, (3, 3), 20, 1)
    for num_recurrences in (1, 2, 4):
        (row,) = only(finding, digits=3, recurrences=num_recurrences)
        models = load("looping", num_recurrences=num_recurrences).load_models()
        assert row["members"] == exact_match(models, exam).mean(axis=1).round(6).tolist()
