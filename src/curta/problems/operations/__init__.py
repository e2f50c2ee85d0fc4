"""What Curta can calculate. A new operation is one file and one line here."""

from curta.problems.operations.addition import Addition
from curta.problems.operations.base import Answer, Case, Noise, Operation, Result
from curta.problems.operations.comparison import Comparison
from curta.problems.operations.copying import Copy, Reverse
from curta.problems.operations.declared import Declared
from curta.problems.operations.division import Quotient, Remainder
from curta.problems.operations.multiplication import Multiplication
from curta.problems.operations.ordering import Ordering
from curta.problems.operations.sorting import Sorting
from curta.problems.operations.subtraction import Subtraction
from curta.programs import PROGRAMS

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
