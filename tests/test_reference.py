"""The NumPy forward pass against the compiled one, and `curta ask` without JAX."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curta.config import files
from curta.config.errors import UserError
from curta.problems.problem import parse
from curta.runs.calculator import Calculator, open_calculator
from tests import tiny
from tests.made_once import Shared


def test_answers_are_those_of_the_run(shared_runs: Shared) -> None:
    run = shared_runs.finished()
    problems = [parse(text) for text in ("0+0", "12+34", "99999+1", "7+123456")]
    for member in range(len(run.seeds)):
        calculator = Calculator(run.folder, member)
        written = calculator.write(problems)
        assert written == run.write(problems, member)
        assert [written[1]] == calculator.write(problems[1:2])
        for problem, tokens in zip(problems, written, strict=True):
            assert calculator.answer(problem, tokens) == run.layout.answer(problem, tokens)
            assert calculator.prompt(problem) == run.layout.prompt(problem)
            assert calculator.decode(tokens) == run.layout.decode(tokens)


def test_other_encodings_have_no_calculator(shared_runs: Shared) -> None:
    run = shared_runs.trained("dense", 1, **tiny.WRITTEN_WITH_ROPE)
    assert open_calculator(run.folder) is None


def test_a_machine_that_does_not_fit_the_weights_is_damaged(shared_runs: Shared) -> None:
    run = shared_runs.trained()
    machine = json.loads(run.folder.machine.read_text())
    del machine["tokens"][0]
    files.write(run.folder.machine, json.dumps(machine))
    with pytest.raises(UserError, match="damaged"):
        Calculator(run.folder, 0)


def test_ask_and_listings_do_not_import_jax(shared_runs: Shared) -> None:
    """In processes of their own, in which importing JAX is an error."""
    start = "import sys; sys.modules['jax'] = None"
    code = f"{start}; from curta.frontends.cli import main; sys.exit(main())"

    def curta_command(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, capture_output=True, text=True, **settings)

    run = shared_runs.finished()
    at, problems = str(run.folder.path), ["12+34", "5+6"]
    texts = map(run.layout.decode, run.write(problems))
    answers = zip(map(run.ask, problems), texts, strict=True)
    expected = [f"invalid: {text}" if value is None else str(value) for value, text in answers]
    for words, given in (
        (("ask", at, "12+34", "5+6"), None),
        (("ask", at, "--file", "-"), "\ufeff12+34\n5+6\n"),
    ):
        done = curta_command(*words, input=given, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"curta: member 0 .* is wrong on .* windows, .*\n", done.stderr)
        assert done.stdout.splitlines() == expected
    for words in (("runs",), ("report", at, "--csv")):
        done = curta_command(*words, cwd=Path(at).parent)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
