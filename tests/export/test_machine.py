"""Where tokens stand is the same in NumPy, JAX, PyTorch and ONNX, on tokens of any kind."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from curta.export.base import layout_table
from curta.export.onnx.decoding import followed
from curta.export.onnx.graph import converted
from curta.layouts import Layout, layout_named
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


@pytest.mark.parametrize("name", [*LAYOUTS, "reversed", "fields", "hints"])
def test_pytorch_reads_the_same(name: str) -> None:
    import torch
    from transformers import DynamicCache, PretrainedConfig

    from curta.export.huggingface.reading_curta import Reading

    layout = LAYOUTS[name]() if name in LAYOUTS else layout_named(name)
    tokens = tokens_of(layout)
    given = torch.tensor(tokens).long()
    where = jax.jit(layout.follow)(jnp.asarray(tokens), jnp.full(len(tokens), 40))[1]

    reading = Reading(PretrainedConfig(layout=layout_table(layout), positions={}))
    whole = reading(given, None, None)
    cache = DynamicCache()
    pieces = [reading(piece, None, cache) for piece in given.split([7, 1, 1, 31], dim=1)]
    for part, expected in (("role", where.role), ("coordinates", where.coordinates)):
        joined = torch.cat([getattr(piece, part) for piece in pieces], dim=1)
        assert (getattr(whole, part).numpy() == np.asarray(expected)).all()
        assert (joined == getattr(whole, part)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three axes", "reversed"])
def test_a_graph_follows_the_same(name: str) -> None:
    layout = LAYOUTS[name]() if name in LAYOUTS else layout_named(name)

    def places(tokens: jax.Array, index: jax.Array, start: jax.Array) -> jax.Array:
        return followed(layout, tokens, index, start)[1]

    axes = len(layout.axes)
    both = (("batch", "time"), jnp.int32)
    inputs = {"tokens": both, "index": both, "start": (("batch", 1 + axes), jnp.int32)}
    outputs = {"places": (*both[0], 3 + axes)}
    graph = converted(places, "places", inputs, outputs).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for tokens in (tokens_of(layout), tokens_of(layout)[:1, :7]):
        lengths = jnp.full(len(tokens), tokens.shape[1])
        where = jax.jit(layout.follow)(jnp.asarray(tokens), lengths)[1]
        index = np.broadcast_to(np.arange(tokens.shape[1], dtype=np.int32), tokens.shape)
        start, found = np.zeros((len(tokens), 1 + axes), np.int32), []
        for part in (slice(0, 3), slice(3, 4), slice(4, None)):
            given = {"tokens": tokens[:, part], "index": index[:, part], "start": start}
            found += session.run(None, given)
            start = found[-1][:, -1, 2:]
        columns = np.concatenate(found, axis=1)
        assert (columns[..., 1] == np.asarray(where.role)).all()
        assert (columns[..., 3:] == np.asarray(where.coordinates)).all()
