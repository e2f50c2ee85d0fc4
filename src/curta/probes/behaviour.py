"""Probes of behaviour: exact match by group of problems.

Each draws groups of problems, evaluates every member on them, and has a row per group.

    single-digits   all problems of two digits, the addition table
    commutativity   whether the order of the operands matters
    patterns        the single problems that each operation names
    carry-chains    by the longest chain of carries, or of borrows
    operand-range   by the values of the operands, beyond those of training
    longer          by the number of digits, beyond that of training
    recurrences     by the number of recurrences of a looped model
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import eq
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from curta.config.limits import LAYERS
from curta.config.table import sized
from curta.probes.base import (
    CARRIES,
    Row,
    TaskFinding,
    TaskProbe,
    option,
    seed_option,
    summary_columns,
)
from curta.probes.pictures import Panel, by_member, heat, lines
from curta.problems import task_sizes
from curta.problems.numerals import to_text
from curta.problems.operations import operation_named
from curta.problems.problem import Problem, answer_text

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.config.task import Task
    from curta.probes.subject import Subject

TEN = range(10)


def exact_match_rows(
    subject: Subject, names: Sequence[str], samples: Mapping[tuple[Any, ...], list[Problem]]
) -> list[Row]:
    """Return a row for each sample, whose key has the values of the columns `names`."""
    shares = subject.shares(list(samples.values()))
    return [
        dict(zip(names, key, strict=True)) | {"problems": len(sample)} | summary_columns(share)
        for (key, sample), share in zip(samples.items(), shares, strict=True)
    ]


@dataclass(frozen=True)
class SingleDigits(TaskProbe):
    name: ClassVar[str] = "single-digits"
    summary: ClassVar[str] = "all problems of two single digits"
    scope: ClassVar[str] = "operations of two numbers in base ten"
    shows: ClassVar = "Share of the members that are right on each problem of two digits."

    @classmethod
    def about(cls, task: Task) -> bool:
        return operation_named(task.operator).takes(2) and task.base == 10

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        sample = answerable(task, product(TEN, TEN))
        correct = subject.exact_match(sample)
        row: Row = {"problems": len(sample), **summary_columns(correct.mean(axis=1))}
        row["missed"] = [str(sample[at]) for at in np.flatnonzero(~correct.all(axis=0))]
        shares = dict(zip((p.operands for p in sample), correct.mean(axis=0).tolist(), strict=True))
        values = [[shares.get((first, second)) for second in TEN] for first in TEN]
        axes, digits = ("second operand", "first operand"), list(map(str, TEN))
        panel = heat(task.operator, *axes, digits, digits, values, exact_match=True)
        return TaskFinding([row], [panel])


@dataclass(frozen=True)
class Commutativity(TaskProbe):
    """`same`: both orders get the same answer, right or wrong. `right`: both get the true one."""

    name: ClassVar[str] = "commutativity"
    summary: ClassVar[str] = "the same answer whichever operand stands first"
    scope: ClassVar[str] = "operations of two numbers whose order makes no difference"
    shows: ClassVar = "Share of pairs of mirrored problems whose answers are the same, and right."

    count: int = option(50, "pairs of each size")
    seed: int = seed_option("seed of the pairs")

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.takes(2) and operation.commutes

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return two rows for operands of the longest size in training, two for twice that size."""
        rows, longest = list[Row](), task_sizes.widest(task)[0]
        for digits in (longest, 2 * longest):
            drawn = subject.sample(task, self.count, self.seed, (digits, digits))
            sample = [problem for problem in drawn if len(set(problem.operands)) == 2]
            mirrored = [Problem(task.operator, p.operands[::-1]) for p in sample]
            shares: dict[str, Any] = {"same": None, "right": None}
            if subject.fits([*sample, *mirrored]):
                truths = [problem.truth for problem in sample]
                both = zip(subject.answers(sample), subject.answers(mirrored), strict=True)
                agreed = [[a if a == b else None for a, b in zip(*m, strict=True)] for m in both]
                shares["same"] = [fmean(a is not None for a in member) for member in agreed]
                shares["right"] = [fmean(map(eq, member, truths)) for member in agreed]
            for name, share in shares.items():
                row = {"digits": digits, "pairs": len(sample), "answers": name}
                rows.append(row | summary_columns(share))
        names = [f"{row['digits']} digits: {row['answers']}" for row in rows]
        panel = by_member(f"{task.operator}: share of pairs", names, rows, subject.members)
        return TaskFinding(rows, [panel])


