"""Exact match at each digit count just beyond training, and at three times its longest."""

from dataclasses import dataclass

from curta.config.table import sized
from curta.config.task import Task
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, lines, summary_statistics
from curta.probes.pictures import Panel
from curta.probes.subject import Shares, Subject
from curta.problems import task_sizes
from curta.problems.problem import Problem


@dataclass(frozen=True)
class Longer(settings.Longer, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = [], []
        for task in subject.tasks:
            found = self._rows(subject, task)
            panels.append(_panel(task, found, len(subject.members)))
            rows += found
        shows = (
            "Exact match on random problems by the digits of the first operand, from the longest in"
            " training (shaded) to twice that, and three times that; the other operands grow in"
            " proportion, and are as many as training had at most."
        )
        columns = ("operator", "digits", "others", "problems", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels})

    def _rows(self, subject: Subject, task: Task) -> list[Row]:
        most = task_sizes.widest(task)[0]
        rows = []
        for together in (range(most, 2 * most + 1), (3 * most,)):
            sizes = [size(task, digits) for digits in together]
            asked = [samples.sample(subject.layout, task, self.count, self.seed, s) for s in sizes]
            shares = subject.shares(asked)
            rows += [_row(task, *found) for found in zip(sizes, asked, shares, strict=True)]
        return rows


def size(task: Task, digits: int) -> tuple[int, ...]:
    """Digits of every operand when the first has so many, in the proportions of training.

    >>> size(Task("//", digits=(1, 6), second=(1, 3)), 12)
    (12, 6)
    """
    longest = task_sizes.widest(task)[0]
    return tuple(-(-digits * high // longest) for high in task_sizes.widest(task))


def _row(task: Task, digits: tuple[int, ...], sample: list[Problem], shares: Shares | None) -> Row:
    asked = {
        "operator": task.operator,
        "digits": digits[0],
        "others": list(digits[1:]),
        "problems": len(sample),
    }
    return asked | summary_statistics(shares)


def _panel(task: Task, rows: list[Row], members: int) -> Panel:
    title = f"{task.operator} (trained on up to {sized(task_sizes.widest(task)[0])})"
    found = lines(title, "digits of the first operand", "digits", rows, members)
    found["inside"] = 1
    return found
