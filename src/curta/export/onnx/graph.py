"""Convert a JAX function to an ONNX graph with named sizes."""

import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from curta.config.errors import UserError
from curta.config.registry import optional_module
from curta.layouts import ShapeBounds
from curta.model.transformer import Transformer

OPSET = 21
"""Of 2024, so that older runtimes in browsers and on phones open it."""

MOST = 1 << 24
"""Positions beyond which a limit counts as none."""

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
"""Primitives that only call the program in the parameter named here."""

Axes = Sequence[str | int]
"""The size of each axis of an array, or its name if it is variable."""


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


def limits(model: Transformer) -> dict[str, int]:
    """Return the most tokens of a text and the highest coordinate, as far as they are limited."""
    axes = len(model.layout.axes)
    bounds: dict[str, Callable[[int], ShapeBounds]] = {
        "longest_text": lambda size: ShapeBounds(size, 0, ((0, 0),) * axes),
        "highest_coordinate": lambda size: ShapeBounds(1, 0, ((0, size),) * axes),
    }

    def too_large(of_size: Callable[[int], ShapeBounds], size: int) -> bool:
        try:
            model.positions.check(of_size(size))
        except UserError:
            return True
        return False

    sizes = range(1, MOST + 1)
    most = {
        name: bisect_left(sizes, True, key=partial(too_large, of_size))
        for name, of_size in bounds.items()
    }
    return {name: size for name, size in most.items() if size < MOST}
