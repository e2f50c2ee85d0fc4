"""Problems and answers in the page: read, put to the model and answered as Python does."""

import json
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from curta.export.html.page import DIGITS, TOKENS
from curta.layouts import LAYOUTS, Layout
from curta.layouts.program import ProgramLayout
from curta.problems.numerals import format_number
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse
from tests import tiny

from .made import PROBLEMS, of_layout, page, shipped
from .tabs import numbers

pytestmark = pytest.mark.slow


def drawn_problems(name: str, count: int) -> list[Problem]:
    """Random problems of the operations that a machine's examples have."""
    rng = np.random.default_rng(len(name))
    problems = []
    for _ in range(count):
        like = parse(PROBLEMS[name][rng.integers(len(PROBLEMS[name]))])
        values = tuple(int(rng.integers(1, 10 ** rng.integers(1, 7))) for _ in like.operands)
        problems.append(Problem(like.operator, values, like.base))
    return problems


TAKES = f"+ takes 2 whole numbers from 0 up, of at most {DIGITS} digits "

MISTAKES = {
    "": "Write a problem, such as 12+34",
    "12": "12 is not a problem this model can read; write 12+34.",
    "12+": TAKES + "(one is missing); write 12+34.",
    "1.5+2": "1.5+2 is not a problem this model can read",
    "12+x": "12+x is not a problem this model can read",
    "1+2-3": "1+2-3 is not a problem this model can read",
    "what is 2+2?": "what is 2+2? is not a problem this model can read",
    "<img src=x>": "is not a problem this model can read",
    "7*8": "This model has no *: it was trained on +.",
    "12\N{MINUS SIGN}5": "This model has no -: it was trained on +.",
    "sort(3,1)": "This model has no sort",
    "constructor 3": "This model has no constructor",
    "1+2+3": TAKES + "(got 3 numbers); write 12+34.",
    "1 2+3": TAKES + "(got 1 2)",
    "0b12+1": TAKES + "(got 0b12)",
    "1#0+1": TAKES + "(got 1#0)",
    "1" * (DIGITS + 1) + "+2": TAKES + "(got a longer one)",
    "1" * (TOKENS + 1): f"at most {TOKENS} characters",
}
POINTS = {
    "3+12.5": "3+12.5 is not a problem this model can read; write 12.5+3.75.",
    "1.5-0.5": "1.5-0.5 is not a problem this model can read",
    "1.5+" + "1" * (DIGITS + 1) + ".5": f"at most {DIGITS} digits",
}


def mistake(tab: Page, text: str) -> str:
    attempt = f"(() => {{ try {{ return curta.prompt({json.dumps(text)}).length; }}"
    return str(numbers(tab, f"{attempt} catch (mistake) {{ return mistake.message; }} }})()"))


@pytest.mark.parametrize(("name", "mistakes"), [("addition", MISTAKES), ("fractions", POINTS)])
def test_what_cannot_be_calculated_is_one_clear_line(
    name: str, mistakes: dict[str, str], tab: Page, tmp_path: Path
) -> None:
    tab.goto(page(tmp_path, *shipped(name)).as_uri())
    for text, words in mistakes.items():
        line = mistake(tab, text)
        assert words in line, text
        assert "\n" not in line
        assert len(line) < 120


