"""Answers to files of plain problems, several times as fast as one by one.

A plain file has lines such as 12+34, all with the same sign between two decimal numbers. Any other
file goes line by line through `problems.parse` and the layout, with the same results.

A token is the character of its number here, so that prompts are `str.translate` of digits, and all
prompts together are one string that becomes an array at once.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from curta.config.errors import UserError
from curta.problems.operations import OPERATIONS, Operation
from curta.problems.sizes import check_operands
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.prompt import Format, Sign
from curta.programs.machine.recording import Queries, Rows
from curta.programs.machine.writing import Completions, Prompts, complete

LINE = re.compile(r"([1-9][0-9]{0,999})([-+*])([1-9][0-9]{0,999})")
"""A problem of a plain file; longer operands go line by line."""
TOGETHER = 8192
"""Problems that are written at once."""

Operands = tuple[str, str]


def read(text: str) -> tuple[str, list[Operands]] | None:
    """Return the operator and operands of a text's lines; None if they are not plain.

    >>> read("12+34\\n5+6")
    ('+', [('12', '34'), ('5', '6')])
    """
    matches = list(map(LINE.fullmatch, text.rstrip().split("\n")))
    lines = [match for match in matches if match]
    signs = {line[2] for line in lines}
    if len(lines) < len(matches) or len(signs) != 1:
        return None
    return signs.pop(), [(line[1], line[3]) for line in lines]


def is_plain(machine: Machine, operator: str) -> bool:
    """Return whether the problems of an operator have decimal numbers and signs alone."""
    if operator not in machine.formats:
        return False
    form, refuse = machine.formats[operator], OPERATIONS[operator].refuse
    answer = form.answer
    answers = answer.base == 10 and not (
        answer.sign or answer.many or answer.truth or answer.fraction
    )
    operands = all(
        operand.base == 10
        and operand.multiple == 1
        and not (operand.many or operand.gap or operand.filled)
        for operand in form.givens
    )
    total = getattr(refuse, "__func__", None) is Operation.refuse
    return answers and operands and total and not form.compound


def prompts(machine: Machine, operator: str, problems: Sequence[Operands]) -> Prompts:
    """Return prompts from the digits of operands.

    12+34 and 5+6, lowest digits first: tokens 2 1 + 4 3 = 5 + 6 =, of lengths 6 and 4.
    """
    form, columns, numbers = machine.formats[operator], list[Sequence[str]](), iter((0, 1))
    for part in form.parts:
        # of an operand these are the tokens of 00, 11, ..., 99
        tokens = [machine.numbers[key] for key in Format(form.axes, (part,), form.answer).every()]
        if isinstance(part, Sign):
            columns.append([chr(tokens[0])] * len(problems))
            continue
        first, others = (
            dict(zip(b"0123456789", t, strict=True)) for t in (tokens[::2], tokens[1::2])
        )
        number, step = next(numbers), 1 if part.high_first else -1
        digits = [operands[number][::step] for operands in problems]
        columns.append([d[0].translate(first) + d[1:].translate(others) for d in digits])
    texts = list(map("".join, zip(*columns, strict=True)))
    every = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    return Prompts(every, np.array(list(map(len, texts))))


def answered(completions: Completions, machine: Machine, operator: str) -> list[str] | None:
    """Return the answers in the completions without leading zeros; None if one is malformed.

    Tokens 6 4 $ and 0 0 $, lowest digits first: "46" and "0".
    """
    answer = machine.formats[operator].answer
    digits = [
        ord(str(token.value)) if token.role == answer.role and token.value is not None else ord(" ")
        for token in machine.tokens
    ]
    rows, counts = completions
    step = 1 if answer.high_first else -1
    texts = np.array(digits, np.uint32)[rows].view(f"U{rows.shape[1]}")[:, 0].tolist()
    numbers = [
        text[:count].replace(" ", "")[::step] for text, count in zip(texts, counts, strict=True)
    ]
    if not all(numbers) or (rows[np.arange(len(rows)), counts - 1] != machine.end).any():
        return None
    return [number.lstrip("0") or "0" for number in numbers]


def answers(
    machine: Machine, windows: Windows, next_tokens: Callable[[Rows], Queries], text: str
) -> list[str] | None:
    """Return the answer to every line of a text; None if a line, or an answer, is not plain.

    `next_tokens` returns the token that follows each window.
    """
    if (lines := read(text)) is None or not is_plain(machine, lines[0]):
        return None
    operator, problems = lines
    try:
        widest = [max(map(len, operands)) for operands in zip(*problems, strict=True)]
        check_operands("", machine.limits, operator, widest)
    except UserError:  # the line is named where problems are read one by one
        return None
    # Lines of about one length are written together.
    order = sorted(range(len(problems)), key=lambda line: sum(map(len, problems[line])))
    by_line = dict[int, str]()
    for start in range(0, len(order), TOGETHER):
        batch = order[start : start + TOGETHER]
        prompt_batch = prompts(machine, operator, [problems[line] for line in batch])
        completions = complete(machine, windows, lambda rows, _: next_tokens(rows), prompt_batch)
        texts = answered(completions, machine, operator)
        if texts is None:
            return None
        by_line |= zip(batch, texts, strict=True)
    return [by_line[line] for line in range(len(problems))]
