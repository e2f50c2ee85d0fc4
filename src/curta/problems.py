"""Problems: an operation and its operands, read from text, with Python's own answer."""

import re
from dataclasses import dataclass

from .decimals import to_int, to_text
from .errors import UserError, unknown
from .operations import OPERATIONS, Answer, Operation

MAX_DIGITS = 100_000
"""Longest operand accepted anywhere: a bound on memory, not on the method."""

MAX_OPERANDS = 1_000

EXAMPLES = ", ".join(operation.example for operation in OPERATIONS.values())


@dataclass(frozen=True)
class Problem:
    """An operator and non-negative integers."""

    operator: str
    operands: tuple[int, ...]

    def __post_init__(self) -> None:
        complaint = _refused(operation_named(self.operator), self.operands)
        if complaint:
            raise UserError(complaint)

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self.operator]

    @property
    def truth(self) -> Answer:
        return self.operation.truth(*self.operands)

    def __str__(self) -> str:
        return self.operation.text(tuple(map(to_text, self.operands)))


def operation_named(symbol: str) -> Operation:
    """The operation with that symbol; a UserError with the nearest one otherwise."""
    if symbol not in OPERATIONS:
        raise unknown("operator", symbol, OPERATIONS)
    return OPERATIONS[symbol]


def answer_text(answer: Answer) -> str:
    """`-12`, `true`, or `7,33,210`."""
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, tuple):
        return ",".join(map(to_text, answer))
    return "-" * (answer < 0) + to_text(abs(answer))


def parse(text: str) -> Problem:
    """Reads `"12+34"` or `"sort 3,1,2"`; blanks around numbers and a final `=` are allowed.

    Raises UserError for anything that is no problem or has no answer.
    """
    plain = text.strip().removesuffix("=").rstrip()
    try:
        return _named(plain) or _infix(plain)
    except UserError as error:
        raise UserError(f"cannot read {_shortened(text)}: {error}") from None


_SIGNS = [symbol for symbol in OPERATIONS if not symbol.isalpha()]
_ANY_SIGN = "|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True)))


def _named(text: str) -> Problem | None:
    """A problem that begins with its operation's name; None if this one does not."""
    word, _, rest = text.partition(" ")
    if not word.isalpha():
        return None
    if word not in OPERATIONS:
        raise unknown("operation", word, OPERATIONS)
    return Problem(word, _numbers(re.split(r"\s*,\s*|\s+", rest.strip())))


def _infix(text: str) -> Problem:
    """Numbers with one and the same sign between them."""
    complaint = _complaint(text)
    if complaint:
        raise UserError(complaint)
    first, *others = dict.fromkeys(re.findall(_ANY_SIGN, text))
    if others:
        raise UserError(f"{first!r} and {others[0]!r} together: one operation at a time")
    return Problem(first, _numbers(re.split(rf"\s*(?:{_ANY_SIGN})\s*", text)))


def _numbers(texts: list[str]) -> tuple[int, ...]:
    for text in texts:
        if not re.fullmatch(r"[0-9]+", text):
            raise UserError(_complaint(text) or f"{text!r} is no whole number from 0 up")
        if len(text) > MAX_DIGITS:
            raise UserError(f"operand of {len(text):,} digits: at most {MAX_DIGITS:,} are accepted")
    return tuple(map(to_int, texts))


def _refused(operation: Operation, operands: tuple[int, ...]) -> str | None:
    """Why there is no such problem, if there is none."""
    if any(value < 0 for value in operands):
        return "negative operand: operands are whole numbers from 0 up"
    most = MAX_OPERANDS if operation.most is None else operation.most
    if not operation.least <= len(operands) <= most:
        wanted = f"{most}" if operation.least == most else f"{operation.least} to {most:,}"
        numbers = "operand" if wanted == "1" else "operands"
        return f"{operation.name} takes {wanted} {numbers}, such as {operation.example}"
    return operation.refuse(operands)


def _shortened(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}")


def _complaint(text: str) -> str | None:
    """The most specific thing that can be said of a text that is no problem."""
    if not text:
        return f"there is nothing; write a problem such as {EXAMPLES}"
    if re.search(r"[0-9][.][0-9]|[0-9],[0-9]{3}\b|[0-9][eE][0-9]", text):
        return "only whole numbers can be calculated with, written as 1234"
    if re.search(r"(^|[-+*/%<]\s*)-\s*[0-9]", text):
        return "operands are whole numbers from 0 up, such as 12-34"
    rest = re.sub(_ANY_SIGN, " ", text)
    if "/" in rest:
        return "'/' is no known operator: did you mean '//'?"
    strange = sorted(set(re.findall(r"[^0-9\s]", rest)))
    if strange:
        return f"{' '.join(strange)!r} is no digit and no known operator ({' '.join(_SIGNS)})"
    if not re.search(_ANY_SIGN, text):
        return f"an operator is missing; write a problem such as {EXAMPLES}"
    if re.search(r"[0-9]\s+[0-9]", text):
        return "two numbers have no operator between them"
    if re.search(rf"^\s*({_ANY_SIGN})|({_ANY_SIGN})\s*$|({_ANY_SIGN})\s*({_ANY_SIGN})", text):
        return "an operand is missing; write a problem such as 12+34"
    return None
