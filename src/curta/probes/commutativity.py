"""Whether the order of the operands makes a difference to the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curta.config.task import Task
from curta.layouts import Layout
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, by_member, summary_statistics
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.operations import Answer
from curta.problems.problem import Problem

Answers = Sequence[Sequence[Answer | None]]


@dataclass(frozen=True)
class Commutativity(settings.Commutativity, Probe):
    """`same`: both orders get the same answer, right or wrong; `right`: both get the true one."""

    def examine(self, subject: Subject) -> Finding:
        rows = [row for task in subject.tasks for row in self._rows(subject, task)]
        names = [f"{row['operator']} {row['digits']} digits: {row['answers']}" for row in rows]
        panel = by_member("Share of pairs", names, rows, subject.members)
        shows = "Share of pairs of problems, one the other turned round, whose answers are the same"
        columns = ("operator", "digits", "pairs", "answers", *STATISTICS)
        return Finding(columns, rows, {"shows": f"{shows}, and right.", "panels": [panel]})

    def _rows(self, subject: Subject, task: Task) -> list[Row]:
        """Two rows for operands as long as the longest in training, and two for twice that."""
        rows = []
        for digits in (task_sizes.widest(task)[0], 2 * task_sizes.widest(task)[0]):
            sample = self.pairs(subject.layout, task, digits)
            turned = [Problem(task.operator, p.operands[::-1]) for p in sample]
            asked = {"operator": task.operator, "digits": digits, "pairs": len(sample)}
            fit = subject.fits([*sample, *turned])
            found = _compared(subject, sample, turned) if fit else {"same": None, "right": None}
            rows += [
                asked | {"answers": name} | summary_statistics(shares)
                for name, shares in found.items()
            ]
        return rows

    def pairs(self, layout: Layout, task: Task, digits: int) -> list[Problem]:
        """Problems whose operands differ."""
        found = samples.sample(layout, task, self.count, self.seed, (digits, digits))
        return [problem for problem in found if len(set(problem.operands)) == 2]


def _compared(
    subject: Subject, sample: list[Problem], turned: list[Problem]
) -> dict[str, np.ndarray | None]:
    """Shares of each member, from what it writes by itself."""
    ahead, back = subject.answers(sample), subject.answers(turned)
    same = _shares(ahead, back)
    truth = [[problem.truth for problem in sample]] * len(ahead)
    right = [
        [a if a == b else None for a, b in zip(*both, strict=True)]
        for both in zip(ahead, back, strict=True)
    ]
    return {"same": same, "right": _shares(right, truth)}


def _shares(first: Answers, second: Answers) -> np.ndarray:
    """For each member the share of answers that are there and alike."""
    return np.array(
        [
            np.mean([a is not None and a == b for a, b in zip(*both, strict=True)])
            for both in zip(first, second, strict=True)
        ]
    )
