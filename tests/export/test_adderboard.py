"""The exported file, in a process that has nothing but NumPy: the same logits, the same sums."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.evaluation.memo import Memo
from curta.export import adderboard
from curta.export.adderboard import AdderBoard
from curta.export.base import Exported
from curta.frontends import api
from curta.frontends.cli import main
from curta.model.transformer import Transformer, parameters
from curta.programs.machine.writing import write
from tests import adder, tiny

from .made import SPELLED, begun, drawn, logits, rows
from .made import asked as problems

SMALL = {path: value for path, value in tiny.overrides().items() if path != "program"}

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
tokens = [adder.np.array(text) for text in texts]
sums = [adder.add(model, *pair) for pair in pairs]
assert all(type(found) is int for found in sums)
logits = [model(text).tolist() for text in tokens]
print(json.dumps({"logits": logits, "sums": sums, "metadata": metadata}))
"""


def told(file: Path, texts: list[list[int]], pairs: list[tuple[int, ...]]) -> dict[str, Any]:
    """What the file says, run where only NumPy can be imported."""
    command = [sys.executable, "-c", ONLY_NUMPY, str(file)]
    given = json.dumps([texts, pairs])
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=file.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def exported(of: Recipe, model: Transformer, folder: Path) -> Path:
    AdderBoard().write(Exported("mine", 3, of, model), folder / "adder.py")
    return folder / "adder.py"


