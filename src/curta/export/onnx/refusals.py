"""What a graph refuses: tokens that there are not, and texts longer than its positions.

ONNX has no assertions. But a `Gather` beyond the end of a table is an error by the standard, and
runtimes say which node it was. So every limit is a table of zeros, what it gives is added to the
tokens or to the logits, and the node's name is what there is to say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from curta.config.errors import UserError
from curta.config.registry import optional_module
from curta.layouts import ShapeBounds
from curta.model.positions.base import Encoding
from curta.model.transformer import Transformer

MOST = 1 << 24
"""Positions beyond which a limit is none."""


def limits(model: Transformer) -> dict[str, int]:
    """The most tokens of a text, and the highest coordinate, as far as there are limits."""
    axes = len(model.layout.axes)
    found = {
        "longest_text": _most(model.positions, lambda size: ShapeBounds(size, 0, ((0, 0),) * axes)),
        "highest_coordinate": _most(
            model.positions, lambda size: ShapeBounds(1, 0, ((0, size),) * axes)
        ),
    }
    return {name: most for name, most in found.items() if most < MOST}


def _most(encoding: Encoding, bounds: Callable[[int], ShapeBounds]) -> int:
    """The greatest size below `MOST` for which there are positions."""
    least, beyond = 0, MOST + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        try:
            encoding.check(bounds(middle))
            least = middle
        except UserError:
            beyond = middle
    return least


def refuse(graph: Any, tokens: int, limits: dict[str, int]) -> None:
    """Lets a graph of `tokens` to `logits` and `present_places` refuse what it is not made for."""
    _refuse_tokens(graph, tokens)
    if limits:
        _refuse_places(graph, limits)


def _refuse_tokens(graph: Any, count: int) -> None:
    """Before all else: tokens that are not below a count, or are below zero."""
    added, what = _Nodes("tokens"), f"a token that is none of the {count}"
    zeros = np.zeros(count, np.int32)
    mirrored = added.node("Sub", added.constant(np.int32(count - 1)), "tokens")
    known = added.node("Add", "tokens", added.limit(what, zeros, "tokens"))
    known = added.node("Add", known, added.limit(f"{what}, but negative", zeros, mirrored))
    for node in graph.node:
        _rename(node.input, "tokens", known)
    own = list(graph.node)
    del graph.node[:]
    graph.node.extend([*added.nodes, *own])
    graph.initializer.extend(added.constants)


def _refuse_places(graph: Any, limits: dict[str, int]) -> None:
    """After all else: more tokens, or higher coordinates, than there are positions."""
    added, before, places = _Nodes("places"), "logits before limits", "present_places"
    for node in graph.node:
        _rename(node.input, "logits", before)
        _rename(node.output, "logits", before)
    found = before
    if most := limits.get("longest_text"):
        one = added.constant(np.int64(1))
        newest = added.node("Sub", added.node("Gather", added.node("Shape", places), one), one)
        zero = added.limit(f"a text of more than {most} tokens", np.zeros(most, np.float32), newest)
        found = added.node("Add", found, zero)
    if most := limits.get("highest_coordinate"):
        span = (added.constant(np.array([end], np.int64)) for end in (3, MOST, 2))
        highest = added.node("ReduceMax", added.node("Slice", places, *span), keepdims=0)
        zeros = np.zeros(most + 1, np.float32)
        found = added.node("Add", found, added.limit(f"a coordinate above {most}", zeros, highest))
    added.node("Identity", found, output="logits")
    graph.node.extend(added.nodes)
    graph.initializer.extend(added.constants)


def _rename(names: Any, old: str, new: str) -> None:
    names[:] = [new if name == old else name for name in names]


class _Nodes:
    """Nodes and constants that a graph is to have besides its own."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.helper = optional_module("onnx.helper", extra="onnx")
        self.arrays = optional_module("onnx.numpy_helper", extra="onnx")
        self.nodes, self.constants = list[Any](), list[Any]()

    def node(
        self, kind: str, *inputs: str, name: str = "", output: str = "", **attributes: Any
    ) -> str:
        """The output of a new node."""
        output = output or f"{self.prefix} node {len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def constant(self, value: Any) -> str:
        name = f"{self.prefix} constant {len(self.constants)}"
        self.constants.append(self.arrays.from_array(np.asarray(value), name))
        return name

    def limit(self, what: str, zeros: Any, index: str) -> str:
        """Zeros; an error that says `what` where an index is beyond them."""
        return self.node("Gather", self.constant(zeros), index, name=f"refuses {what}")
