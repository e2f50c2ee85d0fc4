"""Layouts whose answer is more than the digits of numbers: marks, letters, fields, residues."""

import re
import string
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from curta.layouts.base import (
    END,
    AnswerPattern,
    PromptFormat,
    ShapeBounds,
    State,
    Text,
    TokenRole,
    Transition,
    number_pattern,
)
from curta.layouts.direct import DirectLayout, Piece, SumLayout, flipped, number
from curta.problems import arithmetic
from curta.problems.arithmetic import ARITHMETIC, NumberBatch, less, places
from curta.problems.numerals import to_digits, to_int, to_text
from curta.problems.operations import OPERATIONS, SIGNS, Answer
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME


class MarkedLayout(SumLayout):
    """Sums with marks, each at the position of the digit after it."""

    roles = (*DirectLayout.roles, TokenRole("mark"))
    begin = (0, False, False)
    marks: str
    """All marks."""

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=2 * bounds.completion - len(END))

    def rule(self, state: State, character: str) -> Transition:
        """Follow `DirectLayout.rule`; the state also says whether the last character was a mark."""
        part, in_number, after_mark = state
        is_mark = character in self.marks
        entry = super().rule((part, in_number), "0" if is_mark else character)
        move = 0 if after_mark and entry.role % 2 == 0 else entry.move  # a digit after its mark
        if is_mark:
            return Transition((*entry.state, True), len(self.roles) - 1, move)
        return entry._replace(state=(*entry.state, False), move=move)


def interleaved(marks: Piece, digits: Piece) -> Piece:
    """Return each mark followed by its digit.

    >>> marks, digits = (number(jnp.array([row]), jnp.array([2])) for row in ([5, 4], [1, 0]))
    >>> interleaved(marks, digits).tokens.tolist()
    [[5, 1, 4, 0]]
    """
    pairs = (jnp.stack(columns, axis=-1) for columns in zip(marks, digits, strict=True))
    return Piece(*(pair.reshape(len(digits.tokens), -1) for pair in pairs))


NONE, ONE = ".'"


class Carries(MarkedLayout):
    """`759+860=.5'2'0'1$`: before each digit of the sum a mark for the carry into its place.

    A dot for no carry, `'` for a carry of 1; otherwise as `padded`. Program `carried` writes the
    same in tokens that tell the parts of a text apart, which these characters do not.
    """

    name = "carries"
    summary = "reversed, zero-padded, the carry before each digit of the sum; index as coordinate"
    characters = "0123456789+=" + END + NONE + ONE
    roles = (*DirectLayout.roles, TokenRole("carry"))
    marks = NONE + ONE
    padded = True

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """Read the digits, whatever the marks are."""
        return AnswerPattern(turned=self.reverse, drop=self.marks)

    def completion(self, problem: Problem) -> str:
        digits = super().completion(problem)
        units = [10**place for place in range(len(digits))]
        carries = (sum(value % unit for value in problem.operands) >= unit for unit in units)
        return "".join((ONE if c else NONE) + d for c, d in zip(carries, digits, strict=True))

    def _work(self, operator: str, operands: NumberBatch) -> list[Piece]:
        """Write sums; a carry is a digit of the sum minus the operands' digits, modulo ten.

        57 + 98 = 155, from the lowest place: digits 5, 5, 1 minus columns 15, 14, 0: 0, 1, 1.
        """
        answer = self._fit(ARITHMETIC[operator].answer(operands), operands, 1)
        digits, lengths = answer.digits[:, 0], answer.lengths[:, 0]
        wider = digits.shape[1] - operands.digits.shape[2]
        columns = jnp.sum(jnp.pad(operands.digits, ((0, 0), (0, 0), (0, wider))), axis=1)
        marks = jnp.where((digits - columns) % 10 == 0, self.code(NONE), self.code(ONE))
        return [interleaved(number(marks, lengths), number(digits, lengths))]


MOST = 128
"""Most digits of an operand: one fewer than there are hints; a size evaluations round up to."""

GREEK, CYRILLIC = range(0x3B1, 0x3CA), range(0x410, 0x450)
HINT_LETTERS = string.ascii_letters + "".join(map(chr, (*GREEK, *CYRILLIC)))
HINTS = HINT_LETTERS[: MOST + 1]


