"""Every extra of pyproject.toml installs under the constraints, and does there what it is for.

Each has an environment of its own: the base install, its files linked, and the extra. Nothing of
the environment that runs the tests is seen from it.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

SMALL = """
layout = "reversed"
task = { digits = [1, 4] }
positions = { name = "rope" }
model = { width = 16, heads = 2, num_layers = 2, mlp_ratio = 2 }
training = { steps = 20, batch = 8 }
evaluation = { digits = [3], count = 8, generated = 4 }
"""
CURTA = ("-m", "curta")


@dataclass(frozen=True)
class Place:
    """An environment, and the folder in which its commands run; the runs lie in `runs`."""

    environment: Path
    folder: Path

    @property
    def python(self) -> str:
        return str(self.environment / "bin" / "python")

    @property
    def variables(self) -> dict[str, str]:
        """Of the commands: what the libraries keep lies in the folder."""
        own = {"CURTA_RUNS": "runs", "TRACKIO_DIR": "trackio", "HF_HOME": "huggingface"}
        own = {name: str(self.folder / value) for name, value in own.items()}
        rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return rest | own | {"HF_HUB_OFFLINE": "1"}

    def run(self, *command: str, at: Path | None = None) -> str:
        """What a command of this Python prints; it must not fail."""
        done = self.call(*command, at=at)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def call(self, *command: str, at: Path | None = None) -> subprocess.CompletedProcess[str]:
        full, at = [self.python, *command], at or self.folder
        return subprocess.run(full, cwd=at, env=self.variables, capture_output=True, text=True)

    def install(self, *what: str) -> None:
        """By pip, under the constraints; the test is skipped where no index can be reached."""
        under = ("--quiet", "--retries=1", f"--constraint={ROOT}/constraints.txt")
        done = self.call("-m", "pip", "install", "--no-compile", *under, *what, at=ROOT)
        if done.returncode and "connection broken" in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The base install, and a small run that it has trained."""
    folder = tmp_path_factory.mktemp("base")
    made = Place(folder / "environment", folder)
    subprocess.run([sys.executable, "-m", "venv", made.environment], check=True)
    made.install(".")
    (folder / "small.toml").write_text(SMALL, "utf-8")
    made.run(*CURTA, "train", "small.toml")
    yield made
    shutil.rmtree(folder)


@pytest.fixture
def place(base: Place, tmp_path: Path) -> Iterator[Place]:
    """A copy of the base install for one extra."""
    made = Place(tmp_path / "environment", tmp_path)
    shutil.copytree(base.environment, made.environment, symlinks=True, copy_function=os.link)
    shutil.copytree(base.folder / "runs", tmp_path / "runs")
    yield made
    shutil.rmtree(made.environment)


def in_parquet(place: Place) -> None:
    place.run(*CURTA, "data", "addition-reversed", "--rows=20", "--out=sums")
    assert list((place.folder / "sums").rglob("*.parquet"))


def as_graph(place: Place) -> None:
    place.run(*CURTA, "export", "small", "--to=onnx", "--out=model.onnx")
    place.run("-c", "import onnxruntime; onnxruntime.InferenceSession('model.onnx')")


def opened(place: Place) -> None:
    place.run(*CURTA, "export", "small", "--to=huggingface", "--out=adder")
    place.run("-c", OPENING)


def in_transformer_lens(place: Place) -> None:
    place.run("-c", LOOKING)


def tuned(place: Place) -> None:
    place.run(*CURTA, "export", "small", "--to=huggingface", "--out=adder")
    place.run("-c", TUNING)
    assert (place.folder / "tuned" / "model.safetensors").exists()


