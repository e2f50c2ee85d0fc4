"""Where the carry can be read off: linear probes of the state, with a control task.

Where a model is asked for a digit of a sum, the carry into that digit is what the digits below
decide. A logistic regression reads it from the state at that position, one for each state, digit
and member; so it does the borrow of a difference, the larger number first. It is fitted on half of
the problems and asked on the others.

What a probe reads may have been learned by the probe. So another function of the same three
inputs, the two digits below and the carry into them, is drawn at random and read in the same
way: the control. Accuracy less that of the control is selectivity. Some of the carry can be read
off the digit before: in a sum of random digits, that digit alone says it in three of four cases.

Sources: Alain and Bengio, arXiv 1610.01644; Hewitt and Liang, arXiv 1909.03368, where a control
task gives each word a random label. Here a token is one of few, and states know it, so that any
such labels could be read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError
from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.model.inspection import kind
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.inside.answers import Digits, numbers
from curta.probes.inside.logistic import PENALTY, Scale, fitted, told
from curta.probes.inside.parts import STATES, named
from curta.probes.inside.question import Question
from curta.probes.pictures import Heat, Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.problem import Problem

CONTROLS = 5
"""Control tasks, whose accuracy is averaged: one alone depends on the draw."""

TOGETHER = 128
"""Problems whose states are held at all positions at once."""


@dataclass(frozen=True)
class Linear(settings.Linear, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = list[Row](), list[Panel]()
        for task in subject.tasks:
            found = self.rows(subject.load_models(), task)
            panels += _panels(task, found)
            rows += found
        if not rows:
            raise UserError("numbers this short have no carry that may be there or not")
        shows = (
            "The carry into each digit, read by a linear probe from the state where the digit is"
            " asked for: accuracy on other problems, and accuracy less that of the control task."
            " Median of the members."
        )
        notes = (
            "into: the digit that the carry goes into, 0 the least significant; majority: the"
            " share of the commoner answer",
            f"logistic regression, features of deviation 1, half of {PENALTY:g} times the squared"
            f" weights; control: mean of {CONTROLS} random functions of the same digits",
        )
        columns = ("operator", "state", "into", "asked", "majority", *STATISTICS)
        return Finding(
            (*columns, "control", "selectivity"), rows, {"shows": shows, "panels": panels}, notes
        )

    def rows(self, models: Models, task: Task) -> list[Row]:
        """A row for each state and each digit that a carry may go into."""
        sample = self.sample(models.layout, task)
        asked = Question(models, sample)
        digits, base = Digits.of(asked), models.layout.base(task.operator)
        sites = [site for site in asked.shapes if kind(site) in STATES]
        states, places = states_at(asked, digits, sites), digit_positions(asked, digits, base)
        every, found = list(self.readable(sample, digits, places, base)), list[Row]()
        for site in sites:
            for readable in every:
                row: Row = {"operator": task.operator, "state": named(site)}
                found.append(row | readable.row(states[site]))
        return found

    def sample(self, layout: Layout, task: Task) -> list[Problem]:
        """Different problems of two operands, of the greatest size in training."""
        size = task_sizes.widest(task)[:2]
        found = samples.sample(layout, task, self.count, self.seed, size)
        return list(dict.fromkeys(found))

    def readable(
        self,
        sample: Sequence[Problem],
        digits: Digits,
        places: Int[np.ndarray, " digits"],
        base: int,
    ) -> "Iterator[Readable]":
        """For each digit position what is to be read there; none that is always the same."""
        for place in range(1, int(places.max(initial=0)) + 1):
            mine = np.flatnonzero(places == place)
            fit = digits.problem[mine] < len(sample) // 2
            below = np.array([inputs(sample[row], place - 1, base) for row in digits.problem[mine]])
            carry = np.array([carry_into(sample[row], place, base) for row in digits.problem[mine]])
            share = carry[fit].mean() if fit.any() and not fit.all() else 0
            if 0 < share < 1:
                rng = np.random.default_rng([self.seed, place])
                drawn = rng.random((CONTROLS, base, base, 2)) < share
                controls = drawn[:, *below.T]
                yield Readable(place, mine, fit, np.stack([carry == 1, *controls]))


class Readable(NamedTuple):
    """What is read at one digit position: the carry first, then the control tasks."""

    place: int
    mine: Int[np.ndarray, " examples"]
    """Which of all digits these are."""
    fit: Bool[np.ndarray, " examples"]
    labels: Bool[np.ndarray, "tasks examples"]

    def row(self, states: Float[np.ndarray, "members digits width"]) -> Row:
        found = np.array([self.accuracies(own) for own in states[:, self.mine]])
        carry, control = found[:, 0], found[:, 1:].mean(axis=1)
        share = float(self.labels[0, ~self.fit].mean())
        return {
            "into": self.place,
            "asked": int((~self.fit).sum()),
            "majority": round(max(share, 1 - share), 6),
            **summary_statistics(carry.tolist()),
            "control": round(float(np.median(control)), 6),
            "selectivity": round(float(np.median(carry - control)), 6),
        }

    def accuracies(self, states: Float[np.ndarray, "examples width"]) -> list[float]:
        """Of a member: the share that is read right of each task, on what was not fitted."""
        scaled = Scale(states[self.fit])
        known, asked = scaled(states[self.fit]), scaled(states[~self.fit])
        return [
            float((told(asked, fitted(known, labels[self.fit])) == labels[~self.fit]).mean())
            for labels in self.labels
        ]


def carry_into(problem: Problem, place: int, base: int) -> int:
    """The carry, or the borrow, into a digit position, by Python's ints; 0 is the lowest.

    >>> [carry_into(Problem("+", (957, 68)), place, 10) for place in range(4)]
    [0, 1, 1, 1]
    >>> [carry_into(Problem("-", (68, 957)), place, 10) for place in range(4)]
    [0, 1, 1, 0]
    """
    more, less = sorted(problem.operands, reverse=True)
    unit = base**place
    if problem.operator == "-":
        return int(more % unit < less % unit)
    return (more % unit + less % unit) // unit


def inputs(problem: Problem, place: int, base: int) -> tuple[int, int, int]:
    """What decides the carry out of a digit position: the two digits there, the carry into it.

    Of a difference the borrow; the digit of the larger number stands first.

    >>> inputs(Problem("+", (957, 68)), 1, 10), inputs(Problem("-", (68, 957)), 1, 10)
    ((5, 6, 1), (5, 6, 1))
    """
    first, second = problem.operands
    if problem.operator == "-":
        first, second = sorted(problem.operands, reverse=True)
    digits = (first // base**place % base, second // base**place % base)
    return (*digits, carry_into(problem, place, base))


def digit_positions(asked: Question, digits: Digits, base: int) -> Int[np.ndarray, " digits"]:
    """The digit position of each digit, 0 the least significant, in whichever order they stand.

    Raises UserError for answers that are not written as the digits of one number.
    """
    counts = np.bincount(digits.problem, minlength=len(asked.problems))
    truths = [abs(p.truth) for p in asked.problems if isinstance(p.truth, int)]
    for places in (digits.number, counts[digits.problem] - 1 - digits.number):
        if numbers(asked, digits, places, base) == truths:
            return places
    raise UserError("answers are not written as the digits of one number, in order")


def states_at(
    asked: Question, digits: Digits, sites: Sequence[str]
) -> Mapping[str, Float[np.ndarray, "members digits width"]]:
    """The values of sites where digits are asked for; at all tokens, those of a few problems."""
    found: dict[str, list[np.ndarray]] = {site: [] for site in sites}
    for start in range(0, len(asked.problems), TOGETHER):
        rows = np.arange(start, min(start + TOGETHER, len(asked.problems)))
        values = asked.values(asked.whole.part(rows), sites)
        mine = digits.of_problems(start, len(rows))
        for site in sites:
            found[site].append(mine.at(values[site]))
    return {site: np.concatenate(parts, axis=1) for site, parts in found.items()}


def _panels(task: Task, rows: list[Row]) -> list[Heat]:
    """States below each other, digit positions side by side: accuracy, and selectivity."""
    what = f"{task.operator}: the {settings.CARRIES[task.operator]} into a digit"
    titles = {"median": f"{what}, accuracy", "selectivity": f"{what}, selectivity"}
    return [_panel(title, column, rows) for column, title in titles.items() if rows]


def _panel(title: str, column: str, rows: list[Row]) -> Heat:
    states = list(dict.fromkeys(row["state"] for row in rows))
    places = list(dict.fromkeys(row["into"] for row in rows))
    known = {(row["state"], row["into"]): row[column] for row in rows}
    values = [[known[state, place] for place in places] for state in states]
    return {
        "form": "heat",
        "title": title,
        "across": "digit, 0 the least significant",
        "down": "state",
        "columns": [str(place) for place in places],
        "rows": states,
        "values": [[max(0.0, value) for value in row] for row in values],
        "texts": [[f"{value:.0%}" for value in row] for row in values],
    }
