"""Problems: read without surprise, true by Python's ints, of any length."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from curta import problems
from curta.errors import UserError
from curta.problems import MAX_DIGITS, Problem, parse, to_int, to_text

blank = st.sampled_from(["", " ", "\t", "  "])
digits = st.text("0123456789", min_size=1, max_size=60)


@given(a=tiny.ints(80), b=tiny.ints(80))
def test_the_truth_of_a_sum_is_pythons(a: int, b: int) -> None:
    assert Problem("+", (a, b)).truth == a + b


@given(problem=tiny.sums(80))
def test_a_problem_is_read_as_it_is_shown(problem: Problem) -> None:
    assert parse(str(problem)) == problem


@given(a=digits, b=digits, blanks=st.tuples(blank, blank, blank, blank), equals=st.booleans())
def test_blanks_leading_zeros_and_a_final_equals_sign_are_allowed(
    a: str, b: str, blanks: tuple[str, ...], equals: bool
) -> None:
    before, middle, after, end = blanks
    line = f"{before}{a}{middle}+{after}{b}{end}" + ("=" if equals else "")
    assert parse(line) == Problem("+", (int(a), int(b)))


noise = st.text("0123456789+-*.e= \n", max_size=10) | st.text(max_size=10)


@settings(max_examples=200)
@given(line=noise)
def test_a_line_is_a_problem_or_is_refused_in_one_line(line: str) -> None:
    match = re.fullmatch(r"\s*([0-9]+)\s*\+\s*([0-9]+)\s*=?\s*", line)
    if match is not None:
        assert parse(line).operands == (int(match[1]), int(match[2]))
        return
    with pytest.raises(UserError, match="cannot read") as caught:
        parse(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "the line is empty"),
        ("  ", "the line is empty"),
        ("12", "an operand is missing"),
        ("12+", "an operand is missing"),
        ("+12", "an operand is missing"),
        ("1+2+3", "one operator and two operands"),
        ("1.5+2", "only whole numbers"),
        ("1e5+2", "only whole numbers"),
        ("-1+2", "whole numbers from 0 up"),
        ("1+-2", "whole numbers from 0 up"),
        ("a+b", "'a b' is no digit and no known operator"),
        ("1&2", "'&' is no digit and no known operator"),
        ("\N{ARABIC-INDIC DIGIT ONE}+2", "is no digit"),
    ],
)
def test_the_most_specific_complaint_is_made(line: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        parse(line)


def test_a_very_long_line_is_shortened_in_its_complaint() -> None:
    with pytest.raises(UserError) as caught:
        parse("1" * 5000)
    assert len(str(caught.value)) < 200


def test_the_longest_operand_is_accepted_and_one_more_digit_is_not() -> None:
    nines = "9" * MAX_DIGITS
    assert parse(f"{nines}+1").truth == 10**MAX_DIGITS
    for line in (f"{nines}9+1", f"1+{nines}9"):
        with pytest.raises(UserError, match="at most 100,000 are accepted"):
            parse(line)


def test_a_problem_of_unknown_operator_or_negative_operand_is_refused() -> None:
    with pytest.raises(UserError, match="unknown operator 'plus'"):
        Problem("plus", (1, 2))
    with pytest.raises(UserError, match="whole numbers from 0 up"):
        Problem("+", (1, -2))


@given(value=tiny.ints(200))
def test_conversion_is_pythons_own(value: int) -> None:
    assert to_text(value) == str(value)
    assert to_int(str(value)) == value


@pytest.mark.parametrize("count", [4000, 4001, 4300, 4301, 9001, 20_000])
def test_conversion_goes_beyond_pythons_limit(count: int) -> None:
    """Numbers whose digits are known without converting them."""
    power = 10 ** (count - 1)
    assert to_text(power) == "1" + "0" * (count - 1)
    assert to_text(power - 1) == "9" * (count - 1)
    assert to_int("1" + "0" * (count - 1)) == power
    sevens = 7 * ((10**count - 1) // 9)
    assert to_text(sevens) == "7" * count
    assert to_int("7" * count) == sevens


@pytest.mark.parametrize("symbol", problems.OPERATORS)
def test_operators_are_listed_under_their_symbols(symbol: str) -> None:
    operator = problems.OPERATORS[symbol]
    assert operator.symbol == symbol
    assert operator.name
