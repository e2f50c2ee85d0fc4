"""Prompts and answers of every published layout, as the page has them and as Python does."""

import json
from pathlib import Path

import jax.numpy as jnp
import pytest
from playwright.sync_api import Page

from curta.layouts import LAYOUTS, layout_named
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text
from tests import tiny

from ..tabs import numbers
from .made import Made

pytestmark = pytest.mark.slow

NUMBERS = ((7, 8), (999, 1), (123, 123), (0, 5), (40, 6))


def of_layout(name: str) -> Made:
    """A model that writes all of a layout's problems."""
    tasks = [{"operator": one, "digits": [1, 3]} for one in layout_named(name).operators]
    return Made(
        tiny.recipe(
            layout=name,
            task=tasks,
            positions__name="learned",
            positions__length=512,
            training__batch=2 * len(tasks),
            model__compositional_embeddings=False,
            model__causal=name not in ("framed", "labelled"),
        )
    )


def asked(made: Made) -> list[Problem]:
    """Problems of every operator, with as few operands as it takes and with one more."""
    found = []
    for operator in made.layout.operators:
        operation, most = OPERATIONS[operator], made.layout.most
        more = operation.takes(3) and (most is None or most > 2)
        count = min(2, operation.most or 2)
        found += [Problem(operator, pair[:count]) for pair in NUMBERS]
        found += [Problem(operator, (7, 30, 7))] if more else []
    return found


def texts(made: Made, problem: Problem) -> list[list[int]]:
    """What is right to write, and the same with one token left out, doubled or another."""
    tokens, prompt = made.layout.tokens_of(problem)
    right, found = tokens[prompt:], [tokens[prompt:]]
    for place in range(len(right)):
        other = (right[place] + 1) % len(made.layout.characters)
        for instead in ([], [right[place]] * 2, [other]):
            found.append([*right[:place], *instead, *right[place + 1 :]])
    return found


def spoken(made: Made, problem: Problem, text: list[int]) -> str | None:
    answer = made.layout.answer(problem, text)
    return None if answer is None else answer_text(answer)


@pytest.mark.parametrize("name", LAYOUTS)
def test_prompts_and_answers_are_pythons(name: str, tab: Page, tmp_path: Path) -> None:
    made = of_layout(name)
    tab.goto(made.page(tmp_path).as_uri())
    problems = asked(made)
    prompts = numbers(tab, f"{json.dumps(list(map(str, problems)))}.map(curta.prompt)")
    assert prompts == [made.layout.prompt_tokens(problem) for problem in problems]
    pairs: list[tuple[str, list[int]]] = [(str(p), t) for p in problems for t in texts(made, p)]
    read = numbers(tab, f"{json.dumps(pairs)}.map((pair) => curta.answer(...pair))")
    assert read == [spoken(made, p, t) for p in problems for t in texts(made, p)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_tokens_stand_where_they_do_in_python(name: str, tab: Page, tmp_path: Path) -> None:
    made = of_layout(name)
    tab.goto(made.page(tmp_path).as_uri())
    tokens = tiny.any_texts(made.layout)
    lengths = jnp.full(len(tokens), tokens.shape[1])
    where = made.layout.follow(jnp.asarray(tokens), lengths)[1]
    found = numbers(tab, f"{json.dumps(tokens.tolist())}.map(curta.follow)")
    assert [[one["role"] for one in text] for text in found] == where.role.tolist()
    places = [[one["coordinates"] for one in text] for text in found]
    assert places == where.coordinates.tolist()
