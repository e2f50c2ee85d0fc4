"""What a page must know besides the weights: a table of plain values, written as JSON."""

from typing import TYPE_CHECKING, Any, cast

from curta.config.task import Task
from curta.export.html.evidence import evidence
from curta.problems.numerals import DIGITS as SYMBOLS
from curta.problems.numerals import written
from curta.problems.operations import OPERATIONS
from curta.problems.task_sizes import span
from curta.programs.machine import Given, Sign, compound, store
from curta.programs.machine.machine import Machine
from curta.programs.machine.prompt import Format
from curta.runs import folders

if TYPE_CHECKING:
    from curta.export.html.assembled import Carried

TOKENS = 12_000
"""The longest text that a page writes: beyond, drawing it takes longer than calculating it."""
DIGITS = 1_000
OPERANDS = 50


def table(run: "Carried") -> dict[str, Any]:
    """Everything about a model but its weights: its machine as data, its shape, its operations."""
    recipe, settings, layout = run.recipe, run.recipe.model, cast(Any, run.layout)
    machine = layout.machine
    return {
        "machine": store.dump(machine, layout.windows),
        "width": settings.width,
        "heads": settings.heads,
        "layers": settings.num_layers,
        "activation": settings.activation,
        "centred": settings.norm != "rms",
        "parameters": run.parameters,
        "structure": folders.structure(recipe),
        "tokens": TOKENS,
        "digits": DIGITS,
        "operands": OPERANDS,
        "operations": {task.operator: operation(machine, task) for task in recipe.tasks},
        **evidence(run.folder, machine),
    }


def operation(machine: Machine, task: Task) -> dict[str, Any]:
    """Describe a task: an example, the trained sizes, and whether Curta knows the truth."""
    known = OPERATIONS.get(task.operator)
    form = machine.formats[task.operator]
    plain = known is not None and (known.base is not None or _bases(form) == {10})
    return {
        "name": known.name if known else task.operator,
        "example": known.example if known and plain else example(task.operator, form),
        "trained": span(task),
        "known": known is not None,
    }


def _bases(form: Format) -> set[int]:
    """The bases of the operands."""
    return {part.base for part in form.parts if isinstance(part, Given)}


def example(operator: str, form: Format) -> str:
    """A problem of an operator of which nothing but its prompt is known: `12@34`, `gcd(12, 34)`."""
    givens = [part for part in form.parts if isinstance(part, Given)]
    count = len(givens) + (givens[-1].many is not None)
    values = [_value(part.base, n) for n, part in enumerate([*givens, givens[-1]][:count])]
    if form.compound:
        return compound.text(form, operator, values)
    if operator.isalpha() or count == 1 or not any(isinstance(p, Sign) for p in form.parts):
        return f"{operator}({', '.join(values)})"
    return operator.join(values)


def _value(base: int, number: int) -> str:
    """`12`, `34`, ...; in the base of the operand, as `0x12` or `3#12` where that is not 10."""
    value = (2 * number + 1) * base + (2 * number + 2) % base
    return written(value, base if base <= len(SYMBOLS) else 10)