def same(model: Transformer, file: Path) -> dict[str, Any]:
    """What the file says of some sums, and of tokens of any kind, once it is what JAX says."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, len(model.layout.characters), (4, 30)).tolist()
    prompt = model.layout.tokens_of(tiny.random_sums(1, 3)[0])[0][:8]
    anything = [*tokens, *(prompt + one for one in tokens)]  # now and then twice on a square
    texts = [*rows(model, problems()), *anything]
    found = told(file, texts, [(0, 9_999_999_999)])
    for ours, theirs in zip(logits(model, texts), found["logits"], strict=True):
        np.testing.assert_allclose(np.array(theirs), ours, atol=1e-4, rtol=0)
    return found["metadata"]


@pytest.mark.parametrize(
    "changes",
    [
        {"model__tie_embeddings": True, "model__activation": "relu"},
        SPELLED | {"model__attention_scale": False, "model__heads": 4, "model__num_layers": 1},
    ],
    ids=["tie_embeddings", "compositional_embeddings"],
)
def test_logits_are_those_of_the_model(tmp_path: Path, changes: dict[str, Any]) -> None:
    of = tiny.recipe(**changes)
    model = drawn(of, 3)
    metadata = same(model, exported(of, model, tmp_path))
    assert metadata["params"] == parameters(model)
    assert set(metadata) == {"name", "author", "params", "architecture", "tricks"}


def test_what_was_trained_on_is_that_of_the_recipe() -> None:
    of = adder.recipe(task__digits=[2, 9])
    words = adderboard._metadata(Exported("mine", 3, of, drawn(of)))["tricks"][0]
    assert words == "trained from random weights, on sums of 2 to 9 digits"


def test_sums_are_what_the_model_writes(tmp_path: Path) -> None:
    """Without training hardly one is right, and some are no numbers."""
    of = tiny.recipe()
    model, sums = drawn(of, 3), tiny.random_sums(12, 10)
    layout = model.layout
    found = told(exported(of, model, tmp_path), [], [problem.operands for problem in sums])
    memo = Memo(jax.tree.map(lambda leaf: leaf[None], model), 1, model.positions.cells)
    for problem, theirs in zip(sums, found["sums"], strict=True):
        given = layout.prompt_tokens(problem)
        text = write(layout.machine, layout.windows, memo.look(0), [given], 12)[0]
        answer = layout.answer(problem, text)
        assert theirs == (-1 if answer is None else answer)


def test_a_member_is_exported_by_its_number(tmp_path: Path) -> None:
    run = begun(seeds=2, **SMALL)
    out = tmp_path / "adder.py"
    assert main(["export", "mine", "--to", "adderboard", "--out", str(out), "--member", "1"]) == 0
    metadata = same(jax.tree.map(jnp.asarray, run.model(1)), out)
    assert "seed 1" in metadata["name"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {
                "layout": "reversed",
                "training.problems": 3000,
                "positions.name": "rope",
                "model.compositional_embeddings": False,
            },
            "layout 'reversed' (it knows programs, and 'columns')",
        ),
        ({"positions.name": "rope"}, "positions.name 'rope' (it knows 'window')"),
        ({"program": "multiplication", "task.operator": "*"}, "it does not add"),
        ({"model.gated": True}, "model.gated True (it knows False)"),
        ({"model.activation": "gelu"}, "model.activation 'gelu' (it knows 'relu', 'relu2')"),
        (
            {
                "model.embedding": "arc",
                "model.width": 2,
                "model.heads": 1,
                "model.compositional_embeddings": False,
            },
            "model.embedding 'arc' (it knows 'table')",
        ),
        ({"model.norm": "layer"}, "model.norm 'layer' (it knows 'rms')"),
        ({"model.num_kv_heads": 1}, "model.num_kv_heads 1 (it knows as many as model.heads)"),
        ({"model.weight_sharing": ["norms"]}, "model.weight_sharing ('norms',) (it knows ())"),
    ],
)
def test_a_run_that_cannot_be_expressed_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], says: str
) -> None:
    api.begin("addition", 1, "mine", SMALL | changes)
    out = tmp_path / "adder.py"
    assert main(["export", "mine", "--to", "adderboard", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"curta: adderboard cannot express run 'mine': {says}")
    assert error.count("\n") == 1
    assert not out.exists()


def test_an_unknown_form_and_an_unknown_member_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.begin("addition", 1, "mine", SMALL)
    words = ["export", "mine", "--out", str(tmp_path / "adder.py"), "--to"]
    assert main([*words, "aderboard"]) == 2
    assert "unknown format 'aderboard': did you mean 'adderboard'?" in capsys.readouterr().err
    assert main([*words, "adderboard"]) == 2
    assert "no checkpoint yet" in capsys.readouterr().err
    begun(name="other", **SMALL)
    words[1] = "other"
    assert main([*words, "adderboard", "--member", "1"]) == 2
    assert "no member 1" in capsys.readouterr().err


def test_an_adder_of_columns_is_a_file_of_its_own_that_adds(tmp_path: Path) -> None:
    of, model = adder.recipe(), adder.solved()
    file = exported(of, model, tmp_path)
    layout, sums = model.layout, tiny.random_sums(20, 10)
    texts = [layout.tokens_of(problem)[0][:-1] for problem in sums]
    found = told(file, texts, [*(problem.operands for problem in sums), (9_999_999_999, 1)])
    for ours, theirs in zip(logits(model, texts), found["logits"], strict=True):
        np.testing.assert_allclose(np.array(theirs), ours, rtol=1e-4, atol=1e-2)
    assert found["sums"] == [*(problem.truth for problem in sums), 10_000_000_000]
    assert found["metadata"]["params"] == parameters(model) == 35


@pytest.mark.parametrize(
    ("of", "model", "digits"),
    [(adder.recipe(), adder.solved(), 10), (tiny.recipe(), drawn(tiny.recipe(), 3), 100)],
    ids=["columns", "program"],
)
def test_numbers_that_a_file_does_not_hold_are_refused_in_a_line(
    tmp_path: Path, of: Recipe, model: Transformer, digits: int
) -> None:
    file: dict[str, Any] = {}
    exec(exported(of, model, tmp_path).read_text(), file)
    built, _ = file["build_model"]()
    takes = f"+ takes 2 whole numbers from 0 up, of at most {digits} digits"
    for wrong in (10**digits, -1, 1.5, True, "1"):
        with pytest.raises(ValueError, match=re.escape(f"{takes} (got ")) as refused:
            file["add"](built, 1, wrong)
        assert "\n" not in str(refused.value)
    assert type(file["add"](built, np.int64(12), 34)) is int


@pytest.mark.parametrize("out", ["out-query", "out-value"])
def test_an_adder_with_shared_weights_has_each_of_them_once(tmp_path: Path, out: str) -> None:
    of, model = adder.sharing(out), adder.shared(out)
    layout = model.layout
    texts = [layout.tokens_of(problem)[0][:-1] for problem in tiny.random_sums(5, 10)]
    found = told(exported(of, model, tmp_path), texts, [])
    for ours, theirs in zip(logits(model, texts), found["logits"], strict=True):
        np.testing.assert_allclose(np.array(theirs), ours, rtol=1e-4, atol=1e-4)
    assert found["metadata"]["params"] == parameters(model) == 35 - 11
