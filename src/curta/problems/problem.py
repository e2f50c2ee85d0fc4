"""Problems: an operation and its operands, parsed from text, and the answer in Python."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from curta.config.errors import UserError, error_prefix, quoted, unknown
from curta.config.limits import DIGITS, OPERANDS
from curta.problems.numerals import format_number, literals, to_digits, to_exact, to_int, to_text
from curta.problems.operations import OPERATIONS, Answer, Operation, operation_named
from curta.problems.sizes import OperandLimits, check_operands

END = "$"
"""The character that ends a text."""


@dataclass(frozen=True)
class Problem:
    """An operator, non-negative integers, and the base in which people write them.

    Raises UserError for operands that the operation does not take.
    """

    operator: str
    operands: tuple[int, ...]
    base: int = 10

    def __post_init__(self) -> None:
        operation, operands = operation_named(self.operator), self.operands
        for value in operands:
            if type(value) is not int:
                raise UserError(f"operands are whole numbers from 0 up (got {quoted(value)})")
            if value < 0:
                raise UserError("negative operand: operands are whole numbers from 0 up")
        most = OPERANDS if operation.most is None else operation.most
        if not operation.least <= len(operands) <= most:
            counts = f"{most}" if operation.least == most else f"{operation.least} to {most:,}"
            noun = "operand" if counts == "1" else "operands"
            raise UserError(f"{operation.name} takes {counts} {noun}, such as {operation.example}")
        refusal = operation.refuse(operands)
        if refusal:
            raise UserError(refusal)
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

    @property
    def truth_text(self) -> str:
        """The answer as people write it."""
        return answer_text(self.truth, self.answer_base)

    def __str__(self) -> str:
        return self.operation.text(
            tuple(format_number(value, self.base) for value in self.operands)
        )


def answer_text(answer: Answer, base: int = 10) -> str:
    """Return an answer as people write it: `-12`, `true`, `7,33,210`, `16.25`, `-0xc`."""
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, Fraction):
        return to_exact(answer)
    if isinstance(answer, tuple):
        return ",".join(format_number(value, base) for value in answer)
    return "-" * (answer < 0) + format_number(abs(answer), base)


def malformed_text(text: str) -> str:
    """Return the line that reports a text without an answer."""
    return f"invalid: {text if text.removesuffix(END) else 'nothing was written'}"


def widths(problem: Problem) -> tuple[int, ...]:
    """Return the digit counts of the operands."""
    if problem.base == 10:
        return tuple(len(to_text(value)) for value in problem.operands)
    return tuple(len(to_digits(value, problem.base)) for value in problem.operands)


def check_limits(problem: Problem, limits: Mapping[str, OperandLimits], title: str) -> None:
    """Check a problem by `check_operands`; messages begin with the problem."""
    with error_prefix(quoted(str(problem))):
        check_operands(title, limits, problem.operator, widths(problem), problem.base)


def parse(text: str | Problem, operators: Collection[str] = ()) -> Problem:
    """Parse `"12+34"`, `"sort 3,1,2"`, `"gcd(12, 18)"`, `"3.75+12.5"`, `"0xff+0x1"`, `"3#12+3#21"`.

    `"90+10 mod 97"` is an operation modulo a number. Spaces around numbers and a final `=` are
    allowed; a `Problem` is returned unchanged. Raises UserError for anything else, and for problems
    without an answer. `operators` are those that hints name, by default Curta's.
    """
    if isinstance(text, Problem):
        return text
    if not isinstance(text, str):
        raise UserError(f"a problem is text such as '12+34' (got {quoted(text)})")
    pair = _PAIR.match(text)
    if pair is not None and pair[2] in PLAIN:
        return Problem(pair[2], (to_int(pair[1]), to_int(pair[3])))
    plain = text.strip().removesuffix("=").rstrip()
    with error_prefix(f"cannot read {quoted(text.strip())}"):
        if "=" in plain:
            before = plain.partition("=")[0].rstrip()
            raise UserError(f"'=' ends a problem: write {quoted(before)}")
        if call := re.fullmatch(r"([^\W\d_]+)\s*\((.*)\)", plain, re.DOTALL):
            plain = f"{call[1]} {call[2].strip()}"
        for symbol, operation in OPERATIONS.items():
            if numbers := operation.read(plain):
                return Problem(symbol, _numbers(numbers, operators))
        modulus = ""
        if match := re.fullmatch(r"(.*?)\s+mod\s+([0-9]+)", plain, re.DOTALL):
            plain, modulus = match[1], f" mod {match[2]}"
        plain, base = literals(plain)
        word, _, operand_text = plain.partition(" ")
        if word.isalpha():
            if word not in OPERATIONS:
                raise unknown("operation", word, operators or OPERATIONS)
            operator = word
            operands = _numbers(re.split(r"\s*,\s*|\s+", operand_text.strip()), [word])
        else:
            if complaint := _complaint(plain, operators):
                raise UserError(complaint)
            pattern = _infix_pattern()
            operator, *others = dict.fromkeys(re.findall(pattern, plain))
            if others:
                raise UserError(f"{operator!r} and {others[0]!r} together: one operation at a time")
            operands = _numbers(re.split(rf"\s*(?:{pattern})\s*", plain), operators)
        operation = operation_named(operator + modulus)
        required_base = operation.base or (10 if operation.answer_base else base)
        if base != required_base:
            raise UserError(
                f"{operation.name} takes operands in base {required_base},"
                f" such as {operation.example}"
            )
        return Problem(operator + modulus, operands, base)


PLAIN = frozenset(OPERATIONS)
"""Curta's operators, of whole numbers; no program replaces them."""

