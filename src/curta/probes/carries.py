"""Exact match against the longest chain of carries, or of borrows, in a problem.

Random problems hardly ever have long chains, so problems are made to have one of a given
length: places that neither carry nor pass a carry on, and in their midst a place that
carries of itself, with the chain above it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from curta.config.task import Task
from curta.probes import settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, lines, summary_statistics
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.problem import Problem
from curta.runs.embedding_history import thinned

LENGTHS = 12
"""Most lengths of chains asked for at one size."""

Digits = tuple[int, int]


class Chains(NamedTuple):
    """How two digits, the first operand's and the second's, continue a chain; its name."""

    name: str
    begins: Callable[[int, int], bool]
    passes: Callable[[int, int], bool]
    whole: bool
    """Whether the highest place may belong to a chain."""


CHAINS = {
    "+": Chains("carry", lambda a, b: a + b > 9, lambda a, b: a + b == 9, whole=True),
    "-": Chains("borrow", lambda a, b: a < b, lambda a, b: a == b, whole=False),
}
"""By operator. A difference is asked for with the larger number first."""


@dataclass(frozen=True)
class CarryChains(settings.CarryChains, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = [], []
        for task in subject.tasks:
            for digits in (task_sizes.widest(task)[0], 2 * task_sizes.widest(task)[0]):
                found = self._rows(subject, task, digits)
                panels.append(_panel(task, digits, found, len(subject.members)))
                rows += found
        shows = (
            "Exact match by the number of consecutive places that carry (or borrow), with operands"
            " as long as the longest in training, and twice as long."
        )
        columns = ("operator", "digits", "chain", "problems", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels})

    def _rows(self, subject: Subject, task: Task, digits: int) -> list[Row]:
        most = digits if CHAINS[task.operator].whole else digits - 1
        lengths = thinned(range(most + 1), LENGTHS)
        samples = [
            chained(task.operator, digits, length, self.count, self.seed) for length in lengths
        ]
        asked = {"operator": task.operator, "digits": digits}
        return [
            asked | {"chain": length, "problems": self.count} | summary_statistics(shares)
            for length, shares in zip(lengths, subject.shares(samples), strict=True)
        ]


def chained(operator: str, digits: int, length: int, count: int, seed: int) -> list[Problem]:
    """Problems of so many digits whose longest chain has that length, somewhere at random."""
    rng = np.random.default_rng([seed, digits, length, *operator.encode()])
    return [_chained(operator, digits, length, rng) for _ in range(count)]


def _chained(operator: str, digits: int, length: int, rng: np.random.Generator) -> Problem:
    chains = CHAINS[operator]
    first = int(rng.integers(0, digits - length + (1 if chains.whole else 0)))
    found = []
    for place in range(digits):
        inside = first <= place < first + length
        wanted = chains.begins if inside and place == first else chains.passes if inside else None
        choices = _choices(operator, wanted, least=int(place == digits - 1))
        found.append(choices[rng.integers(len(choices))])
    operands = tuple(sum(pair[i] * 10**p for p, pair in enumerate(found)) for i in range(2))
    return Problem(operator, operands)


def _choices(operator: str, wanted: Callable[[int, int], bool] | None, least: int) -> list[Digits]:
    """Pairs of digits from `least` up that do what is wanted, or neither begin nor pass on."""
    chains, pairs = CHAINS[operator], list(product(range(least, 10), range(least, 10)))
    if wanted is not None:
        return [pair for pair in pairs if wanted(*pair)]
    return [pair for pair in pairs if not (chains.begins(*pair) or chains.passes(*pair))]


def _panel(task: Task, digits: int, rows: list[Row], members: int) -> Panel:
    room = "" if all(row["members"] for row in rows) else ": no room"
    across = f"places in the longest {CHAINS[task.operator].name} chain"
    return lines(f"{task.operator} with {digits} digits{room}", across, "chain", rows, members)
