"""The tokenizer: characters by their places in the layout, in the library as in Curta."""

from pathlib import Path

import pytest

import tiny
from curta.export.huggingface.tokenizer import written
from curta.layouts import LAYOUTS
from curta.problems import parse

from .made import folder, tokenizer


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_token_is_a_character(name: str) -> None:
    from tokenizers import Tokenizer

    layout = LAYOUTS[name]
    reads = Tokenizer.from_str(written(layout)["tokenizer.json"])
    text = layout.characters * 2
    assert reads.encode(text).ids == layout.encode(text).tolist()
    assert reads.decode(list(range(len(layout.characters))), skip_special_tokens=False) == (
        layout.characters
    )
    with pytest.raises(Exception, match="WordLevel error"):
        reads.encode("\u2603")


def test_the_end_sign_ends_texts_and_fills_batches(tmp_path: Path) -> None:
    reads = tokenizer(folder(tmp_path / "own", tiny.recipe()))
    layout = LAYOUTS["coupled"]
    text = layout.write(parse("12+34"))
    found = reads([text, "1+2="], padding=True)
    assert list(found) == ["input_ids", "attention_mask"]
    end = layout.characters.index("$")
    assert found["input_ids"][0] == layout.encode(text).tolist()
    assert found["input_ids"][1][:5] == [end] * 5
    assert reads.eos_token_id == reads.pad_token_id == end
    assert reads.decode(found["input_ids"][0], skip_special_tokens=True) == text[:-1]
