"""An ONNX graph of one member: new tokens and the state of earlier ones in, logits out.

The input `tokens` is int32, batch x sequence; `past_places`, `past_keys` and `past_values` are the
outputs `present_...` of the previous call, or empty. So a text is read once and then extended token
by token. `logits` (batch x sequence x tokens) are for the token after each new token. A model that
is not causal has only `tokens`. The graph's metadata describe the tokens: `tokens`, their symbols
as a JSON list, with `prompts`, the regular expressions of its prompts, and the `end` sign; or the
`machine` of a program, with the format of its prompts and the largest operands. Roles and
coordinates are computed within the graph.

No array has a size that depends on lengths alone, and nothing is cut off at an end, so a converter
that knows neither a text's length nor that of its past can trace all of it. ONNX has no assertions.
But a `Gather` beyond the end of a table is an error by the standard, so every limit is a table of
zeros, which are added to the tokens.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array, Float, Int

from curta.config import files
from curta.config.errors import optional_module
from curta.config.recipe import dump
from curta.export.base import Exported, Exporter, limits, machine_data, rooms
from curta.export.huggingface.tokenizer import prompt_rules
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model.inspection import all_logits
from curta.model.layers import KVHeads, Logits, Tokens
from curta.model.transformer import Transformer

OPSET = 21
"""Of 2024, so that older runtimes in browsers and on phones open it."""

CALLS = dict.fromkeys(("jit", "pjit"), "jaxpr") | dict.fromkeys(
    ("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"
)
"""Primitives that only call the program in the parameter named here."""

Axes = Sequence[str | int]
"""The size of each axis of an array, or its name if it is variable."""

UNBOUNDED = ShapeBounds(0, 0, ())
"""Encodings in a graph do not need the length of texts."""

KV = tuple[KVHeads, KVHeads]
"""Keys and values of one layer."""


class Onnx(Exporter):
    name = "onnx"
    summary = "an ONNX graph that writes token by token"
    file = "model-{member}.onnx"

    def write(self, member: Exported, out: Path) -> None:
        model = jax.tree.map(jnp.asarray, member.model)  # weights of a checkpoint are NumPy's
        layout, bounds = model.layout, limits(model)
        graph = _graph(model, bounds, member.run)
        held = rooms(member.recipe, model)
        if machine := machine_data(layout, held):
            texts = {"machine": json.dumps(machine, ensure_ascii=False)}
        else:
            texts = {
                "tokens": json.dumps(list(layout.characters)),
                "end": layout.end_sign,
                "prompts": json.dumps(prompt_rules(layout, held)),
            }
        about = texts | {
            "layout": layout.name,
            "run": member.run,
            "seed": str(member.seed),
            "recipe": dump(member.recipe),
            **{name: str(most) for name, most in bounds.items()},
        }
        optional_module("onnx.helper", extra="onnx").set_model_props(graph, about)
        files.write(out, graph.SerializeToString())


def _graph(model: Transformer, bounds: dict[str, int], name: str) -> Any:
    """Return the converted model, an `onnx.ModelProto`."""
    config, axes = model.config, len(model.layout.axes)
    layers = config.num_recurrences * config.num_attention_layers

    def state_shapes(prefix: str, time: str) -> dict[str, tuple[Axes, Any]]:
        """Return shapes and types of the cache of `time` tokens, in the order of `decode`."""
        heads: Axes = (layers, "batch", time, config.kv_heads, config.head_dim)
        return {
            f"{prefix}_places": (("batch", time, 3 + axes), jnp.int32),
            f"{prefix}_keys": (heads, jnp.float32),
            f"{prefix}_values": (heads, jnp.float32),
        }

    tokens: dict[str, tuple[Axes, Any]] = {"tokens": (("batch", "sequence"), jnp.int32)}
    outputs: dict[str, Axes] = {"logits": ("batch", "sequence", len(model.layout.characters))}
    if not config.causal:
        outputs["present_places"] = state_shapes("present", "sequence")["present_places"][0]
        return converted(partial(forward, model, bounds), name, tokens, outputs)
    outputs |= {state: shape for state, (shape, _) in state_shapes("present", "total").items()}
    return converted(
        partial(decode, model, bounds), name, tokens | state_shapes("past", "past"), outputs
    )


# What the graph computes.


def forward(
    model: Transformer, limits: Mapping[str, int], tokens: Tokens
) -> tuple[Logits, Int[Array, "batch time columns"]]:
    """Return logits at each token of whole texts and its place, for a model that is not causal."""
    index = jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    start = jnp.zeros((1, 1 + len(model.layout.axes)), jnp.int32)
    tokens, where, places = followed(model.layout, limits, tokens, index, start)
    return all_logits(model, tokens, where, UNBOUNDED), places


def decode(
    model: Transformer,
    limits: Mapping[str, int],
    tokens: Tokens,
    places: Int[Array, "batch past columns"],
    keys: Float[Array, "layers batch past kv_heads features"],
    values: Float[Array, "layers batch past kv_heads features"],
) -> tuple[Logits, Array, Array, Array]:
    """Return logits for the token after each new token, and places, keys and values with theirs.

    The state of a token is its place, and keys and values of each layer of each recurrence.
    """
    begun = jnp.sum(jnp.ones_like(places[..., 0]), axis=1, keepdims=True)
    index = begun + jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    newest = jnp.where(places[..., :1] == begun[..., None] - 1, places[..., 2:], 0)
    start = jnp.sum(newest, axis=1)
    tokens, where, new_places = followed(model.layout, limits, tokens, index, start)
    places = jnp.concatenate([places, new_places], axis=1)
    seen = TokenPositions(places[..., 0], places[..., 1], places[..., 3:])
    context = model.context(tokens, where, seen)
    x, present = model.initial_state(context.embedded), list[KV]()
    past = list(zip(keys, values, strict=True))

    def store(past: KV, keys: KVHeads, values: KVHeads) -> tuple[Array, Array, KV]:
        """Let new tokens attend to all tokens so far, themselves included."""
        keys = jnp.concatenate([past[0], keys], axis=1)
        values = jnp.concatenate([past[1], values], axis=1)
        return keys, values, (keys, values)

    for _ in range(model.config.num_recurrences):
        layers = past[len(present) :][: model.config.num_attention_layers]
        attends = [partial(model.attend, store=partial(store, kv)) for kv in layers]
        x, layer_states = model.run_blocks(x, context, attends)
        present += layer_states
    keys, values = (jnp.stack(part) for part in zip(*present, strict=True))
    return model.logits(x, tokens), places, keys, values


def followed(
    layout: Layout,
    limits: Mapping[str, int],
    tokens: Tokens,
    index: Int[Array, "batch time"],
    start: Int[Array, "#batch states"],
) -> tuple[Tokens, TokenPositions, Int[Array, "batch time columns"]]:
    """Return the tokens, the position of each, and the same as columns; no token is padding.

    `start` is the state before the first token, then its coordinates. Columns are the index of each
    token, its role, the layout's state after it, and its coordinates. A graph fails for a token,
    an index or a coordinate beyond its limit.
    """

    def step(state: Array, token: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        state, role, coordinates = layout.automaton.step(state, token)
        return state, (state[..., 0], role, coordinates)

    def within(tokens: Tokens, count: int, numbers: Array) -> Tokens:
        return tokens + jnp.zeros(count, jnp.int32).at[numbers].get(mode="promise_in_bounds")

    count = len(layout.characters)
    tokens = within(within(tokens, count, tokens), count, count - 1 - tokens)  # nor below 0
    start = jnp.broadcast_to(start, (tokens.shape[0], start.shape[1]))
    states, roles, coordinates = jax.lax.scan(step, start, tokens.T)[1]
    role, coordinates = roles.T, jnp.swapaxes(coordinates, 0, 1)
    if most := limits.get("longest_text"):
        tokens = within(tokens, most, index)
    if most := limits.get("highest_coordinate"):
        tokens = within(tokens, most + 1, jnp.maximum(coordinates.max(axis=-1), 0))
    columns = jnp.concatenate([jnp.stack([index, role, states.T], axis=-1), coordinates], axis=-1)
    return tokens, TokenPositions(index, role, coordinates), columns


# Conversion of a JAX function to a graph with named sizes.


def converted(
    function: Callable[..., Any],
    name: str,
    inputs: Mapping[str, tuple[Axes, Any]],
    outputs: Mapping[str, Axes],
) -> Any:
    """Return a function of arrays as a graph, an `onnx.ModelProto`.

    `inputs` have a shape and a type each, `outputs` a shape, both in order.
    """
    converter = optional_module("jax2onnx", extra="onnx")
    scope = jax.export.SymbolicScope()  # a name is the same size in all inputs
    arguments = [
        jax.ShapeDtypeStruct(
            jax.export.symbolic_shape(", ".join(map(str, axes)), scope=scope), jnp.dtype(dtype)
        )
        for axes, dtype in inputs.values()
    ]
    # primitives only: the converter replaces functions of JAX by its own while it traces
    traced = inlined(jax.make_jaxpr(function)(*arguments))
    logger = logging.getLogger("onnx_ir")  # which warns of what it leaves out of the file
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        model = converter.to_onnx(
            jaxpr_as_fun(traced),
            inputs=arguments,
            input_names=list(inputs),
            output_names=list(outputs),
            model_name=name,
            opset=OPSET,
        )
    finally:
        logger.setLevel(level)
    _drop_unused(model.graph)
    for output in model.graph.output:
        axes = outputs[output.name]
        for dimension, axis in zip(output.type.tensor_type.shape.dim, axes, strict=True):
            if isinstance(axis, str):
                dimension.dim_param = axis
            else:
                dimension.dim_value = axis
    return model


def inlined(traced: Any) -> Any:
    """Return the same program (a `ClosedJaxpr`) without calls, also in bodies of loops."""
    return jax.make_jaxpr(partial(_evaluate, traced))(*traced.in_avals)


def _evaluate(traced: Any, *arguments: Any) -> list[Any]:
    """Return the results of a traced program, primitive by primitive."""
    jaxpr = traced.jaxpr
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*traced.consts, *arguments), strict=True))

    def value(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    for equation in jaxpr.eqns:
        primitive, settings = equation.primitive, equation.params
        operands = [value(atom) for atom in equation.invars]
        if primitive.name in CALLS:
            results = _evaluate(settings[CALLS[primitive.name]], *operands)
        else:
            if primitive.name == "scan":
                settings = {**settings, "jaxpr": inlined(settings["jaxpr"])}
            results = primitive.bind(*operands, **settings)
            results = results if primitive.multiple_results else [results]
        values |= dict(zip(equation.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def _drop_unused(graph: Any) -> set[str]:
    """Remove unused constants from a graph and its loops, since runtimes warn of each.

    Returns every name that the graph, or one within it, takes or returns.
    """
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            names |= _drop_unused(attribute.g) if attribute.HasField("g") else set()
    for unused in [constant for constant in graph.initializer if constant.name not in names]:
        graph.initializer.remove(unused)
    return names
