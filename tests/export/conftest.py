"""Machines of these tests are found in fewer texts."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _small_surveys() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("curta.programs.machine.survey.TOKENS", 20_000)
        yield
