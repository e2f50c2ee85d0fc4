"""Answers to files of plain problems, as arrays of characters: several times as fast as one by one.

A plain file has lines such as 12+34, all with the same sign between two decimal numbers. Any other
file goes line by line through `problems.parse` and the layout, with the same results.

The sums 12+34 and 5+6 are the characters `12+34.5+6.` with a line end for each point: signs at
2 and 7, ends at 5 and 9. Axes of the arrays: `chars`, and `lines`.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from curta.config.errors import UserError
from curta.problems.numerals import DIGITS
from curta.problems.operations import OPERATIONS, Operation
from curta.problems.sizes import check_operands
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.prompt import Format, Sign
from curta.programs.machine.recording import Queries, Rows
from curta.programs.machine.writing import Completions, Prompts, complete

FIRST = re.compile(r"[1-9][0-9]*([-+*])[1-9]")
LONGEST = 1000
"""Most digits of an operand."""
TOGETHER = 8192
"""Problems that are written at once."""
ZERO, NINE, END = b"09\n"

LineIndex = Int[np.ndarray, " lines"]
Chars = UInt8[np.ndarray, " chars"]


class OperandSpan(NamedTuple):
    """Where in the characters an operand of each line begins, and its digits."""

    begin: LineIndex
    length: LineIndex


class OperandTokens(NamedTuple):
    """The token of each digit of an operand: first in the text, and elsewhere."""

    first: dict[str, int]
    others: dict[str, int]
    high_first: bool


class PlainFormat(NamedTuple):
    """A prompt of operands and fixed tokens, and the tokens of an answer's digits."""

    elements: tuple[OperandTokens | int, ...]
    digits: dict[int, str]
    high_first: bool


class PlainLines(NamedTuple):
    """The problems of a text."""

    chars: Chars
    operator: str
    operands: tuple[OperandSpan, OperandSpan]


def read(text: str) -> PlainLines | None:
    """Return the lines of a text; None if they are not plain.

    >>> [(span.begin.tolist(), span.length.tolist()) for span in read("12+34\\n5+6").operands]
    [([0, 6], [2, 1]), ([3, 8], [2, 1])]
    """
    first = FIRST.match(text)
    if first is None or not text.isascii():
        return None
    chars = np.frombuffer(f"{text.rstrip()}\n".encode(), np.uint8)
    ends, signs = np.flatnonzero(chars == END), np.flatnonzero(chars == ord(first[1]))
    digits = np.count_nonzero((chars >= ZERO) & (chars <= NINE))
    if len(signs) != len(ends) or digits + len(signs) + len(ends) != len(chars):
        return None
    begins = np.concatenate([[0], ends[:-1] + 1])
    spans = OperandSpan(begins, signs - begins), OperandSpan(signs + 1, ends - signs - 1)
    return (
        PlainLines(chars, first[1], spans) if all(_numbers(chars, span) for span in spans) else None
    )


def plain(machine: Machine, operator: str) -> PlainFormat | None:
    """Return the tables of an operator; None unless it has decimal numbers and signs alone."""
    form = machine.formats[operator]
    answer = form.answer
    if answer.base != 10 or answer.sign or answer.many or answer.truth or answer.fraction:
        return None
    irregular = (
        g.base != 10 or g.many or g.gap or g.filled or g.multiple != 1 for g in form.givens
    )
    if form.compound or any(irregular):
        return None
    elements = list[OperandTokens | int]()
    for part in form.parts:
        # of an operand these are the tokens of 00, 11, ..., 99
        tokens = [machine.numbers[key] for key in Format(form.axes, (part,), answer).every()]
        if isinstance(part, Sign):
            elements.append(tokens[0])
            continue
        first, others = (dict(zip(DIGITS, t, strict=False)) for t in (tokens[::2], tokens[1::2]))
        elements.append(OperandTokens(first, others, part.high_first))
    digits = {
        number: str(token.value)
        for number, token in enumerate(machine.tokens)
        if token.role == answer.role and token.value is not None
    }
    return PlainFormat(tuple(elements), digits, answer.high_first)


def _numbers(chars: Chars, span: OperandSpan) -> bool:
    """Whether there is a number everywhere, not too long, and no zero before it."""
    inside = (span.length > 0) & (span.length <= LONGEST)
    return bool(inside.all() and (chars[span.begin] > ZERO).all())


