"""What Curta can calculate. A new operation is one file and one line here."""

from ..programs import PROGRAMS
from .addition import Addition
from .base import Answer, Case, Noise, Operation, Result
from .comparison import Comparison
from .copying import Copy, Reverse
from .declared import Declared
from .division import Quotient, Remainder
from .multiplication import Multiplication
from .ordering import Ordering
from .sorting import Sorting
from .subtraction import Subtraction

OPERATIONS: dict[str, Operation] = {
    operation.symbol: operation
    for operation in (
        Addition(),
        Subtraction(),
        Multiplication(),
        Quotient(),
        Remainder(),
        Comparison(),
        Sorting(),
        Ordering(),
        Copy(),
        Reverse(),
    )
}
OPERATIONS |= {
    program.operator: Declared.of(program) for program in PROGRAMS.values() if program.truth
}

BUILT_IN = frozenset(OPERATIONS)
"""Operators that nothing else ever replaces."""

__all__ = ["BUILT_IN", "OPERATIONS", "Answer", "Case", "Noise", "Operation", "Result"]
