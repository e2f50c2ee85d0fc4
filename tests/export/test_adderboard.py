"""The exported file, in a process that has nothing but NumPy: the same logits, the same sums."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tiny
from curta import api, checkpoints, training
from curta.cli import main
from curta.export import Exported
from curta.export.adderboard import AdderBoard
from curta.generation import completions
from curta.layouts import layout_named
from curta.model import Transformer, parameters
from curta.problems import Problem
from curta.recipe import Recipe
from curta.session import Run

COUPLED = layout_named("coupled")
ROOM = COUPLED.room("+", (10, 10))

ONLY_NUMPY = """
import importlib.util, json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}:
            raise ImportError(f"{name} is not NumPy")

sys.meta_path.insert(0, Refuse())
spec = importlib.util.spec_from_file_location("adder", sys.argv[1])
adder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(adder)
model, metadata = adder.build_model()
texts, pairs = json.load(sys.stdin)
characters = model.settings["characters"]
tokens = [adder.np.array([characters.index(c) for c in text]) for text in texts]
sums = [adder.add(model, *pair) for pair in pairs]
assert all(type(found) is int for found in sums)
logits = [model(text).tolist() for text in tokens]
print(json.dumps({"logits": logits, "sums": sums, "metadata": metadata}))
"""


def asked(file: Path, texts: list[str], pairs: list[tuple[int, ...]]) -> dict[str, Any]:
    """What the file says, run where only NumPy can be imported."""
    command = [sys.executable, "-c", ONLY_NUMPY, str(file)]
    given = json.dumps([texts, pairs])
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=file.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def untrained(of: Recipe, seed: int = 3) -> Transformer:
    """Random weights, gains among them, which begin as ones."""
    model = tiny.drawn(of, COUPLED, seed)
    leaves, shape = jax.tree.flatten(model)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    noisy = [
        leaf + 0.2 * jax.random.normal(key, leaf.shape)
        for leaf, key in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(shape, noisy)


def exported(of: Recipe, model: Transformer, folder: Path) -> Path:
    AdderBoard().write(Exported("mine", 3, of, model), folder / "adder.py")
    return folder / "adder.py"


def begun(seeds: int, name: str = "mine") -> Run:
    """A run whose checkpoint has the weights that training begins with."""
    run = api.begin("addition", seeds, name, tiny.overrides())
    state = training.init(run.recipe, jnp.asarray(run.seeds))
    checkpoints.save(run.folder.checkpoints, 1, state)
    return run


def logits(model: Transformer, problems: list[Problem]) -> list[np.ndarray]:
    """Those of the JAX model, for what follows each token of each text."""
    text = tiny.text(COUPLED, problems, ROOM.total)

    @jax.jit
    def every(model: Transformer) -> jax.Array:
        return model(text.tokens, COUPLED.where(text), tiny.every_index(text), ROOM)

    found = every(model)
    return [np.asarray(row)[:n] for row, n in zip(found, text.lengths.tolist(), strict=True)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attending": 2, "tied": True, "activation": "relu", "reach": (-1, 2)},
        {"kinds": False, "attention_scale": False, "heads": 4, "blocks": 1},
    ],
    ids=["default", "two attend", "plain"],
)
def test_logits_are_those_of_the_model(tmp_path: Path, changes: dict[str, Any]) -> None:
    reach = changes.pop("reach", (0, 1))
    fields = {f"model__{field}": value for field, value in changes.items()}
    of = tiny.recipe(positions__name="window", positions__reach={"place": reach}, **fields)
    model, problems = untrained(of), tiny.random_sums(12, 10)
    file = exported(of, model, tmp_path)
    texts = [COUPLED.write(problem) for problem in problems]
    found = asked(file, texts, [])
    for ours, theirs in zip(logits(model, problems), found["logits"], strict=True):
        np.testing.assert_allclose(np.array(theirs), ours, atol=1e-4, rtol=0)
    assert found["metadata"]["params"] == parameters(model)
    assert set(found["metadata"]) == {"name", "author", "params", "architecture", "tricks"}


def test_sums_are_what_the_model_writes(tmp_path: Path) -> None:
    """Without training hardly one is right, and some are no numbers."""
    of = tiny.recipe()
    model, problems = untrained(of), tiny.random_sums(12, 10)
    found = asked(exported(of, model, tmp_path), [], [problem.operands for problem in problems])
    written = completions(model, COUPLED, problems, ROOM)
    answers = [COUPLED.read("+", text) for text in written]
    assert found["sums"] == [-1 if answer is None else answer for answer in answers]


def test_a_member_is_exported_by_its_number(tmp_path: Path) -> None:
    run = begun(2)
    out = tmp_path / "adder.py"
    assert main(["export", "mine", "--to", "adderboard", "--out", str(out), "--member", "1"]) == 0
    model: Transformer = jax.tree.map(jnp.asarray, run.model(1))
    problems = tiny.random_sums(3, 4)
    found = asked(out, [COUPLED.write(problem) for problem in problems], [(0, 9_999_999_999)])
    for ours, theirs in zip(logits(model, problems), found["logits"], strict=True):
        np.testing.assert_allclose(np.array(theirs), ours, atol=1e-4, rtol=0)
    assert "seed 1" in found["metadata"]["name"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layout": "reversed", "positions.name": "rope"}, "layout 'reversed' (it knows"),
        ({"positions.name": "rope"}, "positions.name 'rope' (it knows 'window')"),
        ({"positions.sees": {"first": {}, "equals": {}}}, "positions.sees"),
        ({"model.loops": 2}, "model.loops 2 (it knows 1)"),
        ({"model.activation": "gelu"}, "model.activation 'gelu' (it knows 'relu', 'relu2')"),
        ({"model.norm": "layer"}, "model.norm 'layer' (it knows 'rms')"),
    ],
)
def test_a_run_that_cannot_be_expressed_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], says: str
) -> None:
    api.begin("addition", 1, "mine", changes)
    out = tmp_path / "adder.py"
    assert main(["export", "mine", "--to", "adderboard", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"curta: adderboard cannot express run 'mine': {says}")
    assert error.count("\n") == 1
    assert not out.exists()


def test_an_unknown_form_and_an_unknown_member_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.begin("addition", 1, "mine", tiny.overrides())
    words = ["export", "mine", "--out", str(tmp_path / "adder.py"), "--to"]
    assert main([*words, "aderboard"]) == 2
    assert "unknown form 'aderboard': did you mean 'adderboard'?" in capsys.readouterr().err
    assert main([*words, "adderboard"]) == 2
    assert "no checkpoint yet" in capsys.readouterr().err
    begun(1, "other")
    words[1] = "other"
    assert main([*words, "adderboard", "--member", "1"]) == 2
    assert "no member 1" in capsys.readouterr().err
