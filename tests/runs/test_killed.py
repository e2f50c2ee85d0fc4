"""A training that is killed or interrupted, with validation, history and its best weights kept."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curta.runs import checkpoints
from tests import tiny
from tests.runs.test_run import newest, rows

SCRIPT = """
import sys, curta, json
name, overrides = sys.argv[1], json.loads(sys.argv[2])
from curta.runs import folders
if name in folders.existing():
    curta.load(name).train()
else:
    curta.train("addition", 2, run=name, evaluate=False, **overrides)
"""
LONG = tiny.overrides(
    training__steps=400, training__checkpoint_every=5,
    training__validate_every=60, training__validation=8, training__keep="best",
    training__history_every=25,
)  # fmt: skip


def history_of(folder: Path) -> dict[str, bytes]:
    """Files of the moments, by name, without what a killed write has left behind."""
    paths = sorted((folder / "history").glob("*.safetensors"))
    return {path.name: path.read_bytes() for path in paths}


def start(name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, name, json.dumps(LONG)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> None:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def await_change(process: subprocess.Popen[str], path: Path) -> None:
    """Waits until the file at `path` is another size, or the process has ended."""
    before = size(path)
    while process.poll() is None and size(path) == before:
        time.sleep(0.002)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The long run without a kill."""
    runs = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(runs))
        finish(start("run"))
    return runs / "run"


@pytest.mark.slow
def test_killed_at_random_moments_a_run_ends_in_the_same_bits(
    unbroken: Path, runs_folder: Path
) -> None:
    moments, folder, kills = random.Random(0), runs_folder / "run", 0
    for _ in range(4):
        process = start("run")
        await_change(process, folder / "metrics.jsonl")
        time.sleep(moments.uniform(0, 0.25))
        kills += process.poll() is None
        process.kill()
        process.communicate()
    finish(start("run"))
    assert kills >= 2
    assert rows(folder) == rows(unbroken)
    assert newest(folder) == newest(unbroken)
    assert history_of(folder) == history_of(unbroken)
    info = json.loads((folder / "run.json").read_text())
    assert info["status"] == "finished"


@pytest.mark.slow
def test_an_interrupt_leaves_a_checkpoint_from_which_the_run_ends_in_the_same_bits(
    unbroken: Path, runs_folder: Path
) -> None:
    process, folder = start("run"), runs_folder / "run"
    await_change(process, folder / "metrics.jsonl")
    process.send_signal(signal.SIGINT)
    finish(process)
    assert json.loads((folder / "run.json").read_text())["status"] == "interrupted"
    last = checkpoints.steps(folder / "checkpoints")[-1]
    assert rows(folder)[-1][0] == last < 400
    finish(start("run"))
    assert rows(folder) == rows(unbroken)
    assert newest(folder) == newest(unbroken)
    assert history_of(folder) == history_of(unbroken)
