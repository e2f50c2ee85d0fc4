"""Problems: an operation and its operands, read from text, with Python's own answer."""

import re
from dataclasses import dataclass
from fractions import Fraction

from curta.config.errors import UserError, quoted, unknown
from curta.config.limits import DIGITS, OPERANDS
from curta.problems.decimals import to_exact, to_int, to_text
from curta.problems.notation import literals, to_digits, written
from curta.problems.operations import OPERATIONS, Answer, Operation, modular

EXAMPLES = ", ".join(operation.example for operation in OPERATIONS.values() if operation.on_device)


@dataclass(frozen=True)
class Problem:
    """An operator and non-negative integers, and the base in which these are written."""

    operator: str
    operands: tuple[int, ...]
    base: int = 10

    def __post_init__(self) -> None:
        operation = operation_named(self.operator)
        complaint = _refused(operation, self.operands)
        if complaint:
            raise UserError(complaint)
        if operation.base:
            object.__setattr__(self, "base", operation.base)

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self.operator]

    @property
    def truth(self) -> Answer:
        return self.operation.truth(*self.operands)

    @property
    def answer_base(self) -> int:
        """The base in which the answer is written."""
        return self.operation.answer_base or self.base

    def __str__(self) -> str:
        return self.operation.text(tuple(written(value, self.base) for value in self.operands))


def operation_named(symbol: str) -> Operation:
    """The operation with that symbol; a UserError with the nearest one otherwise."""
    if symbol not in OPERATIONS:
        raise modular.refusal(symbol) or unknown("operator", symbol, OPERATIONS)
    return OPERATIONS[symbol]


def answer_text(answer: Answer, base: int = 10) -> str:
    """`-12`, `true`, `7,33,210` or `16.25`; `-0xc` in base 16."""
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, Fraction):
        return to_exact(answer)
    if isinstance(answer, tuple):
        return ",".join(written(value, base) for value in answer)
    return "-" * (answer < 0) + written(abs(answer), base)


def widths(problem: Problem) -> tuple[int, ...]:
    """Digit counts of the operands."""
    if problem.base == 10:
        return tuple(len(to_text(value)) for value in problem.operands)
    return tuple(len(to_digits(value, problem.base)) for value in problem.operands)


def parse(text: str) -> Problem:
    """Reads `"12+34"`, `"sort 3,1,2"`, `"gcd(12, 18)"`, `"3.75+12.5"`, `"0xff+0x1"`, `"3#12+3#21"`.

    `"90+10 mod 97"` is an operation modulo a number.
    Blanks around numbers and a final `=` are allowed. Raises UserError for anything that is no
    problem or has no answer.
    """
    pair = _PAIR.match(text)
    if pair is not None and pair[2] in PLAIN:
        return Problem(pair[2], (to_int(pair[1]), to_int(pair[3])))
    plain = text.strip().removesuffix("=").rstrip()
    try:
        plain = _called(plain)
        compound = _compound(plain)
        if compound:
            return Problem(*compound)
        plain, modulus = _modulus(plain)
        plain, base = literals(plain)
        operator, operands = _named(plain) or _infix(plain)
        return _in_base(operator + modulus, operands, base)
    except UserError as error:
        raise UserError(f"cannot read {_shortened(text)}: {error}") from None


PLAIN = frozenset(OPERATIONS)
"""Operators that nothing else ever replaces, of problems of whole numbers."""

_PAIR = re.compile(r"([1-9][0-9]{0,999})([-+*/%]{1,2})([1-9][0-9]{0,999})$")
"""What most problems look like, read at once."""


def _signs() -> list[str]:
    """Every operator that stands between whole numbers and is no word."""
    return [s for s, one in OPERATIONS.items() if not s.isalpha() and not one.compound]


def _any_sign() -> str:
    """A pattern of one of them."""
    return "|".join(map(re.escape, sorted(_signs(), key=len, reverse=True)))


def _called(text: str) -> str:
    """`gcd 12, 18` for `gcd(12, 18)`, anything else as it is."""
    call = re.fullmatch(r"([^\W\d_]+)\s*\((.*)\)", text, re.DOTALL)
    return f"{call[1]} {call[2].strip()}" if call else text


