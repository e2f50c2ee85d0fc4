"""A layout's step as a file of Python: what the layout itself says."""

import jax.numpy as jnp
import numpy as np
import pytest

import tiny
from curta.export.huggingface.own import step
from curta.layouts import LAYOUTS


@pytest.mark.parametrize("name", LAYOUTS)
def test_steps_are_those_of_the_layout(name: str) -> None:
    layout = LAYOUTS[name]
    tokens = tiny.any_texts(layout)
    lengths = jnp.full(len(tokens), tokens.shape[1], jnp.int32)
    where = layout.follow(jnp.asarray(tokens), lengths)[1]
    expected = np.concatenate([where.kind[..., None], where.coordinates], axis=-1)
    written: dict[str, object] = {}
    exec(step(layout), written)
    assert written["STATES"] == layout.states
    for row, there in zip(tokens.tolist(), expected.tolist(), strict=True):
        state, found = [0] * layout.states, []
        for token in row:
            state, kind, coordinates = written["step"](state, token)  # type: ignore[operator]
            found.append([kind, *coordinates])
        assert found == there
