"""Splits: the same problem always stands in the same one, and nobody has to remember it."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.task import Task
from curta.export import dataset
from curta.export.dataset import HELD, SPLITS, TRAIN, Source, beyond, sources
from curta.layouts import Layout, layout_named
from curta.layouts.texts import layout_of
from curta.problems.problem import Problem
from curta.problems.problem_table import fingerprint
from tests import tiny

TABLE = {"task__values": (0, 19), "task__special": 0.0, "task__held_out": 100}
HELD_BACK = {"training__validation": 30, "evaluation__held_out": 40}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "TOKENS", 1 << 14)


def values(source: Source, batches: int = 1) -> list[tuple[int, ...]]:
    """Operands of a source's problems."""
    first = itertools.islice(source.batches(), batches)
    return [problem.operands for batch in first for problem in batch]


def of(split: str, seed: int = 0, layout: Layout | None = None) -> Source:
    return Source(Task(digits=(1, 2)), layout or layout_named("reversed"), split, 10_000, seed)


@given(problems=tiny.batches(3, 6), wider=st.integers(6, 9))
def test_a_fingerprint_is_that_of_the_operands_in_any_order_and_width(
    problems: list[Problem], wider: int
) -> None:
    turned = [Problem("+", problem.operands[::-1]) for problem in problems]
    prints = fingerprint(tiny.numbers(problems, 6)).tolist()
    assert fingerprint(tiny.numbers(turned, wider)).tolist() == prints
    assert fingerprint(tiny.numbers(problems, 6, operands=3)).tolist() == prints


def test_drawn_problems_of_two_splits_are_never_the_same_whatever_the_seeds() -> None:
    program = layout_of(tiny.recipe())
    trained = {*values(of(TRAIN, seed=2), 20), *values(of(TRAIN, layout=program), 4)}
    held = {
        split: {*values(of(split, seed=1), 20), *values(of(split, layout=program), 8)}
        for split in HELD
    }
    for first, second in itertools.combinations([trained, *held.values()], 2):
        assert first
        assert not first & second
        assert not first & {(b, a) for a, b in second}
    assert trained | set().union(*held.values()) >= set(itertools.product(range(1, 10), repeat=2))


def test_the_splits_of_a_programs_table_are_those_of_any_other() -> None:
    by_recipe = [
        sources(of, layout_of(of), rows=250, seed=0)
        for of in (tiny.with_encoding(name, **TABLE, **HELD_BACK) for name in ("nope", "window"))
    ]
    for split in SPLITS[:3]:
        (drawn,), (recorded,) = (each[split] for each in by_recipe)
        assert values(recorded) == values(drawn)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task__held_out": 60}, r"task\.held_out 60 of \+: validation and test take 30 \+ 40"),
        ({"task__rows": 200}, r"the table of \+ has 200 problems to train on, not 250"),
    ],
)
def test_a_table_with_too_few_problems_is_refused(changes: dict[str, Any], says: str) -> None:
    of = tiny.recipe(**TABLE | HELD_BACK | changes)
    with pytest.raises(UserError, match=says):
        sources(of, layout_of(of), rows=250, seed=0)


def test_the_exam_gives_only_problems_that_training_cannot_draw() -> None:
    """Special cases make operands shorter: at a size just beyond, some are as in training."""
    task = Task("//", digits=(1, 4), second=(1, 2))
    exam = tiny.with_encoding("nope", evaluation__digits=[3, "5/2", "9/5"]).evaluation
    larger = [*itertools.chain.from_iterable(beyond(task, layout_named("plain"), exam))]
    assert larger
    assert all(len(str(a)) > 4 or len(str(b)) > 2 for a, b in (p.operands for p in larger))
