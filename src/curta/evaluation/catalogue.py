"""Every window of an operator: listed, proved complete where that is possible, and kept.

A list follows from a program's code, its windows and the sizes of training alone. So it is kept
in the cache folder, and a second run of the same program need not list anything.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from jaxtyping import Int

from curta.config import cache, files, typed
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.evaluation import results
from curta.evaluation.results import OperandSizes, OperatorListing
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import sources, unchanging
from curta.problems import task_sizes
from curta.problems.problem import Problem
from curta.programs.machine import Program
from curta.programs.proof import closing
from curta.programs.proof.closing import list_and_prove
from curta.programs.proof.listing import DELTA, Lister

STRANGE = 20
"""Problems that cannot be written which are named one by one."""

CONFIDENCE = 1 - DELTA
"""Of the bound on what a list lacks."""

Operands = tuple[int, ...]


class WindowCatalogue(NamedTuple):
    """The windows of one operator, and how they were listed and proved to be all."""

    operator: str
    base: int
    rows: Int[np.ndarray, "windows cells"]
    targets: Int[np.ndarray, " windows"]
    examples: list[Operands]
    """For each window a problem in which it occurs."""
    strange: list[Operands]
    """Some of the problems whose text needs a token that the machine does not have."""
    conflicts: int
    curve: list[tuple[int, int]]
    """Tokens recorded, windows known."""
    listing: OperatorListing
    evidence: dict[str, np.ndarray]
    """What shows that there are no others, see `Proof.evidence`; nothing where that is not so."""

    @property
    def closed(self) -> bool:
        """Whether no text of any length meets a window that is not in the list."""
        return self.listing.closed and not self.strange

    @property
    def unwritable(self) -> list[Problem]:
        return [Problem(self.operator, operands, self.base) for operands in self.strange]


def of_task(recipe: Recipe, layout: ProgramLayout, task: Task) -> WindowCatalogue:
    """Return one operator's windows: from the cache, where the same were listed before."""
    assert layout.recorder is not None
    program, budget = layout.recorder.programs[task.operator], recipe.evaluation.certificate
    if not unchanging(program):
        return _list(layout, program, task, budget)
    # All that a list follows from, as a hash.
    machine, identity = layout.machine, (program.name, program.base, program.file)
    sizes, seconds = task_sizes.sizes(task), (closing.FIRST, closing.SECONDS)
    origin = (identity, task.operator, sizes, budget, *seconds)
    key = hashlib.sha256(repr((origin, machine.tokens, machine.roles, layout.windows)).encode())
    for source in (*sources(), Path(__file__), Path(results.__file__)):
        key.update(source.read_bytes())
    path = files.cache_folder() / "windows" / key.hexdigest()[:32]
    if (content := cache.read(path)) is not None:
        return _parsed(content)
    catalogue = _list(layout, program, task, budget)
    cache.keep(path, _content(catalogue))
    return catalogue


def _list(layout: ProgramLayout, program: Program, task: Task, budget: int) -> WindowCatalogue:
    """List the windows, and try to prove that there are no others."""
    assert layout.recorder is not None
    vocabulary = layout.recorder.vocabularies[task.operator]
    lister = Lister(program, layout.machine, layout.windows, vocabulary)
    listing, closure = list_and_prove(lister, task_sizes.sizes(task), budget)
    table = lister.table
    summary = OperatorListing(
        windows=len(table),
        problems=lister.problems,
        tokens=lister.tokens,
        sizes=[OperandSizes(*sizes) for sizes in listing.sizes],
        drawn=listing.drawn,
        fresh=listing.fresh,
        once=listing.singletons,
        bound=listing.bound,
        confidence=CONFIDENCE,
        closed=closure.closed,
        open=len(closure.open),
        reasons=closure.reasons,
        views=closure.states,
        seconds=round(closure.seconds, 3),
    )
    return WindowCatalogue(
        operator=program.operator,
        base=program.base,
        rows=table.rows,
        targets=table.targets,
        examples=lister.examples,
        strange=sorted(set(lister.strange))[:STRANGE],
        conflicts=len(table.conflicts),
        curve=lister.curve,
        listing=summary,
        evidence=closure.evidence,
    )


def _content(catalogue: WindowCatalogue) -> bytes:
    """Return the arrays, and all else as JSON beside them."""
    fields = catalogue._asdict() | {"listing": typed.as_json(catalogue.listing)}
    arrays = {name: fields.pop(name) for name in ("rows", "targets")} | fields.pop("evidence")
    text = np.frombuffer(json.dumps(fields).encode(), np.uint8)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays | {"fields": text})


def _parsed(content: bytes) -> WindowCatalogue:
    arrays: dict[str, Any] = safetensors.numpy.load(content)
    fields: dict[str, Any] = json.loads(arrays.pop("fields").tobytes())
    for name in ("examples", "strange", "curve"):
        fields[name] = [tuple(numbers) for numbers in fields[name]]
    listing = json.dumps(fields["listing"])
    fields["listing"] = typed.parse(OperatorListing, listing, "the cache", "windows")
    fields |= {name: arrays.pop(name) for name in ("rows", "targets")}
    return WindowCatalogue(**fields, evidence=arrays)
