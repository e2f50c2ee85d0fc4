"""Numbers in any base, calls of named operations, and operations that programs bring."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.problems.numerals import format_number, literals
from curta.problems.problem import Problem, answer_text, parse


@given(value=st.integers(0, 10**60), base=st.integers(2, 36))
def test_a_number_is_read_in_the_base_in_which_it_is_written(value: int, base: int) -> None:
    assert literals(format_number(value, base)) == (str(value), base)


@given(
    values=st.tuples(*[st.integers(0, 10**30)] * 2),
    base=st.integers(2, 36),
    sign=st.sampled_from("+-*"),
)
def test_a_problem_in_a_base_is_read_as_it_is_shown(
    values: tuple[int, int], base: int, sign: str
) -> None:
    problem = Problem(sign, values, base)
    assert parse(str(problem)) == problem
    assert problem.answer_base == base


@pytest.mark.parametrize(
    ("line", "problem", "answer"),
    [
        ("gcd(1071, 462)", Problem("gcd", (1071, 462)), "21"),
        ("sort(3,1,2) =", Problem("sort", (3, 1, 2)), "1,2,3"),
        ("0xff + 0x1", Problem("+", (255, 1), 16), "0x100"),
        ("0b101*0b11", Problem("*", (5, 3), 2), "0b1111"),
        ("0x1-0xff", Problem("-", (1, 255), 16), "-0xfe"),
        ("3#12+3#21", Problem("+", (5, 7), 3), "3#110"),
        ("binary 13", Problem("binary", (13,)), "0b1101"),
        ("decimal 0b1101", Problem("decimal", (13,), 2), "13"),
        ("isqrt(99)", Problem("isqrt", (99,)), "9"),
        ("luhn 7992739871", Problem("luhn", (7992739871,)), "3"),
    ],
)
def test_problems_are_read_and_answered(line: str, problem: Problem, answer: str) -> None:
    assert parse(line) == problem
    assert answer_text(problem.truth, problem.answer_base) == answer


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("0xff+1", "'0xff' and '1': write all operands in one base"),
        ("0xff+0b1", "'0xff' and '0b1': write all operands in one base"),
        ("3#9+3#1", "'3#9' has a digit that base 3 does not have"),
        ("0x1g+0x1", "'0x1g' has a digit that base 16 does not have"),
        ("99#1+99#1", "base 99: bases are 2 to 36"),
        ("decimal 13", "decimal takes operands in base 2, such as decimal 0b1101"),
        ("binary 0b1", "binary takes operands in base 10, such as binary 13"),
        ("gdc(1,2)", "unknown operation 'gdc': did you mean 'gcd'"),
        ("gcd(1)", "gcd takes 2 operands, such as gcd 1071,462"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(line: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        parse(line)
