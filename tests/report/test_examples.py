"""The examples of a report: wrong ones first, their wrong places marked, their writing shown."""

import pytest

from curta.report import sections


@pytest.mark.parametrize(
    ("answer", "truth", "marked"),
    [
        ("102", "112", "1<mark>0</mark>2"),
        ("12", "112", "12"),
        ("-12", "-12", "-12"),
        ("12", "-12", "12"),
        ("-12", "12", "<mark>-</mark>12"),
        ("-13", "12", "<mark>-</mark>1<mark>3</mark>"),
        ("-1", "-11", "-1"),
        ("16.25", "16.5", "16.<mark>25</mark>"),
        ("16.5", "16.25", "16.<mark>5</mark>"),
        ("-6.5", "16.5", "<mark>-</mark>6.5"),
        ("true", "true", "true"),
        ("true", "false", "<mark>true</mark>"),
        ("7,33,210", "7,33,210", "7,33,210"),
        ("7,210,33", "7,33,210", "7,<mark>210</mark>,<mark>33</mark>"),
        ("7,33", "7,33,210", "7,33"),
        ("7,33,210", "7", "7,<mark>33</mark>,<mark>210</mark>"),
        ("", "7,8", ""),
    ],
)
def test_answers_of_every_kind_are_compared(answer: str, truth: str, marked: str) -> None:
    pieces = sections.marked(answer, truth)
    assert "".join(text if right else f"<mark>{text}</mark>" for text, right in pieces) == marked
