"""Prompts and readings that are data: held against what is written out by hand."""

from hypothesis import given
from hypothesis import strategies as st

from curta.layouts import LAYOUTS
from curta.layouts.base import AnswerPattern, PromptFormat
from curta.problems.operations import OPERATIONS
from tests import tiny

NUMBERS = st.lists(tiny.ints(6), min_size=1, max_size=4)


@given(NUMBERS)
def test_a_form_puts_operands_together(values: list[int]) -> None:
    first, *others = map(str, values)
    expected = "?" + "&".join([first, *(text[::-1] for text in others)]) + "="
    assert PromptFormat("&", "?", turned=(False, True)).write(values) == expected


@given(NUMBERS)
def test_a_form_fills_before_it_turns(values: list[int]) -> None:
    width = max(len(str(value)) for value in values) + 2
    expected = "&".join(f"{value:*>{width}}"[::-1] for value in values) + "="
    assert PromptFormat("&", fill="*", ahead=2).write(values) == expected


@given(NUMBERS, st.booleans(), st.booleans())
def test_a_reading_finds_the_numbers(values: list[int], below: bool, turned: bool) -> None:
    texts = [str(value)[:: -1 if turned else 1] for value in values]
    text = "a=b=" + "-" * below + " ,".join(texts)
    reading = AnswerPattern(".*=(-?)([0-9,]+)", turned, drop=" ")
    assert reading.read(text) == [-value if below else value for value in values]
    assert reading.read(text + "=") is None


@given(st.data())
def test_a_malformed_difference_or_comparison_is_no_answer(data: st.DataObject) -> None:
    operator, layout = data.draw(
        st.sampled_from([("-", "plain"), ("<", "reversed"), ("-", "reversed")])
    )
    problem = data.draw(tiny.problems(operator, 5))
    written = LAYOUTS[layout].completion(problem)
    assert LAYOUTS[layout].read(operator, written + "$") == OPERATIONS[operator].truth(
        *problem.operands
    )
    for wrong in (written, written + "+$", written[:-1] + "<$", "+-" + written + "$"):
        assert LAYOUTS[layout].read(operator, wrong) is None
