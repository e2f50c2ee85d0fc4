"""Linear probes of the carry, with a control task.

Where a model predicts a digit of a sum, the digits below decide the carry into that digit. A
logistic regression reads the carry from the state at that position, one for each state, digit and
member; for a difference, with the larger number first, it reads the borrow. It is fitted on half
of the problems and evaluated on the other half.

A probe may learn what it reads by itself. As a control, a random function of the same three inputs,
the two digits below and the carry into them, is read in the same way. Selectivity is the accuracy
less that of the control. Part of the carry is visible in the digit before: in a sum of random
digits, that digit alone determines it in three of four cases.

Sources: Alain and Bengio, arXiv 1610.01644; Hewitt and Liang, arXiv 1909.03368, where a control
task gives each word a random label. Here there are few tokens and states contain them, so any such
label could be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError
from curta.probes.base import (
    CARRIES,
    Row,
    TaskFinding,
    TaskProbe,
    option,
    seed_option,
    summary_columns,
)
from curta.probes.pictures import Panel, by_two
from curta.problems import task_sizes

if TYPE_CHECKING:
    from curta.config.task import Task
    from curta.probes.inside.question import Question
    from curta.probes.subject import Subject
    from curta.problems.problem import Problem

CONTROLS = 5
"""Control tasks, whose accuracies are averaged, since that of one depends on the draw."""

PENALTY = 1.0
"""Half of it times the squared weights is added to the loss: C = 1 in scikit-learn's terms."""

CLOSE = 1e-6
"""Largest slope, per example, at which the weights are final."""

Features = Float[np.ndarray, "examples features"]
Labels = Bool[np.ndarray, " examples"]
Weights = Float[np.ndarray, " features"]


@dataclass(frozen=True)
class Linear(TaskProbe):
    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "from which state the carry can be read, by linear probes"
    scope: ClassVar[str] = "sums and differences of two numbers"
    shows: ClassVar = (
        "The carry into each digit, read by a linear probe from the state where the digit is"
        " predicted: accuracy on other problems, and accuracy less that of the control task."
        " Median of the members."
    )

    nothing: ClassVar = "numbers this short have no carry that may be there or not"

    count: int = option(800, "problems, half of them to fit by", least=2)
    seed: int = seed_option("seed of the problems and of the control task")

    @classmethod
    def about(cls, task: Task) -> bool:
        return task.operator in CARRIES

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return a row for each state and each digit that a carry may enter."""
        # distinct problems of two operands of the greatest size in training
        size = task_sizes.widest(task)[:2]
        sample = list(dict.fromkeys(subject.sample(task, self.count, self.seed, size)))
        question, base = subject.question(sample), subject.layout.base(task.operator)
        problem, places = question.digits.problem, digit_positions(question, base)
        states, rows = question.digit_values(question.states), list[Row]()
        for place in range(1, int(places.max(initial=0)) + 1):
            digits = np.flatnonzero(places == place)
            fit = problem[digits] < len(sample) // 2
            below = np.array([inputs(sample[row], place - 1, base) for row in problem[digits]])
            carry = np.array([carry_into(sample[row], place, base) for row in problem[digits]]) == 1
            share = carry[fit].mean() if fit.any() and not fit.all() else 0
            if not 0 < share < 1:
                continue
            rng = np.random.default_rng([self.seed, place])
            controls = rng.random((CONTROLS, base, base, 2)) < share
            labels = np.stack([carry, *controls[:, *below.T]])
            common = float(carry[~fit].mean())
            for site, values in states.items():
                table = np.array([
                    [accuracy(features, fit, task_labels) for task_labels in labels]
                    for features in (standardised(member, fit) for member in values[:, digits])
                ])  # fmt: skip
                right, control = table[:, 0], table[:, 1:].mean(axis=1)
                rows.append({
                    "state": question.part_name(site),
                    "into": place,
                    "asked": int((~fit).sum()),
                    "majority": round(max(common, 1 - common), 6),
                    **summary_columns(right),
                    "control": round(float(np.median(control)), 6),
                    "selectivity": round(float(np.median(right - control)), 6),
                })  # fmt: skip
        names = [question.part_name(site) for site in states]
        rows.sort(key=lambda row: names.index(row["state"]))
        title = f"{task.operator}: the {CARRIES[task.operator]} into a digit"
        label = "digit, 0 the least significant"
        panels: list[Panel] = [
            by_two(f"{title}, {measure}", rows, "state", "into", label, column)
            for column, measure in (("median", "accuracy"), ("selectivity", "selectivity"))
            if rows
        ]
        notes = (
            "into: the digit that the carry goes into, 0 the least significant; majority: the"
            " share of the commoner answer",
            f"logistic regression, features of deviation 1, half of {PENALTY:g} times the squared"
            f" weights; control: mean of {CONTROLS} random functions of the same digits",
        )
        return TaskFinding(rows, panels, notes)


def standardised(
    states: Float[np.ndarray, "examples width"], fit: Labels
) -> Float[np.ndarray, "examples width+1"]:
    """Return features of mean 0 and deviation 1 over the fitted examples, and a feature of ones.

    Features that never vary become 0. [1, 3] and [5, 5] over two examples:

    >>> standardised(np.array([[1.0, 5], [3, 5]]), np.array([True, True])).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    exact = np.asarray(states, np.float64)
    mean, deviation = exact[fit].mean(axis=0), exact[fit].std(axis=0)
    varies = deviation > 1e-6 * np.abs(exact[fit]).max(initial=0.0)
    scaled = (exact - mean) * np.where(varies, 1 / np.where(varies, deviation, 1), 0)
    return np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1)