def test_a_problem_may_be_written_in_several_ways(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    typed = "['0xff+0x1', '0b11111111+0b1', '16#ff+1', '255 + 001 ='].map(curta.truth)"
    assert numbers(tab, typed) == ["256"] * 4
    tab.goto(page(tmp_path, *shipped("fractions")).as_uri())
    assert numbers(tab, "curta.truth(' 03.750 + 12.50 = ')") == "16.25"
    tab.goto(page(tmp_path, *shipped("sorting")).as_uri())
    texts = ["sort 7,1,12", "sort(7, 1, 12)", " SORT 007 1 12 = ", "sort( 7 1 12 )"]
    first, *others = numbers(tab, f"{json.dumps(texts)}.map(curta.prompt)")
    assert others == [first] * 3
    tab.goto(page(tmp_path, *shipped("own")).as_uri())
    assert numbers(tab, "curta.truth('0xc-0xff')") == "-" + format_number(243, 16)
    assert mistake(tab, "12-3").endswith(f"of at most {DIGITS} digits in base 16 (got 12);"
                                         " write 0xc-0x22.")  # fmt: skip


NUMBERS = ((7, 8), (999, 1), (123, 123), (0, 5), (40, 6))


def problems_of(layout: Layout) -> list[Problem]:
    """Problems of every operator, with as few operands as it takes and with one more."""
    problems = []
    for operator in layout.operators:
        operation, most = OPERATIONS[operator], layout.most
        more = operation.takes(3) and (most is None or most > 2)
        count = min(2, operation.most or 2)
        problems += [Problem(operator, pair[:count]) for pair in NUMBERS]
        problems += [Problem(operator, (7, 30, 7))] if more else []
    return problems


def texts(layout: Layout, problem: Problem) -> list[list[int]]:
    """What is right to write, and the same with one token left out, doubled or another."""
    tokens, prompt = layout.tokens_of(problem)
    right, variants = tokens[prompt:], [tokens[prompt:]]
    for place in range(len(right)):
        other = (right[place] + 1) % len(layout.characters)
        for instead in ([], [right[place]] * 2, [other]):
            variants.append([*right[:place], *instead, *right[place + 1 :]])
    return variants


@pytest.mark.parametrize("name", [*LAYOUTS, *PROBLEMS])
def test_prompts_truths_and_answers_are_pythons(name: str, tab: Page, tmp_path: Path) -> None:
    of, model = shipped(name) if name in PROBLEMS else of_layout(name)
    tab.goto(page(tmp_path, of, model).as_uri())
    layout = model.layout
    problems = drawn_problems(name, 20) if name in PROBLEMS else problems_of(layout)
    lines = json.dumps(list(map(str, problems)))
    prompts, truths = numbers(tab, f"[{lines}.map(curta.prompt), {lines}.map(curta.truth)]")
    assert prompts == [layout.prompt_tokens(problem) for problem in problems]
    assert truths == [spoken(layout, problem, problem.truth) for problem in problems]
    pairs = [(problem, text) for problem in problems for text in texts(layout, problem)]
    script = json.dumps([(str(problem), text) for problem, text in pairs])
    read = numbers(tab, f"{script}.map((pair) => curta.answer(...pair))")
    assert read == [spoken(layout, p, layout.answer(p, text)) for p, text in pairs]


def spoken(layout: Layout, problem: Problem, answer: object) -> str | None:
    """An answer as people write it, in the base of the program's answers."""
    is_machine = isinstance(layout, ProgramLayout)
    base = layout.machine.formats[problem.operator].answer.base if is_machine else 10
    return None if answer is None else answer_text(answer, base)


@pytest.mark.parametrize("name", LAYOUTS)
def test_tokens_of_layouts_stand_where_they_do_in_python(
    name: str, tab: Page, tmp_path: Path
) -> None:
    of, model = of_layout(name)
    tab.goto(page(tmp_path, of, model).as_uri())
    tokens = tiny.any_texts(model.layout)
    where = model.layout.follow(jnp.asarray(tokens), jnp.full(len(tokens), tokens.shape[1]))[1]
    followed = numbers(tab, f"{json.dumps(tokens.tolist())}.map(curta.follow)")
    assert [[each["role"] for each in text] for text in followed] == where.role.tolist()
    places = [[each["coordinates"] for each in text] for text in followed]
    assert places == where.coordinates.tolist()


def test_other_operations_have_truths(tab: Page, tmp_path: Path) -> None:
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    problems = ["gcd 1071,462", "isqrt 1234", "order 30,10,20", "7//2", "7%4", "reverse 120",
                "copy 12", "isqrt 0", "luhn 7992739871", "0.05+99.95", "3.0+0.125"]  # fmt: skip
    pairs = [(line, parse(line)) for line in problems]
    for text, problem in pairs:
        operands = json.dumps([str(value) for value in problem.operands])
        truth = numbers(tab, f"curta.truths({problem.operator!r}, {operands})")
        assert truth == answer_text(problem.truth), text


def test_the_tour_ends_with_longer_numbers_in_the_base_of_the_program(
    tab: Page, tmp_path: Path
) -> None:
    tab.goto(page(tmp_path, *shipped("own")).as_uri())
    tab.get_by_role("button", name="Take the tour").click()
    for _ in range(4):
        tab.get_by_role("button", name="Next").click()
    expect(tab.get_by_role("complementary", name="Tour")).to_contain_text("5 of 5")
    problem = tab.get_by_role("textbox", name="Problem", exact=True)
    expect(problem).to_have_value(re.compile(r"^0x[0-9a-f]{4,}-0x[0-9a-f]{4,}$"))
