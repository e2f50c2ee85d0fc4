"""Pages that calculate: models at work, as a separate page or in a report.

`design_table` is what a page must know besides the weights: plain values, written as JSON.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import safetensors.numpy

from curta import reference
from curta.config import files
from curta.config.errors import UserError
from curta.config.positions import UserEncoding, Window
from curta.config.recipe import Recipe
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
from curta.report.rendering import PagePart, document, modules_text, package_text, render
from curta.runs import checkpoints, ownership
from curta.runs.folders import Folder, check_member, layout_in, structure

if TYPE_CHECKING:
    from curta.layouts import Layout

MODULES = (
    "layers", "changes", "encodings", "transformer", "writing", "problems", "layouts", "sheet",
    "drawing", "app",
)  # fmt: skip
"""Each after those that it imports; before them, the report's `elements`."""

BUDGET = 1_400_000
"""Most characters of weights that a report carries; one member is carried in any case."""

PARAMETERS = 500_000
"""The most parameters of a model that a page calculates without a window.

A member of that many is 2.7 MB of a page, and writes a sum of ten digits in less than a second.
"""

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


class MachineLayout(NamedTuple):
    """What a page under a window needs of a program's layout, which takes JAX to import."""

    machine: Machine
    windows: Windows


class Carried(NamedTuple):
    """The members of a run that a page is to carry, each as its weights by their path."""

    name: str
    recipe: Recipe
    layout: "Layout | MachineLayout"
    members: Sequence[Mapping[str, np.ndarray]]
    folder: Folder | None = None
    """Where the run has what is right of a user's program."""

    @property
    def parameters(self) -> int:
        """Those of one member."""
        return sum(weight.size for weight in self.members[0].values())

    @property
    def windowed(self) -> bool:
        return isinstance(self.recipe.positions, Window)

    def packed(self, member: int) -> str:
        """Return a member's tensors as the text of a safetensors file in base64.

        Written out is what several weights are made of: those that stand for others, the vectors
        of tokens that are sums of parts or lie on an arc, and the matrix of a tied head.
        """
        config, layout = self.recipe.model, self.layout
        composition = (
            layout.machine.features if isinstance(layout, MachineLayout) else layout.composition()
        )
        tensors = reference.unshared(config, self.members[member])
        characters = reference.character_vectors(config, tensors, composition)
        head = reference.head_matrix(config, tensors, characters)
        tensors |= {"characters": characters, "head": head}
        del tensors["tokens"]
        singles = {name: np.asarray(each, np.float32, order="C") for name, each in tensors.items()}
        return base64.b64encode(safetensors.numpy.save(singles)).decode()


def page_refusal(positions: str, parameters: int = 0) -> str | None:
    """Why a page cannot calculate a model with these positions, of so many parameters."""
    if positions == UserEncoding.name:
        return "its positions come from a file of code, and a page calculates with Curta's own"
    if positions != Window.name and parameters > PARAMETERS:
        return (
            f"it has {parameters:,} parameters, and a page carries at most {PARAMETERS:,}"
            " of a model without a window"
        )
    return None


def carried(folder: Folder) -> Carried:
    """Return all members of a run at its newest checkpoint; windowed models load without JAX."""
    recipe = folder.state_recipe()
    weights = folder.read_weights(recipe)
    if isinstance(recipe.positions, Window):
        paper = MachineLayout(*store.read(folder.machine, folder.name))
        return Carried(folder.name, recipe, paper, weights, folder)
    return Carried(folder.name, folder.read_recipe(), layout_in(folder), weights, folder)


def write_page(folder: Folder, member: int, out: Path | None = None) -> Path:
    """Write a page in which one member calculates, by default into the run's folder.

    Raises UserError for a member that there is not, and for a model that a page cannot carry.
    """
    text = render_page(carried(folder), member, folder.address)
    path = out or folder.path / f"page-{member}.html"
    with ownership.owned(folder.path) if out is None else nullcontext():
        files.write(path, text)
    return path


