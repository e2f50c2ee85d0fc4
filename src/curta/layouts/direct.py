"""The direct layouts: `123+45=168$`, the answer without a trace.

They differ in the order of digits, in padding, in the coordinates of `+` and `=`, and in their
operators. An operation that is a word stands first, as one letter: `s210,7,33=7,33,210$`. Layouts
whose answer is more than digits are in `special`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.layouts.base import (
    END,
    NUMBERS,
    AnswerPattern,
    Automaton,
    Layout,
    PromptFormat,
    ShapeBounds,
    State,
    Text,
    TokenRole,
    Transition,
    number_pattern,
    ordered,
    tabulated,
)
from curta.problems.arithmetic import ARITHMETIC, NumberBatch, less, places
from curta.problems.numerals import to_text
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, widths
from curta.programs.machine.paper import HOME

OPERATORS: tuple[str, ...] = ("+", "-", "*", "//", "%", "<", "sort", "copy", "reverse")
"""The operators of most direct layouts. A new one adds a character, so trained models lack it."""
MARKS = "".join(OPERATIONS[operator].mark for operator in OPERATORS)
FIRST, OPERATOR, SECOND, EQUALS, ANSWER, FINISH, SIGN = range(7)


class Piece(NamedTuple):
    """A piece of each text of a batch: tokens in order; only valid ones are written."""

    tokens: Int[Array, "batch width"]
    valid: Bool[Array, "batch width"]


def number(digits: Int[Array, "batch width"], lengths: Int[Array, " batch"]) -> Piece:
    """Return a number, least significant digit first; the token of a digit is the digit.

    >>> number(jnp.array([[5, 4, 0]]), jnp.array([2])).valid.tolist()  # 45
    [[True, True, False]]
    """
    return Piece(digits, jnp.arange(digits.shape[1])[None] < lengths[:, None])


def flipped(piece: Piece) -> Piece:
    """Return the piece in opposite order."""
    return Piece(piece.tokens[:, ::-1], piece.valid[:, ::-1])


def sign(token: int, batch: int) -> Piece:
    """Return a token that stands in every text."""
    return Piece(jnp.full((batch, 1), token, jnp.int32), jnp.ones((batch, 1), bool))


def join(prompt: Sequence[Piece], completion: Sequence[Piece], total: int, fill: int) -> Text:
    """Write the valid tokens of all pieces into `total` slots; the others get `fill`.

    >>> piece = number(jnp.array([[5, 4, 0]]), jnp.array([2]))
    >>> join([piece], [sign(7, 1)], total=5, fill=9)[0].tolist()
    [[5, 4, 7, 9, 9]]
    """
    pieces = Piece(
        *(jnp.concatenate(columns, axis=1) for columns in zip(*prompt, *completion, strict=True))
    )
    slots = jnp.where(pieces.valid, jnp.cumsum(pieces.valid, axis=1) - 1, total)
    rows = jnp.arange(len(slots))[:, None]
    blank = jnp.full((len(slots), total), fill, jnp.int32)
    tokens = blank.at[rows, slots].set(pieces.tokens, mode="drop")
    prompts = sum(jnp.sum(piece.valid, axis=1) for piece in prompt)
    return Text(tokens, jnp.asarray(prompts), jnp.sum(pieces.valid, axis=1))


class DirectLayout(Layout):
    """Operands and operator, equals, answer, end. Tokens 0 to 9 are the digits."""

    characters: Sequence[str] = "0123456789" + MARKS + ",=" + END
    roles: tuple[TokenRole, ...] = (
        TokenRole("first", digit=True),
        TokenRole("operator"),
        TokenRole("second", digit=True),
        TokenRole("equals"),
        TokenRole("answer", digit=True),
        TokenRole("end"),
        TokenRole("sign"),
    )
    axes: tuple[str, ...] = ("index",)
    operators = OPERATORS
    begin: State = (0, False)
    """The state of `rule` before the first token."""
    reverse = True
    """Whether answers are written least significant digit first."""
    reverse_operands = True
    padded = False
    """Whether operands are padded to one width, and the answer to one place more."""
    fill = "0"
    """The character that numbers are padded with."""
    ahead = 0
    """How many places wider than the longest operand padded operands are."""
    width: int | None = None
    """The width of padded operands, if it is the same for all problems."""

    def prompt_format(self, operator: str) -> PromptFormat:
        mark, turned = OPERATIONS[operator].mark, (self.reverse_operands,) * 2
        before, between = (mark, ",") if mark.isalpha() else ("", mark)
        fill = self.fill if self.padded else ""
        return PromptFormat(
            between, before, turned=turned, fill=fill, ahead=self.ahead, width=self.width
        )

    def answer_pattern(self, operator: str) -> AnswerPattern:
        sign = "-?" if OPERATIONS[operator].signed else ""
        return AnswerPattern(f"({sign})({NUMBERS})", self.reverse)

    def prompt(self, problem: Problem) -> str:
        form = self.prompt_format(problem.operator)
        width = self.width or max(widths(problem)) + self.ahead
        texts = [self._text(value, width, self.reverse_operands) for value in problem.operands]
        return f"{form.before}{form.between.join(texts)}{form.after}"

    def completion(self, problem: Problem) -> str:
        width = (self.width or max(widths(problem))) + 1
        truth = problem.truth
        if isinstance(truth, tuple):
            return ",".join(self._text(value, width, self.reverse) for value in truth)
        assert isinstance(truth, int), "a direct layout has whole numbers"
        return "-" * (truth < 0) + self._text(abs(truth), width, self.reverse)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        longest = self.prompt(Problem(operator, tuple(10**width - 1 for width in digits)))
        operation = OPERATIONS[operator]
        answer = operation.widths(digits if self.width is None else [self.width] * len(digits))
        completion = sum(answer) + len(answer) - 1 + operation.signed + len(self.end_sign)
        return ShapeBounds(len(longest), completion, ((-1, max(*digits, *answer)),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        stop = self._signs(self.end_sign, len(operands.digits))
        completion = [*self._work(operator, operands), *stop]
        return join(self._prompt(operator, operands, bounds), completion, bounds.total, self.end)

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        """Return the prompts, piece by piece."""
        form, batch = self.prompt_format(operator), len(operands.digits)
        numbers = self._listed(
            self._fit(operands, operands, self.ahead), form.between, self.reverse_operands
        )
        return [*self._signs(form.before, batch), *numbers, *self._signs(form.after, batch)]

    def _work(self, operator: str, operands: NumberBatch) -> list[Piece]:
        """Return the completions without the end sign, piece by piece."""
        answer = self._fit(ARITHMETIC[operator].answer(operands), operands, 1)
        numbers = self._listed(answer, ",", self.reverse)
        if not OPERATIONS[operator].signed:
            return numbers
        (minus,) = self._signs("-", len(answer.digits))
        return [minus._replace(valid=less(operands)[:, None]), *numbers]

    @cached_property
    def automaton(self) -> Automaton:
        return tabulated(self.characters, self.begin, self.rule)

    def rule(self, state: State, character: str) -> Transition:
        """Return the next state, and the role and move of a character in this state.

        Here the state is which number is being written, and whether it has a digit already.
        Characters that are no digits stand at -1, one before the first digit.
        """
        part, in_number = state  # the part is 0 for the first operand, 1 for others, 2: answer
        if character.isdecimal():
            return Transition((part, True), 2 * part, +1 if in_number else HOME)
        if character == self.end_sign:
            return Transition(state, FINISH, HOME - 1)
        after = 2 if character == "=" else max(part, 1)
        between = SIGN if part == 2 and len(self.roles) > SIGN else OPERATOR
        return Transition((after, False), EQUALS if character == "=" else between, HOME - 1)

    def _text(self, value: int, width: int, reverse: bool) -> str:
        text = to_text(value)
        return ordered(text.rjust(width, self.fill) if self.padded else text, reverse)

    def _fit(self, numbers: NumberBatch, operands: NumberBatch, ahead: int) -> NumberBatch:
        """Return the numbers, padded to the operands' width plus `ahead` if the layout pads.

        >>> two = NumberBatch(jnp.array([[[8, 6], [7, 0]]]), jnp.array([[2, 1]]))  # 68 and 7
        >>> Padded()._fit(two, two, 1).lengths.tolist()
        [[3, 3]]
        """
        if not self.padded:
            return numbers
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        if self.width is not None:
            widest = jnp.full_like(widest, self.width)
        free = (self.width or operands.digits.shape[2]) + ahead - numbers.digits.shape[2]
        digits = jnp.pad(numbers.digits, ((0, 0), (0, 0), (0, max(0, free))))
        if self.fill != "0":
            is_missing = places(digits) >= numbers.lengths[..., None]
            digits = jnp.where(is_missing, self.code(self.fill), digits)
        lengths = jnp.maximum(numbers.lengths, widest + ahead)
        return NumberBatch(digits, jnp.where(numbers.lengths > 0, lengths, 0))

    def _signs(self, characters: str, batch: int) -> list[Piece]:
        return [sign(self.code(character), batch) for character in characters]

    def _listed(self, numbers: NumberBatch, between: str, reverse: bool) -> list[Piece]:
        """Return the numbers with `between` between them; absent ones leave nothing."""
        pieces = []
        for place in range(numbers.lengths.shape[1]):
            lengths = numbers.lengths[:, place]
            for separator in self._signs(between, len(lengths)) if place else ():
                pieces.append(separator._replace(valid=lengths[:, None] > 0))
            pieces.append(self._number(numbers.digits[:, place], lengths, reverse))
        return pieces

    def _number(
        self, digits: Int[Array, "batch width"], lengths: Int[Array, " batch"], reverse: bool
    ) -> Piece:
        piece = number(digits, lengths)
        return piece if reverse else flipped(piece)


class SumLayout(DirectLayout):
    """Sums of two numbers, without the characters and roles of other problems."""

    operators = ("+",)
    most = 2
    characters = "0123456789+=" + END
    roles = DirectLayout.roles[:SIGN]


class PlainLayout(DirectLayout):
    """`123+45=168$`: the usual order, most significant digit first."""

    name = "plain"
    summary = "digits in the usual order; index within each number as coordinate"
    reverse = reverse_operands = False


class Reversed(DirectLayout):
    """`321+54=861$`: every number least significant digit first.

    In this order no digit of a sum depends on digits that are written after it.
    Source: Lee et al., Teaching Arithmetic to Small Transformers, arXiv 2307.03381.
    """

    name = "reversed"
    summary = "least significant digit first; index within each number as coordinate"


class Padded(SumLayout):
    """`321+540=8610$`: reversed, operands zero-padded to one width, the answer one digit more."""

    name = "padded"
    summary = "reversed and zero-padded; index within each number as coordinate"
    padded = True


class PlainPadded(SumLayout):
    """`123+045=0168$`: the usual order, operands zero-padded to one width.

    The answer has one digit more. So the index of a digit determines its place although the answer
    is not reversed; compare with `padded`, which does both.
    """

    name = "plain-padded"
    summary = "zero-padded, digits in the usual order; index within each number as coordinate"
    reverse = reverse_operands = False
    padded = True


class CoupledLayout(SumLayout):
    """`321+54=861$` with coordinates: digits of equal significance share a place.

    The text is that of `reversed`, with more structure in the coordinates: `+` stands one place
    above the first operand's last digit, `=` at place -1, one below the digit that follows, and the
    end sign one place above the answer.
    """

    name = "coupled"
    summary = "reversed; the place of every digit and sign in the written sum as coordinate"
    axes = ("place",)

    def rule(self, state: State, character: str) -> Transition:
        """Follow `DirectLayout.rule`; `+` and the end sign stand a place beyond the last digit."""
        entry = super().rule(state, character)
        return entry if character == "=" else entry._replace(move=+1 if state[1] else HOME)


class PositionCouplingLayout(SumLayout):
    """`653+049=2070$`: the text and the coordinates of Position Coupling.

    Operands are zero-padded to the longer one's n digits, in the usual order; the answer has n + 1
    digits, least significant first. The coordinate is the source's position id minus 1, for
    start 1: operand digits have ids 2 to n + 1, `+` and `=` share id n + 2, and the answer counts
    down from n + 1, so its carry has id 1. The end sign has id 0, like padding.
    Source: Cho et al., arXiv 2405.20671, the first version of their code (commit 01dd272); later
    ones count in the other direction. Their texts begin with the end sign too; here they do not.
    Their first digits are uniform over 1 to 9, here 1 is twice as likely as each other digit.
    """

    name = "position-coupling"
    summary = "zero-padded, only the answer reversed; the position of Position Coupling"
    axes = ("position",)
    reverse_operands = False
    padded = True

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        extents = ((-1, max(digits) + 1),)  # -1 is the coordinate of id 0
        return replace(super().bounds(operator, digits), extents=extents)

    def rule(self, state: State, character: str) -> Transition:
        """Count up from 1 in an operand, `+` and `=` one above it, and down in the answer."""
        entry = super().rule(state, character)
        if entry.role == FINISH:
            return entry
        if entry.role == ANSWER:
            return entry._replace(move=-1)
        first = entry.role in (FIRST, SECOND) and not state[1]
        return entry._replace(move=HOME + 1 if first else +1)


class Begun(DirectLayout):
    """`#123+45=168$`: a begin sign, then the usual order of digits."""

    name = "begun"
    summary = "a begin sign, then digits in the usual order; index within each number"
    characters = "0123456789+-*/=#" + END
    roles = (*DirectLayout.roles, TokenRole("begin"))
    operators = ("+", "-", "*", "//")
    most = 2
    reverse = reverse_operands = False

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before="#")

    def rule(self, state: State, character: str) -> Transition:
        if character == "#":
            return Transition(state, len(DirectLayout.roles), HOME - 1)
        return super().rule(state, character)


class Blanks(SumLayout):
    """`957+ 68=5201$`: numbers aligned in columns, with blanks for missing digits.

    Operands are in the usual order, right-aligned to the longer one; the answer is one place wider,
    least significant digit first, with blanks after it. So the distance from a digit of the answer
    to the digits that it is the sum of depends on the width and the place alone. The width is that
    of the problem: a width for all problems would limit evaluations to the sizes of training.
    """

    name = "blanks"
    summary = "aligned with blanks, answer reversed; index within each column of digits"
    characters = "0123456789+=" + END + " "
    roles = (*DirectLayout.roles, TokenRole("blank"))
    reverse_operands = False
    padded = True
    fill = " "

    def answer_pattern(self, operator: str) -> AnswerPattern:
        pattern = super().answer_pattern(operator)
        return pattern._replace(pattern=f"{pattern.pattern}{self.fill}*")

    def rule(self, state: State, character: str) -> Transition:
        """Follow `DirectLayout.rule`; a blank stands where the digit would."""
        if character == self.fill:
            return super().rule(state, "0")._replace(role=len(self.roles) - 1)
        return super().rule(state, character)


class Filled(DirectLayout):
    """`957+68=1025##` and `##957+68=1025`: the usual order of digits, padded with `#`.

    `#` ends a text and pads it to thirteen characters, enough for sums of three digits. `filled`
    pads on the right only. `filled-left` pads the prompt on the left, so that every `=` has the
    same index. Source: a calculator built one component at a time.
    """

    name = "filled"
    summary = "digits in the usual order, filled up with # to 13 characters; index in each number"
    characters = "0123456789+-*/=#"
    end_sign = "#"
    operators = ("+", "-", "*", "//")
    most = 2
    linear = False
    """So that bounds are not rounded up, which would add padding to the loss."""
    reverse = reverse_operands = False

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=max(bounds.completion, 13 - bounds.prompt))


class FilledLeft(Filled):
    name = "filled-left"
    summary = "as filled, but the prompt padded on its left to one width"
    roles = (*DirectLayout.roles, TokenRole("padding"))
    longest = 3

    def prompt(self, problem: Problem) -> str:
        return super().prompt(problem).rjust(2 * self.longest + 2, self.end_sign)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        """Match any padding: a tokenizer takes it for end signs and matches the rest."""
        return f"{self.end_sign}*{super().prompt_pattern(operator, digits, operands)}"

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return super().bounds(operator, (self.longest, self.longest))

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        free = bounds.prompt - 2 - jnp.sum(operands.lengths, axis=1, keepdims=True)
        valid = jnp.arange(bounds.prompt)[None] < free
        padding = Piece(jnp.full(valid.shape, self.end), valid)
        return [padding, *super()._prompt(operator, operands, bounds)]

    def rule(self, state: State, character: str) -> Transition:
        if character == self.end_sign and state == self.begin:
            return Transition(state, len(self.roles) - 1, HOME - 1)
        return super().rule(state, character)


class Spaced(DirectLayout):
    """`1234 + 5678 =6912$`, and `1 234 + 5 678=6912$`, with spaces in other places.

    Both have the same characters, so a model trained on one can be evaluated on the other. Spaces
    in an answer are ignored.
    Source: a Hugging Face stack for sums of four digits.
    """

    name = "spaced"
    summary = "digits in the usual order, spaces around the operator; index in each number"
    characters = "0123456789 +=" + END
    roles = (*DirectLayout.roles[:SIGN], TokenRole("space"))
    operators = ("+",)
    most = 2
    begin = (0, False, False)
    reverse = reverse_operands = False
    within = ""
    """The character after the first digit of each operand."""
    signs = (" + ", " =")

    def prompt(self, problem: Problem) -> str:
        texts = [to_text(value) for value in problem.operands]
        first, second = (text[0] + self.within + text[1:] for text in texts)
        return f"{first}{self.signs[0]}{second}{self.signs[1]}"

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        operand = number_pattern(digits)
        if self.within:
            operand = f"(?:0{self.within}|[1-9]{self.within}[0-9]{{0,{digits - 1}}})"
        return "".join(operand + re.escape(signs) for signs in self.signs)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """Match the exact sum without leading zeros once spaces are removed, as the source does."""
        return AnswerPattern("()(0|[1-9][0-9]*)", turned=False, drop=" ")

    def rule(self, state: State, character: str) -> Transition:
        """Follow `DirectLayout.rule`; the state also says whether a number has exactly one digit.

        >>> apart = SpacedApart()
        >>> tokens, lengths = jnp.asarray(apart.encode("1 23 +")[None]), jnp.array([6])
        >>> apart.follow(tokens, lengths)[1].coordinates[..., 0].tolist()
        [[0, -1, 1, 2, -1, -1]]
        """
        part, in_number, single = state
        if character == " ":
            return Transition(state, len(self.roles) - 1, HOME - 1)
        entry, digit = super().rule((part, in_number), character), character.isdecimal()
        move = HOME + 1 if single and digit else entry.move
        return entry._replace(state=(*entry.state, digit and not in_number), move=move)

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        pieces = []
        for place, signs in enumerate(self.signs):
            digits, lengths = operands.digits[:, place], operands.lengths[:, place]
            is_first = jnp.arange(digits.shape[1])[None] == lengths[:, None] - 1
            pieces.append(flipped(Piece(digits, is_first)))
            pieces += self._signs(self.within, len(digits))
            pieces.append(flipped(number(digits, lengths - 1)))
            pieces += self._signs(signs, len(digits))
        return pieces


class SpacedApart(Spaced):
    name = "spaced-apart"
    summary = "as spaced, but a space after each operand's first digit and none before ="
    within = " "
    signs = (" + ", "=")


class ColumnsLayout(SumLayout):
    """`032100000000` `054000000000` `0` and `86100000000`: sums of ten digits, in digits alone.

    The spaces are for reading; a text has none. Every number is least significant digit first, with
    a zero before it at place -1, so that digits of one place form a column. Operands are padded to
    ten digits and have a zero after them. A last zero, at place -1, stands for `=`. The answer
    always has eleven digits, by which a text ends.
    Source: the texts of trained entries of the AdderBoard (github.com/anadim/AdderBoard), which
    write `0` for `+` and `=` too.
    """

    name = "columns"
    summary = "two numbers of ten digits and their sum, in digits alone; the place as coordinate"
    axes = ("place",)
    characters = "0123456789"
    roles = SumLayout.roles[: ANSWER + 1]
    longest = width = 10
    operand = width + 2
    """Digits of an operand with the zeros before and after it."""
    linear = False
    end_sign = ""
    padded = True
    begin: State = 0

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before="0", between="00", after="00")

    def answer_pattern(self, operator: str) -> AnswerPattern:
        return AnswerPattern(f"()([0-9]{{{self.width + 1}}})")

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        return replace(super().bounds(operator, digits), extents=((-1, self.width),))

    def rule(self, state: State, character: str) -> Transition:
        """Count digits: the state is their number so far; the last number has no end."""
        number, place = divmod(state, self.operand)
        role = ANSWER if number > 1 and place else (FIRST, SECOND, EQUALS)[number]
        after = min(state + 1, 2 * self.operand + 1)
        return Transition(after, role, +1 if place else HOME - 1)


class Framed(DirectLayout):
    """`=54+321______...` with `861$` written over it: the text of an encoder, all digits at once.

    The input is reversed and padded to twice the digits of its longest operand plus three, so that
    each digit of the answer, least significant first, has a place in the input to be written over.
    For the width, digits are rounded up to 20, 30, 40, and so on.
    Source: an encoder for sums and products (there 42 places for all texts, which leaves no padding
    between the longest operands and the answer).
    """

    name = "framed"
    summary = "the input reversed and filled up to a fixed length, the answer's digits over it"
    characters = "0123456789+*=_" + END
    roles = (*DirectLayout.roles[:SIGN], TokenRole("filling"))
    operators = ("+", "*")
    most = 2

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before="=", after="_")

    def prompt(self, problem: Problem) -> str:
        first, second = (to_text(value)[::-1] for value in problem.operands)
        width = frame(max(len(first), len(second)))
        return f"={second}{problem.operation.mark}{first}".ljust(width, "_")

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        patterns, least, mark = [], 0, re.escape(OPERATIONS[operator].mark)
        for longest in range(20, max(digits, 11) + 10, 10):  # one pattern for each width
            number = number_pattern(min(longest, digits), turned=True)
            size = f"(?=[\\s\\S]{{{frame(longest)}}}(?![\\s\\S]))"
            shorter = f"(?!={number_pattern(least, True)}{mark}{number_pattern(least, True)}_)"
            patterns.append(f"{size}{shorter if least else ''}={number}{mark}{number}_*")
            least = longest
        return "|".join(patterns)

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        batch = len(operands.digits)
        first, second = (
            number(operands.digits[:, place], operands.lengths[:, place]) for place in (0, 1)
        )
        equals, mark = self._signs("=" + OPERATIONS[operator].mark, batch)
        used = jnp.sum(operands.lengths, axis=1) + 2
        width = 20 * jnp.maximum(-(-jnp.max(operands.lengths, axis=1) // 10), 2) + 3  # see `frame`
        free = jnp.arange(bounds.prompt)[None] < (width - used)[:, None]
        filling = Piece(jnp.full(free.shape, self.code("_")), free)
        return [equals, second, mark, first, filling]

    def rule(self, state: State, character: str) -> Transition:
        """Follow `DirectLayout.rule`, with part 0 for the second operand, 1 for the first."""
        part, in_number = state
        if character.isdecimal():
            return Transition(
                (part, True), (SECOND, FIRST, ANSWER)[part], +1 if in_number else HOME
            )
        roles = {"=": EQUALS, "_": len(self.roles) - 1, END: FINISH}
        after = {"+": 1, "*": 1, "_": 2}.get(character, part)
        return Transition((after, False), roles.get(character, OPERATOR), HOME - 1)


def frame(digits: int) -> int:
    """Return the characters of an input whose longest operand has so many digits.

    >>> frame(5), frame(21)
    (43, 63)
    """
    return 20 * max(-(-digits // 10), 2) + 3
