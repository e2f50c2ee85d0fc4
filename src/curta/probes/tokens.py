"""Where the vectors of digits and signs lie, and the way they came.

By default their first two dimensions are drawn, as the source of the digit encoder draws them.
With `principal` the last vectors are projected onto the two directions in which they vary most
(principal components, by singular value decomposition of the centred table); earlier ones, and
those that training began with, are drawn in the same plane. Each member has a plane of its own.
They are those of the run's history, if it has one, and else those of the kept checkpoints.

Of a layout these are the digits and the signs of its problems, such as + and =. Of a program they
are ten tokens of the answer that differ in their digit alone; where embeddings are composed, they
differ just as the vectors of the digits themselves do.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.pca import PLANES, ways
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems.operations import OPERATIONS
from curta.runs import checkpoints, embedding_history

Tables = Float[np.ndarray, "moments members tokens width"]


@dataclass(frozen=True)
class Tokens(settings.Tokens, Probe):
    def examine(self, subject: Subject) -> Finding:
        drawn = shown(subject)
        steps, tables = remembered(subject, drawn) or checkpointed(subject, drawn)
        names = [subject.layout.characters[token] for token in drawn]
        rows, panels = list[Row](), list[Panel]()
        for number, member in enumerate(subject.members):
            mine = ways(tables[:, number], self.plane)
            rows += _rows(member, steps, names, mine.paths)
            panels.append(mine.panel(member, names))
        of = "digits" if len(names) == len(subject.layout.digits) else "digits and signs"
        shows = (
            f"The vectors of the {of}, {PLANES[self.plane]}, each from its random start over"
            f" {len(steps) - 1:,} later moments of training."
        )
        return Finding(COLUMNS, rows, {"shows": shows, "panels": panels})


COLUMNS = ("member", "step", "token", "x", "y")


def shown(subject: Subject) -> list[int]:
    """The tokens whose vectors are drawn."""
    if isinstance(subject.layout, ProgramLayout):
        return subject.layout.digits
    return digits_and_signs(subject.layout, [task.operator for task in subject.tasks])


def digits_and_signs(layout: Layout, operators: Iterable[str]) -> list[int]:
    """The tokens of the digits, of these operators, and of `=`, where a layout has them."""
    marks = [OPERATIONS[operator].mark for operator in operators]
    signs = [sign for sign in dict.fromkeys((*marks, "=")) if sign in layout.characters]
    return layout.digits + [layout.code(sign) for sign in signs]


def remembered(subject: Subject, drawn: list[int]) -> tuple[list[int], Tables] | None:
    """Steps and vectors of the run's history; None if it has none."""
    found = embedding_history.moments(subject.run.folder.history, np.array(drawn))
    if found is None:
        return None
    steps, tables = found
    return steps, tables[:, np.array(subject.members)]


def checkpointed(subject: Subject, drawn: list[int]) -> tuple[list[int], Tables]:
    """Steps and vectors of the random start and of the checkpoints."""
    steps = [0, *checkpoints.steps(subject.run.folder.checkpoints)]
    models = (subject.of(subject.run.at(step)).stacked for step in steps)
    return steps, np.stack([embedding_history.vectors(stacked)[:, drawn] for stacked in models])


def _rows(
    member: int, steps: list[int], names: list[str], paths: Float[np.ndarray, "tokens steps two"]
) -> list[Row]:
    return [
        {"member": member, "step": step, "token": token, "x": float(x), "y": float(y)}
        for step, points in zip(steps, np.swapaxes(paths, 0, 1), strict=True)
        for token, (x, y) in zip(names, points, strict=True)
    ]