class Hints(MarkedLayout):
    """`a0b9c5d7+a0b0c6d8=d5c2b0a1$`: before each digit a hint that identifies its place.

    Operands are zero-padded to one place more than the longer one, in the usual order, each digit
    after its hint. The answer has the same width and is reversed together with its hints, which are
    scored like its digits. Hints ascend from the most significant digit and are the same in all
    three numbers. In training the first hint is drawn for each problem, uniform over those for
    which the alphabet suffices (the source's draw ends two earlier); otherwise it is `a`. The
    alphabet has 129 letters, so operands have at most 128 digits.
    Source: index hints of Zhou et al., arXiv 2310.16028, as in Cho et al.'s code (arXiv
    2405.20671, `AdditionDatasetWithIndexHints`).
    """

    name = "hints"
    summary = "zero-padded, a hint before each digit, answer reversed; index within each number"
    characters = "0123456789+=" + END + HINTS
    roles = (*DirectLayout.roles, TokenRole("hint"))
    marks = HINTS
    reverse_operands = False
    padded = True
    ahead = 1
    longest = MOST

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        inner = ""
        for hint in HINTS[digits:0:-1]:  # b[0-9](?:c[0-9](?:d[0-9])?)?
            inner = f"{hint}[0-9]" + (f"(?:{inner})?" if inner else "")
        operand = f"{HINTS[0]}0{inner}"
        mark, least = re.escape(OPERATIONS[operator].mark), OPERATIONS[operator].least
        return f"{operand}(?:{mark}{operand}){{{least - 1},{operands - 1}}}="

    def read(self, operator: str, completion: str) -> Answer | None:
        answer, end, _ = completion.partition(END)
        hints, digits = answer[::2], answer[1::2]
        if not end or len(hints) != len(digits) or not set(hints) <= set(HINTS):
            return None
        if not digits.isdecimal():
            return None
        return OPERATIONS[operator].value([to_int(digits[::-1])])

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """Draw the first hint of each text: `a2+a4=a6$` may become `k2+k4=k6$`."""
        first = self.code(HINTS[0])
        is_hint = text.tokens >= first
        used = jnp.max(jnp.where(is_hint, text.tokens - first + 1, 0), axis=1)
        draw = jax.vmap(lambda key, most: jax.random.randint(key, (), 0, most + 1))
        start = draw(keys, len(HINTS) - used)[:, None]
        return text._replace(tokens=jnp.where(is_hint, text.tokens + start, text.tokens))

    def _text(self, value: int, width: int, reverse: bool) -> str:
        digits = super()._text(value, width, reverse)
        hints = HINTS[:width][::-1] if reverse else HINTS[:width]
        return "".join(map("".join, zip(hints, digits, strict=True)))

    def _number(
        self, digits: Int[Array, "batch width"], lengths: Int[Array, " batch"], reverse: bool
    ) -> Piece:
        places = lengths[:, None] - 1 - jnp.arange(digits.shape[1])[None]  # from the left
        first = self.code(HINTS[0])
        pair = [number(tokens, lengths) for tokens in (first + places, digits)]
        pair = pair if reverse else [flipped(piece) for piece in pair]
        return interleaved(*pair)


LETTERS = string.ascii_lowercase
NUMBER, COLON, LABEL, COMMA, LETTER, ENDING = range(6)


class Labelled(DirectLayout):
    """`33:c,7:b,012:a` with `acb$` after or over it: letters in the order of their numbers.

    The problem `a:210,b:7,c:33` is reversed as a whole, and so is its answer `bca`. The label `a`
    ends a problem, so no equals sign is needed.
    Source: an encoder for sums, products and sorting (which pads all inputs to one length; here
    batches are padded).
    """

    name = "labelled"
    summary = "numbers with letters, reversed, then the letters in order; index in each number"
    characters = "0123456789" + LETTERS + ":," + END
    roles = (
        TokenRole("number", digit=True),
        TokenRole("colon"),
        TokenRole("label"),
        TokenRole("comma"),
        TokenRole("letter"),
        TokenRole("end"),
    )
    linear = False
    """So that bounds are not rounded up: twenty numbers would get room for 128."""
    axes = ("index",)
    operators = ("order",)
    most = len(LETTERS)
    begin = (False, False)

    def prompt_format(self, operator: str) -> PromptFormat:
        return PromptFormat(",", after=":a")

    def prompt(self, problem: Problem) -> str:
        pairs = zip(LETTERS, map(to_text, problem.operands), strict=False)
        return ",".join(f"{letter}:{text}" for letter, text in pairs)[::-1]

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        number, least, pattern = number_pattern(digits, turned=True), OPERATIONS[operator].least, ""
        for place in range(operands, 0, -1):  # (?:(?:N:c,)?N:b,)?N:a
            pattern = f"{pattern}{number}:{LETTERS[place - 1]}"
            if place > 1:
                pattern = f"(?:{pattern},)" + ("?" if place > least else "")
        return pattern

    def completion(self, problem: Problem) -> str:
        assert isinstance(problem.truth, tuple)
        return "".join(LETTERS[place - 1] for place in problem.truth)[::-1]

    def read(self, operator: str, completion: str) -> Answer | None:
        letters, end, _ = completion.partition(END)
        if not end or not set(letters) <= set(LETTERS):
            return None
        return OPERATIONS[operator].value([1 + LETTERS.index(letter) for letter in letters[::-1]])

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        count = len(digits)
        return ShapeBounds(sum(digits) + 3 * count - 1, count + 1, ((-1, max(*digits, count)),))

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        batch, count = operands.lengths.shape
        prompt = []
        for place in reversed(range(count)):
            # A number and its letter, followed by a comma unless it is the first number.
            lengths = operands.lengths[:, place]
            prompt.append(number(operands.digits[:, place], lengths))
            marks = self._signs(f":{LETTERS[place]}" + "," * (place > 0), batch)
            prompt += [mark._replace(valid=lengths[:, None] > 0) for mark in marks]
        return prompt

    def _work(self, operator: str, operands: NumberBatch) -> list[Piece]:
        answer = ARITHMETIC[operator].answer(operands)
        order = jnp.sum(answer.digits * 10 ** places(answer.digits), axis=-1)
        return [flipped(Piece(self.code("a") - 1 + order, answer.lengths > 0))]

    def rule(self, state: State, character: str) -> Transition:
        """Keep two facts in the state: the problem is over; this number or the answer has begun."""
        over, in_number = state
        if character.isdecimal() or (over and character in LETTERS):
            role = NUMBER if character.isdecimal() else LETTER
            return Transition((over, True), role, +1 if in_number else HOME)
        role = {":": COLON, ",": COMMA, END: ENDING}.get(character, LABEL)
        return Transition((over or character == "a", False), role, HOME - 1)


