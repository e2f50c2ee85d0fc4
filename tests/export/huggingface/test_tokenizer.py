"""The tokenizer: characters, or the lines of a program, in the library as in Curta."""

import re
from pathlib import Path
from typing import Any

import pytest

from curta.config.recipe import Recipe
from curta.export.huggingface.tokenizer import texts, tokenizer_files
from curta.layouts import LAYOUTS
from curta.problems.problem import parse
from tests import tiny

from ..made import drawn, program, rows
from .made import folder, tokenizer, told


def reader(files: dict[str, str]) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="needs curta[huggingface]")
    return tokenizers.Tokenizer.from_str(files["tokenizer.json"])


@pytest.mark.parametrize("name", [name for name, one in LAYOUTS.items() if one.end_sign])
def test_a_token_is_a_character(name: str) -> None:
    layout = LAYOUTS[name]
    reads = reader(tokenizer_files(layout))
    text = layout.characters * 2
    assert reads.encode(text).ids == layout.encode(text).tolist()
    assert reads.decode(list(range(len(layout.characters))), skip_special_tokens=False) == (
        layout.characters
    )
    with pytest.raises(Exception, match=re.escape(f"a character other than {layout.characters}")):
        reads.encode("\u2603")


def test_a_token_of_a_program_is_a_line() -> None:
    layout = program("multiplication")
    reads, known = reader(tokenizer_files(layout)), texts(layout)
    tokens = [*range(len(known)), *reversed(range(len(known)))]
    text = "".join(known[token] for token in tokens)
    assert len(set(known)) == len(known)
    assert reads.encode(text).ids == tokens
    assert reads.decode(tokens, skip_special_tokens=False) == text
    says = f"a line other than this model's {len(known)} tokens, such as {known[0][:-1]!r}"
    for wrong in ("7 sum", "no such token\n", known[0][:-1], "\n"):
        with pytest.raises(Exception, match=re.escape(says)):
            reads.encode(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("of", [tiny.dense(), tiny.recipe()], ids=["layout", "program"])
def test_the_end_sign_ends_texts_and_fills_batches(tmp_path: Path, of: Recipe) -> None:
    model = drawn(of)
    reads, end = tokenizer(folder(tmp_path / "own", of, model)), model.layout.end
    tokens, short = rows(model, [parse("12+34"), parse("1+2")])
    text, prompt = told(model, [tokens, short[:4]])
    found = reads([text, prompt], padding=True)
    assert list(found) == ["input_ids", "attention_mask"]
    assert found["input_ids"][0] == tokens
    assert found["input_ids"][1] == [end] * (len(tokens) - 4) + short[:4]
    assert reads.eos_token_id == reads.pad_token_id == end
    without = reads.decode(found["input_ids"][0], skip_special_tokens=True)
    assert without == told(model, [tokens[:-1]])[0]