def render_page(run: Carried, member: int, address: str = "") -> str:
    """Return the HTML of one member's page.

    `address` is what commands call the run, by default its name. Raises UserError if the page's
    JavaScript cannot run the model.
    """
    check_member(member, run.name, len(run.members))
    if reason := page_refusal(run.recipe.positions.name, run.parameters):
        raise UserError(f"no page of this run: {reason}")
    design = design_table(run)
    body = render(
        "export/page.html",
        name=run.name,
        member=member,
        recipe=run.recipe,
        design=design,
        causal=run.recipe.model.causal,
        designs=[{"run": address or run.name, "first": member, "design": design, "names": [""]}],
        weights=[run.packed(member)],
    )
    return document(f"{run.name}: a model at work", [_working(body)])


def trained_at_work(folders: Iterable[Folder]) -> PagePart:
    """Return the models of trained runs that calculate within a report, if there are any."""
    trained = [folder for folder in folders if checkpoints.steps(folder.checkpoints)]
    return at_work(list(map(carried, trained))) if trained else PagePart()


def at_work(runs: Sequence[Carried]) -> PagePart:
    """Return as many calculating models as a report has room for, and why it leaves others out."""
    able, several = [run for run in runs if run.windowed], len(runs) > 1
    firsts = [run.packed(0) for run in able]  # the first member of each run is there in any case
    designs, weights, room = list[dict[str, Any]](), list[str](), BUDGET - sum(map(len, firsts))
    for run, first in zip(able, firsts, strict=True):
        more = max(0, min(len(run.members) - 1, room // len(first)))
        room -= more * len(first)
        weights += [first, *(run.packed(member) for member in range(1, 1 + more))]
        prefix = f"{run.name}, " if several else ""
        names = [f"{prefix}member {member}" for member in range(1 + more)]
        design = design_table(run)
        designs.append({"run": run.name, "first": 0, "design": design, "names": names})
    others = [run for run in runs if not run.windowed]
    body = render(
        "export/part.html",
        designs=designs,
        weights=weights,
        members=sum(len(run.members) for run in able),
        refused=[run.name for run in others],
        pages=[
            f"curta page {run.folder.argument if run.folder else run.name}"
            for run in others
            if not page_refusal(run.recipe.positions.name, run.parameters)
        ],
        several=several,
        causal=True,
    )
    return _working(body) if able else PagePart(body)


def _working(body: Any) -> PagePart:
    """Return a calculating section with its stylesheet, and its modules as one script."""
    package = "curta.export.html"
    script = modules_text(["elements"]) + modules_text(MODULES, package)
    return PagePart(body, package_text("page.css", package), script)


# What a page must know besides the weights.


def design_table(run: Carried) -> dict[str, Any]:
    """Everything about a model but its weights: its shape, its layout, how problems are put."""
    recipe, layout = run.recipe, run.layout
    machine: Machine | None = getattr(layout, "machine", None)
    about: dict[str, Any] = {
        "config": asdict(replace(recipe.model, weight_sharing=())),
        "positions": asdict(recipe.positions),
        "parameters": run.parameters,
        "structure": structure(recipe),
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
    """Return the tables of a program: one state, the neighbours of each role, prompts as tokens.

    `formats` describes prompts as `store.dump` does, with the tokens that each part of a prompt may
    have, in the order of `Format.every`.
    """
    content = store.dump(machine, windows)
    tokens, formats = content["tokens"], content["formats"]
    for operator, form in machine.formats.items():
        for part, described in zip(form.prompt_parts, formats[operator]["parts"], strict=True):
            every = replace(form, prompt_parts=(part,)).every()
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
    """Return the rules for roles and positions of a published layout.

    Operands are described like a machine's, for `problems.js`.
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
    """Return the right token after every window in the certificate of a user's program.

    With them, a page writes the right text of any problem. `rights` has one window after another,
    each followed by its target, as bytes or 16-bit numbers; `uncarried` counts windows left out
    because there are too many.
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
    """Return a few of the run's recorded problems, short and long ones of each operator."""
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
