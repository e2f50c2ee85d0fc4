"""Submit runs as tasks: to Slurm by submitit, or to processes of this machine.

Submitit gets a function of this package, the folder, and the number of the task. It pickles these,
the function by its name, and unpickles them in the task. Nothing here reads a pickle, and none
holds content of a run.

Local tasks do without submitit. Its local executor needs a time limit for each task, its tasks end
with the terminal, and all of them get the same GPUs.
"""

import datetime
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from curta.config import system
from curta.config.cluster import Cluster
from curta.config.errors import UserError
from curta.config.registry import optional_module
from curta.runs import provenance
from curta.runs.cluster import queue
from curta.runs.cluster.job import Job, JobFolder, System, Task
from curta.training import devices

Work = Callable[[str, str], None]
"""What a task does, given the folder of its job and its number."""

STARTING = 60.0
"""Seconds that a local task may take to begin."""


def divide(runs: Sequence[str], on: System, cluster: Cluster, cores: int) -> tuple[Task, ...]:
    """Divide the runs into tasks.

    Each of Slurm's has some of them, so that machines need not agree on who takes what. Local
    ones, one for each process, all have all of them: whoever is free takes the next.
    """
    if on == "local":
        processes = cluster.parallel or max(1, cores // (cluster.cores or 1))
        return (Task(tuple(runs)),) * min(processes, len(runs))
    return tuple(
        Task(tuple(runs[first : first + cluster.runs]))
        for first in range(0, len(runs), cluster.runs)
    )


def submit(path: Path, runs: Sequence[str], on: System, cluster: Cluster, work: Work) -> Job:
    """Submit the runs that are not finished, by the names of their folders.

    `work` is a function of a module that can be executed as one. Raises UserError if tasks of an
    earlier submission are still at work, or none can be begun.
    """
    folder = JobFolder(path.resolve())
    _check(folder, on)
    finished = tuple(filter(folder.is_finished, runs))
    left = [name for name in runs if name not in finished]
    if not left:
        raise UserError(f"{folder.name!r} is finished: nothing is left to be done")
    folder.forget_tries()
    tasks = divide(left, on, cluster, devices.visible())
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    job = Job(on, cluster, tasks, provenance.command(), now, socket.gethostname(), finished)
    folder.save(job)  # first: a task reads there what it has to do
    started = _to_slurm(folder, job, work) if on == "slurm" else _to_processes(folder, job, work)
    tasks = tuple(replace(task, id=name) for task, name in zip(tasks, started, strict=True))
    folder.save(replace(job, tasks=tasks))
    return job


def _check(folder: JobFolder, on: System) -> None:
    if on == "slurm":
        optional_module("submitit", "cluster")
    elif not hasattr(os, "posix_spawn") or not system.OPENS_FOLDERS:
        raise UserError("--on local needs Linux or macOS")
    if folder.exists and queue.living(folder, folder.read()):
        raise UserError(
            f"tasks of {folder.name!r} are at work: `curta runs {folder.name}` shows them,"
            " --cancel ends them"
        )


def _to_slurm(folder: JobFolder, job: Job, work: Work) -> list[str]:
    """Submit the tasks to Slurm as one array; return their ids."""
    submitit = optional_module("submitit", "cluster")
    try:
        executor = submitit.SlurmExecutor(folder.submitit, max_num_timeout=job.cluster.requeues)
        executor.update_parameters(**slurm_parameters(job.cluster, folder.name))
        numbers = [str(number) for number in range(len(job.tasks))]
        with redirect_stderr(StringIO()):  # the error repeats what sbatch prints
            tasks = executor.map_array(work, [str(folder.path)] * len(numbers), numbers)
    except RuntimeError as error:  # of submitit, also where sbatch has refused
        last = str(error).strip().rpartition("\n")[2]
        raise UserError(f"Slurm has not taken the job: {last}") from None
    return [task.job_id for task in tasks]


def slurm_parameters(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return the parameters of submitit's executor.

    `srun` gets the cores too: since Slurm 22.05 it does not take them from `sbatch`.
    """
    cores = cluster.cores or 1
    parameters = {
        "job_name": name,
        "time": cluster.time,
        "cpus_per_task": cores,
        "srun_args": [f"--cpus-per-task={cores}"],
        "signal_delay_s": cluster.notice,
        "partition": cluster.partition,
        "account": cluster.account,
        "gpus_per_node": cluster.gpus,
        "mem": cluster.memory and f"{round(cluster.memory * 1024)}MB",
        "array_parallelism": cluster.parallel,
        "setup": [f"export {devices.CORES}={cores}", *cluster.setup],
        "additional_parameters": cluster.options,
    }
    return {name: value for name, value in parameters.items() if value}


def _to_processes(folder: JobFolder, job: Job, work: Work) -> list[str]:
    """Begin a process for each task, in a session of its own; return their numbers.

    Returns once each task holds its lock, or has found all runs done. Raises UserError for one that
    ends before that.
    """
    processes = []
    for number in range(len(job.tasks)):
        log = folder.of_task(number, "log")
        log.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", work.__module__, str(folder.path), str(number)],
            os.environ | local_environment(job, number),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        processes.append(process)
    for number, process in enumerate(processes):
        deadline = time.monotonic() + STARTING
        while folder.process_of(number) is None and time.monotonic() < deadline:
            ended, status = os.waitpid(process, os.WNOHANG)
            if status:
                log = folder.of_task(number, "log")
                raise UserError(f"a task has ended at once: {log} says why")
            if ended:
                break
            time.sleep(0.05)
    return list(map(str, processes))


def local_environment(job: Job, number: int) -> dict[str, str]:
    """Return the variables that give a local task its share of the cores, and its GPUs."""
    cores = job.cluster.cores or max(1, devices.visible() // len(job.tasks))
    gpus = range(number * job.cluster.gpus, (number + 1) * job.cluster.gpus)
    return {devices.CORES: str(cores), "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))}
