"""Squared paper, and the one machine on which every program runs."""

from .paper import Paper, ProgramError
from .program import Program, program, written
from .prompt import Answer, Given, Sign
from .tokens import to_digits, to_number

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
