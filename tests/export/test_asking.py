"""Prompts and answers by plain Python over plain data: what a machine's formats say."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.task import Task
from curta.export.base import machine_data
from curta.export.huggingface.asking_curta import answer, prompt
from curta.problems import tasks
from curta.problems.problem import Problem
from curta.programs import PROGRAMS
from curta.programs.machine.sampling import draw

from .made import program

FORMATS = (
    "addition", "subtraction", "comparison", "multiplication", "sorting", "binary", "spaced",
    "carried", "luhn", "fractions",
)  # fmt: skip
"""Programs whose prompts or answers have what the others have not."""


@pytest.mark.parametrize("name", FORMATS)
def test_prompts_and_answers_are_those_of_the_machine(name: str) -> None:
    layout, one = program(name), PROGRAMS[name]
    machine, rng = machine_data(layout), random.Random(name)
    assert machine is not None
    for _ in range(10):
        operands = draw(one, tasks.sizes(Task(one.operator, digits=(1, 4))), rng)
        text, start = layout.recorder.record(one.operator, operands)
        assert prompt(machine, one.operator, operands) == text[:start]
        found = answer(machine, one.operator, text, start)
        truth = layout.answer(Problem(one.operator, operands), text[start:])
        assert found == truth
        assert type(found) is type(truth)
        assert answer(machine, one.operator, text[:-1], start) is None


def test_another_operator_is_told() -> None:
    with pytest.raises(ValueError, match=r"'-' is none of \+"):
        prompt(machine_data(program("addition")), "-", (3, 2))


@pytest.mark.parametrize(
    ("name", "operands", "says"),
    [
        ("addition", (3, -2), "operand -2 is no whole number from 0 on"),
        ("addition", (3,), r"'\+' has 2 operands, not 1"),
        ("addition", (3, 2, 1), r"'\+' has 2 operands, not 3"),
        ("sorting", (), "'sort' has at least 1 operands, not 0"),
    ],
)
def test_operands_that_cannot_be_put_are_named(
    name: str, operands: tuple[int, ...], says: str
) -> None:
    layout = program(name)
    with pytest.raises(ValueError, match=says):
        prompt(machine_data(layout), *layout.operators, operands)


def test_a_token_that_the_model_never_met_is_named() -> None:
    machine = machine_data(program("addition"))
    machine["tokens"] = [token for token in machine["tokens"] if token["value"] != 7]
    with pytest.raises(ValueError, match="7 as a is no token of this model"):
        prompt(machine, "+", (17, 2))


@settings(max_examples=50)
@given(seed=st.integers(0, 1 << 32))
def test_whatever_is_written_is_an_answer_or_none(seed: int) -> None:
    machine, rng = machine_data(program("subtraction")), random.Random(seed)
    tokens = range(len(machine["tokens"]))
    found = answer(machine, "-", [rng.choice(tokens) for _ in range(12)], 4)
    assert found is None or type(found) is int
