"""The contract of a layout: how a problem is written down, token by token.

A layout says three things. `write` and `read` are plain Python and obviously
right; where they can, they follow from a `form` and a `reading`, which are data.
`tokens` writes a whole batch on the device, under `jit`. `step` follows a text from
left to right and says of each token what part it plays (its kind) and where it
stands (its coordinates); since it sees only what came before, kinds and coordinates
are causal by construction.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from ..digits import Numbers
from ..errors import UserError, unknown
from ..operations import OPERATIONS, Answer
from ..problems import Problem
from .forms import Form, Reading

END = "$"


class Kind(NamedTuple):
    """The part that a token plays, and the axes on which it stands everywhere.

    A kind that is wild on an axis is found by every query on that axis: the
    sign of a result belongs to all of its places. Kinds of different groups never
    stand in one text.
    """

    name: str
    digit: bool = False
    wild: tuple[str, ...] = ()
    group: int = 0


class Text(NamedTuple):
    """A batch of written problems, left-aligned; what follows `lengths` is padding."""

    tokens: Int[Array, "batch time"]
    prompts: Int[Array, " batch"]
    lengths: Int[Array, " batch"]


class Where(eqx.Module):
    """What a position encoding may know of each token; kind -1 marks padding.

    `text` says which of the `texts` problems a token belongs to: the one of its row,
    unless several texts share a row.
    """

    index: Int[Array, "batch time"]
    kind: Int[Array, "batch time"]
    coordinates: Int[Array, "batch time axes"]
    text: Int[Array, "batch time"]
    texts: int = eqx.field(static=True)

    @classmethod
    def one_per_row(cls, index: Array, kind: Array, coordinates: Array) -> "Where":
        """Where tokens stand when every row is one text."""
        text = jnp.broadcast_to(jnp.arange(len(index))[:, None], index.shape)
        return cls(index, kind, coordinates, text, len(index))


@dataclass(frozen=True)
class Room:
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
    characters: str
    kinds: tuple[Kind, ...]
    axes: tuple[str, ...]
    operators: tuple[str, ...]
    linear: bool = True
    """Whether texts grow in proportion to their operands."""
    most: int | None = None
    """How many operands there may be; None is any number."""
    longest: int | None = None
    """How many digits an operand may have; None is any number."""
    states: int
    """How many integers `step` carries from token to token."""

    def accept(self, operator: str, operands: int) -> None:
        """Raises UserError if such problems cannot be written."""
        if operator not in self.operators:
            raise unknown(f"operator of layout {self.name!r}", operator, self.operators)
        if self.most is not None and operands > self.most:
            raise UserError(f"layout {self.name!r} holds {self.most} operands, not {operands}")

    def fit(self, digits: Sequence[int]) -> None:
        """Raises UserError if an operand of so many digits is too long."""
        if self.longest is not None and max(digits) > self.longest:
            raise UserError(
                f"layout {self.name!r} holds {self.longest} digits an operand, not {max(digits)}"
            )

    def form(self, operator: str) -> Form:
        """How the operands of a problem are put together to its prompt."""
        return Form(OPERATIONS[operator].mark)

    def reading(self, operator: str) -> Reading:
        """What of a completion is the answer."""
        return Reading()

    @property
    def told(self) -> bool:
        """Whether form and reading say all: that prompts and answers are just what they tell."""
        own = type(self)
        return own.prompt is Layout.prompt and own.read is Layout.read

    def prompt(self, problem: Problem) -> str:
        """The part of the text that is given to the model."""
        return self.form(problem.operator).write(problem.operands)

    @abstractmethod
    def working(self, problem: Problem) -> str:
        """What the model is to write: the trace if there is one, and the answer."""

    def write(self, problem: Problem) -> str:
        """The whole text: prompt, working and the end sign."""
        return self.prompt(problem) + self.working(problem) + END

    def read(self, operator: str, completion: str) -> Answer | None:
        """The answer in what a model wrote after the prompt; None if malformed."""
        text, end, _ = completion.partition(END)
        numbers = self.reading(operator).read(text) if end else None
        return None if numbers is None else OPERATIONS[operator].value(numbers)

    @abstractmethod
    def room(self, operator: str, digits: Sequence[int]) -> Room:
        """Bounds for every problem whose operands have at most `digits` digits each."""

    @abstractmethod
    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        """The device-side `write`, for problems that fit the room."""

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """For training: the texts with what is arbitrary in them drawn anew, a key for each."""
        return text

    @abstractmethod
    def step(
        self, state: Int[Array, "*batch states"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch states"], Int[Array, "*batch"], Int[Array, "*batch axes"]]:
        """New state, kind and coordinates of `token`, given what came before it."""

    def spelling(self, character: str) -> tuple[str, ...]:
        """What a character is made of: itself alone, or the parts it shares with others."""
        return (character,)

    def parts(self) -> Float[np.ndarray, "characters parts"]:
        """Which of all parts each character has, as zeros and ones."""
        spelled = [self.spelling(character) for character in self.characters]
        names = dict.fromkeys(name for own in spelled for name in own)
        return np.array([[name in own for name in names] for own in spelled], np.float32)

    def start(self, *batch: int) -> Int[Array, "*batch states"]:
        """The state before the first token."""
        return jnp.zeros((*batch, self.states), jnp.int32)

    def follow(
        self, tokens: Int[Array, "batch time"], lengths: Int[Array, " batch"]
    ) -> tuple[Int[Array, "batch states"], Where]:
        """Kind and coordinates of every token before `lengths`, and the state after them."""

        def one(state: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            token, written = now
            after, kind, coordinates = self.step(state, token)
            state = jnp.where(written[:, None], after, state)
            return state, (jnp.where(written, kind, -1), coordinates)

        index = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        written = index < lengths[:, None]
        states, seen = jax.lax.scan(one, self.start(len(tokens)), (tokens.T, written.T))
        return states, Where.one_per_row(index, seen[0].T, jnp.swapaxes(seen[1], 0, 1))

    def where(self, text: Text) -> Where:
        """As `follow`, for whole texts."""
        return self.follow(text.tokens, text.lengths)[1]

    def encode(self, text: str) -> np.ndarray:
        """Token ids of a text whose characters all belong to the layout."""
        return self._codes()[_points(text)]

    def decode(self, tokens: Iterable[int]) -> str:
        return "".join(self.characters[token] for token in tokens)

    def _codes(self) -> np.ndarray:
        points = _points(self.characters)
        codes = np.full(points.max() + 1, -1, np.int32)
        codes[points] = range(len(points))
        return codes


def _points(text: str) -> np.ndarray:
    """Unicode's number of each character."""
    return np.frombuffer(text.encode("utf-32-le"), "<u4")


