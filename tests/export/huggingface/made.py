"""Exported folders of small models, and the same as the transformers library opens them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curta.config.recipe import Recipe
from curta.export.base import Exported
from curta.export.huggingface import HuggingFace
from curta.export.huggingface.tokenizer import texts
from curta.model.transformer import Transformer

from ..made import drawn

GPT2: dict[str, Any] = {
    "layout": "plain", "positions__name": "learned", "positions__length": 40,
    "model__norm": "layer", "model__activation": "gelu", "model__role_embeddings": False,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "layout": "reversed", "positions__name": "rope", "model__activation": "gelu",
    "model__role_embeddings": False,
}  # fmt: skip


def folder(at: Path, of: Recipe, model: Transformer | None = None) -> Path:
    """A model, by default one of random weights and gains, written as a folder."""
    HuggingFace().write(Exported("mine", 3, of, drawn(of) if model is None else model), at)
    return at


def opened(at: Path) -> Any:
    """The model, as its users open it."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(at, trust_remote_code=True).eval()


def tokenizer(at: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(at, trust_remote_code=True)


def told(model: Transformer, rows: Sequence[Sequence[int]]) -> list[str]:
    """Tokens as the tokenizer writes them."""
    return ["".join(texts(model.layout)[token] for token in row) for row in rows]
