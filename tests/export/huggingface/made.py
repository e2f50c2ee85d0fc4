"""Exported folders of small models, and the same as the transformers library opens them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tiny
from curta import api, checkpoints, training
from curta.export import Exported
from curta.export.huggingface import HuggingFace
from curta.layouts import layout_named
from curta.model import Transformer
from curta.recipe import Recipe
from curta.session import Run
from page.made import drawn

GPT2: dict[str, Any] = {
    "layout": "plain", "positions__name": "learned", "positions__length": 40,
    "model__norm": "layer", "model__activation": "gelu", "model__kinds": False,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "layout": "reversed", "positions__name": "rope", "model__activation": "gelu",
    "model__kinds": False,
}  # fmt: skip


def folder(at: Path, of: Recipe, model: Transformer | None = None) -> Path:
    """A model, by default one of random weights and gains, written as a folder."""
    HuggingFace().write(Exported("mine", 3, of, drawn(of) if model is None else model), at)
    return at


def begun(**changes: Any) -> Run:
    """A run called mine with the weights that training begins with."""
    overrides = {path.replace("__", "."): value for path, value in changes.items()}
    run = api.begin("addition", 1, "mine", tiny.overrides() | overrides)
    state = training.init(run.recipe, jax.numpy.asarray(run.seeds))
    checkpoints.save(run.folder.checkpoints, 1, state)
    return run


def opened(at: Path) -> Any:
    """The model, as its users open it."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(at, trust_remote_code=True).eval()


def tokenizer(at: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(at, trust_remote_code=True)


def theirs(model: Any, at: Path, texts: Sequence[str]) -> list[np.ndarray]:
    """The library's logits for what follows each character, texts filled up on the left."""
    import torch

    given = tokenizer(at)(list(texts), return_tensors="pt", padding=True)
    places = (given["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    more = {} if model.config.model_type == "curta" else {"position_ids": places}
    with torch.no_grad():
        logits = model(**given, **more).logits.numpy()
    return [row[-len(text) :] for row, text in zip(logits, texts, strict=True)]


def layout_of(recipe: Recipe) -> Any:
    return layout_named(recipe.layout)
