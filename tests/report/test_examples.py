"""The examples of a report: wrong ones first, their wrong places marked, their writing shown."""

from pathlib import Path

import pytest

from curta.report import sections

from . import sample
from .parsed import Page, told, visible


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return told(sample.write_run(tmp_path_factory.mktemp("examples")))


def test_examples_show_wrong_answers_first_with_wrong_digits_marked(page: Page) -> None:
    verdicts = [row[3] for row in page.rows if len(row) == 6 and row[3] != "Verdict"][-4:]
    assert verdicts == ["1 place wrong", "1 place wrong", "invalid", "right"]
    assert "1<mark>0</mark>2" in page.source


def test_writing_is_shown_where_the_answer_is_wrong(page: Page) -> None:
    text = visible(page)
    assert "invalid what the model wrote 01==$".replace(" ", "") in text.replace(" ", "")
    assert "21a=201$" in text
    assert page.source.count("what the model wrote") == 3


def test_examples_come_from_every_part_of_the_evaluation(tmp_path: Path) -> None:
    sample.write_run(tmp_path)
    numbers = [(i, i + 100 if i % 2 else i) for i in range(199, 99, -1)]
    found = [
        {"problem": f"{i}+0", "truth": f"{i}", "answer": f"{answer}", "text": "", "member": 0,
         "first_error": None}
        for i, answer in numbers
    ]  # fmt: skip
    data = sample.evaluation(3, 5) | {"examples": found}
    sample.write_json(tmp_path / "evaluation.json", data)
    rows = [row for row in told(tmp_path).rows if row[-3:-2] == ["1 place wrong"]]
    shown = [int(row[1]) for row in rows]
    assert len(shown) == 24
    assert shown[0] == 199
    assert 100 < shown[-1] < 106


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
