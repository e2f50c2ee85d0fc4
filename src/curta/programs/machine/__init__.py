"""Squared paper, and the one machine on which every program runs."""

from curta.programs.machine.paper import Paper, ProgramError
from curta.programs.machine.program import Program, program, written
from curta.programs.machine.prompt import Answer, Given, Sign
from curta.programs.machine.tokens import to_digits, to_number

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
