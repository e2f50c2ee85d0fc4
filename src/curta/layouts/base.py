"""The interface of a layout: how a problem is written, token by token.

A layout has three parts. `write` and `read` are plain Python, simple enough to be obviously
correct; where possible they follow from a `prompt_format` and an `answer_pattern`, which are data.
`tokens` writes a whole batch on the device, under `jit`. `automaton` holds tables that read a text
from left to right and give each token a role (the part it plays) and coordinates (where it stands).
It sees only what came before, so roles and coordinates are causal by construction. Published
layouts (`direct`) define these tables by a `rule`, one character at a time.

The tables of an automaton are shared by layouts, a run's machine and every export:

    position = where(home[state, token], 0, position) + offset[state, token]
    state    = next[state, token]

A program's machine is the case of a single state.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from curta.config.errors import UserError
from curta.problems.arithmetic import NumberBatch
from curta.problems.numerals import to_int
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem, widths
from curta.problems.sizes import OperandLimits, check_operands
from curta.programs.machine.paper import HOME
from curta.programs.machine.survey import Recorder

END = "$"
DIGITS = "0123456789"

NUMBERS = "[0-9]+(?:,[0-9]+)*"
"""A regular expression of one or more numbers."""


State = Any
"""The memory of a rule about the text so far: any hashable value."""


class Transition(NamedTuple):
    """The effect of a token in a state of a layout with one axis; see `paper.HOME` for moves."""

    state: State
    role: int
    move: int


class Automaton(NamedTuple):
    """For each state and token: the next state, the role, and the move (home, then offset)."""

    next: Int[np.ndarray, "states tokens"]
    role: Int[np.ndarray, "states tokens"]
    home: Bool[np.ndarray, "states tokens axes"]
    offset: Int[np.ndarray, "states tokens axes"]

    def step(
        self, state: Int[Array, "*batch states"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch states"], Int[Array, "*batch"], Int[Array, "*batch axes"]]:
        """Read one token, on the device; return state, role and position.

        A state here is its number, followed by the position.
        """
        # One row for each state and token, so that a single look-up finds all four tables.
        columns = (self.next[..., None], self.role[..., None], self.home, self.offset)
        rows = jnp.asarray(np.concatenate(columns, axis=-1, dtype=np.int32))
        row, axes = rows[state[..., 0], token], self.home.shape[-1]
        home, offset = row[..., 2 : 2 + axes], row[..., 2 + axes :]
        position = jnp.where(home > 0, 0, state[..., 1:]) + offset
        return jnp.concatenate([row[..., :1], position], -1), row[..., 1], position

    def tables(self) -> dict[str, Any]:
        """Return the tables as lists, for a file."""
        return {name: array.tolist() for name, array in self._asdict().items()}


class PromptFormat(NamedTuple):
    """How operands are joined to a prompt: `before a between b between c after`.

    `turned` says whether the first number, and whether the others, are written least significant
    digit first. With `fill`, all numbers are first padded to `width`, or else to the width of the
    longest plus `ahead`. Pages write prompts by it.
    """

    between: str
    before: str = ""
    after: str = "="
    turned: tuple[bool, bool] = (True, True)
    fill: str = ""
    ahead: int = 0
    width: int | None = None


class AnswerPattern(NamedTuple):
    """How to read the answer in a completion without its end sign.

    `pattern` matches the whole text once the characters of `drop` are removed. Its first group is
    the sign, "-" or empty, its second the numbers, separated by commas. It uses only what regular
    expressions of Python and JavaScript share. `turned` says whether numbers are written least
    significant digit first.
    """

    pattern: str = "()([0-9]+)"
    turned: bool = True
    drop: str = ""

    def read(self, text: str) -> list[int] | None:
        """Return the numbers of the answer; None if the text is malformed."""
        plain = text.translate(dict.fromkeys(map(ord, self.drop)))
        match = re.fullmatch(self.pattern, plain)
        if match is None:
            return None
        sign = -1 if match[1] == "-" else 1
        return [sign * to_int(ordered(number, self.turned)) for number in match[2].split(",")]


def number_pattern(digits: int, turned: bool = False) -> str:
    """Return a regular expression of numbers of at most `digits` digits, without leading zeros."""
    others = f"[0-9]{{0,{digits - 1}}}"
    return f"(?:0|{others}[1-9])" if turned else f"(?:0|[1-9]{others})"


def ordered(text: str, turned: bool) -> str:
    """Return the text, reversed if `turned`."""
    return text[::-1] if turned else text


class TokenRole(NamedTuple):
    """The part that a token plays in a text.

    Tokens of a role that is `broadcast` on an axis are neighbours of every query on that axis.
    """

    name: str
    digit: bool = False
    broadcast: tuple[str, ...] = ()


class Text(NamedTuple):
    """A batch of written problems, left-aligned; tokens from `lengths` on are padding."""

    tokens: Int[Array, "batch time"]
    prompts: Int[Array, " batch"]  # lengths of the prompts
    lengths: Int[Array, " batch"]


class TokenPositions(eqx.Module):
    """Where each token of a batch of texts stands, and which part it plays."""

    index: Int[Array, "batch time"]
    """The index of the token in its text."""
    role: Int[Array, "batch time"]
    """The number of its role in `layout.roles`; -1 for padding."""
    coordinates: Int[Array, "batch time axes"]
    """Its square on each axis of the layout."""


@dataclass(frozen=True)
class ShapeBounds:
    """The largest texts of a batch."""

    prompt: int
    """The most tokens of a prompt."""
    completion: int
    """The most tokens of a completion, end sign included."""
    extents: tuple[tuple[int, int], ...]
    """The lowest and the highest coordinate on each axis."""

    @property
    def total(self) -> int:
        """The most tokens of prompt and completion together."""
        return self.prompt + self.completion


class Layout(ABC):
    """One way of writing problems. Stateless; registered by name in `LAYOUTS`."""

    name: str
    summary: str
    characters: Sequence[str]
    """The symbol of each token."""
    roles: tuple[TokenRole, ...]
    axes: tuple[str, ...]
    operators: tuple[str, ...]
    linear: bool = True
    """Whether the length of texts is proportional to that of their operands."""
    most: int | None = None
    """The most operands of a problem; None: any number."""
    longest: int | None = None
    """The most digits of an operand; None: any number."""
    end_sign: str = END
    """The last character of a text; empty if all completions have the same length."""
    machine: Any = None
    """The `Machine` whose texts these are; None for a published layout."""
    windows: Any = MappingProxyType({})
    """The neighbours of each role of a machine, `Windows`; see `positions.window`."""
    recorder: Recorder | None = None
    """Records the texts of a program; None for a published layout, or without its code."""

    @property
    def title(self) -> str:
        """The layout in messages."""
        return f"layout {self.name!r}"

    @cached_property
    def limits(self) -> Mapping[str, OperandLimits]:
        """Limits on the problems of each operator that can be written."""
        limits = {}
        for operator in self.operators:
            operation = OPERATIONS[operator]
            counts = [count for count in (self.most, operation.most) if count is not None]
            limits[operator] = OperandLimits(
                operation.least, min(counts, default=None), self.longest
            )
        return limits

    def accept(self, operator: str, digits: Sequence[int], base: int | None = None) -> None:
        """Raise UserError if operands of these digit counts cannot be written.

        `base` is that of the operands, by default the layout's.
        """
        limits = self.limits
        if base is None:
            base = limits[operator].base if operator in limits else 10
        check_operands(self.title, limits, operator, digits, base)

    def prompt_format(self, operator: str) -> PromptFormat:
        """Return how operands are joined to a prompt."""
        return PromptFormat(OPERATIONS[operator].mark)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """Return how to read the answer in a completion."""
        return AnswerPattern()

    @abstractmethod
    def prompt(self, problem: Problem) -> str:
        """Return the prompt of a problem."""

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str | None:
        """Return a regular expression of the prompts of at most so many operands and digits.

        It uses only what Python, JavaScript and Oniguruma share. Numbers have no leading zeros;
        padded ones have the same width, if at most 64 patterns express that. None for a layout
        whose prompts have no pattern.
        """
        form, least = self.prompt_format(operator), OPERATIONS[operator].least
        before, between, after = map(re.escape, (form.before, form.between, form.after))
        more = f"{{{least - 1},{operands - 1}}}"
        if not form.fill:
            first, other = (number_pattern(digits, turned) for turned in form.turned)
            return f"{before}(?:{first}(?:{between}{other}){more}){after}"
        low, high = form.width or 1 + form.ahead, form.width or digits + form.ahead
        widths = [f"{w}" for w in range(low, high + 1)] if high <= 64 else [f"{low},{high}"]
        padded = (f"[{re.escape(form.fill)}0-9]{{{width}}}" for width in widths)
        numbers = "|".join(f"{number}(?:{between}{number}){more}" for number in padded)
        return f"{before}(?:{numbers}){after}"

    @abstractmethod
    def completion(self, problem: Problem) -> str:
        """Return what the model has to write: a trace, if any, and the answer; no end sign."""

    def write(self, problem: Problem) -> str:
        """Return the whole text: prompt, completion and end sign.

        Raises UserError for a problem that cannot be written.
        """
        self.accept(problem.operator, widths(problem))
        return self.prompt(problem) + self.completion(problem) + self.end_sign

    def read(self, operator: str, completion: str) -> Answer | None:
        """Return the answer in what a model wrote after the prompt; None if it is malformed."""
        if self.end_sign not in completion:
            return None
        text = completion.split(self.end_sign)[0] if self.end_sign else completion
        numbers = self.answer_pattern(operator).read(text)
        return None if numbers is None else OPERATIONS[operator].value(numbers)

    @abstractmethod
    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        """Return bounds for all problems whose operands have at most `digits` digits each."""

    def estimate_tokens(self, operator: str, digits: tuple[int, ...]) -> int:
        """Estimate the tokens of the longest text with operands of so many digits."""
        return self.bounds(operator, digits).total

    @abstractmethod
    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        """Write a batch of problems within the bounds, on the device."""

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """Redraw what is arbitrary in the texts, in training; one key for each text."""
        return text

    @property
    @abstractmethod
    def automaton(self) -> Automaton:
        """The tables that give each token its role and coordinates."""

    def composition(self) -> Float[np.ndarray, "tokens parts"]:
        """Return the vectors that each token is the sum of, as zeros and ones: here one each."""
        return np.eye(len(self.characters), dtype=np.float32)

    def start(self, *batch: int) -> Int[Array, "*batch states"]:
        """Return the state before the first token: see `Automaton.step`."""
        return jnp.zeros((*batch, 1 + len(self.axes)), jnp.int32)

    def follow(
        self, tokens: Int[Array, "batch time"], lengths: Int[Array, " batch"]
    ) -> tuple[Int[Array, "batch states"], TokenPositions]:
        """Return the state after the first `lengths` tokens, and the position of each of them.

        >>> from curta.layouts import layout_named
        >>> layout = layout_named("reversed")
        >>> where = layout.follow(jnp.asarray(layout.encode("21+4=")[None]), jnp.array([5]))[1]
        >>> where.role.tolist(), where.coordinates[..., 0].tolist()
        ([[0, 0, 1, 2, 3]], [[0, 1, -1, 0, -1]])
        """

        def advance(state: Array, column: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            token, is_text = column
            after, role, coordinates = self.automaton.step(state, token)
            state = jnp.where(is_text[:, None], after, state)
            return state, (jnp.where(is_text, role, -1), coordinates)

        index = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        is_text = index < lengths[:, None]
        states, (role, coordinates) = jax.lax.scan(
            advance, self.start(len(tokens)), (tokens.T, is_text.T)
        )
        return states, TokenPositions(index, role.T, jnp.swapaxes(coordinates, 0, 1))

    def where(self, text: Text) -> TokenPositions:
        """Return the position of each token of whole texts."""
        return self.follow(text.tokens, text.lengths)[1]

    def base(self, operator: str) -> int:
        """Return the base in which operands are written."""
        return self.limits[operator].base

    def other(self, name: str) -> "Layout":
        """Return the layout of this name; UserError unless it has the same tokens."""
        from curta.layouts import layout_named

        layout = layout_named(name)
        if layout.characters != self.characters:
            raise UserError(f"evaluation.layouts: {name!r} has other characters than {self.name!r}")
        return layout

    @property
    def end(self) -> int:
        """The token that ends a text; -1, which is no token, if texts end by their length."""
        return self.code(self.end_sign) if self.end_sign else -1

    def prompt_tokens(self, problem: Problem) -> list[int]:
        """Return the tokens of the prompt; UserError for a problem that cannot be written."""
        self.accept(problem.operator, widths(problem))
        return self.encode(self.prompt(problem)).tolist()

    def tokens_of(self, problem: Problem) -> tuple[list[int], int]:
        """Return the tokens of the whole text, and the length of the prompt."""
        prompt = self.prompt_tokens(problem)
        return prompt + self.encode(self.completion(problem) + self.end_sign).tolist(), len(prompt)

    def answer(self, problem: Problem, completion: Sequence[int]) -> Answer | None:
        """Return the answer in the tokens after the prompt; None if they are malformed."""
        return self.read(problem.operator, self.decode(completion))

    def bounds_of(self, problems: Sequence[Problem]) -> ShapeBounds:
        """Return bounds for these problems, all of one operator."""
        digits = zip_longest(*map(widths, problems), fillvalue=0)  # by operand
        widest = [max(column) for column in digits]
        self.accept(problems[0].operator, widest)
        return self.bounds(problems[0].operator, widest)

    def value(self, token: int) -> int | None:
        """Return the digit of a token; None for other characters."""
        symbol = self.characters[token]
        return int(symbol) if symbol in DIGITS else None

    def with_value(self, token: int, value: int) -> int | None:
        """Return the token that differs in its digit alone; None if there is none."""
        if self.value(token) is None or value >= len(DIGITS):
            return None
        return self.code(DIGITS[value])

    @property
    def digits(self) -> list[int]:
        """The tokens of an answer's digits 0, 1, ..., which differ in the digit alone."""
        return [self.code(digit) for digit in DIGITS]

    def code(self, character: str) -> int:
        """Return the token of a character."""
        return self.characters.index(character)

    @property
    def vocabulary(self) -> list[str]:
        """The name of each token, for tables."""
        return list(self.characters)

    def encode(self, text: str) -> np.ndarray:
        """Return the tokens of a text whose characters all belong to the layout."""
        points, text_points = (
            np.frombuffer(characters.encode("utf-32-le"), "<u4")
            for characters in ("".join(self.characters), text)
        )
        codes = np.full(points.max() + 1, -1, np.int32)  # by code point
        codes[points] = range(len(points))
        return codes[text_points]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of these tokens."""
        return "".join(self.characters[token] for token in tokens)


def tabulated(
    characters: Sequence[str], start: State, rule: Callable[[Any, str], Transition]
) -> Automaton:
    """Return the tables of a rule, for all states that can be reached from `start`.

    >>> rule = lambda state, c: Transition(max(state, int(c == "=")), state, 1)
    >>> tables = tabulated("7=", 0, rule)
    >>> tables.next.tolist(), tables.role.tolist()
    ([[0, 1], [1, 1]], [[0, 0], [1, 1]])
    """
    numbers, entries = {start: 0}, []
    for state in (states := [start]):  # which grows on the way
        entries.append([rule(state, character) for character in characters])
        new = dict.fromkeys(e.state for e in entries[-1] if e.state not in numbers)
        numbers |= {state: len(numbers) + place for place, state in enumerate(new)}
        states += new
    after = [[numbers[entry.state] for entry in row] for row in entries]
    role = np.array([[entry.role for entry in row] for row in entries], np.int32)
    move = np.array([[[entry.move] for entry in row] for row in entries], np.int32)
    home = move > HOME // 2
    return Automaton(np.array(after, np.int32), role, home, np.where(home, move - HOME, move))


# Batches of written problems as inputs of the model, a row for each text, padded.


class Batch(NamedTuple):
    """Tokens, and for each query (an index into time) the goal: the token to predict there.

    The loss is over `scored` queries; a text is correct if all `judged` ones are.
    """

    tokens: Int[Array, "rows time"]
    where: TokenPositions
    queries: Int[Array, "rows queries"]
    goals: Int[Array, "rows queries"]
    scored: Bool[Array, "rows queries"]
    judged: Bool[Array, "rows queries"]


def completion_batch(
    text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True
) -> Batch:
    """Return the batch in which each token of the completions is predicted from the one before.

    A model that is not causal does not see the completion: it predicts token i of it at token i of
    the prompt, all at once.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> where = TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int))
    >>> batch = completion_batch(text, where, ShapeBounds(2, 2, ((0, 3),)))
    >>> batch.tokens.tolist(), batch.queries.tolist(), batch.goals.tolist()
    ([[1, 2, 3]], [[1, 2]], [[3, 4]])
    """
    last = text.tokens.shape[1] - 1
    if not causal:
        tokens, where, queries = prompt_batch(text.tokens, where, text.prompts, bounds)
        places = text.prompts[:, None] + queries
        scored = places < text.lengths[:, None]
        goals = jnp.take_along_axis(text.tokens, jnp.minimum(places, last), axis=1)
        return Batch(tokens, where, queries, goals, scored, scored)
    queries = text.prompts[:, None] - 1 + jnp.arange(bounds.completion)[None]
    scored = queries + 1 < text.lengths[:, None]
    rows = jnp.arange(len(queries))[:, None]
    goals = text.tokens[rows, jnp.minimum(queries + 1, last)]
    queries = jnp.minimum(queries, last - 1)
    where = jax.tree.map(lambda column: column[:, :-1], where)  # nothing follows the last token
    return Batch(text.tokens[:, :-1], where, queries, goals, scored, scored)


def scored_batch(
    loss: str, text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True
) -> Batch:
    """Return the batch whose scored tokens are those of a `training.loss`.

    Unless these are the completions alone, each token but the first is predicted from the one
    before; with "padded", padding tokens are, too.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> where = TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int))
    >>> batch = scored_batch("all", text, where, ShapeBounds(2, 2, ((0, 3),)))
    >>> batch.goals.tolist(), batch.judged.tolist()
    ([[2, 3, 4]], [[False, True, True]])
    """
    if loss not in ("all", "padded"):
        return completion_batch(text, where, bounds, causal=causal)
    queries = jnp.broadcast_to(jnp.arange(text.tokens.shape[1] - 1), text.tokens[:, 1:].shape)
    is_text = queries + 1 < text.lengths[:, None]
    judged = is_text & (queries + 1 >= text.prompts[:, None])
    scored = jnp.ones_like(is_text) if loss == "padded" else is_text
    where = jax.tree.map(lambda column: column[:, :-1], where)
    return Batch(text.tokens[:, :-1], where, queries, text.tokens[:, 1:], scored, judged)


def prompt_batch(
    tokens: Int[Array, "batch time"],
    where: TokenPositions,
    prompts: Int[Array, " batch"],
    bounds: ShapeBounds,
) -> tuple[Int[Array, "batch prompt"], TokenPositions, Int[Array, "batch completion"]]:
    """Return the input of a model that is not causal, which writes answers over prompts.

    Tokens, their positions and queries: the first fields of a `Batch`.
    """
    queries = jnp.broadcast_to(jnp.arange(bounds.completion), (len(tokens), bounds.completion))
    where = jax.tree.map(lambda column: column[:, : bounds.prompt], where)
    hidden = where.index >= prompts[:, None]
    where = replace(where, role=jnp.where(hidden, -1, where.role))
    return tokens[:, : bounds.prompt], where, queries
