"""The page's forward pass against Python's: every site of every encoding and design."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from curta.config.recipe import Recipe
from tests import tiny

from .made import agree

pytestmark = pytest.mark.slow

DESIGNS: dict[str, dict[str, Any]] = {
    "layer norm with biases, gated, gelu": {
        "norm": "layer", "gated": True, "activation": "gelu",
        "biases": ["qkv", "out", "mlp", "norms", "head"],
    },
    "no gains, no last norm, gelu as it is defined": {
        "norm": "plain", "final_norm": False, "activation": "gelu_erf",
    },
    "no norm, silu": {"norm": "none", "activation": "silu"},
    "norm after the sum too, relu": {"norm_placement": "post_residual", "activation": "relu"},
    "norm after the sum alone": {"norm_placement": "post", "norm_epsilon": 1e-3},
    "two layers that attend, tied": {"num_attention_layers": 2, "tie_embeddings": True},
    "tied without scale, shared keys": {
        "tie_embeddings": True, "tied_scale": False, "num_kv_heads": 1
    },
    "no scale of scores, no roles": {"attention_scale": False, "role_embeddings": False},
    "weights shared": {"weight_sharing": ["key-query", "value-key", "out-query", "norms"]},
    "values shared with what leaves attention": {"weight_sharing": ["out-value"]},
    "an arc": {"embedding": "arc", "width": 2, "heads": 1},
    "three recurrences": {"num_recurrences": 3},
    "input before each recurrence": {"num_recurrences": 2, "input_injection": "recurrence"},
    "input before each block": {"num_recurrences": 2, "input_injection": "block"},
    "input before each sub-layer": {"num_recurrences": 2, "input_injection": "sublayer"},
    "input after each norm": {"num_recurrences": 2, "input_injection": "normed"},
}  # fmt: skip

QK_ONLY = {
    "coupled": {"model__qk_input": "positions", "model__num_kv_heads": 1},
    "sinusoidal": {"model__qk_input": "positions"},
}
"""Encodings of which queries and keys are made."""


def rope(**design: Any) -> Recipe:
    return tiny.dense(**{f"model__{field}": value for field, value in design.items()})


@pytest.mark.parametrize("name", tiny.ENCODINGS)
def test_every_encoding_has_pythons_values(name: str, tab: Page, tmp_path: Path) -> None:
    layers = 1 if name == "window" else 2
    agree(tab, tmp_path, tiny.with_encoding(name, model__num_attention_layers=layers))


@pytest.mark.parametrize("changes", [
    {"positions__over": "heads"}, {"positions__base": 100.0},
    {"positions__name": "randomised", "positions__of": "sinusoidal", "positions__max_length": 64},
    {"positions__name": "abacus", "positions__rows": 64, "positions__max_offset": 5,
     "positions__evaluation_offset": 5},
    {"positions__name": "fire", "positions__hidden": 3},
    {"positions__name": "t5", "positions__num_buckets": 6, "positions__max_distance": 5},
    {"positions__name": "coupled-sinusoidal", "positions__period": 7.0},
])  # fmt: skip
def test_settings_of_encodings_are_read(changes: dict[str, Any], tab: Page, tmp_path: Path) -> None:
    agree(tab, tmp_path, tiny.dense(**changes))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_has_pythons_values(name: str, tab: Page, tmp_path: Path) -> None:
    agree(tab, tmp_path, rope(**DESIGNS[name]) if name != "an arc" else tiny.recipe(
        **tiny.DENSE, positions__name="alibi",
        **{f"model__{field}": value for field, value in DESIGNS[name].items()}))  # fmt: skip


@pytest.mark.parametrize("name", QK_ONLY)
def test_queries_and_keys_of_positions_alone(name: str, tab: Page, tmp_path: Path) -> None:
    agree(tab, tmp_path, tiny.with_encoding(name, **QK_ONLY[name]))


@pytest.mark.parametrize("name", ["rope", "learned", "coupled", "abacus"])
def test_a_program_under_other_positions(name: str, tab: Page, tmp_path: Path) -> None:
    agree(tab, tmp_path, tiny.with_encoding(name, program="addition"))


def test_places_below_those_of_the_operands(tab: Page, tmp_path: Path) -> None:
    """A prompt of `spaced` begins at place -3."""
    agree(tab, tmp_path, tiny.with_encoding("coupled", program="spaced"))


@pytest.mark.parametrize("name", ["learned", "rope", "alibi", "nope", "fire"])
def test_an_encoder_writes_all_at_once(name: str, tab: Page, tmp_path: Path) -> None:
    agree(tab, tmp_path, tiny.with_encoding(name, layout="framed", model__causal=False))
