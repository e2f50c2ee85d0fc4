"""Initial values: as described, and a pure function of the key."""

import jax
import jax.numpy as jnp
import numpy as np

from curta.model.weights import Normal, constant, draw, normal
from tests import tiny

TREE = {"a": normal(40, 50, scale=2.0), "b": (jnp.arange(3), normal(2000, scale=0.1)), "c": None}


def test_weights_have_the_described_shapes_and_deviations_and_the_rest_is_untouched() -> None:
    drawn = draw(TREE, jax.random.key(0))
    assert drawn["a"].shape == (40, 50)
    np.testing.assert_allclose([drawn["a"].std(), drawn["b"][1].std()], [2.0, 0.1], rtol=0.1)
    np.testing.assert_allclose([drawn["a"].mean(), drawn["b"][1].mean()], 0.0, atol=0.2)
    np.testing.assert_array_equal(drawn["b"][0], jnp.arange(3))
    assert drawn["c"] is None


def test_equal_keys_draw_equal_weights_and_others_others() -> None:
    one, again, other = (draw(TREE, jax.random.key(seed)) for seed in (0, 0, 1))
    assert tiny.same(one, again)
    assert not np.array_equal(one["a"], other["a"])


def test_no_two_weights_are_the_same_draw() -> None:
    twins = draw((normal(100, scale=1.0), normal(100, scale=1.0)), jax.random.key(0))
    assert len(np.unique(np.concatenate(twins))) == 200


def test_a_weight_of_no_size_is_empty() -> None:
    empty, full = draw((normal(0, 4, scale=1.0), normal(4, scale=1.0)), jax.random.key(0))
    assert empty.shape == (0, 4)
    assert full.shape == (4,)


def test_a_tree_with_nothing_to_draw_stays_as_it_is() -> None:
    assert draw((), jax.random.key(0)) == ()
    np.testing.assert_array_equal(draw((jnp.ones(2),), jax.random.key(0))[0], jnp.ones(2))


def test_a_description_is_no_array() -> None:
    assert normal(2, 3, scale=0.5) == Normal((2, 3), 0.5)


def test_given_values_stay_what_they_are_between_random_ones() -> None:
    tree = (normal(3, scale=1.0), constant([1, 2]), normal(2, scale=1.0))
    first, values, last = draw(tree, jax.random.key(0))
    assert isinstance(values, jax.Array)
    assert values.tolist() == [1.0, 2.0]
    alone = draw((tree[0], tree[2]), jax.random.key(0))
    tiny.assert_close([first, last], [*alone])
