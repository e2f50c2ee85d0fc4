"""Problems: read without surprise, true by Python's ints, of any length."""

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.limits import DIGITS
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import (
    Problem,
    answer_text,
    parse,
)
from tests import tiny

every_operator = pytest.mark.parametrize("symbol", [*OPERATIONS, *tiny.MODULAR])
blank = st.sampled_from(["", " ", "\t", "  "])
digits = st.text("0123456789", min_size=1, max_size=60)

PYTHONS: dict[str, Callable[[int, int], Answer]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
}
SIGNS = sorted(PYTHONS)


@pytest.mark.parametrize("symbol", SIGNS)
@given(data=st.data())
def test_the_truth_of_two_operands_is_pythons(symbol: str, data: st.DataObject) -> None:
    problem = data.draw(tiny.problems(symbol, 80, most=2))
    truth = PYTHONS[symbol](*problem.operands)
    assert problem.truth == truth
    assert type(problem.truth) is type(truth)


@given(values=st.lists(tiny.ints(40), min_size=2, max_size=8).map(tuple))
def test_many_numbers_are_summed_and_sorted_as_python_does(values: tuple[int, ...]) -> None:
    assert Problem("+", values).truth == sum(values)
    assert Problem("sort", values).truth == tuple(sorted(values))


@given(values=st.lists(st.integers(0, 12), min_size=1, max_size=12).map(tuple))
def test_an_order_sorts_and_leaves_equal_numbers_as_they_stand(values: tuple[int, ...]) -> None:
    places = Problem("order", values).truth
    assert isinstance(places, tuple)
    assert sorted(places) == list(range(1, len(values) + 1))
    for one, following in pairwise(places):
        assert (values[one - 1], one) < (values[following - 1], following)


@given(value=tiny.ints(40))
def test_a_number_is_copied_and_turned_around(value: int) -> None:
    assert Problem("copy", (value,)).truth == value
    assert Problem("reverse", (value,)).truth == int(str(value)[::-1])


@every_operator
@given(data=st.data())
def test_a_problem_is_read_as_it_is_shown(symbol: str, data: st.DataObject) -> None:
    problem = data.draw(tiny.problems(symbol, 80))
    assert parse(str(problem)) == problem


@pytest.mark.parametrize("symbol", SIGNS)
@given(a=digits, b=digits, blanks=st.tuples(blank, blank, blank, blank), equals=st.booleans())
def test_blanks_leading_zeros_and_a_final_equals_sign_are_allowed(
    symbol: str, a: str, b: str, blanks: tuple[str, ...], equals: bool
) -> None:
    before, middle, after, end = blanks
    b = b if int(b) else "1"
    line = f"{before}{a}{middle}{symbol}{after}{b}{end}" + ("=" if equals else "")
    assert parse(line) == Problem(symbol, (int(a), int(b)))


@given(
    values=st.lists(digits, min_size=1, max_size=5),
    between=st.sampled_from([",", " ", ", ", " , "]),
    blanks=st.tuples(blank, blank, blank),
)
def test_numbers_to_sort_stand_between_commas_or_blanks(
    values: list[str], between: str, blanks: tuple[str, ...]
) -> None:
    before, middle, after = blanks
    line = f"{before}sort {middle}{between.join(values)}{after}"
    assert parse(line) == Problem("sort", tuple(map(int, values)))


decimal_text = st.tuples(digits, digits).map(".".join)


@given(a=decimal_text, b=decimal_text, blanks=st.tuples(blank, blank), equals=st.booleans())
def test_numbers_with_a_point_are_added_as_pythons_fractions(
    a: str, b: str, blanks: tuple[str, str], equals: bool
) -> None:
    problem = parse(f"{blanks[0]}{a} + {b}{blanks[1]}" + "=" * equals)
    assert problem.operator == "+."
    assert problem.truth == Fraction(a) + Fraction(b)
    assert Fraction(answer_text(problem.truth)) == problem.truth
    shown = str(problem).split("+")
    assert list(map(Fraction, shown)) == [Fraction(a), Fraction(b)]


