"""A function of JAX as an ONNX graph whose sizes have names."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from curta.config.registry import optional_module
from curta.export.inlined import inlined

OPSET = 21
"""Of 2024: older runtimes in browsers and on phones open it."""

Axes = Sequence[str | int]
"""The size of each axis of an array, or its name if it may be any."""


def converted(
    function: Callable[..., Any],
    name: str,
    inputs: Mapping[str, tuple[Axes, Any]],
    outputs: Mapping[str, Axes],
) -> Any:
    """A graph, an `onnx.ModelProto`, of a function that takes and hands out arrays, in order.

    `inputs` have a shape and a type each, `outputs` a shape.
    """
    converter = optional_module("jax2onnx", extra="onnx")
    given = _symbolic(inputs)
    # primitives only: the converter replaces functions of JAX by its own while it traces
    traced = inlined(jax.make_jaxpr(function)(*given))
    with _quiet("onnx_ir"):
        model = converter.to_onnx(
            jaxpr_as_fun(traced),
            inputs=given,
            input_names=list(inputs),
            output_names=list(outputs),
            model_name=name,
            opset=OPSET,
        )
    _drop_unused(model.graph)
    for output in model.graph.output:
        _name_axes(output, outputs[output.name])
    return model


def _symbolic(inputs: Mapping[str, tuple[Axes, Any]]) -> list[Any]:
    """The inputs as JAX traces them, all names in one scope."""
    scope = jax.export.SymbolicScope()
    shapes = [
        jax.export.symbolic_shape(", ".join(map(str, axes)), scope=scope)
        for axes, _ in inputs.values()
    ]
    return [
        jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))
        for shape, (_, dtype) in zip(shapes, inputs.values(), strict=True)
    ]


def _name_axes(output: Any, axes: Axes) -> None:
    """Writes the sizes and the names of an output's axes over what the converter made of them."""
    for dimension, axis in zip(output.type.tensor_type.shape.dim, axes, strict=True):
        if isinstance(axis, str):
            dimension.dim_param = axis
        else:
            dimension.dim_value = axis


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
