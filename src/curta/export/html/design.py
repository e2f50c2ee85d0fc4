"""What a page must know besides the weights: a table of plain values, written as JSON."""

import base64
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from curta.config.task import Task
from curta.evaluation.results import read_windows
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text
from curta.problems.task_sizes import span
from curta.programs import PROGRAMS
from curta.programs.declared import Declared
from curta.programs.machine import store
from curta.programs.machine.machine import Machine, Windows
from curta.programs.user.run_snapshot import stored
from curta.runs import folders
from curta.runs.folders import Folder

if TYPE_CHECKING:
    from curta.export.html.page import Carried

TOKENS = 12_000
"""The longest text that a page writes: beyond, drawing it takes longer than calculating it."""
WHOLE_TOKENS = 1_000
"""The same without a window, where each token looks at all before it."""
DIGITS = 1_000
OPERANDS = 50

OPENING = "57+68"
"""What a page of sums writes as it opens: it has a carry. Others begin with their own example."""

RIGHTS = 1_000_000
"""The most characters that a page carries of a certificate."""

RECORDED = 4
"""Recorded problems of each operator that a page offers."""
RECORDED_CHARACTERS = 60
"""Characters of such a problem, at most."""
RECORDED_TOKENS = 500
"""Tokens of its text, at most: the page writes all of them before anybody asks."""


def table(run: "Carried") -> dict[str, Any]:
    """Everything about a model but its weights: its shape, its layout, how problems are put."""
    recipe, layout = run.recipe, run.layout
    machine: Machine | None = getattr(layout, "machine", None)
    about: dict[str, Any] = {
        "config": asdict(replace(recipe.model, weight_sharing=())),
        "positions": asdict(recipe.positions),
        "parameters": run.parameters,
        "structure": folders.structure(recipe),
        "tokens": TOKENS if run.windowed else WHOLE_TOKENS,
        "digits": DIGITS if run.windowed else WHOLE_TOKENS // 2,
        "operands": OPERANDS,
        "operations": {},
        "recorded": [],
    }
    for task in recipe.tasks:
        operation = OPERATIONS.get(task.operator)
        example = operation.example if operation else ""
        if machine is not None:
            form = machine.formats[task.operator]
            decimal = all(part.base == 10 for part in form.givens)
            if not operation or not (decimal or operation.base is not None):
                # `12@34`, `gcd 12,34`, `0xc-0x22`
                example = Declared(task.operator, form, None, lambda operands: operands).example
        about["operations"][task.operator] = {
            "name": operation.name if operation else task.operator,
            "example": example,
            "trained": span(task),
            "known": operation is not None,
        }
    is_sum = recipe.tasks[0].operator == "+" and recipe.tasks[0].base == 10
    examples = (each["example"] for each in about["operations"].values())
    about["opening"] = OPENING if is_sum else [*recipe.evaluation.named, *examples][0]
    if machine is None:
        return about | _published(recipe.tasks, layout)
    about["layout"] = _program(machine, layout.windows)
    if run.folder is None or all(name in PROGRAMS for name in run.folder.read_info().programs):
        return about
    return about | {"recorded": _recorded(run.folder, machine), **_rights(run.folder)}


def _program(machine: Machine, windows: Windows) -> dict[str, Any]:
    """The tables of a program: one state, the neighbours of each role, and prompts as tokens.

    `formats` describe how problems are put, as `store.dump` does, with all tokens that a part of a
    prompt can have in the order of `Format.every`.
    """
    content = store.dump(machine, windows)
    tokens, formats = content["tokens"], content["formats"]
    for operator, form in machine.formats.items():
        for part, described in zip(form.parts, formats[operator]["parts"], strict=True):
            every = replace(form, parts=(part,)).every()
            described["tokens"] = [machine.numbers[key] for key in every]
    digits = {token.role for token in machine.tokens if token.value is not None}
    return {
        "axes": machine.axes,
        "roles": [
            {"name": role.name, "digit": role.name in digits, "broadcast": mask}
            for role, mask in zip(machine.roles, machine.broadcast_mask.tolist(), strict=True)
        ],
        "automaton": {
            "next": [[0] * len(tokens)],
            "role": [machine.role.tolist()],
            "home": [[token["home"] for token in tokens]],
            "offset": [[token["offset"] for token in tokens]],
        },
        "near": machine.neighbours(windows),
        "characters": [token.symbol for token in machine.tokens],
        "end": machine.end,
        "tokens": tokens,
        "formats": formats,
    }


def _published(tasks: tuple[Task, ...], layout: Any) -> dict[str, Any]:
    """The rules for roles and positions of a published layout, for its prompts and answers.

    Operands are described as those of a machine are, for `problems.js`.
    """
    from curta.export.base import layout_table

    longest = None
    if not layout.end_sign:  # a completion has always as many tokens
        longest = layout.bounds(layout.operators[0], (1, 1)).completion
    formats, forms = {}, {}
    for task in tasks:
        operation = OPERATIONS[task.operator]
        forms[task.operator] = {
            "mark": operation.mark,
            "prompt": layout.prompt_format(task.operator)._asdict(),
            "answer": layout.answer_pattern(task.operator)._asdict(),
        }
        operand = {"kind": "given", "base": 10, "many": None, "follows": False}
        operands = [operand] * operation.least
        if min(operation.most or OPERANDS, layout.most or OPERANDS) > operation.least:
            operands[-1] = operand | {"many": "operands"}
        formats[task.operator] = {"parts": operands, "answer": {"base": 10}}
    characters = {"characters": list(layout.characters), "end": layout.end, "longest": longest}
    return {
        "layout": layout_table(layout)
        | characters
        | {"axes": layout.axes, "forms": forms, "formats": formats},
        "digits": layout.longest or WHOLE_TOKENS // 2,
        "operands": layout.most or OPERANDS,
    }


def _rights(folder: Folder) -> dict[str, Any]:
    """The right token after every window of the certificate of a user's program.

    With them a page writes the right text of any problem. `rights` has the windows one after the
    other, each with its target at the end, as bytes or 16-bit numbers; `uncarried` counts windows
    that are too many.
    """
    certificate, windows = folder.read_certificate(), read_windows(folder.path)
    if certificate is None or windows is None or certificate.conflicts:
        return {}
    rows = np.column_stack([windows.rows, windows.targets])
    kind = np.uint8 if rows.max() < 256 else np.dtype("<u2")
    text = base64.b64encode(rows.astype(kind).tobytes()).decode()
    if len(text) > RIGHTS:
        return {"uncarried": len(rows)}
    bits = 8 * np.dtype(kind).itemsize
    return {"rights": {"columns": rows.shape[1], "bits": bits, "text": text}}


def _recorded(folder: Folder, machine: Machine) -> list[dict[str, Any]]:
    """A few of the problems that the run has kept, of each operator short and long ones."""
    by_operator: dict[str, dict[str, dict[str, Any]]] = {}
    for record in stored(folder.path):
        base = machine.limits[record.operator].base
        problem = Problem(record.operator, record.operands, base)
        text = str(problem)
        if len(text) <= RECORDED_CHARACTERS and len(record.tokens) <= RECORDED_TOKENS:
            by_operator.setdefault(record.operator, {})[text] = {
                "problem": text,
                "operator": record.operator,
                "operands": list(map(str, record.operands)),
                "truth": answer_text(record.truth, problem.answer_base),
            }
    chosen: list[dict[str, Any]] = []
    for by_text in by_operator.values():
        ordered = sorted(by_text.values(), key=lambda each: len(each["problem"]))
        chosen += ordered[:: max(1, -(-len(ordered) // RECORDED))]
    return chosen
