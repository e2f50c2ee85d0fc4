"""Problems: read in any base and notation without surprise, true by Python, of any length."""

import operator
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.limits import DIGITS
from curta.config.task import Task
from curta.problems import tasks
from curta.problems.numerals import (
    format_number,
    literals,
    of_exact,
    places_of,
    to_exact,
    to_int,
    to_text,
)
from curta.problems.operations import MODULI, OPERATIONS, operation_named
from curta.problems.problem import Problem, answer_text, parse
from tests import tiny

every_operator = pytest.mark.parametrize("symbol", [*OPERATIONS, *tiny.MODULAR])
blank = st.sampled_from(["", " ", "\t", "  "])
digits = st.text("0123456789", min_size=1, max_size=60)

SIGNS = ["+", "-", "*", "//", "%", "<"]


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
    ("operator", "line", "hint"),
    [
        ("+", "-3+4", "operands are whole numbers from 0 up, such as 12+34"),
        ("-", "3--4", "operands are whole numbers from 0 up, such as 12-34"),
        ("*", "12*", "an operand is missing; write a problem such as 12*34"),
        ("+ mod 97", "12", "an operator is missing; write a problem such as 96+48 mod 97"),
        ("copy", "974", "the name of the operation is missing; write a problem such as copy 123"),
    ],
)
def test_hints_are_of_the_operators_that_are_known(operator: str, line: str, hint: str) -> None:
    with pytest.raises(UserError, match=f"{re.escape(hint)}$"):
        parse(line, [operator])


def test_the_longest_operand_is_accepted_and_one_more_digit_is_not() -> None:
    nines = "9" * DIGITS
    assert parse(f"{nines}+1").truth == 10**DIGITS
    for line in (f"{nines}9+1", f"1-{nines}9", f"copy {nines}9", f"1.{nines}9+1.0"):
        with pytest.raises(UserError, match="at most 100,000 are accepted"):
            parse(line)


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
        ("0x1-0xff", Problem("-", (1, 255), 16), "-0xfe"),
        ("3#12+3#21", Problem("+", (5, 7), 3), "3#110"),
        ("binary 13", Problem("binary", (13,)), "0b1101"),
        ("decimal 0b1101", Problem("decimal", (13,), 2), "13"),
    ],
)
def test_problems_are_read_and_answered(line: str, problem: Problem, answer: str) -> None:
    assert parse(line) == problem
    assert answer_text(problem.truth, problem.answer_base) == answer


PYTHONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
moduli = st.integers(MODULI[0], MODULI[-1])
signs = st.sampled_from(sorted(PYTHONS))


@given(signs, moduli, st.integers(0, 10**30), st.integers(0, 10**30))
def test_the_truth_is_pythons_remainder(sign: str, modulus: int, a: int, b: int) -> None:
    problem = parse(f"{a} {sign} {b} mod {modulus}")
    assert problem == Problem(f"{sign} mod {modulus}", (a, b))
    assert problem.truth == PYTHONS[sign](a, b) % modulus
    assert str(problem) == f"{a}{sign}{b} mod {modulus}"
    assert parse(f"{problem} =") == problem
    assert len(str(problem.truth)) <= problem.operation.widths((31, 31))[0]


@pytest.mark.parametrize(
    "symbol", ["+ mod 1", "+ mod 252", "// mod 97", "sort mod 97", "+ mod 097", "+ mod"]
)
def test_other_symbols_are_no_operation(symbol: str) -> None:
    assert symbol not in OPERATIONS
    with pytest.raises(UserError):
        operation_named(symbol)


def test_a_table_has_each_residue_once() -> None:
    task = Task("+ mod 7", values=(0, 6), held_out=20, special=0.0, twins_together=False)
    tasks.check(task)
    split = tasks.split(task)
    assert (split.training, split.held_out, split.overlap) == (29, 20, 0)
    with pytest.raises(UserError, match=r"task.values 0..7: modulo 7 some operands are equal"):
        tasks.check(Task("+ mod 7", values=(0, 7), special=0.0))


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


@given(number=st.integers(-(10**30), 10**30), places=st.integers(0, 40))
def test_decimal_fractions_are_written_exactly_and_in_the_fewest_digits(
    number: int, places: int
) -> None:
    value = Fraction(number, 10**places)
    text = to_exact(value)
    assert Fraction(Decimal(text)) == value
    whole, point, below = text.partition(".")
    assert (whole.lstrip("-").isdecimal(), point, below.isdecimal()) == (True, ".", True)
    assert len(below) == 1 or below[-1] != "0"
    assert len(below) == places_of(value)
    assert text.startswith("-") == (value < 0)


@given(value=st.fractions())
def test_every_fraction_comes_back_from_text(value: Fraction) -> None:
    assert of_exact(to_exact(value)) == value


def test_what_no_decimal_fraction_is_stays_a_quotient() -> None:
    assert [to_exact(Fraction(n, 6)) for n in (1, -3, 12)] == ["1/6", "-0.5", "2.0"]
    assert places_of(Fraction(1, 3)) is None
