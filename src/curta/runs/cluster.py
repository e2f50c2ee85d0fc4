"""Runs as tasks of Slurm, or of background processes of this machine.

A job works on a run or on a comparison, and has its files in that folder:

.jobs/job.json           what was submitted: tasks, and the runs of each
      runs/NAME.json     how often a run has failed, and which task works on it
           NAME.log      what it printed
           NAME.lock     held by whoever works on it
      tasks/NUMBER.lock  of local tasks: held while the task lives
            NUMBER.log   the output of a local task
      submitit/          scripts, pickles and logs of submitit

Whether a run is finished, its own folder says, and nothing here.

A task is a process without JAX. It does its runs one after the other, each by `curta train
--resume` in a process of its own, so a run that is killed, such as for want of memory, is a failed
try and the others are done all the same. Local tasks all have all runs: whoever is free takes the
next.

Submitit gets a function of this module, the folder, and the number of the task. It pickles these,
the function by its name, and unpickles them in the task. Nothing here reads a pickle.
"""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le

from curta.config import files, limits, system, typed
from curta.config.errors import UserError, optional_module, refuse_if, unknown
from curta.config.recipe import tables
from curta.runs import interrupts, metrics, provenance
from curta.runs.folders import COMPARISON, Folder
from curta.runs.info import STAGES

MINUTES = 60 * 24 * 365
"""A year: the longest time limit, in minutes."""

LEAST_WORK = 90
"""Seconds before the notice, at least: Slurm may give it a minute early."""


@dataclass(frozen=True)
class Cluster:
    """The resources of each task, and how runs are divided into tasks."""

    partition: str = ""
    """Slurm's partition (its default)."""
    account: str = ""
    """The account that Slurm charges (your default)."""
    time: Annotated[int, Ge(2), Le(MINUTES)] = 60
    """Time limit of a task, in minutes. Unfinished work is saved and queued again."""
    cores: Annotated[int, Ge(1), Le(limits.PARTS)] | None = None
    """Cores of each task (Slurm: 1; local: an equal share). Each is a device of JAX."""
    gpus: Annotated[int, Ge(0), Le(limits.PARTS)] = 0
    """GPUs of each task."""
    memory: Annotated[float, Ge(0.01), Le(1e6)] | None = None
    """Memory of a task, in gigabytes (Slurm's default)."""
    parallel: Annotated[int, Ge(1), Le(limits.ENTRIES)] | None = None
    """Simultaneous tasks (Slurm: all; local: one for each core)."""
    runs: Annotated[int, Ge(1), Le(limits.ENTRIES)] = 8
    """Runs of each Slurm task, one after the other, since starting a task takes seconds."""
    retries: Annotated[int, Ge(0), Le(limits.NAME)] = 1
    """How often a failed run is tried again."""
    requeues: Annotated[int, Ge(0), Le(limits.ROWS)] = 100
    """How often a task is queued again after its time limit."""
    notice: Annotated[int, Ge(1), Le(limits.ROWS)] = 120
    """Seconds before the time limit at which a task saves; sometimes a minute earlier."""
    options: dict[str, str | int | bool] = field(default_factory=dict)
    """Further options of Slurm's sbatch by name, such as qos = "low"."""
    setup: tuple[str, ...] = ()
    """Shell commands to run first, such as "module load cuda"."""

    def __post_init__(self) -> None:
        most = 60 * self.time - LEAST_WORK
        if self.notice > most:
            raise UserError(
                f"cluster.notice of {self.notice} seconds is too long for a cluster.time of"
                f" {self.time} minutes: at most {most}"
            )


def read_section(path: Path) -> dict[str, Any]:
    """Read the section `[cluster]` of a TOML file; UserError if there is none."""
    where = repr(str(path))
    sections = tables(files.read_text(path, where), where)
    for name in (name for name in sections if name != "cluster"):
        raise UserError(f"{where}: {unknown('section', name, ['cluster'])}")
    section = sections.get("cluster")
    if not isinstance(section, dict):
        raise UserError(f"{where} has no section [cluster]")
    return section


