"""Help, and the line that refuses a mistyped name, are told at once: JAX is not imported."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
    ["probe", "small", "--help"],
    *(["probe", "small", name, "--help"] for name in PROBES),
]

ERRORS = Path(__file__).parents[2] / "snapshots" / "errors.txt"
NEEDS_MORE = re.compile(r"\.toml|^show .* |^report|activations|sums model")
"""What is told only after a file, or the run itself, has been read."""


def mistakes() -> Iterator[tuple[str, str]]:
    """Yield the words of each mistyped name in the transcript of errors, and its line."""
    told = re.findall(
        r"^\$ curta (.*)\n(curta: .*did you mean .*\n)", ERRORS.read_text("utf-8"), re.M
    )
    yield from (pair for pair in told if not NEEDS_MORE.search(pair[0]))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, str, str]]:
    """Exit code, output and errors of each of the commands, beside a run called `small`."""
    runs, lines = tmp_path_factory.mktemp("runs"), [*HELP, *(shlex.split(w) for w, _ in mistakes())]
    (runs / "small").mkdir()
    info = {"format": 2, "seeds": [0], "status": "training", "stopped": {}}
    (runs / "small" / "run.json").write_text(json.dumps(info))
    done = subprocess.run(
        [sys.executable, "-c", EACH], input=json.dumps(lines), stdout=subprocess.PIPE, text=True,
        check=True, env=os.environ | {"CURTA_RUNS": str(runs)},
    )  # fmt: skip
    return dict(zip(map(" ".join, lines), map(tuple, json.loads(done.stdout)), strict=True))


def test_help_needs_no_jax(outcomes: dict[str, tuple[object, str, str]]) -> None:
    for line in map(" ".join, HELP):
        code, out, err = outcomes[line]
        assert (code, bool(out), err) == (0, True, ""), line


def test_a_mistyped_name_is_told_without_jax(outcomes: dict[str, tuple[object, str, str]]) -> None:
    told = list(mistakes())
    assert len(told) > 20
    for words, line in told:
        assert outcomes[" ".join(shlex.split(words))] == (2, "", line)


def test_the_group_lists_commands_without_importing_them() -> None:
    code = (
        "import sys; from curta.frontends.cli import main; code = main(['--help']);"
        "assert not {'jax', 'rich', 'pydantic'} & set(sys.modules); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
