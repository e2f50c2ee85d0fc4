"""Is it addition or memory? Operands beyond a limit, where training had those below it.

Source: the operand-range probe of a calculator trained on two numbers below 50 and asked
fourteen sums, 50+1 ... 50+8 and 1+50 ... 6+50.
"""

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from curta.config.table import sized
from curta.config.task import Task
from curta.probes import settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, by_member, summary_statistics
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.numerals import to_text
from curta.problems.problem import Problem

STEPS = (1, 2, 5, 10, 100)
"""Ends of the ranges beyond the limit, as multiples of it."""

FIRST, SECOND = 8, 6
"""With how many numbers, from 1 on, the limit is asked as the first and as the second operand."""

Range = tuple[int, int]
"""Ends of a range, as multiples of the limit."""
Limits = tuple[int, int]
"""Of the first operand, and of the second."""

BELOW: Range = (0, 1)


@dataclass(frozen=True)
class OperandRange(settings.OperandRange, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels, notes = [], [], []
        for task in subject.tasks:
            limits = (self.limit, self.limit) if self.limit else first_unknown(task)
            found = self._rows(subject, task, limits)
            panels.append(_panel(task, found, subject.members))
            notes.append(_note(task, limits))
            rows += found
        shows = (
            "Exact match where one operand, or both, lie in a range beyond L, which stands for the"
            " first number that this operand did not have in training."
        )
        columns = ("operator", "range", "beyond", "problems", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels}, tuple(notes))

    def _rows(self, subject: Subject, task: Task, limits: Limits) -> list[Row]:
        samples = {("below L", "none"): self.drawn(task, limits, BELOW, "none")}
        samples["at L", "one"] = edge(task, limits)
        for low, high in pairwise(STEPS):
            for beyond in ("one", "both"):
                samples[_named(low, high), beyond] = self.drawn(task, limits, (low, high), beyond)
        return [
            {"operator": task.operator, "range": span, "beyond": beyond, "problems": len(sample)}
            | summary_statistics(shares)
            for ((span, beyond), sample), shares in zip(
                samples.items(), subject.shares(list(samples.values())), strict=True
            )
        ]

    def drawn(self, task: Task, limits: Limits, span: Range, beyond: str) -> list[Problem]:
        """Problems with one operand in the range and one below its limit, or both in the range.

        The range is in multiples of each operand's limit.
        """
        asked = span[0] * limits[0], span[1] * limits[0]
        rng, found = Random(f"{self.seed} {task.operator} {asked} {beyond}"), list[Problem]()
        while len(found) < self.count:
            sides = [span, BELOW if beyond == "one" else span]
            rng.shuffle(sides)
            first, second = (
                rng.randrange(low * limit, high * limit)
                for (low, high), limit in zip(sides, limits, strict=True)
            )
            found += _problem(task, first, second)
        return found


def first_unknown(task: Task) -> Limits:
    """For each operand the first number that it did not have in training.

    >>> first_unknown(Task("//", digits=(1, 6), second=(1, 3)))
    (1000000, 1000)
    """
    if task.values:
        return task.values[1] + 1, task.values[1] + 1
    first, second = (10**digits for digits in task_sizes.widest(task)[:2])
    return first, second


def edge(task: Task, limits: Limits) -> list[Problem]:
    """Each limit with the smallest numbers: as the first operand, and then as the second."""
    pairs = [(limits[0], other) for other in range(1, FIRST + 1)]
    pairs += [(other, limits[1]) for other in range(1, SECOND + 1)]
    return [problem for pair in pairs for problem in _problem(task, *pair)]


def _problem(task: Task, first: int, second: int) -> list[Problem]:
    """The problem, unless it has no answer."""
    if task_sizes.operation(task).refuse((first, second)) is not None:
        return []
    return [Problem(task.operator, (first, second))]


def _named(low: int, high: int) -> str:
    return f"{'' if low == 1 else low}L to {high}L"


def _panel(task: Task, rows: list[Row], members: list[int]) -> Panel:
    title = f"{task.operator}: range of the operands, and how many of the two lie in it"
    found = by_member(title, [f"{row['range']}: {row['beyond']}" for row in rows], rows, members)
    found["exact_match"] = True
    return found


def _note(task: Task, limits: Limits) -> str:
    """What L and “at L” are, and how far training really went."""
    value = ", then ".join(map(_value, dict.fromkeys(limits)))
    short = len(to_text(max(limits))) <= 5
    asked = ", ".join(map(str, edge(task, limits))) if short else "L with 1 ... 6 with L"
    trained = f"the largest operand of training has {sized(task_sizes.widest(task)[0])}"
    if task.values:
        trained = f"training had operands of {task.values[0]} to {task.values[1]}"
    return f"{task.operator}: L is {value}; {trained}. At L: {asked}."


def _value(limit: int) -> str:
    text = to_text(limit)
    return f"{limit:,}" if len(text) <= 15 else f"10^{len(text) - 1} or more"
