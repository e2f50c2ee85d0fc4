"""The correct answers that a page shows for a user's program, whose code it does not contain.

The run's certificate has the right token after every window that occurs, and with it a page writes
the right text of any problem. The problems that the run has kept have their truths.
"""

import base64
from typing import Any

import numpy as np

from curta.evaluation.results import read_windows
from curta.problems.problem import Problem, answer_text
from curta.programs import PROGRAMS
from curta.programs.machine.machine import Machine
from curta.programs.user.run_snapshot import stored
from curta.runs.folders import Folder

CHARACTERS = 1_000_000
"""The most that a page carries of a certificate."""

PROBLEMS = 4
"""Recorded problems of each operator that a page offers."""

LONGEST = 60
"""Characters of such a problem, at most."""

TOKENS = 500
"""Tokens of its text, at most: the page writes all of them before anybody asks."""


def evidence(folder: Folder | None, machine: Machine) -> dict[str, Any]:
    """Problems with their truths, and the right token of each window; empty of Curta's programs.

    `rights` has the windows one after the other, each with its target at the end, as bytes or
    16-bit numbers; `uncarried` counts windows that are too many.
    """
    nothing: dict[str, Any] = {"recorded": [], "rights": None, "uncarried": 0}
    if folder is None or all(name in PROGRAMS for name in folder.read_info().programs):
        return nothing
    found = nothing | {"recorded": _recorded(folder, machine)}
    certificate, windows = folder.read_certificate(), read_windows(folder.path)
    if certificate is None or windows is None or certificate.conflicts:
        return found
    table = np.column_stack([windows.rows, windows.targets])
    kind = np.uint8 if table.max() < 256 else np.dtype("<u2")
    text = base64.b64encode(table.astype(kind).tobytes()).decode()
    if len(text) > CHARACTERS:
        return found | {"uncarried": len(table)}
    bits = 8 * np.dtype(kind).itemsize
    return found | {"rights": {"columns": table.shape[1], "bits": bits, "text": text}}


def _recorded(folder: Folder, machine: Machine) -> list[dict[str, Any]]:
    """A few of the problems that the run has kept, of each operator short and long ones."""
    found: list[dict[str, Any]] = []
    problems: dict[str, dict[str, dict[str, Any]]] = {}
    for one in stored(folder.path):
        problem = Problem(one.operator, one.operands, machine.limits[one.operator].base)
        if len(str(problem)) <= LONGEST and len(one.tokens) <= TOKENS:
            problems.setdefault(one.operator, {})[str(problem)] = {
                "problem": str(problem),
                "operator": one.operator,
                "operands": list(map(str, one.operands)),
                "truth": answer_text(one.truth, problem.answer_base),
            }
    for by_text in problems.values():
        ordered = sorted(by_text.values(), key=lambda problem: len(problem["problem"]))
        step = max(1, -(-len(ordered) // PROBLEMS))
        found += ordered[::step]
    return found
