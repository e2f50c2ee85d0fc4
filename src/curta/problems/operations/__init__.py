"""What Curta can calculate. A new operation is one file and one line here."""

from curta.problems.operations.addition import Addition
from curta.problems.operations.base import Answer, Operation
from curta.problems.operations.comparison import Comparison
from curta.problems.operations.copying import Copy, Reverse
from curta.problems.operations.division import Quotient, Remainder
from curta.problems.operations.multiplication import Multiplication
from curta.problems.operations.ordering import Ordering
from curta.problems.operations.sorting import Sorting
from curta.problems.operations.subtraction import Subtraction

_CLASSES: tuple[type[Operation], ...] = (
    Addition, Subtraction, Multiplication, Quotient, Remainder, Comparison, Sorting, Ordering,
    Copy, Reverse,
)  # fmt: skip

OPERATIONS: dict[str, Operation] = {operation.symbol: operation() for operation in _CLASSES}
"""Operations by their symbols. Programs add their own: see `programs`."""

__all__ = ["OPERATIONS", "Answer", "Operation"]
