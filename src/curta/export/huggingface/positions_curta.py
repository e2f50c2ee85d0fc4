"""Where the tokens of a text stand, and what each of them sees: part of `modeling_curta.py`.

Kinds and coordinates follow from the tokens so far, by tables that config.json holds. For each
state and token these say the next state, the token's kind and the move of a pen:

    position = where(home[state, token], 0, position) + offset[state, token]

What `attention_mask` hides is no part of a text, on whichever side it stands.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PretrainedConfig

HIDDEN = -1e9
PADDING = ABSENT = -1


@dataclass(frozen=True)
class Spot:
    """Where the tokens of a batch stand, and which keys each of them sees.

    With a window `keys` are the cells of each token's window, else every token, in order.
    """

    index: Tensor  # batch time
    role: Tensor  # batch time
    coordinates: Tensor  # batch time axes
    keys: Tensor | None  # batch time cells
    visible: Tensor  # batch time cells, or batch time time


class Place(NamedTuple):
    """Where one token stands, and the slots of what its window holds, itself first."""

    role: int
    coordinates: list[int]
    keys: list[int]


class Reader:
    """Reads one text from left to right, in plain numbers, and goes on where it stopped."""

    def __init__(self, config: PretrainedConfig) -> None:
        layout, self.near = config.layout, config.positions.get("near")
        self.roles = layout["roles"]
        self.tables = [layout["automaton"][name] for name in ("next", "role", "home", "offset")]
        self.cells = 1 + max(map(len, self.near)) if self.near else 0
        self.state, self.position = 0, [0] * layout["axes"]
        self.nowhere = Place(PADDING, self.position, [ABSENT] * self.cells)
        self.found: dict[tuple[int, ...], int] = {}
        self.text: list[tuple[int, int]] = []
        self.places: list[Place] = []

    def begins(self, text: list[tuple[int, int]]) -> bool:
        """Whether the text goes on after what has been read."""
        return text[: len(self.text)] == self.text

    def read(self, text: list[tuple[int, int]]) -> list[Place]:
        """Where each token stands of a text that is given as tokens and whether they are there."""
        for slot in range(len(self.text), len(text)):
            token, there = text[slot]
            self.places.append(self._next(token, slot) if there else self.nowhere)
        self.text = text
        return self.places

    def _next(self, token: int, slot: int) -> Place:
        """The machine's step, and what is seen from there."""
        after, role, home, offset = (table[self.state][token] for table in self.tables)
        moves = zip(self.position, home, offset, strict=True)
        self.position = [move if first else at + move for at, first, move in moves]
        self.state = after
        if self.near is None:
            return Place(role, self.position, [])
        self.found[self._address(role, self.position)] = slot
        seen = [slot, *(self._seen(other, moved) for other, moved in self.near[role])]
        return Place(role, self.position, seen + [ABSENT] * (self.cells - len(seen)))

    def _seen(self, role: int, moved: list[int]) -> int:
        wanted = [at + far for at, far in zip(self.position, moved, strict=True)]
        return self.found.get(self._address(role, wanted), ABSENT)

    def _address(self, role: int, coordinates: list[int]) -> tuple[int, ...]:
        """Kind and coordinates, without the axes on which the kind is everywhere."""
        broadcast = self.roles[role]["broadcast"]
        return (role, *(at for at, free in zip(coordinates, broadcast, strict=True) if not free))


class Readers:
    """One for each text of a batch; a text that only grew is not read again."""

    def __init__(self, config: PretrainedConfig) -> None:
        self.config, self.all = config, list[Reader]()

    def locate(self, tokens: Tensor, mask: Tensor | None) -> Spot:
        """Where all tokens stand; padding is nowhere and seen by nobody."""
        written = torch.ones_like(tokens) if mask is None else mask
        rows = zip(tokens.tolist(), written.tolist(), strict=True)
        texts = [list(zip(row, there, strict=True)) for row, there in rows]
        known = [*self.all, *[None] * len(texts)][: len(texts)]
        self.all = [
            reader if reader and reader.begins(text) else Reader(self.config)
            for reader, text in zip(known, texts, strict=True)
        ]
        places = [reader.read(text) for reader, text in zip(self.all, texts, strict=True)]
        return self._spot(places, written.bool())

    def _spot(self, places: list[list[Place]], real: Tensor) -> Spot:
        role, coordinates, keys = (
            torch.tensor([[place[part] for place in row] for row in places], device=real.device)
            for part in range(len(Place._fields))
        )
        index = (real.long().cumsum(dim=1) - 1).clamp(min=0)
        if keys.shape[-1]:
            return Spot(index, role, coordinates, keys.clamp(min=0), keys != ABSENT)
        earlier = torch.ones(2 * real.shape[1:], dtype=torch.bool, device=real.device).tril()
        return Spot(index, role, coordinates, None, earlier & real[:, None, :])


