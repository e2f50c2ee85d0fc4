"""An ONNX graph of one member: texts of any length in, logits out.

Inputs are `tokens`, int32 (batch x length), indices into the `characters` that the graph's
metadata holds, and `positions`, of the same shape: 0, 1, 2, ... in each row. The output
`logits` (batch x length x characters) is for what follows each token. Kinds and coordinates
are calculated within the graph, which follows a text as the layout does.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array, Float, Int

from .. import files
from ..extras import module
from ..layouts import Layout, Room, Where
from ..layouts.base import END
from ..model import Transformer
from ..positions.window import WindowEncoding
from ..recipe import Recipe, dump
from .base import Exported, Exporter
from .inlined import inlined
from .masked import masked

OPSET = 21
"""Of 2024: older runtimes in browsers and on phones open it."""

UNBOUNDED = Room(0, 0, ())
"""No encoding that goes into a graph needs to know how long texts are."""


class Onnx(Exporter):
    name = "onnx"
    summary = "an ONNX graph for texts of any length"
    file = "model-{member}.onnx"

    def refuse(self, recipe: Recipe) -> str | None:
        return None

    def write(self, member: Exported, out: Path) -> None:
        graph = _graph(member)
        _drop_unused(graph.graph)
        module("onnx.helper", extra="onnx").set_model_props(graph, _about(member))
        files.write(out, graph.SerializeToString())


def forward(
    model: Transformer, tokens: Int[Array, "batch length"], positions: Int[Array, "batch length"]
) -> Float[Array, "batch length characters"]:
    """What the graph calculates, with no array whose size depends on the length alone."""
    if isinstance(model.positions, WindowEncoding):
        model = masked(model)
    kinds, coordinates = _followed(model.layout, tokens)
    where = Where(positions, kinds, coordinates, jnp.zeros_like(tokens), 1)
    return model.everywhere(tokens, where, UNBOUNDED)


def _followed(layout: Layout, tokens: Int[Array, "batch length"]) -> tuple[Array, Array]:
    """Kind and coordinates of every token; all are written, none is padding."""
    start = jnp.broadcast_to(layout.start(1), (tokens.shape[0], layout.states))

    def one(state: Array, token: Array) -> tuple[Array, tuple[Array, Array]]:
        state, kind, coordinates = layout.step(state, token)
        return state, (kind, coordinates)

    kinds, coordinates = jax.lax.scan(one, start, tokens.T)[1]
    return kinds.T, jnp.swapaxes(coordinates, 0, 1)


def _graph(member: Exported) -> Any:
    """The converted graph, an `onnx.ModelProto`."""
    converter = module("jax2onnx", extra="onnx")
    model = jax.tree.map(jnp.asarray, member.model)  # those of a checkpoint are NumPy's
    shape = jax.export.symbolic_shape("batch, length")
    inputs = [jax.ShapeDtypeStruct(shape, jnp.int32)] * 2
    # primitives only: the converter replaces functions of JAX by its own while it traces
    traced = inlined(jax.make_jaxpr(partial(forward, model))(*inputs))
    with _quiet("onnx_ir"):
        return converter.to_onnx(
            jaxpr_as_fun(traced),
            inputs=inputs,
            input_names=["tokens", "positions"],
            output_names=["logits"],
            model_name=member.run,
            opset=OPSET,
        )


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Without the warnings of a library that says what it leaves out of the file."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _drop_unused(graph: Any) -> None:
    """Takes constants that nothing uses out of a graph and its loops; runtimes warn of each."""
    inner = [part.g for node in graph.node for part in node.attribute if part.HasField("g")]
    for part in inner:
        _drop_unused(part)
    used = _used(graph)
    for unused in [constant for constant in graph.initializer if constant.name not in used]:
        graph.initializer.remove(unused)


def _used(graph: Any) -> set[str]:
    """Every name that a graph or one within it takes or hands out."""
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for part in node.attribute:
            names |= _used(part.g) if part.HasField("g") else set()
    return names


def _about(member: Exported) -> dict[str, str]:
    """What a program needs to ask the model, and where the model comes from."""
    layout = member.model.layout
    return {
        "characters": layout.characters,
        "end": END,
        "layout": layout.name,
        "run": member.run,
        "seed": str(member.seed),
        "recipe": dump(member.recipe),
    }
