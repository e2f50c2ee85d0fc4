"""The settings of a model over whole texts that its page needs besides the weights, as JSON."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.export.base import layout_table, machine_data
from curta.export.html.design import OPERANDS, operation
from curta.export.html.evidence import evidence
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.runs import folders

if TYPE_CHECKING:
    from curta.export.html.assembled import Carried

TOKENS = 1_000
"""The longest text that a page writes: each token looks at all before it."""


def table(run: "Carried", layout: Layout) -> dict[str, Any]:
    """Everything about a model but its weights: its shape, its positions, how problems are put."""
    recipe = run.recipe
    machine = layout.machine if isinstance(layout, ProgramLayout) else None
    return {
        "config": asdict(replace(recipe.model, weight_sharing=())),
        "positions": asdict(recipe.positions),
        "layout": _layout(recipe, layout),
        "machine": machine_data(layout) or {"formats": _formats(recipe, layout)},
        "parameters": run.parameters,
        "structure": folders.structure(recipe),
        "tokens": TOKENS,
        "digits": layout.longest or TOKENS // 2,
        "operands": layout.most or OPERANDS,
        "operations": {task.operator: _operation(layout, task) for task in recipe.tasks},
        "recorded": evidence(run.folder, machine)["recorded"] if machine else [],
    }


def _operation(layout: Layout, task: Task) -> dict[str, Any]:
    if isinstance(layout, ProgramLayout):
        return operation(layout.machine, task)
    known = OPERATIONS[task.operator]
    return {
        "name": known.name,
        "example": known.example,
        "trained": task_sizes.span(task),
        "known": True,
    }


def _layout(recipe: Recipe, layout: Layout) -> dict[str, Any]:
    """The rules for roles and positions; for a published layout, prompts and answers as well."""
    table = layout_table(layout) | {
        "axes": layout.axes,
        "characters": list(layout.characters),
        "vocabulary": layout.vocabulary,
        "end": layout.end,
    }
    if isinstance(layout, ProgramLayout):
        return table
    return table | {"longest": _longest(layout), "forms": _forms(recipe, layout)}


def _longest(layout: Layout) -> int | None:
    """Length of a completion that has no end sign; None if it has one."""
    if layout.end_sign:
        return None
    return layout.bounds(layout.operators[0], (1, 1)).completion


def _forms(recipe: Recipe, layout: Layout) -> dict[str, Any]:
    """The form of each operator's prompt and answer, where the layout has it as data."""
    return {
        task.operator: {
            "mark": OPERATIONS[task.operator].mark,
            "prompt": layout.prompt_format(task.operator)._asdict(),
            "answer": layout.answer_pattern(task.operator)._asdict(),
        }
        for task in recipe.tasks
    }


def _formats(recipe: Recipe, layout: Layout) -> dict[str, Any]:
    """The operands of each operator in the form of a machine's formats, for `problems.js`."""
    return {task.operator: _format(layout, task.operator) for task in recipe.tasks}


def _format(layout: Layout, operator: str) -> dict[str, Any]:
    operation = OPERATIONS[operator]
    most = min(one or OPERANDS for one in (operation.most, layout.most))
    given = {"kind": "given", "base": 10, "many": None, "follows": False}
    parts = [given] * operation.least
    if most > operation.least:
        parts[-1] = given | {"many": "operands"}
    return {"parts": parts, "answer": {"base": 10}}
