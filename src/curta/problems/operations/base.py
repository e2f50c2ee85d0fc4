"""The contract of an operation: its truth, its digit arithmetic, its special cases.

The truth is Python's own: plain ints, nothing of ours. `answer` computes the same
on the device for a whole batch of digit arrays. A special case turns random
problems into rare ones; training draws a stated share from them, and each is a
category of the examination, so that a report shows where errors are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, NamedTuple

from jaxtyping import Array, Bool, UInt

from curta.problems.digits import Numbers

Answer = int | bool | tuple[int, ...] | Fraction
"""What a problem comes to: a number, true or false, several numbers in order, or a fraction."""

Noise = UInt[Array, "batch numbers width"]
Case = Callable[[Numbers, Noise], Numbers]
"""Random problems into problems of one kind, given fresh random bits for each digit."""


class Result(NamedTuple):
    """Answers of a batch: one or more numbers each, and whether they are below zero."""

    numbers: Numbers
    negative: Bool[Array, " batch"]


class Operation(ABC):
    """What can be done with numbers. Stateless; registered by its symbol in `OPERATIONS`."""

    symbol: str
    name: str
    mark: str
    """One character that stands for the operation in a written problem."""
    example: str
    least: int = 2
    most: int | None = 2
    """How many operands there may be; None is any number."""
    signed: bool = False
    """Whether answers may be below zero."""
    pointed: bool = False
    """Whether answers are fractions."""
    commutes: bool = False
    """Whether the order of the operands makes no difference."""
    base: int | None = None
    """The base in which operands are always written; None where a problem says it."""
    answer_base: int | None = None
    """The base of the answer, where it is not that of the operands."""
    on_device: ClassVar[bool] = True
    """Whether `answer` and `cases` are there, so that problems can be drawn on the device."""
    cases: ClassVar[Mapping[str, Case]]
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Operands of single telling problems, each with a name: hard ones that chance hardly draws."""

    @abstractmethod
    def truth(self, *operands: int) -> Answer:
        """The answer, by Python itself."""

    @abstractmethod
    def answer(self, operands: Numbers) -> Result:
        """The answer on the device."""

    @abstractmethod
    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        """The most digits of each number of the answer, given those of the operands."""

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        """Why these operands have no answer, if they have none."""
        return None

    def value(self, numbers: Sequence[int]) -> Answer | None:
        """The answer that these numbers write down; None if they cannot be one."""
        return numbers[0] if len(numbers) == 1 else None

    def admit(self, operands: Numbers) -> Numbers:
        """Random operands, with those replaced that have no answer."""
        return operands

    @property
    def compound(self) -> bool:
        """Whether several operands are one number to people, as before and after a point."""
        return False

    def read(self, line: str) -> list[str] | None:
        """The operands' digits in a problem that is `compound`; None if it is no such problem."""
        return None

    def text(self, operands: tuple[str, ...]) -> str:
        """The problem as people write it, from its operands' digits."""
        return self.symbol.join(operands)
