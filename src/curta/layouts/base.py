"""The contract of a layout: how a problem is written down, token by token.

A layout says three things. `write` and `read` are plain Python and obviously
right; where they can, they follow from a `prompt_format` and an `answer_pattern`, which are data.
`tokens` writes a whole batch on the device, under `jit`. `automaton`, tables, follows a
text from left to right and says of each token what part it plays (its role) and where it
stands (its coordinates); since it sees only what came before, roles and coordinates are
causal by construction. A `RuledLayout` says the same by a `rule`, one character at a time.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from curta.config.errors import UserError
from curta.layouts.automaton import Automaton, State, Transition, tabulated
from curta.problems.digits import Numbers
from curta.problems.numerals import to_int, to_text
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem, widths
from curta.problems.sizes import OperandLimits, check_operands

END = "$"
DIGITS = "0123456789"

NUMBERS = "[0-9]+(?:,[0-9]+)*"
"""One number or more, as a regular expression."""


class PromptFormat(NamedTuple):
    """How operands are put together to a prompt: `before a between b between c after`.

    `turned` says whether the first number, and whether the others, stand least significant
    digit first. With a `fill` all are padded, before they are turned, to the width of the
    longest and `ahead` more.
    """

    between: str
    before: str = ""
    after: str = "="
    turned: tuple[bool, bool] = (True, True)
    fill: str = ""
    ahead: int = 0

    def write(self, operands: Sequence[int]) -> str:
        """The prompt of these operands."""
        texts = [to_text(value) for value in operands]
        width = max(map(len, texts)) + self.ahead if self.fill else 0
        written = [
            ordered(text.rjust(width, self.fill or "0"), self.turned[place > 0])
            for place, text in enumerate(texts)
        ]
        return f"{self.before}{self.between.join(written)}{self.after}"


class AnswerPattern(NamedTuple):
    """What of a written text, without its end sign, is the answer.

    `pattern` matches the whole text once the characters of `drop` are left out of it. Its
    first group is the sign, "-" or not, and its second the numbers, commas between. It keeps
    to what regular expressions of Python and of JavaScript share. `turned` says whether
    numbers stand least significant digit first.
    """

    pattern: str = "()([0-9]+)"
    turned: bool = True
    drop: str = ""

    def read(self, text: str) -> list[int] | None:
        """The numbers of the answer; None if the text has no such form."""
        plain = text.translate(dict.fromkeys(map(ord, self.drop)))
        match = re.fullmatch(self.pattern, plain)
        if match is None:
            return None
        sign = -1 if match[1] == "-" else 1
        return [sign * to_int(ordered(number, self.turned)) for number in match[2].split(",")]


def number_pattern(digits: int, turned: bool = False) -> str:
    """A regular expression of the numbers of at most so many digits, without zeros ahead."""
    others = f"[0-9]{{0,{digits - 1}}}"
    return f"(?:0|{others}[1-9])" if turned else f"(?:0|[1-9]{others})"


def ordered(text: str, turned: bool) -> str:
    """The text, or the same from its other end."""
    return text[::-1] if turned else text


class Role(NamedTuple):
    """The part that a token plays, and the axes on which it stands everywhere.

    A role that is broadcast on an axis is found by every query on that axis.
    """

    name: str
    digit: bool = False
    broadcast: tuple[str, ...] = ()


class Text(NamedTuple):
    """A batch of written problems, left-aligned; what follows `lengths` is padding."""

    tokens: Int[Array, "batch time"]
    prompts: Int[Array, " batch"]
    lengths: Int[Array, " batch"]


class TokenPositions(eqx.Module):
    """What a position encoding may know of each token; role -1 marks padding."""

    index: Int[Array, "batch time"]
    role: Int[Array, "batch time"]
    coordinates: Int[Array, "batch time axes"]


@dataclass(frozen=True)
class ShapeBounds:
    """Upper bounds for texts over operands of given digit counts.

    `extents` holds the lowest and the highest coordinate on each axis.
    """

    prompt: int
    completion: int
    extents: tuple[tuple[int, int], ...]

    @property
    def total(self) -> int:
        return self.prompt + self.completion


class Piece(NamedTuple):
    """A part of a text: tokens in order, of which only the valid ones are written."""

    tokens: Int[Array, "batch width"]
    valid: Bool[Array, "batch width"]


class Layout(ABC):
    """One way of writing problems down. Stateless; registered by name in `LAYOUTS`."""

    name: str
    summary: str
    characters: Sequence[str]
    """The symbol of each token."""
    roles: tuple[Role, ...]
    axes: tuple[str, ...]
    operators: tuple[str, ...]
    linear: bool = True
    """Whether texts grow in proportion to their operands."""
    most: int | None = None
    """How many operands there may be; None is any number."""
    longest: int | None = None
    """How many digits an operand may have; None is any number."""
    end_sign: str = END
    """What ends a text; empty where all completions have one length, by which they end."""

    @property
    def title(self) -> str:
        """What complaints call it."""
        return f"layout {self.name!r}"

    @cached_property
    def limits(self) -> Mapping[str, OperandLimits]:
        """What problems of each operator can be written."""
        limits = {}
        for operator in self.operators:
            operation = OPERATIONS[operator]
            counts = [count for count in (self.most, operation.most) if count is not None]
            limits[operator] = OperandLimits(
                operation.least, min(counts, default=None), self.longest
            )
        return limits

    def accept(self, operator: str, digits: Sequence[int], base: int | None = None) -> None:
        """Check operands of so many digits, in that base or the layout's own.

        Raises UserError if the problem cannot be written.
        """
        limits = self.limits
        own_base = limits[operator].base if operator in limits and base is None else base
        check_operands(self.title, limits, operator, digits, own_base or 10)

    def prompt_format(self, operator: str) -> PromptFormat:
        """How the operands of a problem are put together to its prompt."""
        return PromptFormat(OPERATIONS[operator].mark)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """What of a completion is the answer."""
        return AnswerPattern()

    def prompt(self, problem: Problem) -> str:
        """The part of the text that is given to the model."""
        return self.prompt_format(problem.operator).write(problem.operands)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str | None:
        """A regular expression of the prompts of at most so many operands and digits.

        It keeps to what Python, JavaScript and Oniguruma share. Numbers have no zeros ahead; those
        that are filled up are as wide as one another, where it takes few patterns to say so. None
        for a layout whose prompts are not described.
        """
        form, least = self.prompt_format(operator), OPERATIONS[operator].least
        before, between, after = map(re.escape, (form.before, form.between, form.after))
        more = f"{{{least - 1},{operands - 1}}}"
        if not form.fill:
            first, other = (number_pattern(digits, turned) for turned in form.turned)
            return f"{before}(?:{first}(?:{between}{other}){more}){after}"
        low, high = 1 + form.ahead, digits + form.ahead
        widths = [f"{w}" for w in range(low, high + 1)] if high <= 64 else [f"{low},{high}"]
        filled = (f"[{re.escape(form.fill)}0-9]{{{width}}}" for width in widths)
        numbers = "|".join(f"{number}(?:{between}{number}){more}" for number in filled)
        return f"{before}(?:{numbers}){after}"

    @abstractmethod
    def completion(self, problem: Problem) -> str:
        """What the model is to write: the trace if there is one, and the answer."""

    def write(self, problem: Problem) -> str:
        """Return the whole text: prompt, completion and the end sign.

        Raises UserError for a problem that cannot be written.
        """
        self.accept(problem.operator, widths(problem))
        return self.prompt(problem) + self.completion(problem) + self.end_sign

    def read(self, operator: str, completion: str) -> Answer | None:
        """The answer in what a model wrote after the prompt; None if malformed."""
        text, end, _ = completion.partition(self.end_sign)
        numbers = self.answer_pattern(operator).read(text) if end else None
        return None if numbers is None else OPERATIONS[operator].value(numbers)

    @abstractmethod
    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        """Bounds for every problem whose operands have at most `digits` digits each."""

    @abstractmethod
    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        """The device-side `write`, for problems within the bounds."""

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """For training: the texts with what is arbitrary in them drawn anew, a key for each."""
        return text

    @property
    @abstractmethod
    def automaton(self) -> Automaton:
        """Roles and coordinates of all texts, as tables."""

    def step(
        self, state: Int[Array, "*batch states"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch states"], Int[Array, "*batch"], Int[Array, "*batch axes"]]:
        """New state, role and coordinates of `token`, given what came before it."""
        return self.automaton.step(state, token)

    def parts(self) -> Float[np.ndarray, "tokens parts"]:
        """Which of all parts each token is made of, as zeros and ones: here, itself alone."""
        return np.eye(len(self.characters), dtype=np.float32)

    def start(self, *batch: int) -> Int[Array, "*batch states"]:
        """The state before the first token: see `Automaton.step`."""
        return jnp.zeros((*batch, 1 + len(self.axes)), jnp.int32)

    def follow(
        self, tokens: Int[Array, "batch time"], lengths: Int[Array, " batch"]
    ) -> tuple[Int[Array, "batch states"], TokenPositions]:
        """Role and coordinates of every token before `lengths`, and the state after them.

        >>> from curta.layouts import layout_named
        >>> layout = layout_named("reversed")
        >>> where = layout.follow(jnp.asarray(layout.encode("21+4=")[None]), jnp.array([5]))[1]
        >>> where.role.tolist(), where.coordinates[..., 0].tolist()
        ([[0, 0, 1, 2, 3]], [[0, 1, -1, 0, -1]])
        """

        def advance(state: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            token, written = now
            after, role, coordinates = self.step(state, token)
            state = jnp.where(written[:, None], after, state)
            return state, (jnp.where(written, role, -1), coordinates)

        index = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        written = index < lengths[:, None]
        states, outputs = jax.lax.scan(advance, self.start(len(tokens)), (tokens.T, written.T))
        return states, TokenPositions(index, outputs[0].T, jnp.swapaxes(outputs[1], 0, 1))

    def where(self, text: Text) -> TokenPositions:
        """As `follow`, for whole texts."""
        return self.follow(text.tokens, text.lengths)[1]

    def base(self, operator: str) -> int:
        """The base in which operands are written."""
        return self.limits[operator].base

    def other(self, name: str) -> "Layout":
        """The layout of that name, which writes the same problems with the same tokens."""
        from curta.layouts import layout_named

        layout = layout_named(name)
        if layout.characters != self.characters:
            raise UserError(f"evaluation.layouts: {name!r} has other characters than {self.name!r}")
        return layout

    @property
    def end(self) -> int:
        """The token that ends a text; -1, which is none, if its length does."""
        return self.code(self.end_sign) if self.end_sign else -1

    def prompt_tokens(self, problem: Problem) -> list[int]:
        """The tokens that are given to the model; UserError for what cannot be written."""
        self.accept(problem.operator, widths(problem))
        return self.encode(self.prompt(problem)).tolist()

    def tokens_of(self, problem: Problem) -> tuple[list[int], int]:
        """The tokens of the whole text, and how many of them are the prompt's."""
        prompt = self.prompt_tokens(problem)
        return prompt + self.encode(self.completion(problem) + self.end_sign).tolist(), len(prompt)

    def answer(self, problem: Problem, written: Sequence[int]) -> Answer | None:
        """The answer in the tokens that a model wrote after the prompt; None if malformed."""
        return self.read(problem.operator, self.decode(written))

    def bounds_of(self, problems: Sequence[Problem]) -> ShapeBounds:
        """Room for these problems, all of one operator."""
        widest = [
            max(column)
            for column in zip_longest(*(widths(problem) for problem in problems), fillvalue=0)
        ]
        self.accept(problems[0].operator, widest)
        return self.bounds(problems[0].operator, widest)

    def value(self, token: int) -> int | None:
        """The digit that a token stands for; None for a sign."""
        symbol = self.characters[token]
        return int(symbol) if symbol in DIGITS else None

    def with_value(self, token: int, value: int) -> int | None:
        """The token that is the same but for its digit; None if there is none."""
        if self.value(token) is None or value >= len(DIGITS):
            return None
        return self.code(DIGITS[value])

    @property
    def digits(self) -> list[int]:
        """Tokens of an answer that are the same but for their digit: 0, 1, ..."""
        return [self.code(digit) for digit in DIGITS]

    def code(self, character: str) -> int:
        """The token of a character."""
        return self.characters.index(character)

    @property
    def vocabulary(self) -> list[str]:
        """What each token is, as tables show it."""
        return list(self.characters)

    def encode(self, text: str) -> np.ndarray:
        """Token ids of a text whose characters all belong to the layout."""
        points = _points("".join(self.characters))
        codes = np.full(points.max() + 1, -1, np.int32)
        codes[points] = range(len(points))
        return codes[_points(text)]

    def decode(self, tokens: Iterable[int]) -> str:
        return "".join(self.characters[token] for token in tokens)


