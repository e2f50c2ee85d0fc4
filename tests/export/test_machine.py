"""Where tokens stand is the same in NumPy, JAX, PyTorch and ONNX, on tokens of any kind."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.layouts import Layout
from curta.layouts.program import ProgramLayout

from .made import any_machine, program

LAYOUTS: dict[str, Any] = {
    "three axes": any_machine,
    "addition": lambda: program("addition"),
    "multiplication": lambda: program("multiplication"),
}


def tokens_of(layout: Layout) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, len(layout.characters), (6, 40)).astype(np.int32)


def in_numpy(layout: ProgramLayout, tokens: np.ndarray) -> np.ndarray:
    """Token by token: the machine's own words for what all others must do."""
    position, found = np.zeros((len(tokens), len(layout.axes)), np.int64), []
    for column in tokens.T:
        position = layout.machine.advance(position, column)
        found.append(position)
    return np.stack(found, axis=1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_numpy_sums_and_jax_steps_and_sums(name: str) -> None:
    layout = LAYOUTS[name]()
    tokens = tokens_of(layout)
    expected = in_numpy(layout, tokens)
    homed = [np.flatnonzero(layout.machine.moves.home[row].all(axis=1)) for row in tokens]
    for row, there, home in zip(tokens, expected, homed, strict=True):
        if len(home):  # a text begins with a token that goes home on all axes
            assert (layout.machine.positions(row[home[0] :]) == there[home[0] :]).all()
    state, where = jax.jit(layout.follow)(jnp.asarray(tokens), jnp.full(len(tokens), 40))
    assert (np.asarray(where.coordinates) == expected).all()
    assert (np.asarray(where.role) == layout.machine.role[tokens]).all()
    stepped = layout.start(len(tokens))
    step = jax.jit(layout.step)
    for time in range(40):
        stepped, role, coordinates = step(stepped, jnp.asarray(tokens[:, time]))
        assert (np.asarray(coordinates) == expected[:, time]).all()
        assert (np.asarray(role) == layout.machine.role[tokens[:, time]]).all()
    assert (np.asarray(state) == np.asarray(stepped)).all()
