"""A tokenizer of single characters, or of lines where a program writes.

`tokenizer.json` is a vocabulary over a text that is split at every character, or after every line,
so it needs no code. A token of a program is a line, such as `7 sum +1`: its symbol, its role and
its move. The end sign ends a text and pads batches.

Text outside the vocabulary is an error, not a token. None of the library's errors quotes the text
that it cannot read. The error of byte pair encoding quotes the name of the unknown token, so the
name says what the model accepts; no pairs are ever merged.

A problem that is not a prompt of the layout, such as one too long for the model's positions, is
normalised to a character that no vocabulary has, which raises the same error.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from curta.config import files
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout

LINE, CHARACTER = "[^\\n]*\\n", "[\\s\\S]"
"""The regular expression of a token."""


def texts(layout: Layout) -> list[str]:
    """Return each token as the tokenizer reads and writes it."""
    ending = "\n" if isinstance(layout, ProgramLayout) else ""
    return [text + ending for text in layout.vocabulary]


def tokenizer_files(
    layout: Layout, length: int | None = None, prompts: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the tokenizer's files; `length` is the most tokens of a text, None for any number.

    `prompts` are the rules of `prompt_rules`.
    """
    tokens, program = texts(layout), isinstance(layout, ProgramLayout)
    token, end = LINE if program else CHARACTER, tokens[layout.end]

    # What the library's error calls a text that is no token, and what texts are taken.
    accepted = f"a character other than {''.join(layout.vocabulary)}"
    if program:
        accepted = (
            f"a line other than this model's {len(tokens)} tokens, such as {tokens[0][:-1]!r}"
        )
    limit = [] if length is None else [f"texts have at most {length} tokens"]
    taken = "; ".join([*prompts.values(), *limit])
    unknown = ", or another text: ".join(filter(None, (accepted, taken)))

    # A text that is no prompt of the layout, or is too long, becomes an unknown character. A prompt
    # without its last sign does as well; pieces of prompts and whole texts do not.
    refused = [] if length is None else [f"(?:{token}){{{length + 1},}}"]
    for after in {layout.prompt_format(name).after for name in layout.operators if prompts}:
        if after:
            ending = re.escape(after)
            refused.append(f"(?!(?:{'|'.join(prompts)})\\z)[\\s\\S]*{ending}")
            refused += [p.removesuffix(ending) for p in prompts if p.endswith(ending)]
    refusal = {
        "type": "Replace",
        "pattern": {"Regex": f"\\A(?:{'|'.join(refused)})\\z"},
        "content": "\ufffd",
    }

    final = {"id": layout.end, "content": end, "special": True, "normalized": False}
    model = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [final | {"single_word": False, "lstrip": False, "rstrip": False}],
        "normalizer": refusal if refused else None,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": token},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE",
            "vocab": {text: number for number, text in enumerate(tokens)},
            "merges": [],
            "ignore_merges": True,  # a line is looked up as a whole
            "unk_token": unknown,
        },
    }
    settings = ({} if length is None else {"model_max_length": length}) | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": end,
        "pad_token": end,
        "padding_side": "left",
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
    return {
        "tokenizer.json": files.json_text(model),
        "tokenizer_config.json": files.json_text(settings),
    }
