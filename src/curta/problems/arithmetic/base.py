"""The contract of an operation's arithmetic on digit arrays, and of its special cases.

A special case turns random problems into rare ones; training draws a stated share from
them, and each is a slice of the evaluation set, so that a report shows where errors are.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from jaxtyping import Array, Bool, UInt

from curta.problems.arithmetic.digits import Numbers

Noise = UInt[Array, "batch numbers width"]
Case = Callable[[Numbers, Noise], Numbers]
"""Random problems into problems of one kind, given fresh random bits for each digit."""


class Result(NamedTuple):
    """Answers of a batch: one or more numbers each, and whether they are below zero."""

    numbers: Numbers
    negative: Bool[Array, " batch"]


class Arithmetic(NamedTuple):
    """An operation on the device: `answer` is what its `truth` is in Python.

    `admit` replaces random operands that have no answer.
    """

    answer: Callable[[Numbers], Result]
    cases: Mapping[str, Case]
    admit: Callable[[Numbers], Numbers] = lambda operands: operands
