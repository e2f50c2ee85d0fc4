"""What differs between systems; on this one, with what Windows lacks taken away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from curta.config import system
from curta.config.system import Process

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_run_goes_all_its_way_without_what_posix_has(tmp_path: Path) -> None:
    def curta(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tests.config.windows", *words], cwd=ROOT, capture_output=True,
            text=True, check=False, env=os.environ | {"CURTA_RUNS": str(tmp_path)},
        )  # fmt: skip
        assert not done.returncode, done.stderr
        return done.stdout

    steps = ("training.steps=20", "evaluation.digits=[3]", "evaluation.certificate=0")
    assert "Report: " in curta("train", "copying", *steps)
    assert "copying" in curta("runs")
    assert "whole" in curta("runs", "copying")
    assert "Removed" in curta("runs", "--remove", "copying", "--yes")
    assert list(tmp_path.iterdir()) == []


SLURM = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "5", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1"}
MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


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
