"""Eight simulated devices, in a process of their own: the same members as on fewer.

Programs are compiled as users' are, each count of devices for itself: members agree up to rounding.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("eight") / "found.npz"
    environment = os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.training.eight", str(path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.mark.parametrize(
    ("case", "mesh"),
    [
        ("in turn", [2, 1]),
        ("in turn", [4, 1]),
        ("in turn", [8, 1]),
        ("vectorised", [8, 1]),
        ("vectorised texts", [8, 1]),
        ("divided batch", [1, 8]),
        ("both", [2, 4]),
    ],
)
def test_several_devices_have_the_numbers_of_one(found: Any, case: str, mesh: list[int]) -> None:
    count = mesh[0] * mesh[1]
    assert found[f"{case}/1/mesh"].tolist() == [1, 1]
    assert found[f"{case}/{count}/mesh"].tolist() == mesh
    for name, most in (("loss", 1e-5), ("weights", 5e-4)):
        one, several = found[f"{case}/1/{name}"], found[f"{case}/{count}/{name}"]
        np.testing.assert_allclose(several, one, atol=most)


def test_vectorised_members_are_those_that_take_turns(found: Any) -> None:
    for name, most in (("loss", 1e-5), ("weights", 5e-4)):
        one, other = found[f"in turn/1/{name}"], found[f"vectorised/1/{name}"]
        np.testing.assert_allclose(one, other, atol=most)
