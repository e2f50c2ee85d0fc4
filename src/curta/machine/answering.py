"""The text of a program without an algorithm: its answer, digit after digit."""

from typing import Any

from .paper import Paper, ProgramError
from .prompt import Format, Given
from .tokens import to_digits


def write_answer(paper: Paper, form: Format, answer: Any) -> None:
    """Writes an answer along the axis of the first operand, from the origin on.

    `-12` is a minus sign and the digits; of several numbers each stands on its own line, with a
    comma before all but the first. Raises ProgramError for what is no such answer.
    """
    along = next(part.along for part in form.parts if isinstance(part, Given))
    wanted, many = form.answer, form.answer.many
    for line, number in enumerate(_numbers(form, answer)):
        paper.home(along)
        if line:
            assert many
            paper.move(**{along: -1, many: 1}).write(f"{wanted.role} between", ",")
        if number < 0:
            paper.move(**{along: -1}).write(wanted.sign, "-")
        digits = to_digits(abs(number), wanted.base)
        for place, digit in enumerate(reversed(digits) if wanted.high_first else digits):
            paper.move(**{along: 1 if place or line or number < 0 else 0})
            paper.write(wanted.role, digit)
    paper.end()


def _numbers(form: Format, answer: Any) -> list[int]:
    """The whole numbers that an answer is made of."""
    wanted = form.answer
    if isinstance(answer, list | tuple) != bool(wanted.many):
        kind = "several numbers" if wanted.many else "one number"
        raise ProgramError(f"the truth is {answer!r}, but the answer is {kind}")
    numbers = list(answer) if wanted.many else [answer]
    if not all(isinstance(number, int) for number in numbers):
        raise ProgramError(f"the truth is {answer!r}: answers are whole numbers")
    if min(numbers, default=0) < 0 and not wanted.sign:
        raise ProgramError(f"the truth is {answer!r}: name the role of a minus sign, sign=...")
    return [int(number) for number in numbers]
