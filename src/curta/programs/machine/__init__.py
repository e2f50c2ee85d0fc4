"""Squared paper, and the one machine on which every program runs."""

from curta.problems.numerals import to_digits, to_number
from curta.programs.machine.paper import Paper, ProgramError
from curta.programs.machine.program import Program, program, written
from curta.programs.machine.prompt import Answer, Given, Sign

__all__ = [
    "Answer",
    "Given",
    "Paper",
    "Program",
    "ProgramError",
    "Sign",
    "program",
    "to_digits",
    "to_number",
    "written",
]
