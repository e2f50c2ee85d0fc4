"""How a run stands follows from its folder, its tries and the queue, and from nothing else."""

from pathlib import Path

import pytest

from curta.config.cluster import Cluster
from curta.runs.cluster import states
from curta.runs.cluster.job import Job, JobFolder, Task, Tries
from curta.runs.cluster.queue import Living
from curta.runs.cluster.states import State


def job(cancelled: bool = False, retries: int = 1) -> Job:
    cluster = Cluster(retries=retries)
    tasks = (Task(("a",), "7_0"), Task(("b",), "7_1"))
    return Job("slurm", cluster, tasks, ("curta",), "now", "mill", cancelled=cancelled)


@pytest.mark.parametrize(
    ("tries", "living", "expected"),
    [
        (Tries(), {0: "pending"}, "pending"),
        (Tries(), {0: "running"}, "pending"),
        (Tries(failures=1, failure="no"), {0: "running"}, "pending"),
        (Tries(failures=2, failure="no"), {0: "running"}, "failed"),
        (Tries(requeued=1), {0: "pending"}, "requeued"),
        (Tries(task=0), {0: "pending"}, "requeued"),
        (Tries(task=0), {1: "running"}, "failed"),
        (Tries(), {}, "failed"),
        (Tries(), {1: "running"}, "failed"),
    ],
)
def test_a_state_of_a_run_that_nobody_is_at(tries: Tries, living: Living, expected: State) -> None:
    assert states.decide(job(), False, False, tries, [0], living) == expected
    assert states.decide(job(), False, True, tries, [0], living) == "running"
    assert states.decide(job(), True, False, tries, [0], living) == "finished"


def test_what_had_no_turn_before_a_cancellation_is_cancelled_and_not_failed() -> None:
    assert states.decide(job(cancelled=True), False, False, Tries(), [0], {}) == "cancelled"
    failed = Tries(failures=2, failure="no")
    assert states.decide(job(cancelled=True), False, False, failed, [0], {}) == "failed"


def test_a_run_is_at_work_as_long_as_its_task_or_its_own_process_is(tmp_path: Path) -> None:
    """The task is killed here, and the process that it has begun goes on."""
    folder = JobFolder(tmp_path)
    tasks = (Task(("a",), "12"),)
    folder.save(Job("local", Cluster(), tasks, ("curta",), "now", "mill"))
    folder.update_tries("a", task=0)
    with folder.alive(0):
        assert [one.state for one in states.read(folder)] == ["running"]
    with folder.claimed("a"):
        assert [one.state for one in states.read(folder)] == ["running"]
    assert [one.state for one in states.read(folder)] == ["failed"]


def test_a_task_that_is_gone_has_the_last_word(tmp_path: Path) -> None:
    """On a job of local tasks, none of which lives."""
    folder = JobFolder(tmp_path)
    tasks = (Task(("a", "b"), "12"),)
    folder.save(Job("local", Cluster(), tasks, ("curta",), "now", "mill"))
    folder.fail_try("a", "ValueError: no")
    folder.fail_try("a", "ValueError: never")
    folder.of_task(0, "log").parent.mkdir(exist_ok=True)
    folder.of_task(0, "log").write_text("at work\noom_kill: 1\n\n")
    found = states.read(folder)
    assert [(one.run, one.state, one.line) for one in found] == [
        ("a", "failed", "ValueError: never"),
        ("b", "failed", "oom_kill: 1"),
    ]
    assert states.is_over(found)


def test_a_run_has_one_worker_and_a_task_one_process(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    with folder.claimed("a") as mine, folder.claimed("a") as again, folder.claimed("b") as other:
        assert (mine, again, other) == (True, False, True)
    assert folder.process_of(0) is None
    with folder.alive(0) as mine:
        assert mine
        assert folder.process_of(0) is not None
    assert folder.process_of(0) is None
