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


def work(cache: Path, *before: str) -> tuple[int, int, list[str]]:
    """Programs that were read, those that were compiled, and the lines that were said."""
    environment = os.environ | {"CURTA_CACHE": str(cache), "JAX_PLATFORMS": "cpu"}
    command = [*before, sys.executable, "-c", WORK]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    hits, misses = map(int, ended.stdout.split())
    return hits, misses, [line for line in ended.stderr.splitlines() if line.strip()]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A cache in which all programs lie."""
    hits, misses, said = work(tmp_path / "cache")
    assert misses >= 6
    assert (hits, said) == (0, [])
    return tmp_path / "cache"


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "compiled").iterdir())


def notices(said: list[str], text: str) -> int:
    return sum("Notice: " in line and text in line for line in said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torn", "other", "empty", "pipe"])
def test_damaged_entries_are_one_line_and_then_whole(filled: Path, kind: str) -> None:
    found = entries(filled)
    for path in found:
        content = path.read_bytes()
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes({"torn": content[:-9], "other": os.urandom(2_000)}.get(kind, b""))
    hits, misses, said = work(filled)
    assert (hits, misses) == (0, len(found))
    assert notices(said, "a damaged entry of the cache") == 1
    assert not any("persistent compilation cache" in line for line in said)
    assert work(filled) == (len(found), 0, [])


def test_a_program_of_which_a_bit_changed_is_not_executed(filled: Path) -> None:
    path = entries(filled)[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    _, misses, said = work(filled)
    assert (misses, notices(said, "damaged")) == (1, 1)


def test_a_file_in_place_of_the_cache_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("mine")
    hits, _, said = work(tmp_path / "cache")
    assert (hits, notices(said, "cannot write to the cache")) == (0, 1)
    assert not any("persistent compilation cache" in line for line in said)


def test_devices_are_as_many_as_cores_unless_fewer_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "visible", lambda: 4)
    monkeypatch.delenv("CURTA_CORES")
    assert devices.cores() == 4
    for given, found in (("1", 1), ("4", 4), ("64", 4), ("", 4)):
        monkeypatch.setenv("CURTA_CORES", given)
        assert devices.cores() == found
    for given in ("0", "two", "-1"):
        monkeypatch.setenv("CURTA_CORES", given)
        with pytest.raises(UserError, match="should be a count of cores"):
            devices.cores()