HIDDEN = ".jobs"
"""The folder's name: no entry of a comparison can be called so."""

PATIENCE = 60.0
"""Seconds that a command of Slurm's may take."""

System = Literal["slurm", "local"]


@dataclass(frozen=True)
class ClusterTask:
    """Runs, by the names of their folders; `id` is Slurm's, such as `1234_5`, or a process."""

    runs: tuple[str, ...]
    id: str = ""


@dataclass(frozen=True)
class Job:
    """`job.json`: all runs and the tasks of those not finished; by which words, when and where."""

    FORMAT: ClassVar[int] = 2
    REMEDY: ClassVar[str] = "submit it again"

    on: System
    cluster: Cluster
    runs: tuple[str, ...]
    tasks: tuple[ClusterTask, ...]
    command: tuple[str, ...]
    submitted: str
    host: str
    cancelled: bool = False


@dataclass(frozen=True)
class Tries:
    """`runs/NAME.json`: the task that works on a run, and how the tries before ended.

    `failure` is the last line of the last one that failed; `requeued` counts those that a signal
    has ended, and that go on from a checkpoint.
    """

    FORMAT: ClassVar[int] = 1
    REMEDY: ClassVar[str] = "submit it again"

    task: int | None = None
    failures: int = 0
    failure: str = ""
    requeued: int = 0


class JobFolder:
    """The files of the job that works on a run or a comparison."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.folder = path / HIDDEN

    @property
    def exists(self) -> bool:
        return (self.folder / "job.json").exists()

    def read(self) -> Job:
        """UserError if nothing was submitted, or job.json is damaged."""
        return typed.read(Job, self.folder / "job.json", f"job {self.name!r}")

    def save(self, job: Job) -> None:
        files.write(self.folder / "job.json", typed.text(job, indent=1))

    def run_folder(self, name: str) -> Path:
        """Return where a run lies: in the comparison, or it is the run itself."""
        return self.path / name if (self.path / COMPARISON).exists() else self.path

    def is_finished(self, name: str) -> bool:
        """Whether nothing is left to do for a run."""
        path = self.run_folder(name)
        has_begun = (path / "run.json").exists()
        return has_begun and Folder(path).read_info().status in ("finished", "stopped")

    def of_run(self, name: str, kind: str) -> Path:
        """Return the file of a run: its `json` of tries, its `log`, its `lock`."""
        return self.folder / "runs" / f"{name}.{kind}"

    def of_task(self, number: int, kind: str) -> Path:
        """Return the file of a local task: its `log`, its `lock`."""
        return self.folder / "tasks" / f"{number}.{kind}"

    def task_logs(self, job: Job, number: int) -> list[Path]:
        """Return the files with the output of a task that belongs to no run; its errors last."""
        if job.on == "local":
            return [self.of_task(number, "log")]
        task = job.tasks[number].id
        return [self.folder / "submitit" / f"{task}_0_log.{kind}" for kind in ("out", "err")]

    def read_tries(self, name: str) -> Tries:
        path = self.of_run(name, "json")
        return typed.read(Tries, path, f"job {self.name!r}") if path.exists() else Tries()

    def update_tries(self, name: str, **fields: Any) -> None:
        tries = replace(self.read_tries(name), **fields)
        files.write(self.of_run(name, "json"), typed.text(tries))


def read_log(path: Path) -> str:
    """Return the content of a log so far, stripped at its end; empty if it is no file."""
    with suppress(OSError):
        return files.read_bytes(path).decode("utf-8", "replace").rstrip()
    return ""


def last_line(path: Path) -> str:
    """Return the last line of a log: an error, where there was one."""
    lines = read_log(path).splitlines() or [""]
    return lines[-1].strip().removeprefix("curta: ")


def claim(path: Path) -> int | None:
    """Lock a file, for this process and those that inherit the descriptor; None if it is locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return system.claim_lock(path)


# Slurm is asked by `squeue`, which every cluster has. Submitit asks `sacct`, which needs a database
# of accounts; what that would add, how a task ended, is known from the run folders.