Parsed = tuple[str, tuple[int, ...]]


def _compound(text: str) -> Parsed | None:
    """A problem whose numbers have several parts, as before and after a point, if it is one."""
    for symbol, operation in OPERATIONS.items():
        found = operation.read(text)
        if found:
            return symbol, _numbers(found)
    return None


def _named(text: str) -> Parsed | None:
    """A problem that begins with its operation's name; None if this one does not."""
    word, _, rest = text.partition(" ")
    if not word.isalpha():
        return None
    if word not in OPERATIONS:
        raise unknown("operation", word, OPERATIONS)
    return word, _numbers(re.split(r"\s*,\s*|\s+", rest.strip()))


def _in_base(operator: str, operands: tuple[int, ...], base: int) -> Problem:
    """The problem, if its operands may be written in that base."""
    operation = operation_named(operator)
    wanted = operation.base or (10 if operation.answer_base else base)
    if base != wanted:
        raise UserError(
            f"operands of {operation.name} are written in base {wanted}, such as"
            f" {operation.example}"
        )
    return Problem(operator, operands, base)


def _modulus(text: str) -> tuple[str, str]:
    """The problem and what follows it: `12+5` and ` mod 97`, or nothing."""
    found = re.fullmatch(r"(.*?)\s+mod\s+([0-9]+)", text, re.DOTALL)
    return (found[1], f" mod {found[2]}") if found else (text, "")


def _infix(text: str) -> Parsed:
    """Numbers with one and the same sign between them."""
    complaint = _complaint(text)
    if complaint:
        raise UserError(complaint)
    signs = _any_sign()
    first, *others = dict.fromkeys(re.findall(signs, text))
    if others:
        raise UserError(f"{first!r} and {others[0]!r} together: one operation at a time")
    return first, _numbers(re.split(rf"\s*(?:{signs})\s*", text))


def _numbers(texts: list[str]) -> tuple[int, ...]:
    for text in texts:
        if not re.fullmatch(r"[0-9]+", text):
            raise UserError(_complaint(text) or f"{quoted(text)} is no whole number from 0 up")
        if len(text) > DIGITS:
            raise UserError(f"operand of {len(text):,} digits: at most {DIGITS:,} are accepted")
    return tuple(map(to_int, texts))


def _refused(operation: Operation, operands: tuple[int, ...]) -> str | None:
    """Why there is no such problem, if there is none."""
    if any(value < 0 for value in operands):
        return "negative operand: operands are whole numbers from 0 up"
    most = OPERANDS if operation.most is None else operation.most
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
    signs = _any_sign()
    if not text:
        return f"there is nothing; write a problem such as {EXAMPLES}"
    if re.search(r"[0-9][.][0-9]|[0-9],[0-9]{3}\b|[0-9][eE][0-9]", text):
        return f"only whole numbers can be calculated with, written as 1234{_but_compound()}"
    if re.search(r"(^|[-+*/%<]\s*)-\s*[0-9]", text):
        return "operands are whole numbers from 0 up, such as 12-34"
    rest = re.sub(signs, " ", text)
    if "/" in rest:
        return "'/' is no known operator: did you mean '//'?"
    strange = sorted(set(re.findall(r"[^0-9\s]", rest)))
    if strange:
        return (
            f"{quoted(' '.join(strange))} is no digit and no known operator ({' '.join(_signs())})"
        )
    if not re.search(signs, text):
        return f"an operator is missing; write a problem such as {EXAMPLES}"
    if re.search(r"[0-9]\s+[0-9]", text):
        return "two numbers have no operator between them"
    if re.search(r"^\s*@|@\s*$|@\s*@", re.sub(signs, "@", text)):
        return "an operand is missing; write a problem such as 12+34"
    return None


def _but_compound() -> str:
    """Which problems have other numbers."""
    examples = [one.example for one in OPERATIONS.values() if one.compound]
    return f", but for {' or '.join(examples)}" if examples else ""
