"""Writing by windows: the tokens of greedy decoding over whole texts, nonsense included."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from curta.layouts.program import ProgramLayout
from curta.problems.problem import Problem
from curta.programs.machine import writing
from curta.programs.machine.writing import write
from tests import paper, tiny

LIMIT = 40
PROGRAMS = {"+": "addition", "*": "multiplication", "gcd": "gcd"}
every_operator = pytest.mark.parametrize("operator", PROGRAMS)


class Case(NamedTuple):
    layout: ProgramLayout
    problems: list[Problem]
    prompts: list[list[int]]


@cache
def case(operator: str) -> Case:
    recipe = tiny.recipe(program=PROGRAMS[operator], task__operator=operator, task__digits=[1, 3])
    layout = paper.layout(recipe)
    problems = paper.some(operator, 3, 4) + paper.some(operator, 1, 2)
    return Case(layout, problems, [layout.prompt_tokens(problem) for problem in problems])


def program_of(of: Case) -> Callable[[np.ndarray], np.ndarray]:
    """What the program itself writes after each of its windows."""
    known = dict(one for problem in of.problems for one in paper.windows(of.layout, problem))
    return lambda rows: np.array([known[tuple(row)] for row in rows.tolist()])


def nonsense(layout: ProgramLayout, seed: int, end: float) -> Callable[[np.ndarray], np.ndarray]:
    """Some token after every window, always the same; the end after that share of them."""

    def look(rows: np.ndarray) -> np.ndarray:
        found = []
        for row in rows.tolist():
            rng = np.random.default_rng([seed, *row])
            token = int(rng.integers(len(layout.machine.tokens)))
            found.append(layout.end if rng.random() < end else token)
        return np.array(found)

    return look


def by_hand(
    layout: ProgramLayout, look: Callable[[np.ndarray], np.ndarray], prompt: list[int], limit: int
) -> list[int]:
    """Each window looked up in the whole text so far."""
    text = list(prompt)
    while len(text) < len(prompt) + limit and layout.end not in text:
        row = np.array([paper.window(layout, text)], np.int32)
        text.append(int(look(row)[0]))
    return text[len(prompt) :]


def alone(of: Case, look: Callable[[np.ndarray], np.ndarray], limit: int) -> list[list[int]]:
    machine, windows = of.layout.machine, of.layout.windows
    return [write(machine, windows, look, [prompt], limit)[0] for prompt in of.prompts]


@every_operator
def test_the_program_s_own_function_writes_the_program_s_text(operator: str) -> None:
    of = case(operator)
    texts = [of.layout.tokens_of(problem) for problem in of.problems]
    found = write(of.layout.machine, of.layout.windows, program_of(of), of.prompts)
    assert found == [tokens[prompt:] for tokens, prompt in texts]


@every_operator
def test_nonsense_is_written_alike_alone_together_and_by_hand(operator: str) -> None:
    """Squares are written on twice, texts end at other times, and leave the table on all sides."""
    of, whole = case(operator), set[bool]()
    for seed in range(4):
        look = nonsense(of.layout, seed, 0.03)
        together = write(of.layout.machine, of.layout.windows, look, of.prompts, LIMIT)
        assert together == alone(of, look, LIMIT)
        assert together == [by_hand(of.layout, look, p, LIMIT) for p in of.prompts]
        whole |= {len(text) == LIMIT for text in together}
    assert whole == {True, False}


def straight(layout: ProgramLayout) -> Callable[[np.ndarray], np.ndarray]:
    """A row without end, each token told by the one before: far out of any table."""
    machine = layout.machine
    digits = [n for n, t in enumerate(machine.tokens) if t.role == "kept" and t.move == (1, 0)]
    following = dict(zip(digits, digits[1:] + digits[:1], strict=True))
    return lambda rows: np.array([following.get(row[0], digits[0]) for row in rows.tolist()])


@pytest.mark.parametrize("entries", [1 << 26, 12_000, 300])
def test_a_text_may_go_far(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables grow; texts that do not fit into one are written in halves, or on sparse squares."""
    monkeypatch.setattr(writing, "ENTRIES", entries)
    of, limit = case("*"), 60
    look = straight(of.layout)
    together = write(of.layout.machine, of.layout.windows, look, of.prompts, limit)
    assert together == [by_hand(of.layout, look, prompt, limit) for prompt in of.prompts]


def test_a_text_is_given_up_after_as_many_tokens_alone_as_among_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "limit_of", lambda prompt: 3 * prompt)
    of = case("*")
    look = straight(of.layout)
    together = write(of.layout.machine, of.layout.windows, look, of.prompts)
    assert together == alone(of, look, 0)
    assert [len(text) for text in together] == [3 * len(prompt) for prompt in of.prompts]
    assert len(set(map(len, of.prompts))) > 1
