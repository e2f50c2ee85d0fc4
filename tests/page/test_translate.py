"""The coordinates of a layout in JavaScript: those that the layout itself says, in a browser."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import tiny
from curta.layouts import LAYOUTS
from curta.layouts.plain import Plain
from curta.page.translate import step

from .browser import Tab

FOLLOW = """
  JSON.stringify(%s.map((tokens) => {
    let state = new Array(%d).fill(0);
    return tokens.map((token) => {
      const [after, kind, coordinates] = step(state, token);
      state = after;
      return [kind, ...coordinates];
    });
  }))
"""


@pytest.mark.parametrize("name", LAYOUTS)
def test_steps_are_those_of_the_layout(name: str, browser: Tab) -> None:
    layout = LAYOUTS[name]
    tokens = tiny.any_texts(layout)
    lengths = jnp.full(len(tokens), tokens.shape[1], jnp.int32)
    where = layout.follow(jnp.asarray(tokens), lengths)[1]
    expected = np.concatenate([where.kind[..., None], where.coordinates], axis=-1)
    followed = FOLLOW.strip() % (json.dumps(tokens.tolist()), layout.states)
    found = json.loads(browser.value(f"(() => {{ {step(layout)}; return {followed}; }})()"))
    assert np.array_equal(np.array(found), expected)


class Odd(Plain):
    """A layout whose coordinates are no matter of whole numbers."""

    def step(self, state: Array, token: Array) -> tuple[Array, Array, Array]:
        after, kind, place = super().step(state, token)
        return after, kind, jnp.sin(place.astype(jnp.float32)).astype(jnp.int32)


def test_what_has_no_javascript_is_named() -> None:
    with pytest.raises((NotImplementedError, AssertionError), match=r"sin|float32"):
        step(Odd())
