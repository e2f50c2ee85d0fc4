"""An ONNX graph of one member: texts of any length in, logits out.

Inputs are `tokens`, int32 (batch x length), and `positions`, of the same shape: 0, 1, 2, ...
in each row. The output `logits` (batch x length x tokens) is for what follows each token. What
tokens are says the graph's metadata: `characters`, or the `machine` of a program, with the
format of its prompts. Kinds and coordinates are calculated within the graph.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array, Float, Int

from curta.config import files
from curta.config.optional import module
from curta.config.recipe import Recipe, dump
from curta.export.base import Exported, Exporter, machine_data
from curta.export.inlined import inlined
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.layouts.automaton import Automaton
from curta.layouts.program import ProgramLayout
from curta.model.inspection import all_logits
from curta.model.transformer import Transformer

OPSET = 21
"""Of 2024: older runtimes in browsers and on phones open it."""

UNBOUNDED = ShapeBounds(0, 0, ())
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
) -> Float[Array, "batch length tokens"]:
    """What the graph calculates, with no array whose size depends on the length alone."""
    return all_logits(model, tokens, followed(model.layout, tokens, positions), UNBOUNDED)


def followed(
    layout: Layout, tokens: Int[Array, "batch length"], positions: Int[Array, "batch length"]
) -> TokenPositions:
    """Where every token stands; all are written, none is padding."""
    program = isinstance(layout, ProgramLayout)
    follow = partial(_summed, index=positions) if program else _stepped
    return TokenPositions(positions, *follow(layout.automaton, tokens))


def _summed(
    automaton: Automaton, tokens: Int[Array, "batch length"], index: Int[Array, "batch length"]
) -> tuple[Array, Array]:
    """As `_stepped`, for a single state: the offsets since the last home are summed.

    As `Machine.positions`; a graph of any length has no running maximum, so the last home is
    looked for among all earlier tokens.
    """
    role, home, offset = (jnp.asarray(part[0])[tokens] for part in automaton[1:])
    earlier = index[:, None, :] <= index[:, :, None]
    homes = jnp.where(earlier[..., None] & home[:, None], index[:, None, :, None], 0)
    since = jnp.max(homes, axis=2)
    total = jnp.cumsum(offset, axis=1)
    return role, total - jnp.take_along_axis(total - offset, since, axis=1)


def _stepped(automaton: Automaton, tokens: Int[Array, "batch length"]) -> tuple[Array, Array]:
    """Kind and coordinates of every token, from the first to the last."""
    width = 1 + automaton.home.shape[-1]
    start = jnp.broadcast_to(jnp.zeros((1, width), jnp.int32), (tokens.shape[0], width))

    def one(state: Array, token: Array) -> tuple[Array, tuple[Array, Array]]:
        state, role, coordinates = automaton.step(state, token)
        return state, (role, coordinates)

    roles, coordinates = jax.lax.scan(one, start, tokens.T)[1]
    return roles.T, jnp.swapaxes(coordinates, 0, 1)


def _graph(member: Exported) -> Any:
    """The converted graph, an `onnx.ModelProto`."""
    model = jax.tree.map(jnp.asarray, member.model)  # those of a checkpoint are NumPy's
    return converted(partial(forward, model), member.run, ["logits"])


def converted(function: Callable[..., Any], name: str, outputs: list[str]) -> Any:
    """A graph of a function of tokens and positions, of any length."""
    converter = module("jax2onnx", extra="onnx")
    shape = jax.export.symbolic_shape("batch, length")
    inputs = [jax.ShapeDtypeStruct(shape, jnp.int32)] * 2
    # primitives only: the converter replaces functions of JAX by its own while it traces
    traced = inlined(jax.make_jaxpr(function)(*inputs))
    with _quiet("onnx_ir"):
        return converter.to_onnx(
            jaxpr_as_fun(traced),
            inputs=inputs,
            input_names=["tokens", "positions"],
            output_names=outputs,
            model_name=name,
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
    machine = machine_data(layout)
    written = (
        {"machine": json.dumps(machine, ensure_ascii=False)}
        if machine
        else {"characters": "".join(layout.characters), "end": layout.end_sign}
    )
    return written | {
        "layout": layout.name,
        "run": member.run,
        "seed": str(member.seed),
        "recipe": dump(member.recipe),
    }
