"""Exported classes in the library: states and attentions, caches, types, what they refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config.sections import ModelConfig
from tests import tiny
from tests.designs import DESIGNS, PRODUCTS

from ..made import drawn, example_problems, inside, rows
from .made import folder, opened, tokenizer, told

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One that writes products, of two axes."""
    return opened(folder(tmp_path_factory.mktemp("model") / "own", tiny.recipe(**PRODUCTS)))


def exported(at: Path, name: str) -> tuple[Any, Any, Any, list[list[int]]]:
    """A design as the library opens it, and as it is; a batch, filled up on the left; its texts."""
    of = tiny.recipe(**DESIGNS[name])
    model = drawn(of)
    texts = rows(model, example_problems(of.tasks[0].operator))
    reads = tokenizer(folder(at / "own", of, model))
    batch = reads(told(model, texts), return_tensors="pt", padding=True)
    return opened(at / "own"), model, batch, texts


def sites(config: ModelConfig, kind: str, layers: int) -> list[str]:
    """The names of a site in every layer of every recurrence, in their order."""
    count = config.num_recurrences
    prefixes = [f"recurrence.{number}." if count > 1 else "" for number in range(count)]
    return [f"{prefix}layer.{layer}.{kind}" for prefix in prefixes for layer in range(layers)]


@pytest.mark.parametrize("name", ["t5", "coupled, looped", "window, two axes"])
def test_states_and_attentions_are_what_curta_calculates(tmp_path: Path, name: str) -> None:
    import torch

    there, model, batch, texts = exported(tmp_path, name)
    with torch.no_grad():
        outputs = there(**batch, output_hidden_states=True, output_attentions=True)
    config = model.config
    states = ["embedding", *sites(config, "after", config.num_layers)[:-1], "final"]
    weights = sites(config, "attention.weights", config.num_attention_layers)
    scale = config.width**-0.5 if config.tied_scale else 1.0
    near = {"rtol": 1e-4, "atol": 1e-4}
    for row, expected in enumerate(inside(model, texts)):
        size = len(texts[row])
        for site, state in zip(states, outputs.hidden_states, strict=True):
            value = expected[site] * (scale if site == "final" and model.head is None else 1.0)
            np.testing.assert_allclose(state[row, -size:], value, **near, err_msg=site)
        for site, shares in zip(weights, outputs.attentions, strict=True):
            mine = shares[row, :, -size:, -size:]
            np.testing.assert_allclose(mine, expected[site], **near, err_msg=site)
            assert not shares[row, :, -size:, :-size].any()


def test_a_cache_that_is_cut_or_reordered_goes_on(model: Any) -> None:
    """As beams do, and guesses that are taken back."""
    import torch

    prompts = torch.cat([model.prompt("*", 97, 58), model.prompt("*", 14, 36)])
    cache = model(prompts[:, :-2]).past_key_values
    cache.reorder_cache(torch.tensor([1, 0]))
    cache.crop(-3)
    logits = model(prompts.flip(0)[:, -5:], past_key_values=cache).logits
    torch.testing.assert_close(logits, model(prompts.flip(0)).logits[:, -5:])
    beams = model.generate(
        prompts, max_new_tokens=5, min_new_tokens=5, num_beams=3, attention_mask=prompts * 0 + 1
    )
    assert beams.shape == (2, prompts.shape[1] + 5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["window, two axes", "coupled, looped"])
def test_half_precision(tmp_path: Path, name: str, dtype: str) -> None:
    import torch

    there, _, batch, _ = exported(tmp_path, name)
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        expected = there(**batch).logits[real]
        logits = there.to(getattr(torch, dtype))(**batch).logits[real]
    assert logits.dtype == getattr(torch, dtype)
    far = (logits.float() - expected).abs().max() / expected.abs().max()
    assert far < (0.02 if dtype == "float16" else 0.1)


@pytest.mark.parametrize("name", ["window, two axes", "fire", "coupled, looped"])
def test_the_forward_pass_is_exported_for_any_length(tmp_path: Path, name: str) -> None:
    import torch

    there, _, batch, _ = exported(tmp_path, name)
    there.config.use_cache = False
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    shapes = dict.fromkeys(batch, sizes)
    program = torch.export.export(there, (), dict(batch), dynamic_shapes=shapes).module()
    for each in (dict(batch), {name: value[:3, -6:] for name, value in batch.items()}):
        real = each["attention_mask"].bool()
        torch.testing.assert_close(program(**each).logits[real], there(**each).logits[real])


def test_what_the_model_does_not_take_is_named(model: Any, tmp_path: Path) -> None:
    import torch
    from transformers import StaticCache

    tokens = model.prompt("*", 12, 34)
    for token in (-1, 999):
        with pytest.raises(IndexError, match="out of"):
            model(torch.tensor([[1, token, 2]]))
    for name in ("position_ids", "inputs_embeds", "token_type_ids"):
        with pytest.raises(ValueError, match=f"no {name}: where tokens stand follows"):
            model(tokens, **{name: tokens})
    with pytest.raises(ValueError, match="must be a DynamicCache, not StaticCache"):
        model(tokens, past_key_values=StaticCache(config=model.config, max_cache_len=40))
    with pytest.raises(ValueError, match=r"attention_mask is \(1, 3\), not \(1, \d+\)"):
        model(tokens, attention_mask=torch.ones(1, 3))
    coupled = {"positions__name": "coupled", "positions__rows": 40, "positions__max_start": 8}
    at = folder(tmp_path / "own", tiny.recipe(**tiny.DENSE | coupled))
    with pytest.raises(ValueError, match="there are 40"):
        opened(at)(**tokenizer(at)("1" * 50, return_tensors="pt"))
