"""`curta check`: answers against the truth, conflicts explained, moves that grow."""

import inspect
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from curta.config.errors import UserError
from curta.programs.machine import Answer, Given, Paper, Program, Sign, check, program, written
from curta.programs.machine.check import ProgramCheck
from curta.programs.machine.prompt import Part
from curta.programs.user import registry

EQUALS = Sign("=")


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under checks of every type, recording takes ten times as long."""
    monkeypatch.setattr(check, "TOKENS", 2_000)


def of(run: Callable[..., Any], truth: Callable[..., Any], **fields: Any) -> ProgramCheck:
    """What is found of a program of one operand, or of two."""
    operands = [Given(name, "place") for name in "nm"[: run.__code__.co_argcount - 1]]
    fields = {"axes": ("place",), "sizes": (1, 5), "answer": Answer("out")} | fields
    made = program("checkedhere", prompt=(*operands, EQUALS), truth=truth, **fields)(run)
    return registry.check(made)[0]


def total(paper: Paper, n: list[int]) -> None:
    """The sum of the digits, kept on paper."""
    so_far = 0
    for digit in n:
        so_far = (so_far + digit) % 10
        paper.move(place=+1).write("so far", so_far)
    paper.write("out", so_far).end()


def digits(n: int) -> int:
    return sum(map(int, str(n))) % 10


def test_a_sound_program_is_learnable() -> None:
    found = of(total, digits)
    assert found.learnable
    assert not found.growing
    assert found.windows["so far"] == (("n", (1,)),)
    assert [size.digits for size in found.sizes] == [5, 10, 20]
    assert found.distinct <= 10 + 100 + 10 + 10  # equals, so far, at its end, out


def test_a_conflict_is_explained_by_what_would_tell_its_windows_apart() -> None:
    def third(paper: Paper, n: list[int]) -> None:
        paper.write("out", n[2] if len(n) > 2 else 0).end()

    found = of(third, lambda n: n // 100 % 10)
    (one,) = found.conflicts
    assert one.role == "equals"
    assert one.window[0] == ("equals", "=")
    assert one.follows[0] != one.follows[1]
    assert one.hint.startswith("reach=3 resolves it")
    assert of(third, lambda n: n // 100 % 10, reach=3).learnable


def test_a_conflict_that_reach_does_not_mend() -> None:
    def mind(paper: Paper, n: list[int]) -> None:
        for digit in n:
            paper.move(place=+1).write("copy", digit)
        paper.write("out", sum(n) % 10).end()

    (one,) = of(mind, digits, sizes=(1, 12)).conflicts
    assert one.role == "copy"
    assert "write what decides the next token" in one.hint


def test_moves_that_grow_are_listed() -> None:
    def jump(paper: Paper, n: list[int]) -> None:
        paper.move(place=len(n)).write("out", n[0]).end()

    (grown,) = of(jump, lambda n: n % 10).growing
    assert (grown.role, grown.axis) == ("out", "place")
    assert grown.longest[-1] == "+20"


def test_a_truth_that_is_not_curtas_own() -> None:
    made = program(
        "mine", "+", axes=("place",), prompt=(Given("a", "place"), Sign("+"), Given("b", "place"),
        EQUALS), answer=Answer("out"), truth=lambda a, b: 0,
    )(lambda paper, a, b: paper.write("out", 0).end())  # fmt: skip
    right = r"operator '\+' is Curta's own, and 0\+1 is 1, not 0 as in program 'mine': choose"
    with pytest.raises(UserError, match=right):
        registry.check(made)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"axes": "place"}, "axes must be a tuple: write ('place',)"),
        ({"axes": ("row",)}, "'n' of its prompt: unknown axis 'place': choose from row"),
        ({"sizes": (5, 1)}, "sizes: digits must be two counts, the fewest and the most"),
        ({"answer": Answer("out", many="place", fraction="low")}, "is one decimal number"),
        ({"reech": 2}, "unknown field of a program 'reech': did you mean 'reach'?"),
        ({"broadcast": {"out": "place"}}, "axes must be a tuple: write ('place',)"),
        ({"broadcast": {"out": ("plaec",)}}, "unknown axis 'plaec': did you mean 'place'?"),
    ],
)
def test_parts_that_do_not_fit(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as raised:
        of(total, digits, **fields)
    assert says in str(raised.value)


FOLLOWS = Given("n", "place", follows=True)
POINT = Sign(".", "point", step={"place": 1})


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ((EQUALS, Given("n", "place"), EQUALS), "the role 'equals': give one of them another"),
        ((FOLLOWS, EQUALS), "'n' has follows=True, so an operand and a sign with step="),
        ((Given("m", "place"), FOLLOWS, EQUALS), "a sign with step= must stand before it"),
        ((Given("m", "place", base=2), POINT, FOLLOWS), "and all must be decimal"),
        (
            (Given("m", "place"), POINT, FOLLOWS, Given("k", "place", many="row")),
            "operand may have many=",
        ),
    ],
)
def test_prompts_that_could_not_be_read(prompt: tuple[Part, ...], says: str) -> None:
    with pytest.raises(UserError, match=says):
        written("sum", axes=("place", "row"), prompt=prompt, answer=Answer("out"), truth=int)


def test_a_prompt_without_its_comma() -> None:
    unchecked: Any = inspect.unwrap(written)  # by beartype, which users do not have
    with pytest.raises(UserError, match=r"prompt must be a tuple: write \(Given\(\.\.\.\),\)"):
        unchecked("sum", prompt=Given("n", "place"), answer=Answer("out"), truth=int)


def test_a_wrong_program_is_refused_with_the_problems_that_check_shows() -> None:
    made = program(
        "wrongsum", axes=("place",), prompt=(Given("n", "place"), EQUALS), sizes=(1, 5),
        answer=Answer("out"), truth=lambda n: digits(n) + (n > 6),
    )(total)  # fmt: skip
    (found,) = registry.check(made)
    shown = [one.operands for one in found.wrong]
    assert len(set(shown)) == 3
    assert all(n < 100 for (n,) in shown)
    with pytest.raises(UserError, match="program 'wrongsum' is wrong: it writes") as caught:
        check.refuse_wrong(made, registry.training_sizes(made))
    places = [str(caught.value).index(f"for wrongsum {n} (the truth is") for (n,) in shown]
    assert places == sorted(places)


ANSWERS: list[tuple[Program, tuple[int, ...], object]] = [
    (
        written("less", prompt=(Given("a", "place"), EQUALS), answer=Answer("out", sign="minus"),
                truth=lambda a: 5 - a),
        (18,), -13,
    ),
    (
        written("twice", axes=("place", "row"), prompt=(Given("a", "place"), EQUALS),
                answer=Answer("out", many="row", high_first=True), truth=lambda a: (a, 2 * a)),
        (56,), (56, 112),
    ),
    (
        written("hex", prompt=(Given("a", "place", base=16), EQUALS),
                answer=Answer("out", base=16), truth=lambda a: a + 1),
        (255,), 256,
    ),
    (
        written("half", prompt=(Given("a", "place"), EQUALS), truth=lambda a: Fraction(5 - a, 20),
                answer=Answer("out", sign="minus", fraction="low")),
        (18,), Fraction("-0.65"),
    ),
    (
        written("tenth", prompt=(Given("a", "place"), EQUALS), truth=lambda a: Fraction(a, 100),
                answer=Answer("out", high_first=True, fraction="low")),
        (1805,), Fraction("18.05"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "operands", "truth"), ANSWERS)
def test_an_answer_is_written_where_there_is_no_algorithm(
    made: Program, operands: tuple[int, ...], truth: object
) -> None:
    (found,) = registry.check(made)
    assert found.learnable, found.wrong
    assert made.truth is not None
    assert made.truth(*operands) == truth


def test_a_program_that_is_not_deterministic_is_told() -> None:
    def drawn(paper: Paper, n: list[int]) -> None:
        for digit in n:
            paper.move(place=+1).write("drawn", random.randrange(10)).write("out", digit)
        paper.end()

    found = of(drawn, lambda n: n)
    assert not found.learnable
    assert found.unstable
    with pytest.raises(UserError, match=r"not deterministic: it writes two different texts for"):
        check.refuse_wrong(found.program, registry.training_sizes(found.program))


def test_a_hint_is_given_only_where_it_resolves_the_conflict() -> None:
    """The verdict stands as far away as there are digits: it has to be found from everywhere."""

    def verdict(paper: Paper, n: list[int]) -> None:
        paper.write("odd", n[0] % 2)
        for digit in n:
            paper.move(place=+1).write("copy", digit)
        paper.write("out", n[0] % 2).end()

    (one,) = of(verdict, lambda n: n % 2, sizes=(1, 9)).conflicts
    assert one.hint.startswith("broadcast={'odd': ('place',)} resolves it")
    assert of(verdict, lambda n: n % 2, broadcast={"odd": ("place",)}).learnable
