"""How runs become tasks, and what Slurm and processes of this machine are asked for."""

import shutil
from pathlib import Path

import pytest

from curta.config.cluster import Cluster
from curta.config.errors import UserError
from curta.frontends.cluster.task import work
from curta.runs.cluster import submission
from curta.runs.cluster.job import Job, JobFolder, Task
from curta.training import devices

RUNS = tuple("abcdefg")


def test_slurms_tasks_share_out_the_runs() -> None:
    tasks = submission.divide(RUNS, "slurm", Cluster(runs=3), cores=2)
    assert [task.runs for task in tasks] == [tuple("abc"), tuple("def"), ("g",)]


@pytest.mark.parametrize(
    ("cluster", "processes"),
    [(Cluster(), 4), (Cluster(cores=2), 2), (Cluster(cores=8), 1), (Cluster(parallel=6), 6),
     (Cluster(parallel=50), 7)],
)  # fmt: skip
def test_local_tasks_may_take_any_run(cluster: Cluster, processes: int) -> None:
    tasks = submission.divide(RUNS, "local", cluster, cores=4)
    assert tasks == (Task(RUNS),) * processes


def test_each_local_task_has_its_own_cores_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "visible", lambda: 6)
    tasks = (Task(RUNS),) * 3
    job = Job("local", Cluster(gpus=2), tasks, ("curta",), "now", "mill")
    found = [submission.local_environment(job, number) for number in range(3)]
    assert [one["CURTA_CORES"] for one in found] == ["2"] * 3
    assert [one["CUDA_VISIBLE_DEVICES"] for one in found] == ["0,1", "2,3", "4,5"]


def test_what_slurm_is_asked_for_stands_in_the_script(tmp_path: Path, slurm: None) -> None:
    submitit = pytest.importorskip("submitit")
    cluster = Cluster(
        "gpu", "lab", 30, cores=4, gpus=1, memory=1.5, parallel=5,
        options={"qos": "low", "exclusive": True}, setup=("module load cuda",),
    )  # fmt: skip
    executor = submitit.SlurmExecutor(tmp_path)
    executor.update_parameters(**submission.slurm_parameters(cluster, "mine"))
    executor.parameters["map_count"] = 20  # as for an array of 20 tasks
    lines = executor._make_submission_file_text("true", "0").splitlines()
    asked = (
        "job-name=mine", "partition=gpu", "account=lab", "time=30", "cpus-per-task=4",
        "gpus-per-node=1", "mem=1536MB", "array=0-19%5", "signal=USR2@120", "qos=low", "exclusive",
    )  # fmt: skip
    assert {f"#SBATCH --{one}" for one in asked} <= set(lines)
    assert lines.index("export CURTA_CORES=4") < lines.index("module load cuda")
    assert "--cpus-per-task=4 " in next(line for line in lines if line.startswith("srun"))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command `srun`, by which submitit knows Slurm."""
    if not shutil.which("srun"):
        (tmp_path / "srun").touch(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_tasks_that_live_are_not_submitted_again(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    folder.save(Job("local", Cluster(), (Task(("a",), "12"),), ("curta",), "now", "mill"))
    with folder.alive(0), pytest.raises(UserError, match="are at work: `curta runs"):
        submission.submit(tmp_path, ["a"], "local", Cluster(), work)