@dataclass(frozen=True)
class Patterns(TaskProbe):
    name: ClassVar[str] = "patterns"
    summary: ClassVar[str] = "named problems, each a special case"
    scope: ClassVar[str] = "operations that name such problems"
    shows: ClassVar = "Each member's answer to each named problem: right, wrong, or no room for it."

    @classmethod
    def about(cls, task: Task) -> bool:
        return bool(operation_named(task.operator).patterns)

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return a row for each named problem; problems without positions have no answers."""
        rows, values = list[Row](), list[list[float | None]]()
        patterns = task_sizes.operation(task).patterns
        problems = [Problem(task.operator, operands) for operands in patterns.values()]
        sample = [problem for problem in problems if subject.fits([problem])]
        by_problem = dict(zip(sample, zip(*subject.answers(sample), strict=True), strict=True))
        for name, problem in zip(patterns, problems, strict=True):
            truth, answers = problem.truth, by_problem.get(problem)
            right = answers and [answer == truth for answer in answers]
            texts = answers and ["invalid" if a is None else answer_text(a) for a in answers]
            row: Row = {"pattern": name, "problem": str(problem), "truth": answer_text(truth)}
            rows.append(row | {"right": right and sum(right), "answers": texts})
            values.append([*map(float, right)] if right else [None] * len(subject.members))
        words = {None: "no room", 1.0: "right", 0.0: "wrong"}
        cells = [[words[value] for value in row] for row in values]
        members = list(map(str, subject.members))
        title, axes = f"{task.operator}: answers", ("member", "")
        panel = heat(title, *axes, members, list(patterns), values, cells, exact_match=True)
        return TaskFinding(rows, [panel])


SPARE: dict[str, Callable[[int, int], int]] = {"+": lambda a, b: 9 - a - b, "-": lambda a, b: a - b}
"""By operator: two digits begin a chain where this is negative, and pass it on where it is zero.