ENDED = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
     "TIMEOUT")
)  # fmt: skip
"""States of tasks that squeue may still list, and that do not go on."""


def task_states(ids: Sequence[str]) -> dict[str, str]:
    """Return Slurm's states of tasks, or of all tasks of arrays; UserError if it cannot be asked.

    Tasks that have ended, or that Slurm has forgotten, have none.
    """
    if not ids:
        return {}
    command = "squeue", "--noheader", "--array", f"--jobs={','.join(ids)}", "--format=%i|%T"
    rows = (line.partition("|") for line in _call(*command, harmless="Invalid job id").splitlines())
    return {task: state for task, _, state in rows if state not in ENDED}


def living(folder: JobFolder, job: Job) -> dict[int, str]:
    """Return the tasks that wait (`pending`) or work (`running`), by number."""
    if job.on == "local":
        numbers = range(len(job.tasks))
        return {n: "running" for n in numbers if not system.lock_is_free(folder.of_task(n, "lock"))}
    states = task_states(_arrays(job))
    return {
        number: "running" if states[task.id] == "RUNNING" else "pending"
        for number, task in enumerate(job.tasks)
        if task.id in states
    }


def cancel(folder: JobFolder) -> None:
    """End all tasks; runs that are at work keep what they have saved.

    That it was cancelled is written first: a task that is told to end would else be queued again.
    """
    job = folder.read()
    if job.on == "local" and job.host != socket.gethostname():
        raise UserError(f"job {folder.name!r} works on {job.host}: cancel it there")
    folder.save(replace(job, cancelled=True))
    if job.on == "slurm":
        _call("scancel", *_arrays(job))
        return
    for number in living(folder, job):
        with suppress(ProcessLookupError):
            os.kill(int(job.tasks[number].id), signal.SIGTERM)


def _arrays(job: Job) -> list[str]:
    """Return the ids of the arrays that the tasks are in: `1234` of `1234_5`."""
    return sorted({task.id.partition("_")[0] for task in job.tasks if task.id})


def _call(*words: str, harmless: str = "\0") -> str:
    """Return what a command of Slurm's prints; UserError in its own words unless harmless."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except FileNotFoundError:
        raise UserError(f"{words[0]} is not here: ask where Slurm is") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{words[0]} does not answer") from None
    if done.returncode and harmless not in done.stderr:
        raise UserError(f"{words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


# How the runs stand: from their folders, their tries, and the queue.

State = Literal["failed", "running", "requeued", "pending", "cancelled", "finished"]
"""States of a run of a job, those that need attention first.