def answers(
    machine: Machine, windows: Windows, next_tokens: Callable[[Rows], Queries], text: str
) -> list[str] | None:
    """Return the answer to every line of a text; None if a line, or an answer, is not plain.

    `next_tokens` returns the token that follows each window.
    """
    lines = read(text)
    if lines is None or lines.operator not in machine.formats:
        return None
    table = plain(machine, lines.operator)
    if table is None or type(OPERATIONS[lines.operator]).refuse is not Operation.refuse:
        return None
    try:
        digits = [int(span.length.max()) for span in lines.operands]
        check_operands("", machine.limits, lines.operator, digits)
    except UserError:  # the line is named where problems are read one by one
        return None
    # Lines of about one length are written together.
    order = np.argsort(sum(span.length for span in lines.operands), kind="stable")
    answers = [""] * len(order)
    for start in range(0, len(order), TOGETHER):
        batch = order[start : start + TOGETHER]
        prompt_batch = prompts(lines, table, batch)
        completions = complete(machine, windows, lambda rows, _: next_tokens(rows), prompt_batch)
        texts = answered(completions, table, machine.end)
        if texts is None:
            return None
        for line, answer in zip(batch.tolist(), texts, strict=True):
            answers[line] = answer
    return answers


def prompts(lines: PlainLines, table: PlainFormat, chosen: LineIndex) -> Prompts:
    """Return prompts from characters: each part of the prompt fills its share of every line.

    12+34 and 5+6, lowest digits first: tokens 2 1 + 4 3 = 5 + 6 =, of lengths 6 and 4.
    """
    spans = iter(lines.operands)
    pairs = [(e, next(spans) if isinstance(e, OperandTokens) else None) for e in table.elements]
    sizes = [np.ones_like(chosen) if s is None else s.length[chosen] for _, s in pairs]
    lengths = np.sum(sizes, axis=0)
    tokens, at = np.empty(int(lengths.sum()), np.int32), np.cumsum(lengths) - lengths
    for (element, span), size in zip(pairs, sizes, strict=True):
        if isinstance(element, int):
            tokens[at] = element
        elif span is not None:
            _fill(tokens, at, element, lines.chars, OperandSpan(span.begin[chosen], size))
        at = at + size
    return Prompts(tokens, lengths)


def _fill(
    tokens: Int[np.ndarray, " time"],
    at: LineIndex,
    number: OperandTokens,
    chars: Chars,
    span: OperandSpan,
) -> None:
    """Write an operand of every line: 12 at 7, its lowest digit first, is 2 at 7 and 1 at 8."""
    begin, length = span
    each = partial(np.repeat, repeats=length)
    place = np.arange(length.sum()) - each(np.cumsum(length) - length)
    first = begin if number.high_first else begin + length - 1
    source = each(first) + (place if number.high_first else -place)
    tokens[each(at) + place] = _lookup(number.others)[chars[source]]
    tokens[at] = _lookup(number.first)[chars[first]]


def _lookup(tokens: dict[str, int]) -> Int[np.ndarray, " chars"]:
    """Return the token of each character by its code: that of "0" at 48."""
    table = np.zeros(256, np.int32)
    for digit, token in tokens.items():
        table[ord(digit)] = token
    return table


def answered(completions: Completions, table: PlainFormat, end: int) -> list[str] | None:
    """Return the answers in the completions without leading zeros; None if one is malformed.

    Tokens 6 4 $ and 0 0 $, lowest digits first: "46" and "0".
    """
    tokens, counts = completions
    digit = np.zeros(max(max(table.digits), int(tokens.max())) + 1, np.uint8)
    for token, symbol in table.digits.items():
        digit[token] = ord(symbol)
    chars = digit[tokens] * (np.arange(tokens.shape[1]) < counts[:, None])
    ended = tokens[np.arange(len(tokens)), counts - 1] == end
    if not (ended & chars.any(axis=1)).all():
        return None
    chars = chars if table.high_first else chars[:, ::-1]
    started = np.maximum.accumulate(chars > ZERO, axis=1)
    last = chars.shape[1] - 1 - np.argmax(chars[:, ::-1] > 0, axis=1)
    started[np.arange(len(chars)), last] = True  # a single zero stays
    lines = np.pad(np.where(started, chars, 0), ((0, 0), (0, 1)), constant_values=END)
    return lines[lines > 0].tobytes().decode().splitlines()
