"""Help, and the line that refuses a mistyped name, are told at once: JAX is not imported."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from curta.probes import PROBES

AT_ONCE = (
    "import sys; from curta.frontends.cli import main; code = main(sys.argv[1:]);"
    "assert not {'jax', 'equinox', 'optax', 'jinja2'} & set(sys.modules); sys.exit(code)"
)
"""As the command `curta`; fails where it has imported what takes long."""

EACH = """
import contextlib, io, json, sys
for name in ("jax", "equinox", "optax", "jinja2"):
    sys.modules[name] = None  # importing it is an error
from curta.frontends.cli import main

def told(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except ImportError as error:
            code = repr(error)
    return code, out.getvalue(), err.getvalue()

print(json.dumps([told(arguments) for arguments in json.load(sys.stdin)]))
"""
"""Runs each of the commands in one process, in which nothing heavy can be imported."""

HELP = [
    [],
    ["--help"],
    ["--version"],
    ["show"],
    ["train", "--help"],
    ["show", "addition", "--fields"],
    ["show", "addition-plain", "--fields", "positions.name=rope"],
    ["compare"],
    ["compare", "--help"],
    ["probe", "--help"],
    ["probe", "mine", "--help"],
    *(["probe", "mine", name, "--help"] for name in PROBES),
]

MISTAKES = [
    (["trian"], "train"),
    (["train", "additoin"], "addition"),
    (["train", "model.widht=3"], "model.width"),
    (["train", "addition-plain", "layout=reversd"], "reversed"),
    (["train", "program=additon"], "addition"),
    (["train", "positions.name=windw"], "window"),
    (["train", "optimizer.name=adamm"], "adam"),
    (["probe", "mine", "commutativty"], "commutativity"),
    (["probe", "mine", "commutativity", "cuont=3"], "count"),
    (["probe", "mine", "activations", "1+2", "--member", "0", "mena=final"], "mean"),
    (["ask", "mien", "1+2"], "mine"),
    (["compare", "encoding"], "encodings"),
    (["train", "--track", "wandbb"], "wandb"),
    (["export", "mine", "--to", "onx"], "onnx"),
    (["data", "addition", "--rows", "3", "--out", "new", "--format", "parqet"], "parquet"),
]


@dataclasses.dataclass(frozen=True)
class Told:
    """How a command ended, and what it said."""

    code: object
    out: str
    err: str


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], Told]:
    """What each of the commands says beside a run called `mine`."""
    runs, lines = tmp_path_factory.mktemp("runs"), [*HELP, *(line for line, _ in MISTAKES)]
    begin(runs)
    done = subprocess.run(
        [sys.executable, "-c", EACH],
        input=json.dumps(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"CURTA_RUNS": str(runs)},
    )
    found = [Told(*one) for one in json.loads(done.stdout)]
    return lambda line: found[lines.index(line)]


def begin(runs: Path) -> None:
    (runs / "mine").mkdir(parents=True)
    info = {"format": 2, "seeds": [0], "status": "training", "stopped": {}}
    (runs / "mine" / "run.json").write_text(json.dumps(info))


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_needs_no_jax(arguments: list[str], told: Callable[[list[str]], Told]) -> None:
    done = told(arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out


@pytest.mark.parametrize(("arguments", "meant"), MISTAKES, ids=str)
def test_a_mistyped_name_is_told_without_jax(
    arguments: list[str], meant: str, told: Callable[[list[str]], Told]
) -> None:
    done = told(arguments)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert f"'{meant}'" in done.err


@pytest.mark.parametrize("arguments", [HELP[-1], MISTAKES[2][0]], ids=" ".join)
def test_it_is_told_at_once(arguments: list[str], runs_folder: Path) -> None:
    """By a process of its own, which imports nothing that takes long."""
    begin(runs_folder)
    line = [sys.executable, "-c", AT_ONCE, *arguments]
    done = subprocess.run(line, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