def fit_weights(features: Features, labels: Labels) -> Weights:
    """Return the weights w of logistic regression, by Newton's method in double precision.

    They minimise the sum of log(1 + exp(-x w)) over the true examples x, and of log(1 + exp(x w))
    over the others, plus half the penalty times the squares of w: a convex problem.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    signs = np.where(labels, -1.0, 1.0)

    def loss_and_slope(weights: Weights) -> tuple[float, Weights]:
        penalty = PENALTY / 2 * float(weights @ weights)
        loss = float(np.logaddexp(0, signs * (features @ weights)).sum()) + penalty
        return loss, features.T @ (expit(features @ weights) - labels) + PENALTY * weights

    def curvature(weights: Weights) -> np.ndarray:
        chances = expit(features @ weights)
        fit = (features.T * (chances * (1 - chances))) @ features
        return fit + PENALTY * np.eye(len(weights))

    weights: Weights = minimize(
        loss_and_slope, np.zeros(features.shape[1]), jac=True, hess=curvature, method="trust-exact",
        options={"gtol": CLOSE * len(labels)},
    ).x  # fmt: skip
    return weights


def accuracy(features: Features, fit: Labels, labels: Labels) -> float:
    """Return the accuracy of a probe on the examples to which it was not fitted."""
    weights = fit_weights(features[fit], labels[fit])
    return float(((features[~fit] @ weights > 0) == labels[~fit]).mean())


def carry_into(problem: Problem, place: int, base: int) -> int:
    """Return the carry, or the borrow, into a digit position; 0 is the lowest position.

    >>> from curta.problems.problem import Problem
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
    """Return what decides the carry out of a digit position: its two digits, and the carry into it.

    For a difference, the borrow; the digit of the larger number comes first.

    >>> from curta.problems.problem import Problem
    >>> inputs(Problem("+", (957, 68)), 1, 10), inputs(Problem("-", (68, 957)), 1, 10)
    ((5, 6, 1), (5, 6, 1))
    """
    first, second = problem.operands
    if problem.operator == "-":
        first, second = sorted(problem.operands, reverse=True)
    digits = (first // base**place % base, second // base**place % base)
    return (*digits, carry_into(problem, place, base))


def digit_positions(question: Question, base: int) -> Int[np.ndarray, " digits"]:
    """Return the digit position of each digit of the answers, 0 the least significant.

    Raises UserError for answers that are not written as the digits of one number, in order.
    """
    digits, value = question.digits, question.layout.value
    values = [value(token) for token in digits.token.tolist()]
    counts = np.bincount(digits.problem, minlength=len(question.problems))
    truths = [abs(p.truth) for p in question.problems if isinstance(p.truth, int)]
    for places in (digits.number, counts[digits.problem] - 1 - digits.number):
        # digits 5, 2, 1 at positions 0, 1, 2 are 125
        numbers = [0] * len(question.problems)
        for row, place, digit in zip(digits.problem, places.tolist(), values, strict=True):
            numbers[row] += (digit or 0) * base**place
        if None not in values and numbers == truths:
            return places
    raise UserError("answers are not written as the digits of one number, in order")
