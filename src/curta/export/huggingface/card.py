"""The model's card: what it is, how to use it, its results and its limits."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from curta.config.errors import UserError
from curta.config.task import Task
from curta.export.base import Exported
from curta.export.dataset import larger_than_trained
from curta.export.huggingface.classes import ModelClass
from curta.export.huggingface.tokenizer import texts
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import parameters
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse
from curta.report.rendering import render_text
from curta.runs.folders import structure
from curta.runs.provenance import versions


def card(member: Exported, model_class: ModelClass, config: Mapping[str, Any]) -> str:
    """Return README.md: a header for the Hub, then text."""
    recipe, layout = member.recipe, member.model.layout
    program, example = isinstance(layout, ProgramLayout), _example(recipe.tasks[0], layout)
    right = ""
    with suppress(UserError):  # without the program's code
        truth = example.truth
        exact = f"{truth}, which is " if isinstance(truth, Fraction) else ""
        right = f"  # {exact}{answer_text(truth)}"
    results = []  # of the evaluation, as the Hub reads them
    for row in member.rows:
        share = row.exact_match.members[member.number]
        if share is not None:
            operation = f"{OPERATIONS[row.operator].name} ({row.operator})"
            name = f"{operation}, {row.size} digits, {row.slice_name}, {row.count} problems"
            result = {
                "task": {"type": "text-generation", "name": "arithmetic"},
                "dataset": {"type": "curta", "name": name},
                "metrics": [{"type": "exact_match", "name": "exact match", "value": share}],
            }
            results.append(json.dumps(result))
    return render_text(
        "export/model.md",
        member=member,
        recipe=recipe,
        layout=layout,
        model_class=model_class,
        config=config,
        parameters=parameters(member.model),
        version=versions()["curta"],
        asked=example,
        right=right,
        tokens="".join(texts(layout)[n] for n in layout.prompt_tokens(example)) if program else "",
        examples=[] if program else [_example(task, layout) for task in recipe.tasks],
        answer_text=answer_text,
        index=results,
        structure=structure(recipe),
        operations=OPERATIONS,
        counts=task_sizes.counts,
        span=task_sizes.span,
    )


def _example(task: Task, layout: Layout) -> Problem:
    """Return the operation's example; smaller numbers, of two digits if possible, if too large."""
    base, count = layout.base(task.operator), task_sizes.counts(task)[0]
    example = replace(parse(OPERATIONS[task.operator].example), base=base)
    if not larger_than_trained(task, example) and len(example.operands) >= count:
        return example
    if task.values:
        return Problem(task.operator, (sum(task.values) // 2,) * count, base)
    operands = []
    for place in range(count):  # 12, 34, 56
        low, high = task_sizes.sizes(task).digits(place)
        digits = [1 + (n + 2 * place) % (base - 1) for n in range(min(max(low, 2), high))]
        operands.append(sum(digit * base**n for n, digit in enumerate(reversed(digits))))
    return Problem(task.operator, tuple(operands), base)
