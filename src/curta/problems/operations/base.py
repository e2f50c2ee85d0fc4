"""The contract of an operation: its truth, and how its problems are written and read.

The truth is Python's own: plain ints, nothing of ours. `problems.arithmetic` computes the same on
the device, for the operations of published layouts.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from curta.problems.sizes import Sizes

Answer = int | bool | tuple[int, ...] | Fraction
"""What a problem comes to: a number, true or false, several numbers in order, or a fraction."""


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
    bounded: bool = True
    """Whether `widths` is known to bound the answers, and not supposed of a user's program."""
    commutes: bool = False
    """Whether the order of the operands makes no difference."""
    modulus: int | None = None
    """What operands and answers are residues of; None where they are whole numbers."""
    base: int | None = None
    """The base in which operands are always written; None where a problem says it."""
    answer_base: int | None = None
    """The base of the answer, where it is not that of the operands."""
    on_device: ClassVar[bool] = True
    """Whether `problems.arithmetic` has it, so that problems can be drawn on the device."""
    cases: Mapping[str, Any] = {}
    """What draws special cases of an operation that is not `on_device`, each by its name."""
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Operands of single telling problems, each with a name: hard ones that chance hardly draws."""

    def takes(self, operands: int) -> bool:
        """Whether problems may have so many operands."""
        return self.least <= operands <= (self.most or operands)

    @abstractmethod
    def truth(self, *operands: int) -> Answer:
        """The answer, by Python itself."""

    def tests(self, slice_name: str, size: Sequence[int], seed: str) -> Iterator[tuple[int, ...]]:
        """Test problems without end, of an operation that is not `on_device`."""
        raise NotImplementedError

    def training(self, sizes: Sizes, seed: str, special: float) -> Iterator[tuple[int, ...]]:
        """Training problems without end, of an operation that is not `on_device`."""
        raise NotImplementedError

    @abstractmethod
    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        """The most digits of each number of the answer, given those of the operands."""

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        """Why these operands have no answer, if they have none."""
        return None

    def value(self, numbers: Sequence[int]) -> Answer | None:
        """The answer that these numbers write down; None if they cannot be one."""
        return numbers[0] if len(numbers) == 1 else None

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
