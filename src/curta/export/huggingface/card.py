"""The model's card: what it is, how it is used, what was found, and where it ends."""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.task import Span, Task
from curta.evaluation.results import SliceSummary
from curta.export.base import Exported
from curta.export.huggingface.model_class import ConstantTensor, FileTensors, ModelClass
from curta.export.huggingface.tokenizer import texts
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import parameters
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse, widths
from curta.report.rendering import render_text
from curta.runs.folders import structure
from curta.runs.provenance import versions

LICENSE = "apache-2.0"
"""Curta's own, which its code in the folder has; by the Hub's name."""


def card(
    member: Exported, model_class: ModelClass, tensors: FileTensors, config: Mapping[str, Any]
) -> str:
    """README.md: a header for the Hub, then text."""
    recipe, layout, summary = member.recipe, member.model.layout, member.summary
    operators = [task.operator for task in recipe.tasks]
    program, asked = isinstance(layout, ProgramLayout), _asked(recipe.tasks[0], layout)
    return render_text(
        "export/model.md",
        member=member,
        recipe=recipe,
        layout=layout,
        model_class=model_class,
        config=config,
        own=bool(model_class.code()),
        parameters=parameters(member.model),
        version=versions()["curta"],
        operators=operators,
        asked=asked,
        right=_right(asked),
        tokens=_tokens(layout, asked) if program else "",
        examples=[] if program else [_example(layout, task) for task in recipe.tasks],
        license=LICENSE,
        index=_index(member),
        structure=structure(recipe),
        windows=isinstance(recipe.positions, Window),
        steps=summary.training.steps if summary else 0,
        trained=[_trained(task) for task in recipe.tasks],
        rows=summary.results.lengths if summary else [],
        constants=any(isinstance(each, ConstantTensor) for each in tensors),
    )


def _asked(task: Task, layout: Layout) -> Problem:
    """The operation's example if such problems are trained on, else one that is."""
    base, (few, many) = layout.base(task.operator), task_sizes.counts(task)
    example = replace(parse(OPERATIONS[task.operator].example), base=base)
    if few <= len(example.operands) <= many and _trained_on(task, example):
        return example
    operands = (_within(task, place, base) for place in range(few))
    return Problem(task.operator, tuple(operands), base)


def _trained_on(task: Task, problem: Problem) -> bool:
    """Whether a task has operands as large as those of a problem."""
    if task.values:
        return all(task.values[0] <= value <= task.values[1] for value in problem.operands)
    pairs = enumerate(widths(problem))
    return all(low <= width <= high for place, width in pairs for low, high in [_span(task, place)])


def _span(task: Task, place: int) -> Span:
    """Fewest and most digits of the operand at a place."""
    return task_sizes.sizes(task).digits(place)


def _within(task: Task, place: int, base: int) -> int:
    """An operand of the least length that a task has, but of two digits if it may."""
    if task.values:
        return (task.values[0] + task.values[1]) // 2
    low, high = _span(task, place)
    number = 0
    for digit in range(min(max(low, 2), high)):
        number = number * base + 1 + (digit + 2 * place) % (base - 1)
    return number


def _index(member: Exported) -> list[str]:
    """The evaluation's results as the Hub reads them, each as JSON."""
    rows = member.summary.results.lengths if member.summary else []
    known = [(row, row.exact_match.members[member.number]) for row in rows]
    return [json.dumps(_result(row, share)) for row, share in known if share is not None]


def _result(row: SliceSummary, share: float) -> dict[str, Any]:
    name = f"{OPERATIONS[row.operator].name} ({row.operator}), {row.size} digits, {row.slice_name}"
    return {
        "task": {"type": "text-generation", "name": "arithmetic"},
        "dataset": {"type": "curta", "name": f"{name}, {row.count} problems"},
        "metrics": [{"type": "exact_match", "name": "exact match", "value": share}],
    }


def _right(problem: Problem) -> str:
    """The right answer as a comment; nothing where the program's code is not known."""
    try:
        truth = problem.truth
    except UserError:
        return ""
    exact = f"{truth}, which is " if isinstance(truth, Fraction) else ""
    return f"  # {exact}{answer_text(truth)}"


def _tokens(layout: Layout, problem: Problem) -> str:
    """The prompt of a program: a token on each line."""
    return "".join(texts(layout)[token] for token in layout.prompt_tokens(problem))


def _example(layout: Layout, task: Task) -> dict[str, Any]:
    """How a published layout writes a problem."""
    problem = _asked(task, layout)
    prompt = layout.prompt(problem)
    return {
        "problem": problem,
        "answer": answer_text(problem.truth),
        "prompt": prompt,
        "completion": layout.write(problem).removeprefix(prompt),
    }


def _trained(task: Task) -> dict[str, Any]:
    return {
        "name": OPERATIONS[task.operator].name,
        "operator": task.operator,
        "counts": task_sizes.counts(task),
        "digits": task_sizes.span(task),
    }