A difference has the larger number first.
"""

LENGTHS = 12
"""Most lengths of chains at one size."""


@dataclass(frozen=True)
class CarryChains(TaskProbe):
    """Random problems rarely have long chains, so each problem is built around a chain."""

    name: ClassVar[str] = "carry-chains"
    summary: ClassVar[str] = "exact match by the longest chain of carries or borrows"
    scope: ClassVar[str] = "sums and differences of two numbers in base ten"
    shows: ClassVar = (
        "Exact match by the number of consecutive places that carry (or borrow), with operands"
        " as long as the longest in training, and twice as long."
    )

    count: int = option(50, "problems of each length of chain")
    seed: int = seed_option()

    @classmethod
    def about(cls, task: Task) -> bool:
        return task.operator in CARRIES and task.base == 10

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        across = f"places in the longest {CARRIES[task.operator]} chain"
        rows, panels, longest = list[Row](), list[Panel](), task_sizes.widest(task)[0]
        for digits in (longest, 2 * longest):
            most = digits - (task.operator == "-")
            chains = np.linspace(0, most, min(LENGTHS, most + 1)).round().astype(int).tolist()
            samples = {
                (digits, chain): chained(task.operator, digits, chain, self.count, self.seed)
                for chain in chains
            }
            mine = exact_match_rows(subject, ("digits", "chain"), samples)
            room = "" if all(row["members"] for row in mine) else ": no room"
            title = f"{task.operator} with {digits} digits{room}"
            panels.append(lines(title, across, "chain", mine, len(subject.members)))
            rows += mine
        return TaskFinding(rows, panels)


def chained(operator: str, digits: int, length: int, count: int, seed: int) -> list[Problem]:
    """Return problems of so many digits whose longest chain has the given length.

    The chain starts at a random place; in a difference it cannot reach the highest one. All other
    places neither carry nor pass a carry on: around a chain of 2 in sums of 4 digits, 1538+2421
    has its 3+4 and 1+2 as such places.
    """
    rng = np.random.default_rng([seed, digits, length, *operator.encode()])
    spare, problems = SPARE[operator], list[Problem]()
    for _ in range(count):
        first, operands = int(rng.integers(0, digits - length + (operator == "+"))), [0, 0]
        for place in range(digits):
            least = int(place == digits - 1)  # the first digit of a number is no zero
            sign = 1  # no carry, and none is passed on
            if first <= place < first + length:
                sign = -1 if place == first else 0
            every = product(range(least, 10), repeat=2)
            pairs = [pair for pair in every if np.sign(spare(*pair)) == sign]
            pair = pairs[rng.integers(len(pairs))]
            operands = [operands[i] + 10**place * pair[i] for i in range(2)]
        problems.append(Problem(operator, tuple(operands)))
    return problems


STEPS = (1, 2, 5, 10, 100)
"""Ends of the ranges beyond the limit, as multiples of it."""

FIRST, SECOND = 8, 6
"""How many numbers, from 1 on, the limit meets as the first and as the second operand."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class OperandRange(TaskProbe):
    """Exact match on operands beyond a limit, where training had smaller ones: addition, or memory?

    Source: the operand-range probe of a calculator trained on two numbers below 50, evaluated on
    fourteen sums, 50+1 ... 50+8 and 1+50 ... 6+50.
    """

    name: ClassVar[str] = "operand-range"
    summary: ClassVar[str] = "exact match by the values of operands beyond training"
    scope: ClassVar[str] = "operations of two numbers in base ten, and not modulo a number"
    shows: ClassVar = (
        "Exact match where one operand, or both, lie in a range beyond L, which stands for the"
        " first number that this operand did not have in training."
    )

    limit: int | None = option(None, "first number beyond training", least=14, most=10**9)
    count: int = option(50, "problems of each range")
    seed: int = seed_option()

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.takes(2) and task.base == 10 and not operation.modulus

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        # for each operand the first number that training did not have
        highest = [task.values[1] + 1] * 2 if task.values else []
        powers = highest or [10**digits for digits in task_sizes.widest(task)[:2]]
        limits = (self.limit or powers[0], self.limit or powers[1])
        samples = {("below L", "none"): self.draw(task, limits, (0, 1), "none")}
        samples["at L", "one"] = at_limit(task, limits)
        for low, high in pairwise(STEPS):
            name = f"{'' if low == 1 else low}L to {high}L"
            for beyond in ("one", "both"):
                samples[name, beyond] = self.draw(task, limits, (low, high), beyond)
        rows = exact_match_rows(subject, ("range", "beyond"), samples)
        title = f"{task.operator}: range of the operands, and how many of the two lie in it"
        names = [f"{row['range']}: {row['beyond']}" for row in rows]
        panel = by_member(title, names, rows, subject.members)
        panel["exact_match"] = True

        values = [
            f"{limit:,}" if limit < 10**15 else f"10^{len(to_text(limit)) - 1} or more"
            for limit in dict.fromkeys(limits)
        ]
        note = f"{task.operator}: L is {', then '.join(values)}; at L: L with 1 ... 6 with L"
        return TaskFinding(rows, [panel], (note,))

    def draw(self, task: Task, limits: Pair, span: Pair, beyond: str) -> list[Problem]:
        """Return problems with one operand in the range and one below its limit, or both in it.

        The range is in multiples of each operand's limit.
        """
        ends = span[0] * limits[0], span[1] * limits[0]
        rng, problems = Random(f"{self.seed} {task.operator} {ends} {beyond}"), list[Problem]()
        while len(problems) < self.count:
            sides = [span, (0, 1) if beyond == "one" else span]
            rng.shuffle(sides)
            first, second = (
                rng.randrange(low * limit, high * limit)
                for (low, high), limit in zip(sides, limits, strict=True)
            )
            problems += answerable(task, [(first, second)])
        return problems


