"""The exported file, in a process that has nothing but NumPy: the same logits, the same sums."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.evaluation.scoring import Memo
from curta.export.adderboard import AdderBoard
from curta.export.base import Exported
from curta.model.transformer import Transformer, parameters
from curta.programs.machine.writing import write
from tests import adder, tiny

from .made import drawn

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
sums = [adder.add(model, *pair) for pair in json.load(sys.stdin)]
assert all(type(found) is int for found in sums)
print(json.dumps({"sums": sums, "metadata": metadata}))
"""


def told(file: Path, pairs: list[tuple[int, ...]]) -> dict[str, Any]:
    """What the file says, run where only NumPy can be imported."""
    command = [sys.executable, "-c", ONLY_NUMPY, str(file)]
    text = json.dumps(pairs)
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=file.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def exported(of: Recipe, model: Transformer, folder: Path) -> Path:
    AdderBoard().write(Exported("mine", 3, of, model), folder / "adder.py")
    return folder / "adder.py"


def test_sums_are_what_the_model_writes(tmp_path: Path) -> None:
    """Without training hardly one is right, and some are no numbers."""
    of = tiny.recipe()
    model, sums = drawn(of, 3), tiny.random_sums(12, 10)
    output = told(exported(of, model, tmp_path), [problem.operands for problem in sums])
    memo = Memo(jax.tree.map(lambda leaf: leaf[None], model), 1, model.positions.cells)
    machine, windows = model.layout.machine, model.layout.windows
    look = partial(memo.tokens, member=0)
    prompts = [model.layout.prompt_tokens(problem) for problem in sums]
    texts = [write(machine, windows, look, [prompt], 12)[0] for prompt in prompts]
    answers = [model.layout.answer(*pair) for pair in zip(sums, texts, strict=True)]
    assert output["sums"] == [-1 if answer is None else answer for answer in answers]


def test_an_adder_of_columns_adds(tmp_path: Path) -> None:
    file, sums = exported(adder.recipe(), adder.solved(), tmp_path), tiny.random_sums(20, 10)
    output = told(file, [*(problem.operands for problem in sums), (9_999_999_999, 1)])
    assert output["sums"] == [*(problem.truth for problem in sums), 10_000_000_000]
    assert output["metadata"]["params"] == parameters(adder.solved()) == 35


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
