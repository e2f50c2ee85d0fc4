"""Help, and the line that refuses a mistyped name, are told at once: JAX is not imported."""

import json
import os
import subprocess
import sys

import pytest

from curta.probes import PROBES

EACH = """
import contextlib, io, json, sys
for name in ("jax", "equinox", "optax", "jinja2"):
    sys.modules[name] = None  # importing it is an error
from curta.frontends.cli import main

def outcome(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except ImportError as error:
            code = repr(error)
    return code, out.getvalue(), err.getvalue()

print(json.dumps([outcome(arguments) for arguments in json.load(sys.stdin)]))
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


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, str, str]]:
    """Exit code, output and errors of each of the commands, beside a run called `mine`."""
    runs, lines = tmp_path_factory.mktemp("runs"), [*HELP, *(line for line, _ in MISTAKES)]
    (runs / "mine").mkdir()
    info = {"format": 2, "seeds": [0], "status": "training", "stopped": {}}
    (runs / "mine" / "run.json").write_text(json.dumps(info))
    done = subprocess.run(
        [sys.executable, "-c", EACH], input=json.dumps(lines), stdout=subprocess.PIPE, text=True,
        check=True, env=os.environ | {"CURTA_RUNS": str(runs)},
    )  # fmt: skip
    return dict(zip(map(" ".join, lines), map(tuple, json.loads(done.stdout)), strict=True))


def test_help_needs_no_jax(outcomes: dict[str, tuple[object, str, str]]) -> None:
    for line in map(" ".join, HELP):
        code, out, err = outcomes[line]
        assert (code, bool(out), err) == (0, True, ""), line


def test_a_mistyped_name_is_told_without_jax(
    outcomes: dict[str, tuple[object, str, str]],
) -> None:
    for words, meant in MISTAKES:
        code, _, err = outcomes[" ".join(words)]
        assert (code, err.count("\n"), f"'{meant}'" in err) == (2, 1, True), err


def test_the_group_lists_commands_without_importing_them() -> None:
    code = (
        "import sys; from curta.frontends.cli import main; code = main(['--help']);"
        "assert not {'jax', 'rich', 'pydantic'} & set(sys.modules); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
