"""The direct layouts: as their sources show them, and where their tokens stand."""

import jax
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.layouts import layout_named
from curta.layouts.special import HINTS
from curta.problems.problem import Problem, parse
from tests import tiny


@pytest.mark.parametrize(
    ("name", "line", "shorter"),
    [
        ("plain", "957+68=1025$", "12+3=15$"),
        ("begun", "#957+68=1025$", "#12+3=15$"),
        ("filled", "957+68=1025#", "12+3=15#"),
        ("filled-left", "#957+68=1025#", "###12+3=15#"),
        ("reversed", "759+86=5201$", "21+3=51$"),
        ("coupled", "759+86=5201$", "21+3=51$"),
        ("padded", "759+860=5201$", "21+30=510$"),
        ("plain-padded", "957+068=1025$", "12+03=015$"),
        ("position-coupling", "957+068=5201$", "12+03=510$"),
        ("blanks", "957+ 68=5201$", "12+ 3=51 $"),
        ("hints", "a0b9c5d7+a0b0c6d8=d5c2b0a1$", "a0b1c2+a0b0c3=c5b1a0$"),
        ("carries", "759+860=.5'2'0'1$", "21+30=.5.1.0$"),
    ],
)
def test_the_layouts_as_their_sources_show_them(name: str, line: str, shorter: str) -> None:
    """Padding adds a place to the answer even without a carry."""
    assert layout_named(name).write(Problem("+", (957, 68))) == line
    assert layout_named(name).write(Problem("+", (12, 3))) == shorter


@pytest.mark.parametrize(
    ("problem", "plain", "turned"),
    [
        ("1+22+333", "1+22+333=356$", "1+22+333=653$"),
        ("12-34", "12-34=-22$", "21-43=-22$"),
        ("40-13", "40-13=27$", "04-31=72$"),
        ("12*34", "12*34=408$", "21*43=804$"),
        ("123//4", "123/4=30$", "321/4=03$"),
        ("123%4", "123%4=3$", "321%4=3$"),
        ("12<34", "12<34=1$", "21<43=1$"),
        ("sort 210,7,33", "s210,7,33=7,33,210$", "s012,7,33=7,33,012$"),
        ("copy 120", "c120=120$", "c021=021$"),
        ("reverse 120", "r120=21$", "r021=12$"),
    ],
)
def test_every_operation_as_people_write_it_and_turned_around(
    problem: str, plain: str, turned: str
) -> None:
    assert layout_named("plain").write(parse(problem)) == plain
    assert layout_named("reversed").write(parse(problem)) == turned


# Letters.


def test_letters_stand_over_numbers_reversed_as_the_source_has_it() -> None:
    layout, problem = layout_named("labelled"), parse("order 210,7,33")
    assert layout.prompt(problem)[::-1] == "a:210,b:7,c:33"
    assert layout.completion(problem)[::-1] == "bca"
    assert layout.write(problem) == "33:c,7:b,012:aacb$"


READ: list[tuple[str, str, list[tuple[str, object]]]] = [
    ("labelled", "order", [
        ("acb$", (2, 3, 1)), ("a$", (1,)), ("aab$", None), ("ac$", None), ("a1$", None),
        ("$", None),
    ]),
    ("blanks", "+", [("51   $", 15), ("5 1$", None), ("   $", None)]),
    # the hints of an answer, and its carries, may be wrong: its digits count
    ("hints", "+", [
        ("d5c2$", 25), ("x5x2$", 25), ("d5c$", None), ("d5c2d$", None), ("d55d$", None),
        ("52$", None),
    ]),
    ("carries", "+", [(".5'2$", 25), (".52$", 25), (".'$", None)]),
    *((name, "+", [
        ("6912$", 6912), ("6 912$", 6912), ("0$", 0), ("06912$", None), ("6912", None),
        (" $", None),
    ]) for name in ("spaced", "spaced-apart")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operator", "answers"), READ)
def test_what_is_read_as_an_answer(
    name: str, operator: str, answers: list[tuple[str, object]]
) -> None:
    for completion, answer in answers:
        assert layout_named(name).read(operator, completion) == answer, completion


# Hints.


def hinted(a: int, b: int, start: int) -> str:
    """The source's `__getitem__`: numbers, hints from `start` on, both interleaved."""
    width = max(len(str(a)), len(str(b))) + 1
    hints = HINTS[start : start + width]

    def interleaved(digits: str, hints: str) -> str:
        return "".join(hint + digit for hint, digit in zip(hints, digits, strict=True))

    first, second, answer = (str(value).zfill(width) for value in (a, b, a + b))
    prompt = f"{interleaved(first, hints)}+{interleaved(second, hints)}="
    return f"{prompt}{interleaved(answer[::-1], hints[::-1])}$"


def test_in_training_each_problem_has_hints_from_some_letter_on_as_far_as_they_last() -> None:
    layout, pairs = layout_named("hints"), [(957, 68), (10**127, 5)]
    assert [layout.write(Problem("+", pair)) for pair in pairs] == [hinted(*p, 0) for p in pairs]
    text = tiny.text(
        layout, [Problem("+", pair) for pair in pairs], layout.bounds("+", (128,) * 2).total
    )
    vary = jax.jit(lambda key: layout.vary(text, jax.random.split(key)).tokens)
    seen = [set(), set()]
    for seed in range(400):
        for row, (pair, tokens) in enumerate(zip(pairs, vary(jax.random.key(seed)), strict=True)):
            line = layout.decode(np.asarray(tokens)[: text.lengths[row]].tolist())
            start = HINTS.index(line[0])
            assert line == hinted(*pair, start)
            seen[row].add(start)
    assert seen[1] == {0}  # no letter to spare
    assert min(seen[0]) == 0
    assert max(seen[0]) == len(HINTS) - 4
    assert len(seen[0]) > 100


@pytest.mark.parametrize("name", ["fields", "filled-left"])
def test_operands_longer_than_their_field_are_refused(name: str) -> None:
    layout = layout_named(name)
    for refuse in (
        lambda: layout.write(Problem("+", (1234, 5))),
        lambda: layout.bounds("+", (1, 4)),
    ):
        with pytest.raises(UserError, match=rf"'{name}' takes .* at most 3 digits \(got 4\)"):
            refuse()
