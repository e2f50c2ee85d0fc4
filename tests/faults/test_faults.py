"""A short form of every campaign, of some with the slow tests; `make faults` has the long one."""

from types import ModuleType

import pytest

from tests.faults import damage, foreign, kills, malformed, power, server


@pytest.mark.parametrize(
    ("campaign", "count", "seed"),
    [
        (malformed, 4, 1),
        (power, 1, 1),  # a kill at any moment, and resumed, gives the same run
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                (kills, 1, 1), (damage, 5, 1), (foreign, 2, 1), (server, 20, 1),
            ]
        ),
    ],
)  # fmt: skip
def test_every_case_of_a_campaign_ends_as_it_should(
    campaign: ModuleType, count: int, seed: int
) -> None:
    found = campaign.run(count, seed)
    assert found.cases >= count
    assert found.failures == []