WIDTH, GROUPS = 3, 6
COMPLETION = 1 + 3 * GROUPS
FIRST, OPERATOR, SECOND, EQUALS, PLUS, RESULT, CARRY, BLANK = range(8)
SPOTS = (
    *((FIRST, place) for place in reversed(range(WIDTH))),
    *((OPERATOR, -1),) * 2,
    *((SECOND, place) for place in reversed(range(WIDTH))),
    (EQUALS, -1),
    (PLUS, -1),
    *((role, place) for place in range(GROUPS) for role in (RESULT, CARRY, CARRY)),
)
"""Role and place of each character of a text."""


class Fields(DirectLayout):
    """`123*  45=+501302501500000000`: all texts have the same length, in fields of fixed width.

    Operands of at most three digits are right-aligned in three characters, the operator
    left-aligned in two. The answer is a sign and six groups, least significant first, each of a
    digit and a two-digit carry: what a column of a long multiplication passes on, 00 for other
    operations. Texts end with the last field.
    Source: a decoder for five operations of three digits.
    """

    name = "fields"
    summary = "fields of fixed width, the answer with carries between; place as coordinate"
    characters = "0123456789 +-*%/="
    end_sign = ""
    roles = (
        TokenRole("first", digit=True),
        TokenRole("operator"),
        TokenRole("second", digit=True),
        TokenRole("equals"),
        TokenRole("sign"),
        TokenRole("answer", digit=True),
        TokenRole("carry", digit=True),
        TokenRole("blank"),
    )
    axes = ("place",)
    operators = ("+", "-", "*", "//", "%")
    most = 2
    longest = width = WIDTH
    padded = True
    fill = " "
    reverse_operands = False
    begin: State = 0

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(between=f"{operator:<2}")

    def completion(self, problem: Problem) -> str:
        answer = problem.truth
        assert isinstance(answer, int)
        digits = to_text(abs(answer)).rjust(GROUPS, "0")[::-1]
        groups = zip(digits, written_carries(problem), strict=True)
        return "+-"[answer < 0] + "".join(f"{digit}{carry:02}" for digit, carry in groups)

    def read(self, operator: str, completion: str) -> Answer | None:
        digits = completion[1::3]
        if len(completion) != COMPLETION or completion[0] not in "+-" or not digits.isdecimal():
            return None
        return to_int(digits[::-1]) * (-1 if completion[0] == "-" else 1)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return ShapeBounds(bounds.prompt, COMPLETION, ((-1, GROUPS - 1),))

    def _work(self, operator: str, operands: NumberBatch) -> list[Piece]:
        result = ARITHMETIC[operator].answer(operands).digits[:, 0]
        answer = _fit_width(result, GROUPS)
        values = _fit_width(operands.digits, WIDTH)
        carries = jnp.zeros_like(answer)
        if operator == "*":  # `written_carries`, on the device
            columns = [jnp.zeros(len(values), jnp.int32)] * GROUPS
            for i, j in product(range(WIDTH), repeat=2):
                columns[i + j] = columns[i + j] + values[:, 0, i] * values[:, 1, j]
            carries = jnp.stack(_passed_on(columns), axis=1)
        groups = jnp.stack([answer, carries // 10, carries % 10], axis=-1)
        plus = jnp.full((len(answer), 1), self.code("+"))
        if OPERATIONS[operator].signed:
            plus = jnp.where(less(operands)[:, None], self.code("-"), plus)
        text = jnp.concatenate([plus, groups.reshape(len(answer), -1)], axis=1)
        return [Piece(text.astype(jnp.int32), jnp.ones(text.shape, bool))]

    def rule(self, state: State, character: str) -> Transition:
        """Count characters: the state is their number so far, at most that of a text."""
        role, place = SPOTS[state]
        blank = character == " " and role in (FIRST, SECOND)
        return Transition(min(state + 1, len(SPOTS) - 1), BLANK if blank else role, HOME + place)


def written_carries(problem: Problem) -> list[int]:
    """Return what each column of a long multiplication passes on; zeros for other operations.

    >>> written_carries(Problem("*", (25, 15)))  # 5 x 5 = 25 passes on 2
    [2, 1, 0, 0, 0, 0]
    """
    if problem.operator != "*":
        return [0] * GROUPS
    first, second = map(to_digits, problem.operands)
    columns = np.convolve(first, second).tolist()
    return _passed_on([*columns, *[0] * (GROUPS - len(columns))])


def _passed_on(columns: Sequence[Any]) -> list[Any]:
    """Return what each column of digit products passes on to the next."""
    return [*accumulate(columns, lambda carry, column: (carry + column) // 10, initial=0)][1:]


def _fit_width(digits: Int[Array, "*batch width"], width: int) -> Int[Array, "*batch fitted"]:
    """Return digits cut, or padded with zeros, to `width` places.

    >>> _fit_width(jnp.array([3, 2, 1]), 2).tolist(), _fit_width(jnp.array([3]), 2).tolist()
    ([3, 2], [3, 0])
    """
    padding = max(0, width - digits.shape[-1])
    return jnp.pad(digits, [(0, 0)] * (digits.ndim - 1) + [(0, padding)])[..., :width]


class Residues(DirectLayout):
    """`12+5=17`: numbers modulo another, each a single token. The name ends in the modulus.

    There is a token for each residue, shared by operands and answer. A number stands for its
    residue: modulo 97, `200` is written `6`. The answer is one token, so a text needs no end sign.
    Source: Power et al., Grokking, arXiv 2201.02177, without its other operations and end token.
    """

    summary = "modulo a number, one token for each residue; all numbers stand at 0"
    roles = DirectLayout.roles[:5]
    reverse = False
    reverse_operands = False
    most = 2
    end_sign = ""

    def __init__(self, modulus: int = 97) -> None:
        self.modulus, self.name = modulus, f"residues-{modulus}"
        self.characters = (*map(str, range(modulus)), *SIGNS, "=")
        self.operators = tuple(f"{sign} mod {modulus}" for sign in SIGNS)
        self._numbers = {symbol: token for token, symbol in enumerate(self.characters)}

    def prompt(self, problem: Problem) -> str:
        residues = tuple(value % self.modulus for value in problem.operands)
        return super().prompt(replace(problem, operands=residues))

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> None:
        """Return None: any number may stand for its residue."""

    def completion(self, problem: Problem) -> str:
        return str(problem.truth)

    def read(self, operator: str, completion: str) -> int | None:
        return int(completion) if completion in self.characters[: self.modulus] else None

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        return ShapeBounds(4, 1, ((-1, 0),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        """`12+5=17` is 12, the token of `+`, 5, the token of `=`, 17."""
        first, second = arithmetic.residue(operands.digits, self.modulus).T
        answer = ARITHMETIC[operator].answer(operands).digits[:, 0]
        mark = jnp.full_like(first, self.code(self.prompt_format(operator).between))
        equals = jnp.full_like(first, self.code("="))
        text = [first, mark, second, equals, arithmetic.residue(answer, self.modulus)]
        lengths = jnp.full_like(first, bounds.total)
        return Text(jnp.stack(text, axis=1), jnp.full_like(first, bounds.prompt), lengths)

    def value(self, token: int) -> int | None:
        return token if token < self.modulus else None

    def with_value(self, token: int, value: int) -> int | None:
        return value if max(token, value) < self.modulus else None

    @property
    def digits(self) -> list[int]:
        return list(range(self.modulus))

    def encode(self, text: str) -> Int[np.ndarray, " tokens"]:
        symbols = re.findall("[0-9]+|.", text)
        return np.array([self._numbers[symbol] for symbol in symbols], np.int32)
