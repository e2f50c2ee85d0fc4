"""Curta from Python: the three lines of its docstring."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.config.typed import as_json
from curta.frontends import api
from curta.probes.inside.interventions import Intervention
from tests import tiny

pytestmark = pytest.mark.usefixtures("brief")


HELP = "[cli.main([name, '--help']) for name in ('train', 'runs', 'probe')]"


@pytest.mark.parametrize(
    ("code", "module"),
    [("import curta", "jax"), (f"from curta.frontends import cli; {HELP}", "numpy")],
)
def test_what_needs_no_slow_module_does_not_import_it(code: str, module: str) -> None:
    code += f"; import sys; sys.exit('{module}' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_curta_has_what_it_names_and_nothing_else() -> None:
    for name in curta.__all__:
        assert getattr(curta, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = curta.trian


def test_train_ask_evaluate_and_load(runs_folder: Path) -> None:
    shown: list[Any] = []
    overrides = tiny.overrides(evaluation__certificate=0)
    run = curta.train("addition", seeds=2, **overrides, show=shown.append)
    assert (run.name, run.seeds, len(shown)) == ("addition", [0, 1], 2)
    assert run.folder.read_info().status == "finished"
    assert run.folder.report.exists()
    answer = run.ask("2+2")
    assert answer is None or answer >= 0
    again = curta.load("addition")
    assert again.ask("2+2") == answer
    ways: list[Callable[[Any], Any]] = [
        again.ask,
        lambda problem: again.write(["2+2", problem]),
        lambda problem: again.activations([problem]),
        lambda problem: again.intervene([problem], []),
        lambda problem: again.intervene(["2+2"], [Intervention("final", "patch", problem)]),
    ]
    for problem, says in {
        "12+34+5": r"'12\+34\+5': run 'addition' takes 2 operands of \+ \(got 3\)",
        "5-3": r"'5-3': run 'addition' has no '-': it takes \+",
        "0x1+0x2": r"takes \+ in base 10 only \(got base 16\)",
        "1+-2": "whole numbers from 0 up",
    }.items():
        for way in ways:
            with pytest.raises(UserError, match=says):
                way(problem)
    with pytest.raises(UserError, match="problems are a list such as"):
        again.write("2+2")
    with pytest.raises(UserError, match="takes 2 operands"):
        again.evaluate(named=["12+34+5"], report=False)
    evaluation = again.evaluate(digits=(2, 3), count=4, report=False)
    assert [row.digits for row in evaluation.lengths] == [2] * 5 + [3] * 5
    beside = runs_folder / "addition" / "evaluations" / "digits-2_3.count-4.json"
    assert json.loads(beside.read_text()) == as_json(evaluation)


def test_a_recipe_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('layout = "reversed"\n[positions]\nname = "rope"\n')
    run = api.begin(str(path), 1, None, {"model.width": 16})
    assert (run.name, run.recipe.layout, run.recipe.model.width) == ("mine", "reversed", 16)


@pytest.mark.parametrize(
    ("seeds", "line"),
    [(seeds, "at least one seed is needed, and each only once") for seeds in (0, -1, [], [1, 1])]
    + [([seed], "a seed is a whole number") for seed in (2**31, -(2**31) - 1, 10**30)],
)
def test_wrong_seeds_are_refused_before_anything_is_made(
    seeds: Any, line: str, runs_folder: Path
) -> None:
    with pytest.raises(UserError, match=line):
        curta.train(seeds=seeds, **tiny.overrides(training__steps=1), evaluate=False)
    assert not runs_folder.exists()