class RuledLayout(Layout):
    """A layout whose texts are followed by a rule, from which its tables are made."""

    begin: State = 0
    """The state of `rule` before the first token."""

    @abstractmethod
    def rule(self, state: State, character: str) -> Transition:
        """What a character does in a state: the state after it, its role, its move."""

    @cached_property
    def automaton(self) -> Automaton:
        """Roles and coordinates of all texts, as tables."""
        return tabulated(self.characters, self.begin, self.rule)


def _points(text: str) -> np.ndarray:
    """Unicode's number of each character."""
    return np.frombuffer(text.encode("utf-32-le"), "<u4")


def number(digits: Int[Array, "batch width"], lengths: Int[Array, " batch"]) -> Piece:
    """A number, least significant digit first. Digit tokens are the digits' own values.

    >>> number(jnp.array([[5, 4, 0]]), jnp.array([2])).valid.tolist()  # 45
    [[True, True, False]]
    """
    return Piece(digits, jnp.arange(digits.shape[1])[None] < lengths[:, None])


def flipped(piece: Piece) -> Piece:
    return Piece(piece.tokens[:, ::-1], piece.valid[:, ::-1])


def sign(token: int, batch: int) -> Piece:
    """One token that stands in every text."""
    return Piece(jnp.full((batch, 1), token, jnp.int32), jnp.ones((batch, 1), bool))


def join(prompt: Sequence[Piece], completion: Sequence[Piece], total: int, fill: int) -> Text:
    """Writes the valid tokens of all pieces one after the other into `total` slots.

    >>> one = number(jnp.array([[5, 4, 0]]), jnp.array([2]))
    >>> join([one], [sign(7, 1)], total=5, fill=9)[0].tolist()
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
