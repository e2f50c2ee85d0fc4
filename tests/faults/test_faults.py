"""A short form of every campaign, of some with the slow tests; `make faults` has the long one."""

from types import ModuleType

import pytest

from tests.faults import damage, kills, malformed, power


@pytest.mark.parametrize(
    ("campaign", "count", "seed"),
    [
        (malformed, 4, 1),
        (power, 1, 1),  # a kill at any moment, and resumed, gives the same run
        pytest.param(kills, 3, 1, marks=pytest.mark.slow),
        pytest.param(damage, 5, 1, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("brief")
def test_every_case_of_a_campaign_ends_as_it_should(
    campaign: ModuleType, count: int, seed: int
) -> None:
    outcome = campaign.run(count, seed)
    assert outcome.cases >= count
    assert outcome.failures == []
