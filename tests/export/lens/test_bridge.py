"""Models in TransformerLens: logits, every hook, and what is put in a hook's place."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.evaluation.generation import completions
from curta.export.base import Exported
from curta.layouts import ShapeBounds, Text
from curta.model.inspection import SiteChange, record_activations
from curta.model.transformer import Transformer
from tests import tiny
from tests.designs import DESIGNS

from ..huggingface.made import GPT2, folder
from ..made import drawn, example_problems, inside, rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("transformer_lens"), reason="needs curta[lens]"),
]

SITES = {
    "hook_resid_pre": "before",
    "attn.hook_pattern": "attention.weights",
    "attn.hook_result": "attention.heads",
    "hook_attn_out": "attention.output",
    "hook_resid_mid": "middle",
    "mlp.hook_post": "mlp.inner",
    "hook_mlp_out": "mlp.output",
    "hook_resid_post": "after",
}
"""Hooks of a block, and which sites of a layer they are."""

CHANGED = (
    "gpt2", "llama", "rope over heads", "sinusoidal, norms after alone", "coupled, looped", "t5",
    "window, two axes",
)  # fmt: skip
SILENT = r"attn\.hook_hidden_states|pos_embed\.hook_in|hook_mlp_in"
"""Hooks that TransformerLens makes and the model has nothing for, or are off unless switched on."""

NEAR: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}


def bridge(of: Recipe, model: Transformer) -> Any:
    from curta.export import lens

    return lens.bridge(Exported("mine", 3, of, model))


def names(of: Recipe) -> dict[str, str]:
    """Every hook of a model that is a site of Curta's, with the site's name."""
    config, by_hook = of.model, {"ln_final.hook_out": "final", "unembed.hook_out": "logits"}
    for number in range(config.num_recurrences * config.num_layers):
        recurrence, layer = divmod(number, config.num_layers)
        prefix = f"recurrence.{recurrence}." if config.num_recurrences > 1 else ""
        for hook, site in SITES.items():
            if layer < config.num_attention_layers or site in ("before", "after") or "mlp" in site:
                by_hook[f"blocks.{number}.{hook}"] = f"{prefix}layer.{layer}.{site}"
    return by_hook


@pytest.mark.parametrize("name", CHANGED)
def test_every_hook_holds_what_curta_calculates_and_can_be_changed(name: str) -> None:
    """Random values at one token, in each hook in turn."""
    import torch

    of = tiny.recipe(**DESIGNS[name])
    model = drawn(of)
    lens, text = bridge(of, model), rows(model, example_problems(of.tasks[0].operator)[:1])
    lens.set_use_attn_result(True)
    with torch.no_grad():
        logits, cache = lens.run_with_cache(torch.tensor(text))
    place, plain = len(text[0]) // 2, inside(model, text)[0]
    np.testing.assert_allclose(logits[0], plain["logits"], atol=1e-4)
    silent = {hook for hook in lens.hook_dict if hook not in cache}
    assert all(re.search(SILENT, hook) for hook in silent), silent
    for hook, site in names(of).items():
        np.testing.assert_allclose(cache[hook][0], plain[site], **NEAR, err_msg=hook)
        pattern, shape = hook.endswith("pattern"), plain[site].shape
        at = (slice(None), place) if pattern else place
        values = np.random.default_rng(0).random(
            (*shape[:pattern], *shape[pattern + 1 :]), np.float32
        )

        def put(value: Any, hook: Any, at: Any = at, values: Any = values) -> Any:
            value = value.clone()
            value[0][at] = torch.from_numpy(values)
            return value

        with torch.no_grad():
            logits_changed = lens.run_with_hooks(torch.tensor(text), fwd_hooks=[(hook, put)])
        expected = changed(model, text, site, at, values)
        np.testing.assert_allclose(logits_changed[0], expected, **NEAR, err_msg=hook)
        assert np.abs(expected - plain["logits"]).max() > 1e-3


def changed(
    model: Transformer, text: list[list[int]], site: str, at: Any, values: np.ndarray
) -> np.ndarray:
    """Curta's logits of a text with these values there."""
    tokens, length = jnp.asarray(text), jnp.asarray([len(text[0])])
    where, bounds = model.layout.where(Text(tokens, length, length)), ShapeBounds(0, 0, ())
    shape = record_activations(model, tokens, where, bounds, [site])[site].shape
    mask, put = np.zeros(shape, bool), np.zeros(shape, np.float32)
    mask[0][at], put[0][at] = True, values
    recorded = record_activations(
        model, tokens, where, bounds, ["logits"], {site: SiteChange(mask, put)}
    )
    return np.asarray(recorded["logits"][0])


def test_an_exported_folder_is_opened_and_writes_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a cache and without, and nobody is asked whether to run code of the folder."""
    from curta.export import lens

    of = tiny.recipe(**GPT2)
    model, problems = drawn(of), tiny.random_sums(4, 3)
    layout, there = model.layout, lens.opened(folder(tmp_path / "there", of, model))
    assert "custom code" not in capsys.readouterr().out
    bounds = layout.bounds("+", (4, 4))
    expected = [layout.decode(row) for row in completions(model, layout, problems, bounds)]
    for problem, completion in zip(problems, expected, strict=True):
        prompt, settings = layout.prompt(problem), {"do_sample": False, "verbose": False}
        for cached in (True, False):
            settings |= {"use_past_kv_cache": cached, "max_new_tokens": bounds.completion}
            text = there.generate(prompt, **settings)
            assert text.removeprefix(prompt).partition("$")[0] == completion.partition("$")[0]
