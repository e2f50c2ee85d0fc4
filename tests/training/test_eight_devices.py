"""Eight simulated devices, in a process of their own: the same members as on fewer.

Programs are compiled as users' are. Members that take turns are the same to the bit on two, four
and eight devices; on a single one XLA adds up in another order, and so it does where members are
vectorised in other numbers, or a batch is divided.
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


def test_members_in_turn_are_the_same_to_the_bit_on_two_four_and_eight(found: Any) -> None:
    assert [found[f"in turn/{count}/mesh"].tolist() for count in (2, 4, 8)] == [
        [2, 1], [4, 1], [8, 1]
    ]  # fmt: skip
    for name in ("loss", "weights"):
        two, four, eight = (found[f"in turn/{count}/{name}"] for count in (2, 4, 8))
        np.testing.assert_array_equal(two, eight)
        np.testing.assert_array_equal(two, four)


@pytest.mark.parametrize(
    ("case", "mesh"),
    [
        ("in turn", [8, 1]),
        ("vectorised", [8, 1]),
        ("vectorised texts", [8, 1]),
        ("divided batch", [1, 8]),
        ("both", [2, 4]),
    ],
)
def test_eight_devices_have_the_numbers_of_one(found: Any, case: str, mesh: list[int]) -> None:
    assert found[f"{case}/1/mesh"].tolist() == [1, 1]
    assert found[f"{case}/8/mesh"].tolist() == mesh
    for name, most in (("loss", 1e-5), ("weights", 5e-4)):
        one, eight = found[f"{case}/1/{name}"], found[f"{case}/8/{name}"]
        np.testing.assert_allclose(eight, one, atol=most)


def test_vectorised_members_are_those_that_take_turns(found: Any) -> None:
    for name, most in (("loss", 1e-5), ("weights", 5e-4)):
        one, other = found[f"in turn/1/{name}"], found[f"vectorised/1/{name}"]
        np.testing.assert_allclose(one, other, atol=most)
