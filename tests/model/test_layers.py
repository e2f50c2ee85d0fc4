"""Layers of a block: norms, dropout, biases, and initial weights."""

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.model import ModelConfig
from curta.config.positions import Learned, NoPE, Positions
from curta.layouts import layout_named
from curta.model import layers
from curta.model.transformer import Transformer

LAYOUT = layout_named("coupled")


def deviations(settings: ModelConfig, positions: Positions) -> dict[str, float]:
    """The deviation of every weight that is drawn, by its path: what comes of drawing ones."""
    with mock.patch.object(jax.random, "normal", lambda key, shape: jnp.ones(shape)):
        model = Transformer.init(settings, positions, LAYOUT, key=jax.random.key(0))
    leaves = jax.tree_util.tree_leaves_with_path(model)
    found = {jax.tree_util.keystr(path): float(leaf.max()) for path, leaf in leaves}
    return {path: scale for path, scale in found.items() if not path.endswith("gain")}


def test_weights_have_the_deviation_of_their_fan_in() -> None:
    found = deviations(ModelConfig(width=16, gated=True), NoPE())
    square, wide = 1 / 4, 1 / 8
    assert found == {
        ".tokens": 1.0,
        **{f".attention.{name}": square for name in ("query", "key", "value", "out")},
        ".mlp.up": square,
        ".mlp.gate": square,
        ".mlp.down": wide,
        ".head": square,
    }


def test_without_a_scale_of_scores_queries_are_smaller_by_it() -> None:
    """(width * features) ** -1/2, as T5 has it."""
    found = deviations(ModelConfig(width=64, heads=4, attention_scale=False), NoPE())
    assert found[".attention.query"] == pytest.approx((64 * 16) ** -0.5)
    assert found[".attention.key"] == 64**-0.5


def test_all_weights_positions_included_may_have_one_deviation() -> None:
    found = deviations(ModelConfig(init="normal", init_std=0.05, role_embeddings=True), Learned())
    assert len(found) == 10
    assert list(found.values()) == pytest.approx([0.05] * 10)


@pytest.mark.parametrize("share", [1e-3, 0.1, 0.5, 0.999])
def test_the_share_is_exact_and_neighbours_know_nothing_of_each_other(share: float) -> None:
    config = ModelConfig(dropout=share)
    mask = layers.dropout_mask(jax.random.key(1), config, "output", 1001, 999)
    assert mask is not None
    left_out = ~np.asarray(mask).ravel()  # an odd number of them
    spread = (share * (1 - share) / left_out.size) ** 0.5
    assert left_out.mean() == pytest.approx(share, abs=5 * spread)
    both = (left_out[:-1] & left_out[1:]).mean()
    assert both == pytest.approx(share**2, abs=5 * (share**2 / left_out.size) ** 0.5)
