"""Settings of the position encodings, as a recipe states them; `model/positions/` builds them.

`name` in a recipe tells them apart. A user's own file has settings of its own: see `UserEncoding`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen

from curta.config.errors import UserError
from curta.config.limits import (
    ITEMS,
    PARTS,
    Factor,
    Name,
    Parts,
    PathName,
    PositionsOrNone,
)
from curta.config.limits import Positions as Count

Neighbours = Annotated[
    dict[Name, Annotated[tuple[Name, ...], MaxLen(ITEMS)]],
    MaxLen(ITEMS),
]


@dataclass(frozen=True)
class EncodingSettings:
    """What the settings of every encoding have."""

    name: Name
    """Which encoding, or the path of a file of yours; another one begins the section anew."""


@dataclass(frozen=True)
class Learned(EncodingSettings):
    """One learned vector for each of `length` indices in the text."""

    name: Literal["learned"] = "learned"
    length: Count = 512
    """Most tokens of a text: each index has a vector of its own."""


@dataclass(frozen=True)
class NoPE(EncodingSettings):
    """No positions are given to the model."""

    name: Literal["nope"] = "nope"


@dataclass(frozen=True)
class Sinusoidal(EncodingSettings):
    """Fixed waves; the slowest pair of features has a period just below 2 pi `base`."""

    name: Literal["sinusoidal"] = "sinusoidal"
    base: Factor = 10_000.0
    """The slowest pair of features has a period just below 2 pi times this many tokens."""


@dataclass(frozen=True)
class Randomised(EncodingSettings):
    """Learned or sinusoidal vectors, at random indices below `max_length` in training."""

    name: Literal["randomised"] = "randomised"
    of: Literal["learned", "sinusoidal"] = "learned"
    """Which vectors stand at the random indices: learned or sinusoidal ones."""
    max_length: Count = 512
    """Random indices lie below this in training; no text may have more tokens."""


@dataclass(frozen=True)
class RoPE(EncodingSettings):
    """Rotary embedding; the slowest pair of features turns with period 2 pi `base`."""

    name: Literal["rope"] = "rope"
    base: Factor = 10_000.0
    """The slowest pair of features turns once in just below 2 pi times this many tokens."""
    over: Literal["tokens", "heads"] = "tokens"
    """What angles grow with: the index of tokens, or by mistake the number of their heads.

    Queries and keys of a head are then turned alike, so scores do not change: see docs/results.md.
    """


@dataclass(frozen=True)
class ALiBi(EncodingSettings):
    """A penalty in proportion to the distance, with fixed or `learned` slopes."""

    name: Literal["alibi"] = "alibi"
    learned: bool = False
    """Whether the slopes of the heads are trained, or fixed."""


@dataclass(frozen=True)
class T5(EncodingSettings):
    """A score bias for each of `num_buckets` ranges of distances, shared by all blocks."""

    name: Literal["t5"] = "t5"
    num_buckets: Annotated[int, Ge(2), Le(PARTS)] = 32
    """How many ranges of distances have a bias; the first half hold one distance each."""
    max_distance: Count = 128
    """From this distance on, in tokens, all share the last bucket."""

    def __post_init__(self) -> None:
        if self.max_distance <= self.num_buckets // 2:
            raise UserError(
                f"positions.max_distance must be more than half of positions.num_buckets:"
                f" {self.max_distance} is not more than {self.num_buckets // 2}"
            )


@dataclass(frozen=True)
class FIRE(EncodingSettings):
    """A bias learned from logarithmic distances; random positions below `max_length` if not 0."""

    name: Literal["fire"] = "fire"
    hidden: Parts = 32
    """Inner width of the network that makes a bias of a distance."""
    max_length: PositionsOrNone = 0
    """In training, tokens stand at random positions below this; 0: at their index."""


@dataclass(frozen=True)
class Abacus(EncodingSettings):
    """A learned vector for each digit's index in its number, randomly displaced in training."""

    name: Literal["abacus"] = "abacus"
    rows: Count = 1024
    """How many vectors there are: longest number and random offset must fit."""
    max_offset: PositionsOrNone = 100
    """Largest number added to all digits' indices in training; 0: none."""
    offset_of: Literal["step", "text"] = "step"
    """Whether that number is drawn once for all texts of a step, or for each text."""
    evaluation_offset: PositionsOrNone = 0
    """The number that is added outside of training, in evaluations and exports."""
    inject: Literal["embedding", "queries_keys"] = "embedding"
    """Where vectors are added: to the embedding, or in every layer to queries_keys."""


@dataclass(frozen=True)
class Coupled(EncodingSettings):
    """A learned vector for each coordinate, with a random start in training."""

    name: Literal["coupled"] = "coupled"
    rows: Count = 128
    """How many vectors each axis has: highest coordinate and random start must fit."""
    max_start: PositionsOrNone = 100
    """Largest number added to coordinates in training, drawn each step; 0: none."""


@dataclass(frozen=True)
class CoupledSinusoidal(EncodingSettings):
    """Fixed waves of the coordinate; the slowest pair of features has this period, in places."""

    name: Literal["coupled-sinusoidal"] = "coupled-sinusoidal"
    period: Factor = 16.0
    """Places after which the slowest pair of features repeats itself."""


@dataclass(frozen=True)
class PositionCoupling(EncodingSettings):
    """A learned vector for each of `max_position` ids, with a start of each problem's own."""

    name: Literal["position-coupling"] = "position-coupling"
    max_position: Count = 202
    """Highest id that a token can have, the random start of its problem included."""


@dataclass(frozen=True)
class Window(EncodingSettings):
    """Attention to the neighbours in which the next token is a function."""

    name: Literal["window"] = "window"
    neighbours: Neighbours = field(default_factory=dict)
    """What roles see, such as {sum = ["a place+1", "a"]}; that of others is found."""


@dataclass(frozen=True)
class UserEncoding(EncodingSettings):
    """A position encoding from a file of the user's: its tag, and the settings of its own."""

    name: Literal["(file)"] = "(file)"
    file: PathName = ""
    """Name of the user's file, with the start of its SHA-256."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What the file's own dataclass holds besides its name, as a table."""


Positions = (
    Learned | NoPE | Sinusoidal | Randomised | RoPE | ALiBi | T5 | FIRE
    | Abacus | Coupled | CoupledSinusoidal | PositionCoupling | Window | UserEncoding
)  # fmt: skip
"""Settings of every encoding."""
