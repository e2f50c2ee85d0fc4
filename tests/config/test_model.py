"""Designs that are refused, and what the others say of themselves."""

import tomllib
from typing import Any

import pytest

from curta.config.errors import UserError
from curta.config.model import ModelConfig
from curta.config.recipe import dump
from curta.model import recipes
from tests import tiny


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"embedding": "arc"}, "model.embedding 'arc' lies in a plane: it needs model.width 2"),
        ({"width": 30, "heads": 4}, "model.width 30 is not divisible by model.heads 4"),
        (
            {"width": 32, "heads": 4, "num_kv_heads": 3},
            "model.heads 4 is not divisible by model.num_kv_heads 3",
        ),
        (
            {"width": 32, "heads": 2, "num_kv_heads": 4},
            "model.heads 2 is not divisible by model.num_kv_heads 4",
        ),
        (
            {"num_layers": 1, "num_attention_layers": 2},
            "model.num_attention_layers 2 is more than model.num_layers 1",
        ),
        (
            {"weight_sharing": ("norms",), "norm": "none"},
            "model.weight_sharing 'norms': model.norm 'none' has no gains to share",
        ),
        (
            {"weight_sharing": ("out-value",), "num_kv_heads": 2},
            "model.weight_sharing 'out-value' needs a key and value of each head",
        ),
        (
            {"weight_sharing": ("key-query",), "width": 12},
            "it needs a head's width that is even",
        ),
        (
            {"weight_sharing": ("out-query", "out-value")},
            "model.weight_sharing: choose one of 'out-query' and 'out-value'",
        ),
        (
            {"weight_sharing": ("norms", "norms")},
            "model.weight_sharing names something twice",
        ),
    ],
)
def test_an_impossible_size_is_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        ModelConfig(**settings)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"model__num_recurrences": 0},
            "model.num_recurrences must be at least 1",
        ),
        ({"model__dropout": 1.0}, "model.dropout must be less than 1"),
        ({"model__init_std": 0.0}, "model.init_std must be greater than 0"),
        (
            {"model__input_injection": "blocks"},
            "model.input_injection should be 'none', 'recurrence', 'block', 'sublayer' or 'normed'",
        ),
        ({"model__num_kv_heads": 0}, "model.num_kv_heads must be at least"),
        ({"model__causal": False}, "positions 'window' need model.causal True, not False"),
        (
            {"model__num_attention_layers": 2},
            "positions 'window' need model.num_attention_layers 1, not 2",
        ),
        (
            {"model__num_recurrences": 2, "model__input_injection": "block"},
            "positions 'window' need model.num_recurrences 1, not 2",
        ),
        (
            {"model__input_injection": "block"},
            "positions 'window' need model.input_injection none, not block",
        ),
        ({"model__dropout": 0.5}, r"positions 'window' need model.dropout 0.0, not 0.5"),
        (
            {"training__recurrence_loss": "mixed"},
            "training.recurrence_loss 'mixed' needs model.num_recurrences of at least 2, not 1",
        ),
    ],
)
def test_a_design_that_does_not_fit_is_refused_in_one_line(
    changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint) as refusal:
        tiny.recipe(**changes)
    assert "\n" not in str(refusal.value)


def test_heads_that_share_keys_cannot_have_vectors_of_their_own() -> None:
    inside = {"name": "abacus", "rows": 9, "max_offset": 2, "inject": "queries_keys"}
    said = "so model.num_kv_heads must be 2, as model.heads, not 1"
    with pytest.raises(UserError, match=said):
        tiny.dense(positions=inside, model__num_kv_heads=1)
    assert tiny.dense(positions=inside, model__num_kv_heads=2).model.kv_heads == 2
    shared = inside | {"inject": "embedding"}
    assert tiny.dense(positions=shared, model__num_kv_heads=1).model.kv_heads == 1


def test_heads_that_share_keys_are_not_turned_by_their_numbers() -> None:
    turned = {"name": "rope", "over": "heads"}
    with pytest.raises(UserError, match="'heads' turns queries and keys alike, so"):
        tiny.dense(positions=turned, model__num_kv_heads=1)
    assert tiny.dense(positions=turned).model.kv_heads == 2


def test_queries_of_positions_are_not_given_tokens_again() -> None:
    with pytest.raises(UserError, match="leaves tokens out of queries and keys, and"):
        tiny.dense(model__qk_input="positions", model__input_injection="normed")


def test_epochs_count_as_many_problems_as_32_bits_hold() -> None:
    fixed = {"task__rows": 100, "training__order": "epochs", "training__batch": 4096}
    assert tiny.dense(**fixed, training__steps=2**20 - 1).training.steps == 2**20 - 1
    with pytest.raises(UserError, match="counts 4,294,967,295 problems: steps x batch is more"):
        tiny.dense(**fixed, training__steps=2**20)


def test_an_encoding_of_all_keys_may_see_the_whole_text() -> None:
    assert not tiny.with_encoding("rope", model__causal=False).model.causal


def test_a_design_survives_dump_and_load() -> None:
    recipe = tiny.dense(
        model__heads=4, model__num_kv_heads=2,
        model__num_recurrences=3, model__input_injection="sublayer",
        model__gated=True, model__norm_placement="post_residual", model__attention_scale=False,
        model__init="normal", model__init_std=0.1, model__dropout=0.25,
        training__recurrence_loss="progressive", training__progressive_alpha=0.5,
    )  # fmt: skip
    assert recipes.parse(tomllib.loads(dump(recipe)), where="dump") == recipe
    assert recipe.model.num_kv_heads == 2
