"""What Curta can calculate. A new operation is one file and one line here."""

from curta.config.registry import Registry
from curta.problems.operations import modular
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

OPERATIONS: Registry[Operation] = Registry(
    "operator",
    {operation.symbol: operation() for operation in _CLASSES},
    numbered=modular.modular,
)
"""Operations by their symbols, and those modulo a number. Programs add theirs: see `programs`."""

__all__ = ["OPERATIONS", "Answer", "Operation"]
