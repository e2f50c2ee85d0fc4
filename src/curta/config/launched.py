"""Which of several processes this one is, where srun or mpirun has begun it.

It is read from the environment, so that a single process knows without importing JAX.
"""

import os
import re
from dataclasses import dataclass

SRUN = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE")
MPIRUN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
"""Where a launcher says a process's index, how many there are, and how many on its machine."""


@dataclass(frozen=True)
class Process:
    """One of `count` processes that belong together, `beside` of them on its machine."""

    index: int = 0
    count: int = 1
    beside: int = 1


def process() -> Process:
    """This process, as its environment says; one that is alone where that says nothing.

    A batch script of Slurm's is alone, however many tasks srun would begin in it.
    """
    for names in (SRUN, MPIRUN):
        if all(name in os.environ for name in names):
            (index, *_), (count, *_), (beside, *_) = map(_numbers, names)
            return Process(index, count, beside)
    return Process()


def _numbers(name: str) -> list[int]:
    """The numbers in a variable: `2(x3)`, two tasks on each of three nodes, has 2 and 3."""
    return [int(number) for number in re.findall("[0-9]+", os.environ[name])]
