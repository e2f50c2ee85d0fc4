"""The class that travels with a model: its cache, its types, and what the library asks of it."""

from pathlib import Path
from typing import Any

import pytest

from tests import tiny
from tests.designs import DESIGNS

from ..made import PRODUCTS, asked, drawn, rows
from .made import folder, opened, tokenizer, told

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One that writes products, of two axes."""
    return opened(folder(tmp_path_factory.mktemp("model") / "own", tiny.recipe(**PRODUCTS)))


def batch(at: Path, of: Any, count: int = 4) -> Any:
    """Whole texts of different lengths, filled up on the left."""
    curta = drawn(of)
    texts = told(curta, rows(curta, asked(of.tasks[0].operator)[:count]))
    return tokenizer(at)(texts, return_tensors="pt", padding=True)


def test_a_cache_that_is_cut_or_reordered_goes_on(model: Any) -> None:
    """As beams do, and guesses that are taken back."""
    import torch

    given = torch.cat([model.prompt("*", 97, 58), model.prompt("*", 14, 36)])
    cache = model(given[:, :-2]).past_key_values
    cache.reorder_cache(torch.tensor([1, 0]))
    cache.crop(-3)
    found = model(given.flip(0)[:, -5:], past_key_values=cache).logits
    torch.testing.assert_close(found, model(given.flip(0)).logits[:, -5:])
    beams = model.generate(
        given, max_new_tokens=5, min_new_tokens=5, num_beams=3, attention_mask=given * 0 + 1
    )
    assert beams.shape == (2, given.shape[1] + 5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["window, two axes", "coupled, looped"])
def test_half_precision(tmp_path: Path, name: str, dtype: str) -> None:
    import torch

    of = tiny.recipe(**DESIGNS[name])
    at = folder(tmp_path / "own", of)
    there, given = opened(at), batch(at, of)
    real = given["attention_mask"].bool()
    with torch.no_grad():
        expected = there(**given).logits[real]
        found = there.to(getattr(torch, dtype))(**given).logits[real]
    assert found.dtype == getattr(torch, dtype)
    far = (found.float() - expected).abs().max() / expected.abs().max()
    assert far < (0.02 if dtype == "float16" else 0.1)


@pytest.mark.parametrize("name", ["window, two axes", "fire", "coupled, looped"])
def test_the_forward_pass_is_exported_for_any_length(tmp_path: Path, name: str) -> None:
    import torch

    of = tiny.recipe(**DESIGNS[name])
    at = folder(tmp_path / "own", of)
    there, given = opened(at), batch(at, of)
    there.config.use_cache = False
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    shapes = dict.fromkeys(given, sizes)
    program = torch.export.export(there, (), dict(given), dynamic_shapes=shapes).module()
    for each in (dict(given), {name: value[:3, -6:] for name, value in given.items()}):
        real = each["attention_mask"].bool()
        torch.testing.assert_close(program(**each).logits[real], there(**each).logits[real])


def test_what_the_model_does_not_take_is_named(model: Any) -> None:
    import torch
    from transformers import StaticCache

    given = model.prompt("*", 12, 34)
    for token in (-1, 999):
        with pytest.raises(IndexError, match="out of"):
            model(torch.tensor([[1, token, 2]]))
    for name in ("position_ids", "inputs_embeds", "token_type_ids"):
        with pytest.raises(ValueError, match=f"no {name}: where tokens stand follows"):
            model(given, **{name: given})
    with pytest.raises(ValueError, match="must be a DynamicCache, not StaticCache"):
        model(given, past_key_values=StaticCache(config=model.config, max_cache_len=40))
    with pytest.raises(ValueError, match=r"attention_mask is \(1, 3\), not \(1, \d+\)"):
        model(given, attention_mask=torch.ones(1, 3))
