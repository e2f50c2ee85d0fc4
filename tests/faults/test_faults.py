"""A short form of every campaign, of some with the slow tests; `make faults` has the long one."""

import json
from pathlib import Path

import pytest

from tests.faults import damage, foreign, kills, malformed, outcome, power, server
from tests.faults.__main__ import COUNTS, FIGURES, table

TOLD = Path(__file__).parents[2] / "docs" / "reliability.md"


def whole(found: outcome.Outcome, count: int) -> None:
    """All cases were tried, and none of them failed."""
    assert found.cases >= count
    assert found.failures == []


@pytest.mark.slow
def test_runs_that_are_killed_end_as_others() -> None:
    whole(kills.run(1, 1), 1)


@pytest.mark.slow
def test_damaged_runs_are_refused_in_a_line() -> None:
    whole(damage.run(5, 1), 5)


@pytest.mark.slow
def test_nothing_outside_of_a_run_is_touched() -> None:
    whole(foreign.run(2, 1), 2)


@pytest.mark.slow
def test_a_run_outlasts_a_power_failure() -> None:
    whole(power.run(1, 1), 1)


def test_malformed_input_raises_nothing() -> None:
    whole(malformed.run(60, 1), 60)


@pytest.mark.slow
def test_the_server_never_fails() -> None:
    whole(server.run(40, 1), 80)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kills", "damage", "foreign", "power", "server"])
def test_some_more_of_each(name: str) -> None:
    module = {
        "kills": kills, "damage": damage, "foreign": foreign, "power": power, "server": server,
    }[name]  # fmt: skip
    whole(module.run(20, 99), 20)


def test_the_page_has_the_figures() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    assert list(figures) == [name for name in COUNTS if name in figures]
    assert table(figures) in TOLD.read_text("utf-8")