_PAIR = re.compile(r"([1-9][0-9]{0,999})([-+*/%]{1,2})([1-9][0-9]{0,999})$")
"""Most problems, parsed without further ado."""


def _infixes() -> list[str]:
    """Return the operators that are written between whole numbers."""
    return [s for s, operation in OPERATIONS.items() if not (s.isalpha() or operation.compound)]


def _infix_pattern() -> str:
    """Return a regular expression of any infix operator, longest first."""
    return "|".join(map(re.escape, sorted(_infixes(), key=len, reverse=True)))


def _numbers(texts: list[str], operators: Collection[str]) -> tuple[int, ...]:
    for text in texts:
        if not re.fullmatch(r"[0-9]+", text):
            raise UserError(
                _complaint(text, operators) or f"{quoted(text)} is not a whole number from 0 up"
            )
        if len(text) > DIGITS:
            raise UserError(f"operand of {len(text):,} digits: at most {DIGITS:,} are accepted")
    return tuple(map(to_int, texts))


def _complaint(text: str, operators: Collection[str]) -> str | None:
    """Return the most specific reason why a text is no problem; None if it may be one."""
    pattern = _infix_pattern()
    hinted = [OPERATIONS[symbol] for symbol in operators if symbol in OPERATIONS]
    hinted = hinted or [operation for operation in OPERATIONS.values() if operation.on_device]
    examples = ", ".join(operation.example for operation in hinted)
    example = next((o for o in hinted if o.symbol in text), hinted[0]).example
    if not text:
        return f"there is nothing; write a problem such as {examples}"
    if grouped := re.search(r"(?<![0-9])[0-9]+(?:,[0-9]{3})+\b", text):
        number = grouped[0]
        return f"',' in {quoted(number)}: write {quoted(number.replace(',', ''))[1:-1]}"
    if re.search(r"[0-9][.][0-9]|[0-9][eE][0-9]", text):
        compound = [operation.example for operation in OPERATIONS.values() if operation.compound]
        pointed = f"; with a point there is {' or '.join(compound)}" if compound else ""
        return f"numbers are whole, written as 1234{pointed}"
    if re.search(r"(^|[-+*/%<]\s*)-\s*[0-9]", text):
        return f"operands are whole numbers from 0 up, such as {example}"
    operands = re.sub(pattern, " ", text)
    if "/" in operands:
        return "'/' is not an operator: did you mean '//'?"
    if unexpected := sorted(set(re.findall(r"[^0-9\s]", operands))):
        infixes = " ".join(o for o in _infixes() if not operators or o in operators)
        reason = f"neither a digit nor an operator ({infixes})" if infixes else "not a digit"
        return f"{quoted(' '.join(unexpected))} is {reason}; write a problem such as {examples}"
    if not re.search(pattern, text):
        if all(operation.symbol.isalpha() for operation in hinted):
            return f"the name of the operation is missing; write a problem such as {examples}"
        return f"an operator is missing; write a problem such as {examples}"
    if re.search(r"[0-9]\s+[0-9]", text):
        return "two numbers have no operator between them"
    if re.search(r"^\s*@|@\s*$|@\s*@", re.sub(pattern, "@", text)):
        return f"an operand is missing; write a problem such as {example}"
    return None
