"""Prompts and answers by the file that travels with exported models."""

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.task import Task
from curta.export.base import Room, machine_data
from curta.export.bundle import bundled
from curta.problems import task_sizes
from curta.problems.problem import Problem
from curta.programs import PROGRAMS
from curta.programs.machine.sampling import draw

from .made import program

file: dict[str, Any] = {}
exec(bundled("curta.export.huggingface.asking_curta", "prompt", "answer"), file)
prompt, answer = file["prompt"], file["answer"]

FORMATS = (
    "addition", "subtraction", "comparison", "multiplication", "sorting", "binary", "spaced",
    "carried", "luhn", "fractions",
)  # fmt: skip
"""Programs whose prompts or answers have what the others have not."""


@pytest.mark.parametrize("name", FORMATS)
def test_prompts_and_answers_are_those_of_the_machine(name: str) -> None:
    layout, source = program(name), PROGRAMS[name]
    machine, rng = machine_data(layout), random.Random(name)
    assert machine is not None
    for _ in range(10):
        operands = draw(source, task_sizes.sizes(Task(source.operator, digits=(1, 4))), rng)
        text, start = layout.recorder.record(source.operator, operands)
        assert prompt(machine, source.operator, operands) == text[:start]
        value = answer(machine, source.operator, text, start)
        truth = layout.answer(Problem(source.operator, operands), text[start:])
        assert value == truth
        assert type(value) is type(truth)
        assert answer(machine, source.operator, text[:-1], start) is None


@pytest.mark.parametrize(
    ("name", "operands", "says"),
    [
        ("addition", (3, -2), "+ takes 2 whole numbers from 0 up, of at most 7 digits (got -2)"),
        ("addition", (3,), "7 digits (got 1 number)"),
        ("addition", (3, 2, 1), "7 digits (got 3 numbers)"),
        ("addition", (10**7, 2), "7 digits (got 10000000)"),
        ("addition", (3, 10**5000), "7 digits (got a longer one)"),
        ("sorting", (), "sort takes 1 to 3 whole numbers from 0 up, of at most 7 digits (got 0"),
        ("sorting", (1, 2, 3, 4), "7 digits (got 4 numbers)"),
        ("division", (7, 0), "division by zero has no answer"),
    ],
)
def test_operands_that_cannot_be_put_are_named(
    name: str, operands: tuple[int, ...], says: str
) -> None:
    layout = program(name)
    machine = machine_data(layout, {layout.operators[0]: Room(7, 3, 99)})
    with pytest.raises(ValueError, match=re.escape(says)):
        prompt(machine, *layout.operators, operands)


@settings(max_examples=50)
@given(seed=st.integers(0, 1 << 32))
def test_whatever_is_written_is_an_answer_or_none(seed: int) -> None:
    machine, rng = machine_data(program("subtraction")), random.Random(seed)
    tokens = range(len(machine["tokens"]))
    value = answer(machine, "-", [rng.choice(tokens) for _ in range(12)], 4)
    assert value is None or type(value) is int
