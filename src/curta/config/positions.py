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
class Learned:
    """One learned vector for each of `length` indices in the text."""

    name: Literal["learned"] = "learned"
    length: Count = 512


@dataclass(frozen=True)
class NoPE:
    """No positions are given to the model."""

    name: Literal["nope"] = "nope"


@dataclass(frozen=True)
class Sinusoidal:
    """Fixed waves; the slowest pair of features has a period just below 2 pi `base`."""

    name: Literal["sinusoidal"] = "sinusoidal"
    base: Factor = 10_000.0


@dataclass(frozen=True)
class Randomised:
    """Learned or sinusoidal vectors, at random indices below `max_length` in training."""

    name: Literal["randomised"] = "randomised"
    of: Literal["learned", "sinusoidal"] = "learned"
    max_length: Count = 512


@dataclass(frozen=True)
class RoPE:
    """Rotary embedding; the slowest pair of features turns with period 2 pi `base`."""

    name: Literal["rope"] = "rope"
    base: Factor = 10_000.0


@dataclass(frozen=True)
class ALiBi:
    """A penalty in proportion to the distance, with fixed or `learned` slopes."""

    name: Literal["alibi"] = "alibi"
    learned: bool = False


@dataclass(frozen=True)
class T5:
    """A score bias for each of `num_buckets` ranges of distances, shared by all blocks."""

    name: Literal["t5"] = "t5"
    num_buckets: Annotated[int, Ge(2), Le(PARTS)] = 32
    max_distance: Count = 128

    def __post_init__(self) -> None:
        if self.max_distance <= self.num_buckets // 2:
            raise UserError(
                f"positions.max_distance must be more than half of positions.num_buckets:"
                f" {self.max_distance} is not more than {self.num_buckets // 2}"
            )


@dataclass(frozen=True)
class FIRE:
    """A bias learned from logarithmic distances; random positions below `max_length` if not 0."""

    name: Literal["fire"] = "fire"
    hidden: Parts = 32
    max_length: PositionsOrNone = 0


@dataclass(frozen=True)
class Abacus:
    """A learned vector for each digit's index in its number, randomly displaced in training."""

    name: Literal["abacus"] = "abacus"
    rows: Count = 1024
    max_offset: PositionsOrNone = 100
    inject: Literal["embedding", "queries_keys"] = "embedding"


@dataclass(frozen=True)
class Coupled:
    """A learned vector for each coordinate, with a random start in training."""

    name: Literal["coupled"] = "coupled"
    rows: Count = 128
    max_start: PositionsOrNone = 100


@dataclass(frozen=True)
class CoupledSinusoidal:
    """Fixed waves of the coordinate; the slowest pair of features has this period, in places."""

    name: Literal["coupled-sinusoidal"] = "coupled-sinusoidal"
    period: Factor = 16.0


@dataclass(frozen=True)
class PositionCoupling:
    """A learned vector for each of `max_position` ids, with a start of each problem's own."""

    name: Literal["position-coupling"] = "position-coupling"
    max_position: Count = 202


@dataclass(frozen=True)
class Window:
    """Attention to the neighbours in which the next token is a function.

    `neighbours` fixes them for some roles, such as `sum = ["a place+1", "b place+1"]`; those of
    all others are found.
    """

    name: Literal["window"] = "window"
    neighbours: Neighbours = field(default_factory=dict)


@dataclass(frozen=True)
class UserEncoding:
    """A position encoding from a file of the user's: its tag, and the settings of its own."""

    name: Literal["(file)"] = "(file)"
    file: PathName = ""
    settings: dict[str, Any] = field(default_factory=dict)


Positions = (
    Learned | NoPE | Sinusoidal | Randomised | RoPE | ALiBi | T5 | FIRE
    | Abacus | Coupled | CoupledSinusoidal | PositionCoupling | Window | UserEncoding
)  # fmt: skip
"""Settings of every encoding."""
