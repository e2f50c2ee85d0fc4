"""Where the vectors of the digits lie, and the way they came.

The last vectors are projected onto the two directions in which they vary most (principal
components, by singular value decomposition of the centred table); earlier ones, and those
that training began with, are drawn in the same plane. Each member has a plane of its own.
They are those of the run's history, if it has one, and else those of the kept checkpoints.

Of a program the vectors are those of ten tokens of the answer that differ in their digit alone;
where embeddings are composed, they differ just as the vectors of the digits themselves do.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from curta.probes.base import Finding, Probe, Row
from curta.probes.pca import ways
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.runs import checkpoints, embedding_history

Tables = Float[np.ndarray, "moments members digits width"]


@dataclass(frozen=True)
class Tokens(Probe):
    name: ClassVar[str] = "tokens"
    summary: ClassVar[str] = "the vectors of the digits in a plane, and how they moved"

    def examine(self, subject: Subject) -> Finding:
        steps, tables = remembered(subject) or checkpointed(subject)
        names = [subject.layout.characters[token] for token in subject.layout.digits]
        rows, panels = list[Row](), list[Panel]()
        for number, member in enumerate(subject.members):
            mine = ways(tables[:, number])
            rows += _rows(member, steps, names, mine.paths)
            panels.append(mine.panel(member, names))
        shows = (
            f"The vectors of the digits in the plane in which those at step {steps[-1]:,} vary"
            f" most, each from its random start over {len(steps) - 1:,} later moments of training."
        )
        return Finding(COLUMNS, rows, {"shows": shows, "panels": panels})


COLUMNS = ("member", "step", "digit", "x", "y")


def remembered(subject: Subject) -> tuple[list[int], Tables] | None:
    """Steps and digits' vectors of the run's history; None if it has none."""
    digits = np.array(subject.layout.digits)
    found = embedding_history.moments(subject.run.folder.history, digits)
    if found is None:
        return None
    steps, tables = found
    return steps, tables[:, np.array(subject.members)]


def checkpointed(subject: Subject) -> tuple[list[int], Tables]:
    """Steps and digits' vectors of the random start and of the checkpoints."""
    steps = [0, *checkpoints.steps(subject.run.folder.checkpoints)]
    digits = np.array(subject.layout.digits)
    models = (subject.of(subject.run.at(step)).stacked for step in steps)
    return steps, np.stack([embedding_history.vectors(stacked)[:, digits] for stacked in models])


def _rows(
    member: int, steps: list[int], names: list[str], paths: Float[np.ndarray, "digits steps two"]
) -> list[Row]:
    return [
        {"member": member, "step": step, "digit": digit, "x": float(x), "y": float(y)}
        for step, points in zip(steps, np.swapaxes(paths, 0, 1), strict=True)
        for digit, (x, y) in zip(names, points, strict=True)
    ]
