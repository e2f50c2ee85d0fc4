"""A layout's `step` as JavaScript."""

import json

from ..layouts import Layout
from ..layouts.translated import Dialect, translated

INFIX = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "===", "ne": "!==",
    "and": "&&", "or": "||",
}  # fmt: skip
CALLED = {"max": "Math.max({}, {})", "min": "Math.min({}, {})", "mul": "Math.imul({}, {})"}
WRAPPED = {"add": "({} + {}) | 0", "sub": "({} - {}) | 0"}

JAVASCRIPT = Dialect(
    name="JavaScript",
    line="const {} = {};",
    binary={name: f"{{}} {sign} {{}}" for name, sign in INFIX.items()} | CALLED | WRAPPED,
    negated="!{}",
    chosen="{} ? {} : {}",
    integer="Number({})",
    boolean="Boolean({})",
    first="Math.max([{}].indexOf(true), 0)",
    clamped="Math.min(Math.max({}, 0), {})",
    literal=json.dumps,
)


def step(layout: Layout) -> str:
    """`function step(state, token)`, which returns the new state, the kind and the coordinates."""
    lines, state, kind, coordinates = translated(layout, JAVASCRIPT)
    result = f"return [[{state}], {kind}, [{coordinates}]];"
    return "\n  ".join(["function step(state, token) {", *lines, result]) + "\n}\n"
