"""What differs between systems; on this one, with what Windows lacks taken away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from curta.config import system
from curta.config.system import Process

ROOT = Path(__file__).parents[2]

FILES = """
from pathlib import Path
from tests.config import windows
windows.begin()
from curta.config import files, system
place = Path({place!r})
with files.new_folder(place / "run") as folder:
    files.write(folder / "one", "1")
    files.append(folder / "lines", "a\\n")
    files.append(folder / "lines", "b\\n")
    files.sync(folder / "lines")
assert files.read_bytes(place / "run" / "lines") == b"a\\nb\\n"
held = system.claim_lock(place / "run" / "one")
assert held is not None and not system.lock_is_free(place / "run" / "one")
assert files.read_bytes(place / "run" / "one") == b"1"
system.release_lock(held)
assert system.lock_is_free(place / "run" / "one")
(place / "link").symlink_to(place / "run" / "one")
try:
    files.read_bytes(place / "link")
except OSError as error:
    print(error.strerror)
"""


def _python(*words: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"CURTA_RUNS": str(runs)},
    )  # fmt: skip


def test_files_and_locks_do_without_what_posix_has(tmp_path: Path) -> None:
    done = _python("-c", FILES.format(place=str(tmp_path)), runs=tmp_path)
    assert (done.stderr, done.stdout) == ("", "it is a link\n")


@pytest.mark.slow
def test_a_run_goes_all_its_way_without_what_posix_has(tmp_path: Path) -> None:
    def curta(*words: str) -> str:
        done = _python("-m", "tests.config.windows", *words, runs=tmp_path)
        assert not done.returncode, done.stderr
        return done.stdout

    steps = ("training.steps=20", "evaluation.digits=[3]", "evaluation.certificate=0")
    assert "Report: " in curta("train", "copying", *steps)
    assert "copying" in curta("runs")
    assert "whole" in curta("runs", "copying")
    assert "Removed" in curta("runs", "--remove", "copying", "--yes")
    assert list(tmp_path.iterdir()) == []


SLURM = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "5", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1"}
MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


@pytest.mark.parametrize(
    ("variables", "process"),
    [
        ({}, Process(0, 1, 1)),
        (SLURM, Process(3, 5, 2)),
        (MPI, Process(1, 4, 2)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "5"}, Process(0, 1, 1)),  # a batch script
    ],
)
def test_it_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], process: Process
) -> None:
    for name in (*system.SRUN, *system.MPIRUN):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert system.process() == process
