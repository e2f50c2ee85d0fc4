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

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from curta.config import files
from curta.config.errors import UserError
from curta.config.task import Task
from curta.export.base import Exported, Room
from curta.export.huggingface.asking_curta import takes
from curta.export.huggingface.classes import ModelClass
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import parameters
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse
from curta.report.rendering import render_text
from curta.runs.folders import structure
from curta.runs.provenance import versions

LINE, CHARACTER = "[^\\n]*\\n", "[\\s\\S]"
"""The regular expression of a token."""


def texts(layout: Layout) -> list[str]:
    """Return each token as the tokenizer reads and writes it."""
    ending = "\n" if isinstance(layout, ProgramLayout) else ""
    return [text + ending for text in layout.vocabulary]


def prompt_rules(layout: Layout, rooms: dict[str, Room]) -> dict[str, str]:
    """Return a sentence for each pattern of prompts of a layout, by regular expression.

    A program's prompts are checked as operands, and have no pattern.
    """
    rules: dict[str, str] = {}
    if isinstance(layout, ProgramLayout):
        return rules
    for operator, room in rooms.items():
        pattern = layout.prompt_pattern(operator, room.digits, room.operands)
        if pattern is not None:
            least = OPERATIONS[operator].least
            example = layout.prompt(Problem(operator, (12, 34, 56, 78)[:least]))
            sentence = takes(operator, [10] * least, room.operands, room.digits)
            rules[pattern] = f"{sentence}, such as {example}"
    return rules


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


def card(member: Exported, model_class: ModelClass, config: Mapping[str, Any]) -> str:
    """Return README.md: a header for the Hub, then text."""
    recipe, layout = member.recipe, member.model.layout
    program, example = isinstance(layout, ProgramLayout), _example(recipe.tasks[0], layout)
    right = ""
    with suppress(UserError):  # without the program's code
        truth = example.truth
        exact = f"{truth}, which is " if isinstance(truth, Fraction) else ""
        right = f"  # {exact}{answer_text(truth)}"
    results = []  # of the evaluation, as the Hub reads them
    for row in member.rows:
        share = row.exact_match.members[member.number]
        if share is not None:
            operation = f"{OPERATIONS[row.operator].name} ({row.operator})"
            name = f"{operation}, {row.size} digits, {row.slice_name}, {row.count} problems"
            result = {
                "task": {"type": "text-generation", "name": "arithmetic"},
                "dataset": {"type": "curta", "name": name},
                "metrics": [{"type": "exact_match", "name": "exact match", "value": share}],
            }
            results.append(json.dumps(result))
    return render_text(
        "export/model.md",
        member=member,
        recipe=recipe,
        layout=layout,
        model_class=model_class,
        config=config,
        parameters=parameters(member.model),
        version=versions()["curta"],
        asked=example,
        right=right,
        tokens="".join(texts(layout)[n] for n in layout.prompt_tokens(example)) if program else "",
        examples=[] if program else [_example(task, layout) for task in recipe.tasks],
        answer_text=answer_text,
        index=results,
        structure=structure(recipe),
        operations=OPERATIONS,
        counts=task_sizes.counts,
        span=task_sizes.span,
    )


def _example(task: Task, layout: Layout) -> Problem:
    """Return the operation's example; smaller numbers, of two digits if possible, if too large."""
    base, count = layout.base(task.operator), task_sizes.counts(task)[0]
    example = replace(parse(OPERATIONS[task.operator].example), base=base)
    if not task_sizes.larger_than_trained(task, example) and len(example.operands) >= count:
        return example
    if task.values:
        return Problem(task.operator, (sum(task.values) // 2,) * count, base)
    operands = []
    for place in range(count):  # 12, 34, 56
        low, high = task_sizes.sizes(task).digits(place)
        digits = [1 + (n + 2 * place) % (base - 1) for n in range(min(max(low, 2), high))]
        operands.append(sum(digit * base**n for n, digit in enumerate(reversed(digits))))
    return Problem(task.operator, tuple(operands), base)
