"""The exported model in the transformers library: the same logits, the same answers."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from curta.evaluation.memo import Memo
from curta.programs.machine.writing import write
from tests import tiny

from ..made import PRODUCTS, asked, drawn, logits, rows
from .made import COUPLED, GPT2, LLAMA, folder, opened, theirs, tokenizer, told

pytestmark = pytest.mark.slow

CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2, tied, plain norm": (
        "GPT2LMHeadModel",
        GPT2
        | {"model__tie_embeddings": True, "model__norm": "plain", "model__attention_scale": False},
    ),
    "gpt2, random positions, some biases": (
        "GPT2LMHeadModel",
        {
            "layout": "plain", "positions__name": "randomised", "positions__max_length": 40,
            "model__role_embeddings": False, "model__norm": "layer", "model__activation": "relu2",
            "model__num_attention_layers": 2, "model__biases": ("out", "norms"),
        },
    ),
    "llama, no scale": (
        "LlamaForCausalLM",
        LLAMA | {"model__width": 32, "model__attention_scale": False},
    ),
}  # fmt: skip
"""What the designs of `test_conformance.py` have not."""


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_the_library_calculates_the_same(tmp_path: Path, name: str) -> None:
    expected, changes = CLASSES[name]
    of = tiny.recipe(**changes)
    model, at = drawn(of), folder(tmp_path / "own", of)
    there, texts = opened(at), rows(model, asked(of.tasks[0].operator))
    found = theirs(there, at, told(model, texts))
    for mine, plain in zip(found, logits(model, texts), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=0, atol=1e-4)
    assert type(there).__name__ == expected
    assert not list(at.glob("*.py"))


@pytest.mark.parametrize("changes", [{}, PRODUCTS], ids=["sums", "products"])
def test_programs_are_asked_without_curta(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Prompts, what is written after them, and the answers in it, if there are any."""
    of = tiny.recipe(**changes)
    model, operator = drawn(of), of.tasks[0].operator
    layout = model.layout
    there = opened(folder(tmp_path / "own", of, model))
    memo = Memo(jax.tree.map(lambda leaf: leaf[None], model), 1, model.positions.cells)
    for problem in asked(operator):
        given = there.prompt(operator, *problem.operands)
        assert given.tolist() == [layout.prompt_tokens(problem)]
        text = there.generate(given, max_new_tokens=12)[0]
        written = write(layout.machine, layout.windows, memo.look(0), [given[0].tolist()], 12)[0]
        assert text[given.shape[1] :].tolist() == written
        answer = there.answer(operator, text, given.shape[1])
        assert answer == layout.answer(problem, written)


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    of = tiny.recipe(
        **COUPLED | {"positions__name": "coupled", "positions__rows": 40, "positions__max_start": 8}
    )
    at = folder(tmp_path / "own", of)
    given = tokenizer(at)("1" * 50, return_tensors="pt")
    with pytest.raises(ValueError, match="there are 40"):
        opened(at)(**given)
