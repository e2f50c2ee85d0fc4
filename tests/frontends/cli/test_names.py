"""Help, and the line that refuses a mistyped name, are told at once: JAX is not imported."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curta.probes import OPTIONS, PROBES
from curta.probes.settings import Options

SECONDS = 2.0
"""Generous: such a command takes 0.3 s, and importing JAX alone takes longer than a second."""

CODE = (
    "import sys; from curta.frontends.cli import main; code = main(sys.argv[1:]);"
    "assert not {'jax', 'equinox', 'optax', 'jinja2'} & set(sys.modules); sys.exit(code)"
)

HELP = [
    [],
    ["--help"],
    ["--version"],
    ["recipes"],
    ["train", "--help"],
    ["train", "addition", "--help"],
    ["data", "addition", "--help"],
    ["sweep", "addition", "--help"],
    ["compare", "--help"],
    ["compare", "addition", "addition-plain", "--help"],
    ["probe", "--help"],
    ["probe", "mine", "--help"],
    *(["probe", "mine", name, "--help"] for name in PROBES),
]

MISTAKES = [
    (["trian"], "train"),
    (["train", "--sedes", "3"], "--seeds"),
    (["evaluate", "mine", "--cuont", "3"], "--count"),
    (["train", "additoin"], "addition"),
    (["show", "additoin", "1+2"], "addition"),
    (["train", "--model.widht", "3"], "model.width"),
    (["sweep", "addition", "--model.widht", "3,4"], "model.width"),
    (["train", "addition-plain", "--layout", "reversd"], "reversed"),
    (["train", "addition-plain", "--evaluation.layouts", "['reversd']"], "reversed"),
    (["train", "--program", "additon"], "addition"),
    (["check", "additon"], "addition"),
    (["train", "--positions.name", "windw"], "window"),
    (["train", "--optimizer.name", "adamm"], "adam"),
    (["train", "--task.operator", "sortt"], "sort"),
    (["probe", "mine", "commutativty"], "commutativity"),
    (["probe", "mien", "commutativity"], "mine"),
    (["probe", "mine", "commutativity", "--cuont", "3"], "--count"),
    (["ask", "mien", "1+2"], "mine"),
    (["resume", "mien"], "mine"),
    (["report", "mien"], "mine"),
    (["compare", "encoding"], "encodings"),
    (["compare", "addition", "additoin"], "addition"),
    (["train", "--track", "wandbb"], "wandb"),
    (["export", "mine", "--to", "onx"], "onnx"),
    (["import", "huggingfac", "folder"], "huggingface"),
    (["data", "addition", "--rows", "3", "--out", "new", "--format", "parqet"], "parquet"),
]


def command(arguments: list[str], runs: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """What a command says, beside a run called `mine`, and how long it took."""
    (runs / "mine").mkdir(parents=True, exist_ok=True)
    info = {"format": 2, "seeds": [0], "status": "training", "stopped": {}}
    (runs / "mine" / "run.json").write_text(json.dumps(info))
    line = [sys.executable, "-c", CODE, *arguments]
    begun = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ)
    return time.perf_counter() - begun, done


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_needs_no_jax(arguments: list[str], runs_folder: Path) -> None:
    _, done = command(arguments, runs_folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(("arguments", "meant"), MISTAKES, ids=str)
def test_a_mistyped_name_is_told_without_jax(
    arguments: list[str], meant: str, runs_folder: Path
) -> None:
    _, done = command(arguments, runs_folder)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"'{meant}'" in done.stderr


@pytest.mark.parametrize("arguments", [HELP[0], HELP[5], HELP[-1], MISTAKES[5][0]], ids=" ".join)
def test_it_is_told_at_once(arguments: list[str], runs_folder: Path) -> None:
    assert min(command(arguments, runs_folder)[0] for _ in range(3)) < SECONDS


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_has_the_options_of_its_help(name: str) -> None:
    assert fields(PROBES[name]) == fields(OPTIONS.get(name, Options))
    assert OPTIONS.keys() <= PROBES.keys()


def fields(options: type[Options]) -> list[tuple[str, object]]:
    return [(field.name, field.default) for field in dataclasses.fields(options)]