class Positions(nn.Module):
    """No positions; the base of all encodings, with attention over all earlier tokens."""

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__()
        self.settings, self.roles = config.positions, config.layout["roles"]
        for name, shape in config.positions["weights"].items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def embed(self, spot: Spot) -> Tensor | float:
        return 0.0

    def rotate(self, heads: Tensor, spot: Spot) -> Tensor:
        return heads

    def bias(self, block: int, spot: Spot) -> Tensor | float:
        return 0.0

    def attend(self, block: int, spot: Spot, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = torch.einsum("bqhe,bkhe->bhqk", q, k) * q.shape[-1] ** -0.5
        scores = scores + self.bias(block, spot)
        weights = scores.masked_fill(~spot.visible[:, None], HIDDEN).softmax(dim=-1)
        return torch.einsum("bhqk,bkhe->bqhe", weights, v)

    def chosen(self, table: Tensor, rows: Tensor) -> Tensor:
        """Rows of a table of positions; a text that is too long for it is refused."""
        if int(rows.max()) >= len(table):
            raise ValueError(f"a text needs position {int(rows.max())}, there are {len(table)}")
        return table[rows]


class Learned(Positions):
    def embed(self, spot: Spot) -> Tensor:
        return self.chosen(self.table, spot.index)


class Sinusoidal(Positions):
    def embed(self, spot: Spot) -> Tensor:
        half = self.settings["width"] // 2
        angles = turned(spot.index, self.settings["base"], half)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class RoPE(Positions):
    def rotate(self, heads: Tensor, spot: Spot) -> Tensor:
        left, right = heads.chunk(2, dim=-1)
        angles = turned(spot.index, self.settings["base"], left.shape[-1])[:, :, None]
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class ALiBi(Positions):
    def bias(self, block: int, spot: Spot) -> Tensor:
        known = self.settings.get("slopes")
        slopes = self.slopes[block] if known is None else spot.index.new_tensor(known, dtype=FLOAT)
        return -slopes[:, None, None] * distances(spot).float()[:, None]


class T5(Positions):
    def bias(self, block: int, spot: Spot) -> Tensor:
        buckets = spot.index.new_tensor(self.settings["buckets"])
        bucket = buckets[distances(spot).clamp(0, len(buckets) - 1)]
        return self.table[bucket].permute(0, 3, 1, 2)


class FIRE(Positions):
    def bias(self, block: int, spot: Spot) -> Tensor:
        scale, least = self.scale[block], (self.threshold[block] * self.settings["least"]).abs()
        query = spot.index.float()[:, :, None]
        near = ((scale * distances(spot)).abs() + 1).log()
        far = ((scale * torch.maximum(query, least)).abs() + 1).log()
        relative = (near / (far + 1e-6))[..., None]
        features = functional.relu(relative * self.up[block] + self.up_bias[block])
        return (features @ self.down[block] + self.down_bias[block]).permute(0, 3, 1, 2)


class Abacus(Positions):
    """The i-th digit of each number has vector i + 1, all else vector 0."""

    def embed(self, spot: Spot) -> Tensor | float:
        return self.vectors(spot) if self.settings["inject"] == "embedding" else 0.0

    def rotate(self, heads: Tensor, spot: Spot) -> Tensor:
        if self.settings["inject"] == "embedding":
            return heads
        return heads + self.vectors(spot).reshape(heads.shape)

    def vectors(self, spot: Spot) -> Tensor:
        digits = spot.index.new_tensor([role["digit"] for role in self.roles], dtype=torch.bool)
        digit = (spot.role >= 0) & digits[spot.role]
        rows = torch.where(digit, spot.coordinates[..., 0] + 1, 0)
        return self.chosen(self.table, rows)


class Coupled(Positions):
    """A table for each axis; a coordinate's row is one more, padding has row 0."""

    def embed(self, spot: Spot) -> Tensor:
        rows = torch.where(spot.role[..., None] >= 0, spot.coordinates + 1, 0)
        return sum(self.chosen(table, rows[..., axis]) for axis, table in enumerate(self.tables))


class Window(Positions):
    """Attention to the cells of a window, each with a bias of its own.

    A neighbour that is not there is a zero vector, and attended to like the others.
    """

    def attend(self, block: int, spot: Spot, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = torch.arange(len(k), device=k.device)[:, None, None]
        there = spot.visible[..., None, None]
        key, value = (part[rows, spot.keys].masked_fill(~there, 0.0) for part in (k, v))
        scores = (q[:, :, None] * key).sum(dim=-1) * q.shape[-1] ** -0.5
        weights = (scores + self._biases(block, spot)).softmax(dim=2)
        return (weights[..., None] * value).sum(dim=2)

    def _biases(self, block: int, spot: Spot) -> Tensor:
        """Batch x time x cells x heads; cells that a kind's window has not are hidden."""
        table = self.biases[block].unflatten(-1, (len(self.roles), -1)).permute(1, 2, 0)
        counts = spot.role.new_tensor([1 + len(near) for near in self.settings["near"]])
        none = torch.arange(table.shape[1], device=counts.device) >= counts[:, None]
        return table.masked_fill(none[..., None], HIDDEN)[spot.role.clamp(min=0)]


FLOAT = torch.float32
POSITIONS: dict[str, type[Positions]] = {
    "learned": Learned,
    "nope": Positions,
    "sinusoidal": Sinusoidal,
    "rope": RoPE,
    "alibi": ALiBi,
    "t5": T5,
    "fire": FIRE,
    "abacus": Abacus,
    "coupled": Coupled,
    "window": Window,
}


def turned(index: Tensor, base: float, half: int) -> Tensor:
    """The angles of each index, one for each pair of features."""
    powers = -torch.arange(half, dtype=FLOAT, device=index.device) / half
    return index[..., None].to(FLOAT) * base**powers


def distances(spot: Spot) -> Tensor:
    """How many tokens each key stands before each query."""
    return spot.index[:, :, None] - spot.index[:, None, :]
