"""All problems of two single digits: the tables that one learns by heart."""

from dataclasses import dataclass

import numpy as np

from curta.config.task import Task
from curta.probes import settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.problem import Problem

TEN = range(10)


@dataclass(frozen=True)
class SingleDigits(settings.SingleDigits, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = [], []
        for task in subject.tasks:
            sample = table(task)
            right = subject.exact_match(sample)
            rows.append(_row(task, sample, right))
            panels.append(_panel(task, sample, right))
        shows = "Share of the members that write each problem of two single digits without an error"
        columns = ("operator", "problems", *STATISTICS, "missed")
        return Finding(columns, rows, {"shows": f"{shows}.", "panels": panels})


def table(task: Task) -> list[Problem]:
    """Every problem of two digits that has an answer."""
    return [
        Problem(task.operator, (first, second))
        for first in TEN
        for second in TEN
        if task_sizes.operation(task).refuse((first, second)) is None
    ]


def _row(task: Task, sample: list[Problem], right: np.ndarray) -> Row:
    missed = [str(sample[at]) for at in np.flatnonzero(~right.all(axis=0))]
    asked = {"operator": task.operator, "problems": len(sample)}
    return asked | summary_statistics(right.mean(axis=1)) | {"missed": missed}


def _panel(task: Task, sample: list[Problem], right: np.ndarray) -> Panel:
    shares = dict(zip((p.operands for p in sample), right.mean(axis=0).tolist(), strict=True))
    return {
        "form": "heat",
        "title": task.operator,
        "across": "second operand",
        "down": "first operand",
        "columns": [str(digit) for digit in TEN],
        "rows": [str(digit) for digit in TEN],
        "values": [[shares.get((first, second)) for second in TEN] for first in TEN],
        "exact_match": True,
    }
