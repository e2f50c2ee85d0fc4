"""A tokenizer of single characters: each is its place in the layout's alphabet.

`tokenizer.json` is a word-level vocabulary over a text that is split at every character, so it
needs no code of its own. A character that the layout does not have is an error there, not a
token. The end sign ends a text and fills batches up.
"""

import json
from typing import Any

from ...layouts import Layout
from ...layouts.base import END


def end(layout: Layout) -> int:
    """The token that ends a text."""
    return layout.characters.index(END)


def written(layout: Layout, length: int | None = None) -> dict[str, str]:
    """The tokenizer's files; `length` is the most tokens that a text may have, None any number."""
    return {
        "tokenizer.json": _json(_model(layout)),
        "tokenizer_config.json": _json(_settings(length)),
    }


def _model(layout: Layout) -> dict[str, Any]:
    final = {"id": end(layout), "content": END, "special": True, "normalized": False}
    apart = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated"}
    vocabulary = {character: number for number, character in enumerate(layout.characters)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            final | {"single_word": False, "lstrip": False, "rstrip": False},
        ],
        "normalizer": None,
        "pre_tokenizer": apart | {"invert": False},
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unknown>"},
    }


def _settings(length: int | None) -> dict[str, Any]:
    return ({} if length is None else {"model_max_length": length}) | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "padding_side": "left",
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
