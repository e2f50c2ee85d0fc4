"""Named problems in a report: what every member wrote before training and after it."""

from pathlib import Path
from typing import Any

from . import sample
from .parsed import Page, told


def wrote(text: str, answer: str | None) -> dict[str, Any]:
    return {"text": text, "answer": answer, "first_error": None}


ROW = {
    "operator": "+",
    "problem": "12+34",
    "truth": "46",
    "before": [wrote("9 <b>  7", None), wrote("64$", "46")],
    "after": [wrote("64$", "46"), wrote("65x$", "56")],
}


def page(folder: Path, **changes: object) -> Page:
    data = sample.evaluation(2, 5) | {"named": [ROW | changes]}
    sample.write_run(folder, 2)
    sample.write_json(folder / "evaluation.json", data)
    return told(folder)


def test_every_member_is_shown_with_its_verdict(tmp_path: Path) -> None:
    found = page(tmp_path)
    start = found.rows.index(["Problem", "Truth", "Before", "After", "Verdict", "Member", "See it"])
    first, second = found.rows[start + 1 : start + 3]
    assert first == ["12+34", "46", "invalid 9 <b>  7", "46", "right", "0", "Watch"]
    assert second[:3] + second[4:] == ["12+34", "46", "46", "1 place wrong", "1", "Watch"]
    assert second[3] == "56what the model wrote65x$"
    assert "<mark>5</mark>6" in found.source
    assert not found.all("b")
