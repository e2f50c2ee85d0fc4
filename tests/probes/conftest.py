"""Two small runs that most tests of probes look at: half trained, so right at times."""

import shutil
from functools import partial
from pathlib import Path

import pytest

import curta
from curta.frontends import api
from curta.runs.run import Run
from tests import tiny
from tests.made_once import Shared


def trained(shared_runs: Shared, root: Path, name: str, **changes: object) -> Run:
    """A copy of a run that one of the workers has trained."""
    begin = partial(api.begin, "addition", 2, name, tiny.overrides(**changes))
    made = shared_runs.made(name, lambda: begin().train())
    shutil.copytree(made / name, root / name)
    return curta.load(str(root / name))


@pytest.fixture(scope="session")
def windowed(shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two members that see the window of their program, and have half learned short sums."""
    return trained(
        shared_runs, tmp_path_factory.mktemp("windowed"), "windowed", task__digits=[1, 3],
        model__width=32, model__mlp_ratio=4, training__steps=300, training__batch=128,
        training__problems=1000, training__checkpoint_every=100,
    )  # fmt: skip


@pytest.fixture(scope="session")
def dense(shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two members that write a layout and attend twice to everything, barely trained."""
    return trained(
        shared_runs, tmp_path_factory.mktemp("dense"), "dense", layout="coupled",
        positions__name="learned", positions__length=40, model__num_attention_layers=2,
        task__digits=[1, 3],
    )  # fmt: skip
