"""The study of a GPU: its tables, what it refuses without one, and what it runs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from docs import gpu
from docs.evidence import Results
from docs.gpu import ADDITION, BITS, MEMBERS, Steps
from tests.docs.handmade import kept

STEP = {"ms": 0.5, "least": 0.25, "most": 1.0}


def test_a_members_part_is_that_of_one_of_many(tmp_path: Path) -> None:
    known: dict[str, Any] = {f"steps, {recipe}": {"1 at once": STEP} for recipe in MEMBERS}
    known[f"steps, {ADDITION}"] |= {"1024 at once": STEP}
    known |= {f"losses, {recipe}": [2.0, 1.0] for recipe in BITS}
    known |= {f"losses on a CPU, {recipe}": [2.0, 1.25] for recipe in BITS}
    known |= {f"bits, {recipe}": {"same": False} for recipe in BITS}
    known |= {f"bits, {recipe}, one cache": {"same": True} for recipe in BITS}
    found = gpu.tables(kept(tmp_path, "gpu", known))
    lines = [*found["gpu, steps"]]
    assert "| `addition` | 1 | 0.50 | 0.25 to 1.00 | 0.5000 |" in lines
    assert "| `addition` | 1,024 at once | 0.50 | 0.25 to 1.00 | 0.0005 |" in lines
    assert "| `addition` | 2 | 2e-01 |" in [*found["gpu, losses"]]
    assert "| `addition` | differ | the same |  |" in [*found["gpu, bits"]]


def test_ways_are_compared_recipe_by_recipe(tmp_path: Path) -> None:
    known = {"precision, addition": {"float32": STEP}, "steps, addition": {"1 at once": STEP}}
    rows = [*gpu._ways(kept(tmp_path, "gpu", known).read("gpu"), "precision")][2:]
    assert rows == ["| `addition` | float32 | 0.50 | 0.25 to 1.00 |"]


def test_without_a_gpu_it_is_refused_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")  # and as it was afterwards
    monkeypatch.setattr(gpu, "RESULTS", Results(tmp_path))
    monkeypatch.setattr(sys, "argv", ["gpu", "bits, addition"])
    with pytest.raises(SystemExit, match="this is for a gpu, and JAX has a cpu here"):
        gpu.main()
    assert not [*tmp_path.iterdir()]


def test_each_way_is_timed_and_the_first_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, int]] = []
    calls = {name: lambda count, name=name: taken.append((name, count)) for name in "ab"}
    found = gpu.compared(calls)
    assert taken == [("a", gpu.CHUNK), ("b", gpu.CHUNK)] * (1 + gpu.ROUNDS)
    assert all(0 <= one["least"] <= one["ms"] <= one["most"] for one in found.values())


def test_what_a_case_was_asked_for_is_as_before_the_flag() -> None:
    """Results that are kept are not measured again for a field that came later."""
    assert gpu._case(Steps(ADDITION, 16)) == [16, True, "highest", "float32"]
    free, held = gpu._and_deterministic({"one": Steps(ADDITION)}).values()
    assert gpu._case(held) == [*gpu._case(free), True]


@pytest.mark.slow
def test_processes_take_the_same_steps_in_whatever_parts() -> None:
    """On a CPU, where nothing has to be done for it."""
    found = gpu.bits_of_one_cache(ADDITION)
    assert found["same"]
    assert [*found["weights"]] == [*gpu.PARTS]


@pytest.mark.slow
def test_steps_are_those_of_a_training() -> None:
    """On a CPU: in one part or two, and whichever way products are asked for."""
    whole, parts = (gpu.digest_after(ADDITION, parts) for parts in ((4,), (1, 3)))
    assert whole == parts != gpu.digest_after(ADDITION, (3,))
    gpu.call_of(Steps(ADDITION, 2, vectorised=False, deterministic=True))(1)
