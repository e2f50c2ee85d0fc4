"""The recipes of the earlier systems are what their sources print."""

from typing import Any

import jax
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer, parameters
from curta.problems import tasks
from curta.runs import comparison_spec
from docs import components

EXTRA = {"digit-encoder": (96 - 42) * 64 + 64 + 65}
"""Rows for longer sums, and a token for products: what the source of the encoder has not."""


def resolved(name: str) -> Recipe:
    return api.resolve(f"sources/{name}", {})


def drawn(name: str) -> Any:
    recipe = resolved(name)
    layout = layout_of(recipe)
    return Transformer.init(recipe.model, recipe.positions, layout, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("five-operations", 10_650_624),
        ("five-operations-2048", 10_650_624),
        ("digit-encoder", 104_206),
        ("ladder-1-sgd", 4 * (4 * 64 * 64 + 2 * 64 * 256) + 2 * 16 * 64),
        ("ladder-4-tied", 4 * (4 * 64 * 64 + 2 * 64 * 256) + 16 * 64),
    ],
)
def test_models_have_the_parameters_that_their_sources_count(name: str, count: int) -> None:
    assert parameters(jax.eval_shape(lambda: drawn(name))) == count + EXTRA.get(name, 0)


def test_five_operations_hold_other_pairs_out_of_remainders_than_of_quotients() -> None:
    recipe = resolved("five-operations")
    assert sum(task.held_out for task in recipe.tasks) == 100_000
    *_, quotients, remainders = recipe.tasks
    known = {p.operands for p in tasks.held_out(quotients, range(quotients.held_out))}
    asked = tasks.held_out(remainders, range(2_000))
    assert np.mean([p.operands not in known for p in asked]) == pytest.approx(0.98, abs=0.01)


def test_texts_of_five_operations_have_28_characters_and_no_end_sign() -> None:
    recipe = resolved("five-operations")
    layout = layout_of(recipe)
    problem = tasks.held_out(recipe.tasks[2], range(1))[0]
    assert len(layout.write(problem)) == recipe.positions.length == 28
    assert len(layout.characters) == 17


def test_encoders_leave_nothing_out_of_embeddings() -> None:
    for name in ("", "-post-norm", "-multiplication", "-sorting", "-sorting-small"):
        recipe = resolved(f"digit-encoder{name}")
        assert recipe.model.dropout_sites == ("attention", "mlp", "output")
        assert recipe.training.validation == 800


def test_the_post_norm_encoder_begins_as_torch_begins_its_own() -> None:
    """Deviations, and blocks that are alike, of `nn.TransformerEncoder` itself."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(64, 2, 128, batch_first=True)
    theirs = torch.nn.TransformerEncoder(layer, 2).layers[1]
    model = drawn("digit-encoder-post-norm")
    for mine, other in (
        (model.attention.query, theirs.self_attn.in_proj_weight),
        (model.attention.out, theirs.self_attn.out_proj.weight),
        (model.attention.query_bias, theirs.self_attn.in_proj_bias),
        (model.attention.out_bias, theirs.self_attn.out_proj.bias),
        (model.mlp.up, theirs.linear1.weight),
        (model.mlp.down, theirs.linear2.weight),
        (model.mlp.up_bias, theirs.linear1.bias),
    ):
        found, expected = np.asarray(mine), other.detach().numpy()
        np.testing.assert_allclose(found.std(), expected.std(), rtol=0.15, atol=1e-9)
        np.testing.assert_allclose(np.abs(found).max(), np.abs(expected).max(), rtol=0.1)
        np.testing.assert_array_equal(found[0], found[1])


def test_the_ladder_begins_with_the_weights_of_its_source() -> None:
    untied, tied = drawn("ladder-1-sgd"), drawn("ladder-4-tied")
    np.testing.assert_allclose(untied.tokens.std(), 0.25, rtol=0.1)
    np.testing.assert_allclose(untied.head.std(), 1.0, rtol=0.1)
    assert tied.head is None
    assert not tied.config.tied_scale
    assert untied.gain is None


def test_rungs_have_300_epochs_of_28_batches_and_differ_in_one_thing_each() -> None:
    rows = comparison_spec.resolve(comparison_spec.draft(["ladder"]), {}, None).rows
    for row in rows:
        training = row.recipe.training
        assert (training.steps, training.batch, training.order) == (300 * 28, 256, "fixed")
        assert tasks.trained_count(row.recipe.tasks[0]) == 7200
        assert len(row.recipe.evaluation.named) == 7
    assert [row.recipe.training.loss for row in rows[:5]] == ["padded"] * 4 + ["answer"]


def test_the_floor_is_what_two_operands_cost() -> None:
    """By drawing: the mean surprise of every predicted character of all sums up to 99 + 99."""
    texts = [f"{a}+{b}=" for a in range(100) for b in range(100)]
    counts: dict[str, int] = {}
    for text in texts:
        for end in range(len(text) + 1):
            counts[text[:end]] = counts.get(text[:end], 0) + 1
    nats = [
        -np.log(counts[text[: end + 1]] / counts[text[:end]])
        for text in texts
        for end in range(1, len(text))
    ]
    assert sum(nats) / len(texts) / 12 == pytest.approx(components.floor(99, 7168)[2])


@pytest.mark.parametrize("name", ["five-operations", "five-operations-2048"])
def test_the_named_problems_of_the_source_with_five_operations(name: str) -> None:
    recipe = resolved(name)
    assert recipe.evaluation.named == (
        "0+0", "7+35", "123-45", "45-123", "12*89", "123*45", "5//4", "999//1", "5%4", "998%999",
        "501*499", "999*999",
    )  # fmt: skip
