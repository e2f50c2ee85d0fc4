"""The model's card: what it is, how it is used, what was found, and where it ends."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.task import Task
from curta.export.base import Exported, trained_digits
from curta.export.huggingface.base import Family
from curta.export.huggingface.parts import Constant, Parts
from curta.export.huggingface.tokenizer import texts
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import parameters
from curta.problems import tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse
from curta.report.rendering import render_text
from curta.runs.folders import structure
from curta.runs.provenance import versions


def card(member: Exported, family: Family, parts: Parts, config: Mapping[str, Any]) -> str:
    """README.md: a header for the Hub, then text."""
    recipe, layout, summary = member.recipe, member.model.layout, member.summary
    operators = [task.operator for task in recipe.tasks]
    program, asked = isinstance(layout, ProgramLayout), _asked(operators[0])
    return render_text(
        "export/model.md",
        member=member,
        recipe=recipe,
        layout=layout,
        family=family,
        config=config,
        own=bool(family.code(member.model)),
        parameters=parameters(member.model),
        version=versions()["curta"],
        operators=operators,
        asked=asked,
        right=_right(asked),
        tokens=_tokens(layout, asked) if program else "",
        examples=[] if program else [_example(layout, operator) for operator in operators],
        structure=structure(recipe),
        windows=isinstance(recipe.positions, Window),
        steps=summary.training.steps if summary else 0,
        trained=[_trained(task) for task in recipe.tasks],
        rows=summary.results.lengths if summary else [],
        constants=any(isinstance(part, Constant) for part in parts),
    )


def _asked(operator: str) -> Problem:
    return parse(OPERATIONS[operator].example)


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


def _example(layout: Layout, operator: str) -> dict[str, Any]:
    """How a published layout writes a problem."""
    problem = _asked(operator)
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
        "counts": tasks.counts(task),
        "digits": trained_digits(task),
    }
