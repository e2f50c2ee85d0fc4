"""How numbers are written on the page."""

import pytest

from curta.report.summary import duration, percent


@pytest.mark.parametrize(
    ("share", "text"),
    [(1, "100.0"), (0.99996, ">99.9"), (0.995, "99.5"), (0.0001, "<0.1"), (0, "0.0")],
)
def test_percent_never_rounds_to_all_or_none(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.44, "2.4 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (3900, "1 h 5 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
