"""What a page must know besides the weights: a table of plain values, written as JSON."""

from itertools import takewhile
from typing import Any

from .. import runs
from ..layouts import Layout
from ..layouts.base import END
from ..model import Transformer, parameters
from ..operations import OPERATIONS
from ..positions.window import WindowEncoding
from ..problems import MAX_OPERANDS
from ..recipe import Recipe
from ..tasks import Task

TOKENS = 4_000
"""The longest text that a page writes: beyond, drawing it takes longer than calculating it."""
DIGITS = 1_000
OPERANDS = 50


def table(recipe: Recipe, model: Transformer) -> dict[str, Any]:
    """Everything about a model but its weights."""
    layout, settings, encoding = model.layout, model.settings, model.positions
    assert isinstance(encoding, WindowEncoding)
    return {
        "characters": list(layout.characters),
        "end": layout.characters.index(END),
        "axes": list(layout.axes),
        "kinds": [_kind(layout, number) for number in range(len(layout.kinds))],
        "near": [[[kind, *moved] for kind, moved in group] for group in encoding.near],
        "states": layout.states,
        "width": settings.width,
        "heads": settings.heads,
        "blocks": settings.blocks,
        "attending": settings.attending,
        "activation": settings.activation,
        "centred": settings.norm != "rms",
        "parameters": parameters(model),
        "structure": runs.structure(recipe),
        "tokens": TOKENS,
        "operations": {task.operator: _operation(layout, task) for task in recipe.tasks},
    }


def _kind(layout: Layout, number: int) -> dict[str, Any]:
    kind = layout.kinds[number]
    wild = [axis in kind.wild for axis in layout.axes]
    return {"name": kind.name, "group": kind.group, "wild": wild}


def _operation(layout: Layout, task: Task) -> dict[str, Any]:
    """How problems of a task are read from a person, put to the model, and answered."""
    operation = OPERATIONS[task.operator]
    most = min(operation.most or MAX_OPERANDS, layout.most or MAX_OPERANDS, OPERANDS)
    return {
        "name": operation.name,
        "example": operation.example,
        "least": operation.least,
        "most": most,
        "digits": _longest(layout, task.operator),
        "trained": [min(low for low, _ in task.spans), max(high for _, high in task.spans)],
        "form": layout.form(task.operator)._asdict(),
        "reading": layout.reading(task.operator)._asdict(),
    }


def _longest(layout: Layout, operator: str) -> int:
    """The most digits of every operand with which a text is not longer than `TOKENS`."""
    least = OPERATIONS[operator].least
    most = min(layout.longest or DIGITS, DIGITS)
    rooms = (layout.room(operator, (digits,) * least).total for digits in range(2, most + 1))
    return 1 + sum(1 for _ in takewhile(lambda total: total <= TOKENS, rooms))