def number(digits: Int[Array, "batch width"], lengths: Int[Array, " batch"]) -> Piece:
    """A number, least significant digit first. Digit tokens are the digits' own values."""
    return Piece(digits, jnp.arange(digits.shape[1]) < lengths[:, None])


def headless(piece: Piece) -> Piece:
    """Without its first slot: a separator stands before every block but the first."""
    return Piece(piece.tokens[:, 1:], piece.valid[:, 1:])


def flipped(piece: Piece) -> Piece:
    return Piece(piece.tokens[:, ::-1], piece.valid[:, ::-1])


def grid(tokens: Int[Array, "batch ..."], valid: Bool[Array, "batch ..."]) -> Piece:
    """A block of tokens, written in the order of its axes."""
    batch = len(tokens)
    valid = jnp.broadcast_to(valid, tokens.shape)
    return Piece(tokens.reshape(batch, -1), valid.reshape(batch, -1))


def sign(token: int, batch: int) -> Piece:
    """One token that stands in every text."""
    return Piece(jnp.full((batch, 1), token, jnp.int32), jnp.ones((batch, 1), bool))


def join(prompt: Sequence[Piece], completion: Sequence[Piece], total: int, fill: int) -> Text:
    """Writes the valid tokens of all pieces one after the other into `total` slots."""
    pieces = Piece(
        *(jnp.concatenate(parts, axis=1) for parts in zip(*prompt, *completion, strict=True))
    )
    slots = jnp.where(pieces.valid, jnp.cumsum(pieces.valid, axis=1) - 1, total)
    rows = jnp.arange(len(slots))[:, None]
    blank = jnp.full((len(slots), total), fill, jnp.int32)
    tokens = blank.at[rows, slots].set(pieces.tokens, mode="drop")
    prompts = sum(jnp.sum(piece.valid, axis=1) for piece in prompt)
    return Text(tokens, jnp.asarray(prompts), jnp.sum(pieces.valid, axis=1))
