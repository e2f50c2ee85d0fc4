"""The transformer: its size, recurrences, dropout and first weights; see `test_conformance.py`."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.layouts import Text, layout_named
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from tests import textbook, tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(4, 4), ROOM.total)


def named(config: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in config.items())


def under_model(config: dict[str, Any]) -> dict[str, Any]:
    return {f"model__{field}": value for field, value in config.items()}


def designed(name: str, config: dict[str, Any]) -> Transformer:
    recipe = tiny.with_encoding(name, **under_model(config))
    return tiny.drawn(recipe, layout_of(recipe))


@jax.jit
def logits(model: Transformer, text: Text) -> Array:
    """Logits at every token."""
    return model(text.tokens, model.layout.where(text), tiny.every_index(text), ROOM)


def test_states_after_each_recurrence_are_those_of_models_with_so_many_recurrences() -> None:
    model = designed("rope", {"num_recurrences": 4, "input_injection": "block"})
    where, queries = LAYOUT.where(TEXT), tiny.every_index(TEXT)
    found = jax.jit(lambda m: m.states(TEXT.tokens, where, queries, ROOM, each=True))(model)
    for num_recurrences in (1, 3, 4):
        read = model.logits(found.after(jnp.int32(num_recurrences)), queries)
        np.testing.assert_allclose(
            read, logits(model.with_recurrences(num_recurrences), TEXT), atol=2e-5
        )


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"num_recurrences": 3, "input_injection": "block", "num_attention_layers": 2},
        {"dropout_sites": ("embedding", "attention", "mlp"), "num_layers": 3},
        {
            "dropout_sites": ("embedding", "attention", "mlp", "output"),
            "num_recurrences": 2,
            "num_attention_layers": 2,
            "input_injection": "normed",
        },
    ],
    ids=named,
)
def test_dropout_leaves_out_embeddings_and_what_else_a_recipe_names(
    config: dict[str, Any],
) -> None:
    """Of each loop others, and none without a key, as in evaluation."""
    model = designed("nope", config | {"dropout": 0.5})
    where, queries, key = LAYOUT.where(TEXT), tiny.every_index(TEXT), jax.random.key(3)
    run = jax.jit(lambda model, key: model(TEXT.tokens, where, queries, ROOM, key))
    found = run(model, key)
    assert tiny.same(run(model, key), found)
    assert not np.allclose(run(model, jax.random.key(4)), found)
    plain = logits(designed("nope", config), TEXT)
    np.testing.assert_allclose(run(model, None), plain, rtol=1e-4, atol=1e-5)
    dropped = [
        model._draw_dropout(key, loop, TEXT.tokens) for loop in range(model.config.num_recurrences)
    ]
    assert not any(tiny.same(one, two) for one, two in itertools.pairwise(dropped))
    row, length = 1, int(TEXT.lengths[1])
    rows = slice(ROOM.total, ROOM.total + length)
    index = model.positions.index(where, ROOM)
    embedded = model.context(TEXT.tokens, where, index, key).embedded[rows]
    clean = textbook.entry(model, TEXT.tokens[row, :length], where.role[row, :length])
    assert (np.isclose(embedded, 0) | np.isclose(embedded, 2 * clean, atol=1e-6)).all()
    assert 0.3 < np.isclose(embedded, 0).mean() < 0.7
    x = textbook.begin(model, embedded)
    for output, attention, mlp in dropped:
        kept = textbook.Masks(
            None if output is None else output[:, :, rows],
            None if attention is None else attention[:, row, :length, :, :length],
            None if mlp is None else mlp[:, rows],
        )
        x = textbook.loop(model, x, embedded, kept)
    np.testing.assert_allclose(found[row, :length], textbook.logits(model, x), atol=1e-4)
