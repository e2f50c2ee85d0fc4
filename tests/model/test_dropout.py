"""Dropout: its share, its sites, and that nothing is drawn where nothing is left out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.model import DropoutSite, ModelConfig
from curta.model import layers

SITES: tuple[DropoutSite, ...] = ("embedding", "output", "attention", "mlp")


def test_dropout_leaves_its_share_scaled_up_so_that_the_mean_stays() -> None:
    config, x, key = ModelConfig(dropout=0.3), jnp.full((400, 500), 2.0), jax.random.key(0)
    mask = layers.dropout_mask(key, config, "output", *x.shape)
    found = np.asarray(layers.dropped(config, x, mask))
    np.testing.assert_allclose(np.unique(found), [0.0, 2 / 0.7], rtol=1e-6)
    assert found.mean() == pytest.approx(2.0, abs=0.02)  # eight standard deviations


def test_without_dropout_or_without_a_key_nothing_is_drawn() -> None:
    key = jax.random.key(0)
    assert layers.draw_dropout(key, ModelConfig(dropout_sites=SITES), 2, 3) == layers.NO_DROPOUT
    assert layers.draw_dropout(None, ModelConfig(dropout=0.5), 2, 3) == layers.NO_DROPOUT


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


@pytest.mark.parametrize("site", SITES)
def test_only_the_sites_of_a_recipe_are_drawn(site: DropoutSite) -> None:
    config = ModelConfig(dropout=0.5, dropout_sites=(site,))
    drawn = {other: layers.dropout_mask(jax.random.key(0), config, other, 3, 4) for other in SITES}
    assert [other for other, mask in drawn.items() if mask is not None] == [site]


def test_masks_of_some_tokens_are_those_of_the_whole_text() -> None:
    config = ModelConfig(dropout=0.5, dropout_sites=SITES, num_layers=2, num_attention_layers=1)
    whole, queries = layers.draw_dropout(jax.random.key(0), config, 2, 3), jnp.array([[2], [1]])
    some = whole.of(queries)
    assert whole.output is not None
    assert whole.attention is not None
    assert whole.mlp is not None
    np.testing.assert_array_equal(some.output, whole.output[:, :, [2, 4]])
    np.testing.assert_array_equal(some.mlp, whole.mlp[:, [2, 4]])
    for text, token in enumerate([2, 1]):
        np.testing.assert_array_equal(some.attention[:, text, 0], whole.attention[:, text, token])
