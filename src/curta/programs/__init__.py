"""Algorithms that come with Curta. A new one is one file and one line here."""

from ..errors import unknown
from ..machine import Program
from .addition import addition
from .binary import binary
from .carried import carried
from .comparison import comparison
from .copying import copy
from .decimal import decimal
from .division import division, modulo
from .fractions import fractions
from .gcd import gcd
from .isqrt import isqrt
from .luhn import luhn
from .multiplication import multiplication
from .reversal import reverse
from .sorting import sorting
from .spaced import spaced, spaced_apart
from .subtraction import subtraction
from .sums import sums

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        addition,
        sums,
        carried,
        fractions,
        spaced,
        spaced_apart,
        subtraction,
        multiplication,
        division,
        modulo,
        comparison,
        sorting,
        gcd,
        isqrt,
        binary,
        decimal,
        luhn,
        copy,
        reverse,
    )
}


def program_named(name: str) -> Program:
    """The program of that name; a UserError with the nearest one otherwise."""
    if name not in PROGRAMS:
        raise unknown("program", name, PROGRAMS)
    return PROGRAMS[name]
