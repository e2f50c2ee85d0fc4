"""How numbers are written on the page."""

from typing import Any

import pytest

from curta.report.run_folder import Trained
from curta.report.summary import duration, minute, percent, trained_on


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


@pytest.mark.parametrize(
    ("trained", "text"),
    [
        (((1, 10), (1, 10), None), "1 to 10 digits"),
        (((5, 5), (5, 5), None), "5 digits"),
        (((1, 6), (1, 3), None), "1 to 6 by 1 to 3 digits"),
        (((1, 5), (1, 5), (1, 6)), "1 to 6 numbers of 1 to 5 digits"),
    ],
)
def test_what_was_trained_on_is_told_in_short(trained: Any, text: str) -> None:
    assert trained_on(Trained(*trained)) == text


def test_time_of_any_zone_is_shown_to_the_minute() -> None:
    assert minute("2025-06-01T12:00:59Z") == "2025-06-01 12:00 UTC"
    assert minute("2025-06-01T12:00:59.123") == "2025-06-01 12:00"