`requeued` was ended by a signal, and goes on from its checkpoint.
"""


@dataclass(frozen=True)
class RunState:
    """One run: its state, the stage that it is in, its step, and what is left of its training.

    `failures` are the tries that have failed, `line` the last line of the last of them.
    """

    run: str
    state: State
    stage: str = ""
    step: int = 0
    steps: int = 0
    seconds_left: float | None = None
    failures: int = 0
    line: str = ""

    @property
    def over(self) -> bool:
        """Whether the state does not change any more."""
        return self.state in ("failed", "cancelled", "finished")


def read_states(folder: JobFolder) -> list[RunState]:
    """Return the state of every run, in the order of the job; UserError if Slurm is silent."""
    job, states = folder.read(), []
    alive = living(folder, job)  # first: what ends from here on counts as finished
    for name in job.runs:
        tries = folder.read_tries(name)
        numbers = [number for number, task in enumerate(job.tasks) if name in task.runs]
        line = tries.failure
        state: State = "failed"
        if folder.is_finished(name):
            line, state = "", "finished"
        elif tries.task is not None and (
            alive.get(tries.task) == "running"
            or not system.lock_is_free(folder.of_run(name, "lock"))
        ):
            state = "running"
        elif tries.failures > job.cluster.retries:
            state = "failed"
        elif alive.keys() & numbers:
            state = "requeued" if tries.requeued or tries.task is not None else "pending"
        elif job.cancelled:
            state = "cancelled"
        elif not line and numbers:
            # The last line of a task that is gone says why, such as that memory did not suffice.
            log = folder.task_logs(job, numbers[-1])[-1]
            line = last_line(log) or "its task has ended without it"
        stage, step, steps, left = "", 0, 0, None
        run = Folder(folder.run_folder(name))
        if (run.path / "run.json").exists():
            info = run.read_info()
            rows = metrics.read_last(run.metrics, len(info.seeds))
            step, seconds = max(((row.step, row.seconds) for row in rows), default=(0, 0.0))
            stage = info.status if state == "running" and info.status in STAGES else ""
            steps = info.steps
            is_timed = stage == "training" and 0 < step <= steps  # later steps are repair
            left = (steps - step) * seconds / step if is_timed else None
        states.append(RunState(name, state, stage, step, steps, left, tries.failures, line))
    return states


# What is submitted.


def check_system(on: System) -> None:
    """Raise UserError if jobs cannot be submitted from here; call it before creating runs."""
    if on == "slurm":
        refuse_if(not shutil.which("sbatch"), "--on slurm needs Slurm: sbatch is not here")
        optional_module("submitit", "cluster")
    refuse_if(on == "local" and not system.OPENS_FOLDERS, "--on local needs Linux or macOS")


def submit(path: Path, runs: Sequence[str], on: System, cluster: Cluster) -> Job:
    """Submit the runs that are not finished, by the names of their folders.

    Raises UserError if tasks of an earlier submission are still at work, or none can be begun.
    """
    folder = JobFolder(path.resolve())
    if folder.exists and living(folder, folder.read()):
        raise UserError(
            f"tasks of {folder.name!r} are at work:"
            f" `curta runs {shlex.quote(folder.name)}` shows them, --cancel ends them"
        )
    left = tuple(name for name in runs if not folder.is_finished(name))
    refuse_if(not left, f"{folder.name!r} is finished: nothing is left to be done")
    for tries in (folder.folder / "runs").glob("*.json"):
        tries.unlink(missing_ok=True)
    tasks = divide(left, on, cluster)
    now, host = provenance.now(), socket.gethostname()
    job = Job(on, cluster, tuple(runs), tasks, provenance.command(), now, host)
    folder.save(job)  # first: a task reads there what it has to do
    ids = (_submit_to_slurm if on == "slurm" else _begin_processes)(folder, job)
    tasks = tuple(replace(task, id=id) for task, id in zip(tasks, ids, strict=True))
    job = replace(job, tasks=tasks)
    folder.save(job)
    return job


def divide(runs: tuple[str, ...], on: System, cluster: Cluster) -> tuple[ClusterTask, ...]:
    """Divide the runs into tasks: each of Slurm's has some of them, each local one all."""
    if on == "slurm":
        starts = range(0, len(runs), cluster.runs)
        return tuple(ClusterTask(runs[first : first + cluster.runs]) for first in starts)
    from curta.training import devices

    processes = cluster.parallel or max(1, devices.visible() // (cluster.cores or 1))
    return (ClusterTask(runs),) * min(processes, len(runs))


def _submit_to_slurm(folder: JobFolder, job: Job) -> list[str]:
    """Submit the tasks to Slurm as one array; return their ids."""
    submitit, scripts = optional_module("submitit", "cluster"), folder.folder / "submitit"
    numbers = list(range(len(job.tasks)))
    try:
        executor = submitit.SlurmExecutor(scripts, max_num_timeout=job.cluster.requeues)
        executor.update_parameters(**slurm_parameters(job.cluster, folder.name))
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
    from curta.training import devices

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


def _begin_processes(folder: JobFolder, job: Job) -> list[str]:
    """Begin a process for each task, in a session of its own; return their numbers.

    Submitit's local executor would need a time limit for each, and its processes end with the
    terminal. A process inherits the lock that says that it lives.
    """
    ids = []
    for number in range(len(job.tasks)):
        lock = claim(folder.of_task(number, "lock"))
        assert lock is not None
        with folder.of_task(number, "log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(folder.path), str(number)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | local_environment(job, number), pass_fds=[lock],
            )  # fmt: skip
        system.release_lock(lock)
        ids.append(str(process.pid))
        process.returncode = 0  # it is left alone: Python would warn that it is still running
    return ids


def local_environment(job: Job, number: int) -> dict[str, str]:
    """Return the variables that give a local task its share of the cores, and its GPUs."""
    from curta.training import devices

    cores = job.cluster.cores or max(1, devices.visible() // len(job.tasks))
    gpus = range(number * job.cluster.gpus, (number + 1) * job.cluster.gpus)
    return {devices.CORES: str(cores), "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))}


# What runs as a task.


def work(folder: str, number: int) -> None:
    """Do the runs of a task, in the folder of a run or a comparison; try again what fails.

    A task of Slurm's that a signal has ended is queued again, unless the job was cancelled.
    """
    requeue: Any = signal.getsignal(signal.SIGUSR2)  # the handler of submitit
    received, job = _work(JobFolder(Path(folder)), number), JobFolder(Path(folder)).read()
    if not received or job.on == "local" or job.cancelled:
        return
    # SIGUSR2 says that its time is nearly over; SIGTERM alone that the machine is needed, or that
    # the task is being cancelled, and then Slurm does not list it as running.
    goes_on, id = received == signal.SIGUSR2, job.tasks[number].id
    if not goes_on:
        with suppress(UserError):
            goes_on = task_states([id]).get(id) == "RUNNING"
    if goes_on:
        requeue(received, None)


def again(folder: str, number: int) -> Any:
    """Return what submitit submits for a task that is queued again: the same."""
    from submitit.helpers import DelayedSubmission

    return DelayedSubmission(work, folder, number)


work.checkpoint = again  # type: ignore[attr-defined]  # submitit looks for it there


def _work(folder: JobFolder, number: int) -> int:
    """Do runs that no other process works on, until none is left or a signal ends the task.

    Returns the number of that signal, or 0.

    Slurm sends signals to all processes of a task, some several times. So a run ignores them, and
    gets one SIGINT from here, upon which it saves.
    """
    job, received = folder.read(), 0
    process: subprocess.Popen[bytes] | None = None
    interrupted: subprocess.Popen[bytes] | None = None

    def interrupt(signal_number: int, frame: Any = None) -> None:
        nonlocal received, interrupted
        received = received or signal_number
        if received and process is not None and process is not interrupted:
            interrupted = process
            process.send_signal(signal.SIGINT)

    def heed_only_sigint() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    environment = os.environ | {
        provenance.COMMAND: json.dumps(job.command),
        "JAX_TRACEBACK_FILTERING": "off",  # JAX would say last that it has left out frames
    }
    waiting = deque(job.tasks[number].runs)
    with interrupts.handled_by((signal.SIGTERM, signal.SIGUSR2), interrupt):
        while waiting and not received:
            name = waiting.popleft()
            lock = claim(folder.of_run(name, "lock"))
            tries = folder.read_tries(name)
            if lock is None or tries.failures > job.cluster.retries or folder.is_finished(name):
                system.release_lock(lock)
                continue
            folder.update_tries(name, task=number)
            with folder.of_run(name, "log").open("ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "curta", "train", "--resume", folder.run_folder(name)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                    pass_fds=[lock], preexec_fn=heed_only_sigint,
                )  # fmt: skip
            system.release_lock(lock)
            interrupt(received)  # if a signal came before there was a process
            code = process.wait()
            if folder.is_finished(name):
                folder.update_tries(name, task=None)
            elif received:
                folder.update_tries(name, task=None, requeued=tries.requeued + 1)
            else:
                line = last_line(folder.of_run(name, "log"))
                if code < 0:
                    line = f"its process was killed by {signal.Signals(-code).name}"
                folder.update_tries(name, task=None, failures=tries.failures + 1, failure=line)
                waiting.append(name)  # it is tried again, after the others
    return received


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
