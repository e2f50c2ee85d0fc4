"""Two small runs that most tests of probes look at: half trained, so right at times."""

import pytest

from curta.runs.run import Run
from tests.made_once import Shared


@pytest.fixture(scope="session")
def windowed(shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two members that see the window of their program, and have half learned short sums."""
    return shared_runs.half_trained(tmp_path_factory.mktemp("windowed"))


@pytest.fixture(scope="session")
def dense(shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two members that write a layout and attend twice to everything, barely trained."""
    return shared_runs.in_folder(
        tmp_path_factory.mktemp("dense"), "dense", layout="coupled", positions__name="learned",
        positions__length=40, model__num_attention_layers=2, task__digits=[1, 3],
    )  # fmt: skip
