"""Plain problems as arrays: the prompts and answers that each problem has by itself."""

import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.problems.problem import parse
from curta.programs.machine.writing import Completions, Prompts
from curta.runs import calculator
from tests import paper, tiny

positive = st.integers(1, 10**40)
SIGNS = {"+": "addition", "*": "multiplication"}


def layout_of(sign: str) -> ProgramLayout:
    recipe = tiny.recipe(program=SIGNS[sign], task__operator=sign, task__digits=[1, 3])
    return paper.layout(recipe)


LAYOUTS = {sign: layout_of(sign) for sign in SIGNS}


@given(sign=st.sampled_from("+*"), pairs=st.lists(st.tuples(positive, positive), min_size=1))
def test_prompts_are_those_of_each_problem(sign: str, pairs: list[tuple[int, int]]) -> None:
    texts, layout = [f"{a}{sign}{b}" for a, b in pairs], LAYOUTS[sign]
    lines = calculator.read_plain("\n".join(texts))
    assert lines is not None
    assert calculator.is_plain(layout.machine, sign)
    found = calculator.plain_prompts(layout.machine, *lines)
    expected = Prompts.of([layout.prompt_tokens(parse(text)) for text in texts])
    np.testing.assert_array_equal(found.tokens, expected.tokens)
    np.testing.assert_array_equal(found.lengths, expected.lengths)


@given(values=st.lists(st.integers(0, 10**30), min_size=1), zeros=st.integers(0, 3))
def test_answers_are_numbers_without_zeros_before_them(values: list[int], zeros: int) -> None:
    machine = LAYOUTS["+"].machine
    token = {token.symbol: n for n, token in enumerate(machine.tokens) if token.role == "sum"}
    texts = [[token[d] for d in str(v)[::-1] + "0" * zeros] + [machine.end] for v in values]
    wide = max(map(len, texts))
    rows = np.array([text + [next(iter(token.values()))] * (wide - len(text)) for text in texts])
    written = Completions(rows, np.array([len(text) for text in texts]))
    assert calculator.read_answers(written, machine, "+") == [str(value) for value in values]


@pytest.mark.parametrize(
    "text",
    ["", "12", "1+2\n", "1+2\n\n3+4", "01+2", "1+02", "1+2+3", "1-2\n1+2", "1 + 2", "1+2=",
     "0+1", "12+\n3+4", "+1", "1//2", "1+2\r\n3+4", "1+²", "sort 3,1", "1" * 1001 + "+1"],
)  # fmt: skip
def test_only_lines_alike_are_plain(text: str) -> None:
    assert (calculator.read_plain(text) is None) == (text != "1+2\n")


def answers(models: Models, member: int, text: str) -> list[str] | None:
    layout, memo = models.layout, models.memo
    assert isinstance(layout, ProgramLayout)
    assert memo is not None
    look = partial(memo.tokens, member=member)
    return calculator.plain_answers(layout.machine, layout.windows, look, text)


@pytest.mark.slow
def test_answers_are_those_one_by_one(learned: Models) -> None:
    """Also where the model is wrong; lines come back in their order."""
    rng = random.Random(0)
    problems = [f"{rng.randrange(1, 10**d)}+{rng.randrange(1, 10**d)}" for d in (1, 5, 2) * 20]
    for member in (0, 1):
        alone = [answers(learned, member, problem) for problem in problems]
        every = answers(learned, member, "\n".join(problems))
        if every is None:
            assert None in alone
            continue
        assert [every[n : n + 1] for n in range(len(problems))] == alone


def test_a_division_by_zero_goes_line_by_line(learned: Models) -> None:
    assert answers(learned, 0, "8%2") is None
