"""The examples of a report: wrong ones first, their wrong places marked, their writing shown."""

import pytest

from curta.report import sections


@pytest.mark.parametrize(
    ("answer", "truth", "marked", "verdict"),
    [
        ("102", "112", "1<mark>0</mark>2", "1 place wrong"),
        ("12", "112", "12", "1 place wrong"),
        ("-12", "-12", "-12", "right"),
        ("12", "-12", "12", "1 place wrong"),
        ("-12", "12", "<mark>-</mark>12", "1 place wrong"),
        ("-13", "12", "<mark>-</mark>1<mark>3</mark>", "2 places wrong"),
        ("-1", "-11", "-1", "1 place wrong"),
        ("16.25", "16.5", "16.<mark>25</mark>", "2 places wrong"),
        ("16.5", "16.25", "16.<mark>5</mark>", "2 places wrong"),
        ("-6.5", "16.5", "<mark>-</mark>6.5", "2 places wrong"),
        ("true", "true", "true", "right"),
        ("true", "false", "<mark>true</mark>", "wrong"),
        ("7,33,210", "7,33,210", "7,33,210", "right"),
        ("7,210,33", "7,33,210", "7,<mark>210</mark>,<mark>33</mark>", "6 places wrong"),
        ("7,33", "7,33,210", "7,33", "2 numbers for 3"),
        ("7,33,210", "7", "7,<mark>33</mark>,<mark>210</mark>", "3 numbers for 1"),
        ("", "7,8", "", "1 number for 2"),
    ],
)
def test_answers_of_every_kind_are_compared(
    answer: str, truth: str, marked: str, verdict: str
) -> None:
    pieces = sections.marked(answer, truth)
    assert "".join(text if right else f"<mark>{text}</mark>" for text, right in pieces) == marked
    assert sections.verdict(answer, truth) == verdict
