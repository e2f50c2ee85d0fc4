"""The compile cache: quick the second time, and healed where it is damaged, in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from curta.config.errors import UserError
from curta.training import devices

WORK = """
import jax, jax.monitoring, jax.numpy as jnp
from curta.training import devices
counts = dict.fromkeys(("hits", "misses"), 0)
def count(event, **rest):
    name = event.rpartition("/cache_")[2]
    counts[name] = counts.get(name, 0) + 1
jax.monitoring.register_event_listener(count)
devices.configure()
for power in range(2, 8):
    assert jax.jit(lambda x: (x ** power).sum())(jnp.arange(3.0)) == 1 + 2.0 ** power
print(counts["hits"], counts["misses"])
"""
"""Compiles some programs, and says how many were read and how many were written."""


def work(cache: Path) -> tuple[int, int, str]:
    """Return how many programs were read and compiled, and what was printed on stderr."""
    environment = os.environ | {"CURTA_CACHE": str(cache), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", WORK]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    hits, misses = map(int, ended.stdout.split())
    return hits, misses, ended.stderr


def test_a_damaged_program_is_one_line_and_compiled_again(tmp_path: Path) -> None:
    hits, misses, lines = work(tmp_path)
    assert (hits, lines) == (0, "")
    path, *_ = (tmp_path / "compiled").iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    hits, recompiled, lines = work(tmp_path)
    assert (hits, recompiled) == (misses - 1, 1)
    assert lines.count("Notice: a damaged entry of the cache") == lines.count("Notice: ") == 1
    assert work(tmp_path) == (misses, 0, "")


def test_devices_are_as_many_as_cores_unless_fewer_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "visible", lambda: 4)
    monkeypatch.delenv("CURTA_CORES")
    assert devices.cores() == 4
    for setting, count in (("1", 1), ("4", 4), ("64", 4), ("", 4)):
        monkeypatch.setenv("CURTA_CORES", setting)
        assert devices.cores() == count
    for setting in ("0", "two", "-1"):
        monkeypatch.setenv("CURTA_CORES", setting)
        with pytest.raises(UserError, match="should be a count of cores"):
            devices.cores()