def served(place: Place) -> None:
    command = [place.python, "-u", *CURTA, "serve", "--port=0"]
    with subprocess.Popen(command, env=place.variables, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        (address,) = (word for word in begun.stdout.readline().split() if word.startswith("http"))
        with urllib.request.urlopen(address) as answer:
            assert "small" in answer.read().decode()
        begun.terminate()


def on_board(place: Place) -> None:
    tracked(place, "tensorboard", "runs/tracked/tensorboard/members/events.out.tfevents.*")


def in_wandb(place: Place) -> None:
    tracked(place, "wandb", "runs/tracked/wandb/offline-run-*/run-*.wandb")


def in_trackio(place: Place) -> None:
    tracked(place, "trackio", "trackio/curta*.db")


def tracked(place: Place, name: str, files: str) -> None:
    """A run is trained and evaluated with this tracker, and it has kept something."""
    recipe = "runs/small/recipe.toml"
    place.run(*CURTA, "train", recipe, "--run=tracked", f"--track={name}")
    assert list(place.folder.glob(files))


def submitted(place: Place) -> None:
    """What a task is given can be made, and where there is no Slurm, one line says so."""
    place.run("-c", SUBMITTING)
    done = place.call(*CURTA, "train", "runs/small/recipe.toml", "--run=elsewhere", "--on=slurm")
    assert "Slurm has not taken the job" in done.stderr or "1 task" in done.stdout, done.stderr


def checked_by_tests(place: Place) -> None:
    place.run("-c", "import httpx2, ipykernel, nbclient, nbformat, playwright.sync_api, xdist")
    place.run("-m", "pytest", "tests/test_rooms.py", "-p", "no:cacheprovider", at=ROOT)


def linted(place: Place) -> None:
    place.run("-m", "ruff", "check", "--no-cache", ".", at=ROOT)
    cache = f"--cache-dir={place.folder}"
    place.run("-m", "mypy", cache, "--package=curta.problems.operations", at=ROOT)


def measured(place: Place) -> None:
    place.run("-c", "import playwright.sync_api")
    place.run("-c", COMPARING, at=ROOT)


OPENING = """
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("adder")
model = AutoModelForCausalLM.from_pretrained("adder")
model.generate(**tokenizer(["21+43="], return_tensors="pt"))
"""

LOOKING = """
import curta
model = curta.load("small").to_transformer_lens()
logits, cache = model.run_with_cache("21+43=")
assert cache["pattern", 0].shape == (1, 2, 6, 6)
"""

TUNING = """
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer
tokenizer = AutoTokenizer.from_pretrained("adder")
model = AutoModelForCausalLM.from_pretrained("adder")
rows = Dataset.from_list([{"prompt": "21+43=", "completion": "64$"}] * 4)
settings = SFTConfig(max_steps=1, report_to=[], use_cpu=True, bf16=False)
trainer = SFTTrainer(model, settings, train_dataset=rows, processing_class=tokenizer)
trainer.train()
trainer.save_model("tuned")
"""

SUBMITTING = """
from curta.frontends.cluster.task import again
again("mine", "0").dump("again.pkl")
"""

COMPARING = """
from benchmarks.check import differences
from benchmarks.configurations import CONFIGURATIONS
assert "logits" in differences(CONFIGURATIONS["a"].recipe())
"""

WORK = {
    "data": in_parquet,
    "cluster": submitted,
    "onnx": as_graph,
    "huggingface": opened,
    "lens": in_transformer_lens,
    "serve": served,
    "tensorboard": on_board,
    "trackio": in_trackio,
    "wandb": in_wandb,
    "test": checked_by_tests,
    "lint": linted,
    "bench": measured,
    "trl": tuned,
}
"""What shows that an extra is enough for what it is for."""

ELSEWHERE = ("gpu", "tpu")
"""Extras that need a device of their own, and gigabytes: pip only finds what it would install."""


def test_every_extra_is_tried() -> None:
    assert {*WORK, *ELSEWHERE} == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("extra", WORK)
def test_an_extra_is_enough_for_its_work(extra: str, place: Place) -> None:
    place.install(f".[{extra}]")
    WORK[extra](place)


@pytest.mark.parametrize("extra", ELSEWHERE)
def test_versions_for_a_device_fit_the_constraints(extra: str, base: Place) -> None:
    base.install("--dry-run", f".[{extra}]")
