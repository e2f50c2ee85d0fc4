"""The text of a program without an algorithm: its answer, digit after digit."""

from fractions import Fraction
from typing import Any

from curta.problems.decimals import places_of
from curta.problems.notation import to_digits
from curta.programs.machine.paper import Paper, ProgramError
from curta.programs.machine.prompt import Format, Given


def write_answer(paper: Paper, form: Format, answer: Any) -> None:
    """Writes an answer along the axis of the first operand, from the origin on.

    `-12` is a minus sign and the digits; of several numbers each stands on its own line, with a
    comma before all but the first. Digits below a point stand on their side of it. Raises
    ProgramError for what is no such answer.
    """
    along = next(part.along for part in form.parts if isinstance(part, Given))
    if form.answer.fraction:
        _write_fraction(paper, form, along, answer)
        return
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


def _write_fraction(paper: Paper, form: Format, along: str, answer: Any) -> None:
    """A number with a point, which is a sign of its own role."""
    wanted, places = form.answer, places_of(answer) if isinstance(answer, Fraction) else None
    if places is None:
        raise ProgramError(f"the truth is {answer!r}: answers are fractions.Fraction and decimal")
    _check_sign(form, answer)
    digits: list[int | str] = [*to_digits(int(abs(answer) * 10**places))]
    digits += [0] * (places + 1 - len(digits))
    digits.insert(places, ".")
    roles = [wanted.fraction] * places + [f"{wanted.role} point"]
    roles += [wanted.role] * (len(digits) - len(roles))
    paper.home(along)
    if answer < 0:
        paper.move(**{along: -1}).write(wanted.sign, "-").move(**{along: 1})
    for role, digit in list(zip(roles, digits, strict=True))[:: -1 if wanted.high_first else 1]:
        paper.write(role, digit).move(**{along: 1})
    paper.move(**{along: -1}).end()


def _check_sign(form: Format, least: int | Fraction) -> None:
    if least < 0 and not form.answer.sign:
        raise ProgramError(f"the truth is {least!r}: name the role of a minus sign, sign=...")


def _numbers(form: Format, answer: Any) -> list[int]:
    """The whole numbers that an answer is made of."""
    wanted = form.answer
    if isinstance(answer, list | tuple) != bool(wanted.many):
        kind = "several numbers" if wanted.many else "one number"
        raise ProgramError(f"the truth is {answer!r}, but the answer is {kind}")
    numbers = list(answer) if wanted.many else [answer]
    if not all(isinstance(number, int) for number in numbers):
        raise ProgramError(f"the truth is {answer!r}: answers are whole numbers")
    _check_sign(form, min(numbers, default=0))
    return [int(number) for number in numbers]
