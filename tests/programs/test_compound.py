"""Numbers of several operands: written and read as people write them."""

import time

from hypothesis import given
from hypothesis import strategies as st

from curta.programs import PROGRAMS
from curta.programs.declared import compound_text, read_compound
from curta.programs.machine import Answer, Given, Sign
from curta.programs.machine.prompt import Format, Part

SUM = PROGRAMS["fractions"].format


def form(*parts: Part) -> Format:
    return Format(("place",), parts, Answer("answer"))


CLOCK = form(
    Given("seconds", "place"),
    Sign(":", "colon", step={"place": 1}),
    Given("minutes", "place", follows=True),
    Sign("'", "stroke", step={"place": 1}),
    Given("hours", "place", follows=True),
    Sign("="),
)
"""Three operands, no second number, an end that people do not write."""

digits = st.text("0123456789", min_size=1, max_size=20)
blank = st.sampled_from(["", " ", "  "])


@given(a=digits, b=digits, c=digits, d=digits, blanks=st.tuples(blank, blank))
def test_digits_after_a_point_are_read_backward(
    a: str, b: str, c: str, d: str, blanks: tuple[str, str]
) -> None:
    line = f"{a}.{b}{blanks[0]}+{blanks[1]}{c}.{d}"
    assert read_compound(SUM, "+.", line) == [b[::-1], a, d[::-1], c]


def test_the_last_operand_says_which_way_round_a_number_is() -> None:
    assert compound_text(CLOCK, "!", ("59", "30", "12")) == "12'30:59"
    assert read_compound(CLOCK, "!", "12'30:59") == ["59", "30", "12"]


def test_long_lines_that_are_no_problem_are_refused_at_once() -> None:
    line, begun = "1" * 20_000, time.process_time()
    assert all(read_compound(SUM, "+.", line + tail) is None for tail in ("x", "+", ".5x", " x"))
    assert time.process_time() - begun < 30  # hours, if every way to divide the digits were tried
