"""The section `[positions]` of a recipe; `model/positions/` builds encodings of it.

The field `name` says which encoding it is. For an encoding in a user's file, see `UserEncoding`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from curta.config.errors import UserError
from curta.config.limits import PARTS, Factor, Parts, PositionsOrNone
from curta.config.limits import Positions as Count


@dataclass(frozen=True)
class EncodingSettings:
    """The settings that every encoding has."""

    name: str
    """Which encoding, or the path of your own; changing it resets the section."""


@dataclass(frozen=True)
class Learned(EncodingSettings):
    """A learned vector for each token's index."""

    name: Literal["learned"] = "learned"
    length: Count = 512
    """Most tokens of a text: how many vectors there are."""


@dataclass(frozen=True)
class NoPE(EncodingSettings):
    """No positions."""

    name: Literal["nope"] = "nope"


@dataclass(frozen=True)
class Sinusoidal(EncodingSettings):
    """Fixed sines and cosines; the slowest pair has a period just below 2 pi `base`."""

    name: Literal["sinusoidal"] = "sinusoidal"
    base: Factor = 10_000.0
    """The slowest pair of features has a period just below 2 pi times this many tokens."""


@dataclass(frozen=True)
class Randomised(EncodingSettings):
    """Learned or sinusoidal vectors, at random indices below `max_length` in training."""

    name: Literal["randomised"] = "randomised"
    of: Literal["learned", "sinusoidal"] = "learned"
    """Whether the vectors are learned or sinusoidal."""
    max_length: Count = 512
    """Training draws random indices below this; no text may have more tokens."""


@dataclass(frozen=True)
class RoPE(EncodingSettings):
    """Rotary embedding; the slowest pair of features has a period just below 2 pi `base`."""

    name: Literal["rope"] = "rope"
    base: Factor = 10_000.0
    """The slowest pair of features has a period just below 2 pi times this many tokens."""
    over: Literal["tokens", "heads"] = "tokens"
    """What angles grow with: the index of tokens, or (a mistake that occurs) of heads.

    With heads, scores do not change: see docs/results.md.
    """


@dataclass(frozen=True)
class ALiBi(EncodingSettings):
    """A penalty proportional to the distance, with fixed or `learned` slopes."""

    name: Literal["alibi"] = "alibi"
    learned: bool = False
    """Whether the slopes of the heads are trained."""


@dataclass(frozen=True)
class T5(EncodingSettings):
    """A learned bias for each range of distances, shared by all blocks."""

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
    """A bias that a small network learns from logarithmic distances."""

    name: Literal["fire"] = "fire"
    hidden: Parts = 32
    """Inner width of the network that maps distances to biases."""
    max_length: PositionsOrNone = 0
    """Training draws random positions below this; 0: a token's index."""


@dataclass(frozen=True)
class Abacus(EncodingSettings):
    """A learned vector for each digit's index in its number, with a random offset in training."""

    name: Literal["abacus"] = "abacus"
    rows: Count = 1024
    """How many vectors: the longest number plus the offset must fit."""
    max_offset: PositionsOrNone = 100
    """Largest random offset of digits' indices in training."""
    offset_of: Literal["step", "text"] = "step"
    """Whether the offset is drawn for each step or each text."""
    evaluation_offset: PositionsOrNone = 0
    """The offset in evaluations and exports."""
    inject: Literal["embedding", "queries_keys"] = "embedding"
    """Where vectors are added: to the embedding, or to queries_keys in every layer."""


@dataclass(frozen=True)
class Coupled(EncodingSettings):
    """A learned vector for each coordinate, with a random start in training."""

    name: Literal["coupled"] = "coupled"
    rows: Count = 128
    """How many vectors an axis has: the highest coordinate plus the start must fit."""
    max_start: PositionsOrNone = 100
    """Largest random start of coordinates, drawn each training step."""


@dataclass(frozen=True)
class CoupledSinusoidal(EncodingSettings):
    """Fixed sines and cosines of the coordinate."""

    name: Literal["coupled-sinusoidal"] = "coupled-sinusoidal"
    period: Factor = 16.0
    """Period of the slowest pair of features, in places."""


@dataclass(frozen=True)
class PositionCoupling(EncodingSettings):
    """A learned vector for each position id, with a random start for each problem."""

    name: Literal["position-coupling"] = "position-coupling"
    max_position: Count = 202
    """Highest id of a token, including its problem's random start."""


@dataclass(frozen=True)
class Window(EncodingSettings):
    """Attention to the few neighbours that determine the next token."""

    name: Literal["window"] = "window"
    neighbours: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What roles see, such as {sum = ["a place+1", "a"]}; others are determined."""


@dataclass(frozen=True)
class UserEncoding(EncodingSettings):
    """A position encoding from a user's file: the file's tag, and its settings."""

    name: Literal["(file)"] = "(file)"
    file: str = ""
    """Name of the user's file, with the start of its SHA-256."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The fields of the file's dataclass except the name, as a table."""


Positions = (
    Learned | NoPE | Sinusoidal | Randomised | RoPE | ALiBi | T5 | FIRE
    | Abacus | Coupled | CoupledSinusoidal | PositionCoupling | Window | UserEncoding
)  # fmt: skip
"""The settings of any encoding."""
