"""Problems and answers in the page: read, put to the model and answered as Python does."""

import json
from pathlib import Path

import numpy as np
import pytest

from curta.errors import UserError
from curta.layouts import LAYOUTS
from curta.page.design import TOKENS
from curta.problems import Problem, answer_text, parse

from .browser import Tab
from .made import PROBLEMS, page, shipped


def drawn_problems(name: str, count: int) -> list[Problem]:
    """Random problems of the operations that a recipe's examples have."""
    rng = np.random.default_rng(len(name))
    found = []
    for _ in range(count):
        like = parse(PROBLEMS[name][rng.integers(len(PROBLEMS[name]))])
        values = tuple(int(rng.integers(1, 10 ** rng.integers(1, 7))) for _ in like.operands)
        found.append(Problem(like.operator, values))
    return found


def damaged(text: str, characters: str, rng: np.random.Generator) -> str:
    """The text with one character of it left out, doubled or changed, but without an end."""
    at = int(rng.integers(len(text)))
    new = ["", text[at] * 2, characters[rng.integers(len(characters) - 1)]]
    return (text[:at] + new[rng.integers(3)] + text[at + 1 :]).replace("$", "")


@pytest.mark.parametrize("name", PROBLEMS)
def test_prompts_truths_and_readings_are_pythons(name: str, browser: Tab, tmp_path: Path) -> None:
    recipe, model = shipped(name)
    layout, rng = LAYOUTS[recipe.layout], np.random.default_rng(1)
    browser.open(page(tmp_path, recipe, model))
    asked = drawn_problems(name, 40)
    texts = [damaged(layout.working(p), layout.characters, rng) for p in asked]
    texts = [text if i % 2 else layout.working(asked[i]) for i, text in enumerate(texts)]
    given = json.dumps([[str(p), p.operator, t] for p, t in zip(asked, texts, strict=True)])
    one = "[curta.prompt(text), curta.truth(text), curta.read(operator, written)]"
    found = browser.value(f"{given}.map(([text, operator, written]) => {one})")
    for problem, text, line in zip(asked, texts, found, strict=True):
        answer = layout.read(problem.operator, text + "$")
        read = None if answer is None else answer_text(answer)
        assert line == [layout.prompt(problem), answer_text(problem.truth), read]


MISTAKES = {
    "": "Write a problem, such as 12+34 or",
    "12": "An operator is missing",
    "12+": "An operand is missing",
    "1.5+2": ". is no digit and no operator",
    "12+x": "x is no digit",
    "-3+4": "whole numbers from 0 up",
    "1+2-3": "+ and - together: one operation at a time",
    "1<2": "This model has no <: it was trained on + - * // %",
    "sort 3,1": "This model has no sort",
    "constructor 3": "This model has no constructor",
    "12//0": "Division by zero has no answer",
    "12%000": "Division by zero has no answer",
    "1-2-3": "- takes 2 operands, not 3; write 12-34.",
    "+".join("1" * 60): "+ takes 2 to 50 operands, not 60",
    "1" * 900 + "*2": "at most",
    "1" * (TOKENS + 1): f"at most {TOKENS} characters",
    "<img src=x>": "is no digit",
    "1 2+3": "1 2 is no whole number",
}


def test_what_cannot_be_calculated_is_one_clear_line(browser: Tab, tmp_path: Path) -> None:
    browser.open(page(tmp_path, *shipped("calculator")))
    for text, words in MISTAKES.items():
        asked = f"(() => {{ try {{ return curta.prompt({json.dumps(text)}); }}"
        line = browser.value(f"{asked} catch (mistake) {{ return mistake.message; }} }})()")
        assert words in line
        assert "\n" not in line
        assert len(line) < 120
        with pytest.raises(UserError):
            recipe_refuses(text)


def recipe_refuses(text: str) -> None:
    """Python refuses all of these too, but for the sizes, which are the page's own."""
    problem = parse(text)
    layout = LAYOUTS["calculator"]
    layout.accept(problem.operator, len(problem.operands))
    if len(text) > 100:
        raise UserError("too long for a page")


def test_blanks_a_final_equals_sign_and_leading_zeros_are_allowed(
    browser: Tab, tmp_path: Path
) -> None:
    browser.open(page(tmp_path, *shipped("sorting")))
    assert browser.value("curta.prompt(' sort 007, 1 12 = ')") == "S07,01,12="
