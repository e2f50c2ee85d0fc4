"""A probe of one's own: are sums with an even first operand right as often as the others?

curta probe addition docs/examples/parity.py --count 500
"""

import random
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from curta import Finding, Probe, option


@dataclass(frozen=True)
class Parity(Probe):
    """Exact match by whether the first operand is even. Fields are options, with `option`."""

    name: ClassVar[str] = "parity"
    summary: ClassVar[str] = "exact match of sums by whether their first operand is even"
    scope: ClassVar[str] = "sums"
    count: int = option(200, "problems of each kind")
    digits: int = option(4, "digits of both operands", most=1000)

    @classmethod
    def about(cls, task):
        """Which of a run's tasks it can examine."""
        return task.operator == "+"

    def examine(self, subject):
        """A row for each kind; `subject` asks the members of the run."""
        rows = [self._row(subject, kind) for kind in ("even", "odd")]
        return Finding(("first operand", "problems", "median", "min", "max"), rows, None)

    def _row(self, subject, kind):
        rng = random.Random(kind)  # the same problems each time
        sums = [self._sum(rng, odd=kind == "odd") for _ in range(self.count)]
        right = subject.exact_match([subject.problem(text) for text in sums])  # members, problems
        shares = right.mean(axis=1).tolist()
        ends = {"median": median(shares), "min": min(shares), "max": max(shares)}
        return {"first operand": kind, "problems": len(sums)} | ends

    def _sum(self, rng, odd):
        low, high = 10 ** (self.digits - 1), 10**self.digits - 1
        first, second = rng.randint(low, high - 1), rng.randint(low, high)
        return f"{first - first % 2 + odd}+{second}"
