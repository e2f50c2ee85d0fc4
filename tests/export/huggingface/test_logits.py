"""The exported model in the transformers library: the same logits, the same answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
from curta import recipe as recipes
from curta.generation import completions
from curta.problems import Problem
from curta.recipe import Recipe
from page.made import drawn, logits, problems

from .made import GPT2, LLAMA, folder, layout_of, opened, theirs, tokenizer

CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2, tied, plain norm": (
        "GPT2LMHeadModel",
        GPT2 | {"model__tied": True, "model__norm": "plain", "model__attention_scale": False},
    ),
    "gpt2, random positions": (
        "GPT2LMHeadModel",
        {
            "positions__name": "randomised", "positions__max_length": 40, "model__kinds": False,
            "model__norm": "layer", "model__activation": "relu2", "model__attending": 2,
        },
    ),
    "llama": ("LlamaForCausalLM", LLAMA),
    "llama, gated, tied": (
        "LlamaForCausalLM",
        LLAMA
        | {"model__gated": True, "model__tied": True, "model__key_value_heads": 1}
        | {"model__activation": "silu", "model__attending": 2, "positions__base": 100.0},
    ),
    "llama, no scale": (
        "LlamaForCausalLM",
        LLAMA | {"model__width": 32, "model__attention_scale": False},
    ),
}  # fmt: skip

OWN: dict[str, dict[str, Any]] = {
    "rope": {"positions__name": "rope", "model__attention_scale": False},
    "sinusoidal": {
        "positions__name": "randomised", "positions__of": "sinusoidal",
        "model__norm_placement": "post_residual", "model__norm": "plain",
    },
    "alibi": {"positions__name": "alibi", "model__attending": 2, "model__tied": True},
    "alibi, learned": {"positions__name": "alibi", "positions__learned": True},
    "t5": {
        "positions__name": "t5", "positions__num_buckets": 8, "positions__max_distance": 16,
        "model__key_value_heads": 1, "model__gated": True,
    },
    "fire": {"positions__name": "fire", "layout": "hints", "model__norm": "layer"},
    "abacus": {"positions__name": "abacus", "layout": "padded", "model__kinds": False},
    "abacus, inside, looped": {
        "positions__name": "abacus", "positions__inject": "queries_keys", "layout": "reversed",
        "model__loops": 3, "model__inject": "sublayer", "model__kinds": False,
    },
    "coupled, looped": {
        "positions__name": "coupled", "model__loops": 2, "model__inject": "block",
        "model__attending": 2,
    },
    "position-coupling": {
        "positions__name": "position-coupling", "layout": "position-coupling",
        "model__activation": "relu",
    },
    "nope": {"positions__name": "nope", "model__activation": "silu"},
}  # fmt: skip


def differs(path: Path, of: Recipe, asked: list[Problem]) -> float:
    """The greatest difference of logits, over whole texts."""
    model = drawn(of)
    at = folder(path, of, model)
    found = theirs(opened(at), at, [model.layout.write(problem) for problem in asked])
    pairs = zip(found, logits(model, asked), strict=True)
    return max(float(np.abs(there - here).max()) for there, here in pairs)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_the_library_calculates_the_same(tmp_path: Path, name: str) -> None:
    expected, changes = CLASSES[name]
    of = tiny.recipe(**changes)
    assert differs(tmp_path / "own", of, tiny.random_sums(4, 4)) < 1e-4
    assert type(opened(tmp_path / "own")).__name__ == expected
    assert not list((tmp_path / "own").glob("*.py"))


@pytest.mark.parametrize("name", OWN)
def test_the_own_class_calculates_the_same(tmp_path: Path, name: str) -> None:
    of = tiny.recipe(**OWN[name])
    assert differs(tmp_path / "own", of, tiny.random_sums(4, 4)) < 1e-4
    assert type(opened(tmp_path / "own")).__name__ == "CurtaForCausalLM"


def test_windows_are_found_from_the_text(tmp_path: Path) -> None:
    """Several axes, kinds that are wild on some or seen farther, groups, letters of parts."""
    of = recipes.load("calculator")
    assert differs(tmp_path / "own", of, problems("calculator")) < 1e-4


@pytest.mark.parametrize("changes", [{}, GPT2, LLAMA], ids=["own", "gpt2", "llama"])
def test_the_same_answers_are_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    """By prompts of different lengths in one batch, of which some answers hardly end."""
    of = tiny.recipe(**changes)
    layout, model, asked = layout_of(of), drawn(of), tiny.random_sums(6, 3)
    at = folder(tmp_path / "own", of, model)
    written = completions(model, layout, asked, layout.room("+", (4, 4)))
    reads = tokenizer(at)
    prompts = [layout.prompt(problem) for problem in asked]
    given = reads(prompts, return_tensors="pt", padding=True)
    count = layout.room("+", (4, 4)).completion
    for more in ({}, {"use_cache": not changes}):
        found = opened(at).generate(**given, max_new_tokens=count, **more)
        texts = reads.batch_decode(found[:, given["input_ids"].shape[1] :])
        ended = [text.partition("$")[0] + "$" * ("$" in text) for text in texts]
        assert ended == written


def test_padding_may_stand_on_either_side(tmp_path: Path) -> None:
    import torch

    at = folder(tmp_path / "own", tiny.recipe())
    model, reads, texts = opened(at), tokenizer(at), ["12+34=46$", "1+2="]
    sides = [reads(texts, return_tensors="pt", padding=True, padding_side=side) for side in
             ("left", "right")]  # fmt: skip
    with torch.no_grad():
        left, right = (model(**given).logits[1] for given in sides)
    torch.testing.assert_close(left[-4:], right[:4])


def test_positions_of_another_kind_are_refused(tmp_path: Path) -> None:
    model = opened(folder(tmp_path / "own", tiny.recipe()))
    tokens = model.dummy_inputs["input_ids"] % 10
    with pytest.raises(ValueError, match="position_ids"):
        model(tokens, position_ids=tokens)


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    of = tiny.recipe(positions__name="coupled", positions__rows=40, positions__max_start=8)
    at = folder(tmp_path / "own", of)
    given = tokenizer(at)("1" * 50, return_tensors="pt")
    with pytest.raises(ValueError, match="there are 40"):
        opened(at)(**given)