def at_limit(task: Task, limits: Pair) -> list[Problem]:
    """Return each limit with the smallest numbers: as the first operand, then as the second."""
    pairs = [(limits[0], other) for other in range(1, FIRST + 1)]
    pairs += [(other, limits[1]) for other in range(1, SECOND + 1)]
    return answerable(task, pairs)


def answerable(task: Task, pairs: Iterable[Pair]) -> list[Problem]:
    """Return the problems with these operands that have an answer."""
    refuse = task_sizes.operation(task).refuse
    return [Problem(task.operator, pair) for pair in pairs if refuse(pair) is None]


@dataclass(frozen=True)
class Longer(TaskProbe):
    name: ClassVar[str] = "longer"
    summary: ClassVar[str] = "exact match at each digit count beyond training"
    scope: ClassVar[str] = "operations that are not modulo a number"
    shows: ClassVar = (
        "Exact match on random problems by the digits of the first operand, from the longest in"
        " training (shaded) to twice that, and three times that; the other operands grow in"
        " proportion, and are as many as training had at most."
    )

    count: int = option(30, "random problems of each digit count")
    seed: int = seed_option()

    @classmethod
    def about(cls, task: Task) -> bool:
        return not operation_named(task.operator).modulus

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        longest, samples = task_sizes.widest(task)[0], dict[tuple[Any, ...], list[Problem]]()
        for digits in (*range(longest, 2 * longest + 1), 3 * longest):
            first, *others = size = in_proportion(task, digits)
            samples[first, tuple(others)] = subject.sample(task, self.count, self.seed, size)
        rows = exact_match_rows(subject, ("digits", "others"), samples)
        title = f"{task.operator} (trained on up to {sized(longest)})"
        across, members = "digits of the first operand", len(subject.members)
        return TaskFinding(rows, [lines(title, across, "digits", rows, members, inside=1)])


def in_proportion(task: Task, digits: int) -> tuple[int, ...]:
    """Return the digits of every operand in proportion to training, when the first has so many.

    >>> from curta.config.task import Task
    >>> in_proportion(Task("//", digits=(1, 6), second=(1, 3)), 12)
    (12, 6)
    """
    widest = task_sizes.widest(task)
    return tuple(-(-digits * high // widest[0]) for high in widest)


@dataclass(frozen=True)
class Recurrences(TaskProbe):
    """More and fewer recurrences than in training.

    Source: McLeish et al., arXiv 2405.17399, and its reproduction with grids for 1, 2, 8, 16
    and 32 recurrences of a block that was trained with 16.
    """

    name: ClassVar[str] = "recurrences"
    summary: ClassVar[str] = "exact match and perplexity by the number of recurrences"
    scope: ClassVar[str] = "looped models"
    shows: ClassVar = (
        "Exact match on random problems by the number of recurrences at test time, at the"
        " longest digit count in training and at one and a half and two times that."
    )

    most: int = option(32, "greatest number of recurrences; 1, 2, 4, ... are tried", most=LAYERS)
    count: int = option(100, "random problems of each digit count")
    seed: int = seed_option()

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        return None if recipe.model.num_recurrences > 1 else "a model without recurrences"

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        longest, rows, panels = task_sizes.widest(task)[0], list[Row](), list[Panel]()
        for digits in dict.fromkeys((longest, longest * 3 // 2, 2 * longest)):
            sample = subject.sample(task, self.count, self.seed, in_proportion(task, digits))
            mine = list[Row]()
            for num_recurrences in (2**power for power in range(self.most.bit_length())):
                shares, perplexity = None, None
                if subject.fits(sample):
                    scores = subject.scores(sample, num_recurrences)
                    shares = scores.exact_match.mean(axis=1)
                    perplexity = round(float(np.median(np.exp(scores.loss))), 3)
                row = {"digits": digits, "recurrences": num_recurrences, "problems": len(sample)}
                mine.append(row | summary_columns(shares) | {"perplexity": perplexity})
            title, members = f"{task.operator} at {sized(digits)}", len(subject.members)
            panels.append(lines(title, "recurrences", "recurrences", mine, members))
            rows += mine
        trained = f"trained with {subject.run.recipe.model.num_recurrences} recurrences"
        return TaskFinding(rows, panels, (trained,))
