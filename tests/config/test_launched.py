"""Which of several processes this is: as srun and mpirun say it."""

import pytest

from curta.config import launched
from curta.config.launched import Process

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
    for name in (*launched.SRUN, *launched.MPIRUN):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched.process() == process
