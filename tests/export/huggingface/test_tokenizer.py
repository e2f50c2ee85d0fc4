"""The tokenizer: characters, or the lines of a program, in the library as in Curta."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from curta.config.recipe import Recipe
from curta.export.base import Room
from curta.export.huggingface.tokenizer import prompt_rules, texts, tokenizer_files
from curta.layouts import LAYOUTS
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, parse
from tests import tiny

from ..made import drawn, program, rows
from .made import GPT2, LLAMA, folder, opened, tokenizer, told


def reader(files: dict[str, str]) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="needs curta[huggingface]")
    return tokenizers.Tokenizer.from_str(files["tokenizer.json"])


@pytest.mark.parametrize(
    "layout",
    [*(layout for layout in LAYOUTS.values() if layout.end_sign), "multiplication"],
    ids=lambda layout: getattr(layout, "name", layout),
)
def test_a_token_is_a_character_or_a_line_of_a_program(layout: Any) -> None:
    wrong, says = ["\u2603"], f"a character other than {getattr(layout, 'characters', '')}"
    if isinstance(layout, str):
        layout = program(layout)
        first = texts(layout)[0][:-1]
        wrong = ["7 sum", "no such token\n", first, "\n"]
        says = f"a line other than this model's {len(layout.characters)} tokens, such as {first!r}"
    reads, vocabulary = reader(tokenizer_files(layout)), texts(layout)
    tokens = [*range(len(vocabulary)), *reversed(range(len(vocabulary)))]
    text = "".join(vocabulary[token] for token in tokens)
    assert len(set(vocabulary)) == len(vocabulary) == len(layout.characters)
    assert reads.encode(text).ids == tokens
    assert reads.decode(tokens, skip_special_tokens=False) == text
    for text in wrong:
        with pytest.raises(Exception, match=re.escape(says)):
            reads.encode(text)


@pytest.mark.slow
@pytest.mark.parametrize("of", [tiny.dense(), tiny.recipe()], ids=["layout", "program"])
def test_the_end_sign_ends_texts_and_fills_batches(tmp_path: Path, of: Recipe) -> None:
    model = drawn(of)
    reads, end = tokenizer(folder(tmp_path / "own", of, model)), model.layout.end
    tokens, short = rows(model, [parse("12+34"), parse("1+2")])
    text, prompt = told(model, [tokens, short[:4]])
    batch = reads([text, prompt], padding=True)
    assert list(batch) == ["input_ids", "attention_mask"]
    assert batch["input_ids"][0] == tokens
    assert batch["input_ids"][1] == [end] * (len(tokens) - 4) + short[:4]
    assert reads.eos_token_id == reads.pad_token_id == end
    without = reads.decode(batch["input_ids"][0], skip_special_tokens=True)
    assert without == told(model, [tokens[:-1]])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "digits", "taken", "refused"),
    [
        (GPT2 | {"model__norm": "rms"}, 12, ["12+34="], ["-1+2=", "1" * 41]),
        (GPT2, 12, ["12+34=", "12+34=46$", "12+", "46"], ["012+1=", "-1+2=", "1" * 41]),
        (LLAMA, 1000, ["21+43=", "0+1="], ["210+1="]),
    ],
    ids=["learned", "gpt2", "llama"],
)
def test_a_prompt_that_is_none_or_too_long_is_refused_in_a_line(
    tmp_path: Path, of: dict[str, Any], digits: int, taken: list[str], refused: list[str]
) -> None:
    """The longest prompt that is taken is answered within the model's positions."""
    import torch

    at = folder(tmp_path / "there", tiny.recipe(**of))
    reads = tokenizer(at)
    for text in (*taken, f"{'9' * digits}+{'9' * digits}="):
        assert reads(text)["input_ids"]
    takes = rf"\+ takes 2 whole numbers from 0 up, of at most {digits} digits, such as \d+\+\d+="
    longer = "9" * (digits + 1)
    for text in (*refused, "12+34", "1+2+3=", "+1=", "=", f"{longer}+{longer}="):
        with pytest.raises(Exception, match=takes):
            reads(text)
    if digits < 20:
        longest = reads(f"{'9' * digits}+{'9' * digits}=", return_tensors="pt")
        with torch.no_grad():
            assert opened(at).generate(**longest).shape[1] > 2 * digits + 2


SPECIAL = {
    "spaced": (["12 + 34 =", "0 + 5 =", "12 + 34 =46"], ["12 + 34 + 5 =", "012 + 34 =", "12+34="]),
    "spaced-apart": (["1 2 + 3 4=", "1  + 5 =", "5  + 1 2="], ["1 2 + 3=", "12 + 34="]),
    "hints": (["a0b1+a0b2=", "a0b1c2+a0b3c4="], ["a1b2+a0b3=", "b0c1+b0c2=", "a0b1="]),
    "filled-left": (["##12+34=", "123+456="], ["##12+34+5=", "##012+34="]),
}
"""Prompts of layouts with their own way to write them, and texts that are none."""


@pytest.mark.parametrize("name", SPECIAL)
def test_prompts_of_special_layouts_are_checked(name: str) -> None:
    layout, (taken, refused) = LAYOUTS[name], SPECIAL[name]
    rules = prompt_rules(layout, {"+": Room(3, 2, 99)})
    reads = reader(tokenizer_files(layout, 99, rules))
    for text in taken:
        assert reads.encode(text).ids == layout.encode(text).tolist(), text
    for text in refused:
        with pytest.raises(Exception, match=r"\+ takes 2 whole numbers from 0 up, of at most 3"):
            reads.encode(text)


@pytest.mark.parametrize("name", [name for name in LAYOUTS if not name.startswith("residues")])
def test_the_pattern_of_a_layout_has_all_of_its_prompts(name: str) -> None:
    layout, rng = LAYOUTS[name], random.Random(name)
    for operator in layout.operators:
        operation = OPERATIONS[operator]
        digits, most = min(layout.longest or 25, 25), min(layout.most or 3, operation.most or 3)
        pattern = re.compile(layout.prompt_pattern(operator, digits, most))
        for _ in range(30):
            count = rng.randint(operation.least, most)
            values = [rng.randrange(1, 10 ** rng.randint(1, digits)) for _ in range(count)]
            prompt = layout.prompt(Problem(operator, tuple(values)))
            assert pattern.fullmatch(prompt), prompt
            longer = (*values[1:], 10**digits)
            if len(values) > 1 and layout.longest is None:
                assert not pattern.fullmatch(layout.prompt(Problem(operator, longer)))
