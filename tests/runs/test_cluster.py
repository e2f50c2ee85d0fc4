"""How runs become tasks, which tasks live, and how a run stands by its folder and the queue."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from curta.config.errors import UserError
from curta.config.system import release_lock
from curta.frontends import api
from curta.runs import cluster, ownership
from curta.runs.cluster import Cluster, ClusterTask, Job, JobFolder, State, System
from curta.training import devices

RUNS = tuple("abcdefg")


def submitted(folder: JobFolder, on: System, *tasks: ClusterTask, cancelled: bool = False) -> Job:
    """A job of run `a` in the first task, `b` in the second, ..., unless there are tasks."""
    tasks = tasks or tuple(ClusterTask((name,), f"7_{number}") for number, name in enumerate("abc"))
    runs = tuple(dict.fromkeys(name for task in tasks for name in task.runs))
    host = socket.gethostname()
    job = Job(on, Cluster(), runs, tasks, ("curta",), "now", host, cancelled=cancelled)
    folder.save(job)
    return job


@pytest.mark.parametrize(
    ("settings", "processes"),
    [(Cluster(), 4), (Cluster(cores=2), 2), (Cluster(cores=8), 1), (Cluster(parallel=6), 6),
     (Cluster(parallel=50), 7)],
)  # fmt: skip
def test_slurms_tasks_divide_the_runs_and_local_ones_share_runs_cores_and_gpus(
    settings: Cluster, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "visible", lambda: 4)
    assert cluster.divide(RUNS, "local", settings) == (ClusterTask(RUNS),) * processes
    shares = cluster.divide(RUNS, "slurm", Cluster(runs=3))
    assert [task.runs for task in shares] == [tuple("abc"), tuple("def"), ("g",)]
    job = Job("local", Cluster(gpus=2), RUNS, (ClusterTask(RUNS),) * 2, ("curta",), "now", "mill")
    assert [cluster.local_environment(job, number) for number in range(2)] == [
        {"CURTA_CORES": "2", "CUDA_VISIBLE_DEVICES": gpus} for gpus in ("0,1", "2,3")
    ]


def test_what_slurm_is_asked_for_stands_in_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitit = pytest.importorskip("submitit")
    if not shutil.which("srun"):  # by which submitit knows Slurm
        (tmp_path / "srun").touch(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    settings = Cluster(
        "gpu", "lab", 30, cores=4, gpus=1, memory=1.5, parallel=5,
        options={"qos": "low", "exclusive": True}, setup=("module load cuda",),
    )  # fmt: skip
    executor = submitit.SlurmExecutor(tmp_path)
    executor.update_parameters(**cluster.slurm_parameters(settings, "mine"))
    executor.parameters["map_count"] = 20  # as for an array of 20 tasks
    lines = executor._make_submission_file_text("true", "0").splitlines()
    parameters = (
        "job-name=mine", "partition=gpu", "account=lab", "time=30", "cpus-per-task=4",
        "gpus-per-node=1", "mem=1536MB", "array=0-19%5", "signal=USR2@120", "qos=low", "exclusive",
    )  # fmt: skip
    assert {f"#SBATCH --{parameter}" for parameter in parameters} <= set(lines)
    assert lines.index("export CURTA_CORES=4") < lines.index("module load cuda")
    assert "--cpus-per-task=4 " in next(line for line in lines if line.startswith("srun"))


NO_ANSWER = "slurm_load_jobs error: Unable to contact"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("printf '7_0|COMPLETING\\n7_1|RUNNING\\n7_2|FAILED\\n8_2|PENDING\\n'",
         {0: "pending", 1: "running"}),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", {}),
        (f"echo '{NO_ANSWER}' >&2; exit 1", f"squeue: {NO_ANSWER}"),
        ("", "squeue is not here"),
    ],
)  # fmt: skip
def test_slurms_tasks_live_as_squeue_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: object
) -> None:
    path = tmp_path / "bin" / "squeue"
    path.parent.mkdir()
    if script:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/bin" if script else "/nowhere")
    folder = JobFolder(tmp_path)
    job = submitted(folder, "slurm")
    if isinstance(expected, str):
        with pytest.raises(UserError, match=expected):
            cluster.living(folder, job)
    else:
        assert cluster.living(folder, job) == expected


def test_a_local_task_lives_as_long_as_its_process_and_is_told_to_end(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    lock = cluster.claim(folder.of_task(1, "lock"))
    assert lock is not None
    assert cluster.claim(folder.of_task(1, "lock")) is None
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleeps, pass_fds=[lock]) as process:
        os.close(lock)
        tasks = ClusterTask(("a",), "1"), ClusterTask(("a",), str(process.pid))
        job = submitted(folder, "local", *tasks)
        assert cluster.living(folder, job) == {1: "running"}
        with pytest.raises(UserError, match="are at work: `curta runs"):
            cluster.submit(tmp_path, ["a"], "local", Cluster())
        cluster.cancel(folder)
        assert process.wait(10) == -15
    assert folder.read().cancelled
    assert cluster.living(folder, job) == {}


@pytest.mark.parametrize(
    ("tries", "alive", "expected"),
    [
        ({}, {0: "pending"}, "pending"),
        ({}, {0: "running"}, "pending"),
        ({"failures": 1}, {0: "running"}, "pending"),
        ({"failures": 2}, {0: "running"}, "failed"),
        ({"requeued": 1}, {0: "pending"}, "requeued"),
        ({"task": 0}, {0: "pending"}, "requeued"),
        ({"task": 0}, {0: "running"}, "running"),
        ({"task": 0}, {1: "running"}, "failed"),
        ({}, {}, "failed"),
        ({}, {1: "running"}, "failed"),
    ],
)
def test_how_a_run_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tries: dict[str, int],
    alive: dict[int, str], expected: State,
) -> None:  # fmt: skip
    folder = JobFolder(tmp_path)
    submitted(folder, "slurm")
    folder.update_tries("a", **tries)
    monkeypatch.setattr(cluster, "living", lambda folder, job: alive)
    first = lambda: cluster.read_states(folder)[0].state
    assert first() == expected
    lock = cluster.claim(folder.of_run("a", "lock"))  # as by a process whose task was killed
    assert first() == ("running" if "task" in tries else expected)
    release_lock(lock)
    submitted(folder, "slurm", cancelled=True)
    no_turn = expected == "failed" and tries.get("failures", 0) < 2
    assert first() == ("cancelled" if no_turn else expected)
    monkeypatch.setattr(JobFolder, "is_finished", lambda self, name: True)
    assert first() == "finished"


def test_the_seconds_left_follow_from_those_of_the_steps_so_far(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = api.begin("addition", 1, "a", {"training.steps": 10})
    run.folder.update(status="training")
    run.folder.metrics.write_text(
        '{"step": 4, "member": 0, "loss": 1.0, "exact_match": 0.5, "seconds": 6.0}\n'
    )
    folder = JobFolder(runs_folder / "a")
    submitted(folder, "slurm", ClusterTask(("a",), "7_0"))
    folder.update_tries("a", task=0)
    monkeypatch.setattr(cluster, "living", lambda folder, job: {0: "running"})
    with ownership.owned(run.folder.path):
        (state,) = cluster.read_states(folder)
    assert (state.stage, state.step, state.steps, state.seconds_left) == ("training", 4, 10, 9.0)


def test_a_task_that_is_gone_has_the_last_word(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    submitted(folder, "local", ClusterTask(("a", "b"), "12"))
    folder.update_tries("a", failures=2, failure="ValueError: never")
    folder.of_task(0, "log").parent.mkdir(exist_ok=True)
    folder.of_task(0, "log").write_text("at work\noom_kill: 1\n\n")
    states = cluster.read_states(folder)
    assert [(row.run, row.state, row.line) for row in states] == [
        ("a", "failed", "ValueError: never"),
        ("b", "failed", "oom_kill: 1"),
    ]
    assert all(row.over for row in states)
