"""Algorithms that come with Curta. A new one is one file and one line here."""

from curta.problems.operations import OPERATIONS
from curta.programs.addition import addition
from curta.programs.binary import binary
from curta.programs.carried import carried
from curta.programs.comparison import comparison
from curta.programs.copying import copy
from curta.programs.decimal import decimal
from curta.programs.declared import Declared
from curta.programs.division import division, modulo
from curta.programs.fractions import fractions
from curta.programs.gcd import gcd
from curta.programs.isqrt import isqrt
from curta.programs.luhn import luhn
from curta.programs.machine import Program
from curta.programs.multiplication import multiplication
from curta.programs.reversal import reverse
from curta.programs.sorting import sorting
from curta.programs.spaced import spaced, spaced_apart
from curta.programs.subtraction import subtraction
from curta.programs.sums import sums

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        addition, sums, carried, fractions, spaced, spaced_apart, subtraction, multiplication,
        division, modulo, comparison, sorting, gcd, isqrt, binary, decimal, luhn, copy, reverse,
    )
}  # fmt: skip

OPERATIONS |= {
    program.operator: Declared.of(program) for program in PROGRAMS.values() if program.truth
}

BUILT_IN = OPERATIONS.copy()
"""Operators that nothing else ever replaces."""