noise = st.text("0123456789+-*/%<,.e= \n", max_size=10) | st.text(max_size=10)
words = st.sampled_from(["sort", "copy", "reverse", "srot", ""])
WELL_FORMED = re.compile(r"\s*[0-9]+(\s*(\+|-|\*|//|%|<)\s*[0-9]+)(\s*\2\s*[0-9]+)*\s*=?\s*")


POINTED = re.compile(r"\s*[0-9]+\.[0-9]+\s*\+\s*[0-9]+\.[0-9]+\s*=?\s*")


def read(line: str) -> Problem | str:
    """The problem, or why there is none."""
    try:
        return parse(line)
    except UserError as error:
        return str(error)


@settings(max_examples=300)
@given(word=words, rest=noise)
def test_a_line_is_a_problem_or_is_refused_in_one_line(word: str, rest: str) -> None:
    line = f"{word} {rest}" if word else rest
    found = read(line)
    if isinstance(found, str):
        assert re.fullmatch("cannot read .*", found)
    else:
        assert word or WELL_FORMED.fullmatch(line) or POINTED.fullmatch(line)
        if POINTED.fullmatch(line):
            return
        assert found.operands == tuple(map(int, re.findall("[0-9]+", line)))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("  ", "there is nothing"),
        ("12", "an operator is missing"),
        ("+12", "an operand is missing"),
        ("1 2+3", "two numbers have no operator between them"),
        ("1*2*3", "multiplication takes 2 operands"),
        ("copy 1 2", "copy takes 1 operand, such as copy 123"),
        ("1+2-3", r"'\+' and '-' together: one operation at a time"),
        ("1//0", "division by zero has no answer"),
        ("0%000", "division by zero has no answer"),
        ("1/2", "'/' is not an operator: did you mean '//'"),
        ("1.5*2", "numbers are whole, written as 1234; with a point there is 12.5\\+3.75"),
        (".5+1.", r"every number needs a point .*, such as 12\.5\+3\.75"),
        ("1.5+2.5+3.5", "numbers are whole"),
        ("0x1.0x2+0x3.0x4", "numbers are whole|a digit"),
        ("1+.2+.3+.4", "'.' is (not|neither) a digit"),
        ("1e5+2", "numbers are whole"),
        ("1,000+2", "',' in '1,000': write 1000"),
        ("12+34=46", "'=' ends a problem: write '12\\+34'"),
        ("-1+2", "whole numbers from 0 up"),
        ("sort 1,,2", "there is nothing"),
        ("sort 1+2", "is not a whole number from 0 up"),
        ("copy x", "'x' is not a digit; write a problem such as copy 123"),
        ("srot 1,2", "unknown operation 'srot': did you mean 'sort'"),
        ("1+b", "'b' is neither a digit nor an operator"),
        ("\N{ARABIC-INDIC DIGIT ONE}+2", "a digit"),
    ],
)
def test_the_most_specific_complaint_is_made(line: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        parse(line)
    assert str(caught.value).startswith("cannot read ")
    assert "\n" not in str(caught.value)


def test_a_very_long_line_is_shortened_in_its_complaint() -> None:
    hexadecimal = "0x" + "f" * 5000
    for line in (
        *("1" * 5000, "1" * 5000 + "/2", "sort " + "-1," * 2000, "1" * 5000 + "+.5"),
        *(f"{hexadecimal}+3", f"{hexadecimal}g+0x1", "1" * 5000 + "#1+1#1", "1" * 5000 + "=2"),
    ):
        with pytest.raises(UserError) as caught:
            parse(line)
        assert len(str(caught.value)) < 250


def test_the_longest_operand_is_accepted_and_one_more_digit_is_not() -> None:
    nines = "9" * DIGITS
    assert parse(f"{nines}+1").truth == 10**DIGITS
    for line in (f"{nines}9+1", f"1-{nines}9", f"copy {nines}9", f"1.{nines}9+1.0"):
        with pytest.raises(UserError, match="at most 100,000 are accepted"):
            parse(line)
