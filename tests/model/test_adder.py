"""Attention of positions alone, and digits on an arc, in a trained adder of 35 parameters."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from curta.layouts import TokenPositions
from curta.model.inspection import record_activations
from curta.model.transformer import Transformer
from tests import adder, tiny

SUMS = tiny.random_sums(8, 10)


def weights(model: Transformer) -> np.ndarray:
    """Of all tokens of some true texts: texts by queries by keys."""
    layout = model.layout
    tokens = jnp.array([layout.tokens_of(problem)[0] for problem in SUMS])
    where: TokenPositions = layout.follow(tokens, jnp.full(len(SUMS), tokens.shape[1]))[1]
    bounds = layout.bounds_of(SUMS)
    found = record_activations(model, tokens, where, bounds)
    return np.asarray(found["layer.0.attention.weights"])[:, 0]


def test_attention_of_positions_alone_is_the_same_in_all_texts() -> None:
    found = weights(adder.solved())
    tiny.assert_close(found, np.broadcast_to(found[:1], found.shape))
    model = adder.solved()
    other = replace(model, config=replace(model.config, qk_input="state"))
    assert np.ptp(weights(other), axis=0).max() > 0.1
