"""The window over whole texts: a query sees its neighbours, the newest of each, and no others."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.layouts import ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.model.positions.window import WindowEncoding
from tests import paper, tiny

TIME = 16


@cache
def built() -> tuple[ProgramLayout, WindowEncoding, Any]:
    """Sums and products on one machine: which keys each query sees, and with which biases."""
    tasks = [{"operator": "+", "digits": [1, 3]}, {"operator": "*", "digits": [1, 2]}]
    recipe = tiny.recipe(program=["addition", "multiplication"], task=tasks)
    layout = paper.layout(recipe)
    encoding = tiny.drawn(recipe, layout).positions
    assert isinstance(encoding, WindowEncoding)
    bounds = ShapeBounds(TIME, 1, ((0, 0),) * len(layout.axes))

    def look(tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        where = layout.follow(tokens, jnp.array([TIME]))[1]
        visible_keys = encoding.visible_keys(encoding.index(where, bounds), where)
        return visible_keys.mask[0], encoding.bias(encoding.biases[0], visible_keys)[0]

    return layout, encoding, jax.jit(look)


@settings(max_examples=20)
@given(data=st.data())
def test_a_query_sees_itself_and_its_neighbours_with_a_bias_for_each(data: st.DataObject) -> None:
    """Whatever was written: also where several tokens stand on one square."""
    layout, encoding, look = built()
    count = len(layout.machine.tokens)
    tokens = data.draw(st.lists(st.integers(0, count - 1), min_size=TIME, max_size=TIME))
    visible, bias = map(np.asarray, look(jnp.array([tokens], jnp.int32)))
    table = np.asarray(encoding.biases[0]).reshape(2, len(layout.roles), encoding.cells)
    for query in range(TIME):
        cells = paper.seen(layout, tokens[: query + 1])
        expected = {key: cell for cell, key in reversed([*enumerate(cells)]) if key is not None}
        assert set(np.flatnonzero(visible[query]).tolist()) == set(expected)
        role = layout.machine.role[tokens[query]]
        for key, cell in expected.items():
            np.testing.assert_array_equal(bias[:, query, key], table[:, role, cell])
