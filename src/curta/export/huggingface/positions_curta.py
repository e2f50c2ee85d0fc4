"""Position encodings in attention: part of `modeling_curta.py`."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PretrainedConfig

from .reading_curta import ABSENT, Constants, Context, cells


class Positions(Constants):
    """No positions; the base of all encodings, with attention over all earlier tokens."""

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__(config)
        self.settings = config.positions
        for name, shape in config.positions["weights"].items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def forward(self, context: Context) -> Tensor | float:
        """Return what is added to the vectors of the tokens."""
        return 0.0

    def rotated(self, query: Tensor, key: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        return self.rotate(query, context), self.rotate(key, context)

    def rotate(self, heads: Tensor, context: Context) -> Tensor:
        """Rotate queries or keys, batch x heads x queries x features."""
        return heads

    def bias(self, block: int, context: Context) -> Tensor | float:
        return 0.0

    def scores(self, block: int, context: Context, q: Tensor, k: Tensor) -> Tensor:
        """Return batch x heads x queries x keys, in single precision for any weights."""
        scores = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5
        return hidden(scores + self.bias(block, context), ~context.visible[:, None])

    def weights(self, block: int, context: Context, q: Tensor, k: Tensor) -> Tensor:
        """Return each query's shares of the keys."""
        return self.scores(block, context, q, k).softmax(dim=-1)

    def mixed(self, context: Context, weights: Tensor, v: Tensor) -> Tensor:
        """Return values mixed by these weights, batch x queries x heads x features."""
        return (weights.to(v.dtype) @ v).transpose(1, 2)

    def shares(self, weights: Tensor, context: Context) -> Tensor:
        """Return the `weights` as batch x heads x queries x keys."""
        return weights

    def rows_of(self, table: Tensor, rows: Tensor) -> Tensor:
        """Return rows of a table of positions; ValueError for a text that is too long for it."""
        if not torch.compiler.is_compiling() and int(rows.max()) >= len(table):
            raise ValueError(f"a text needs position {int(rows.max())}, there are {len(table)}")
        return table[rows]


class LearnedPositions(Positions):
    def forward(self, context: Context) -> Tensor:
        return self.rows_of(self.table, context.index)


class SinusoidalPositions(Positions):
    def forward(self, context: Context) -> Tensor:
        half = self.settings["width"] // 2
        angles = angles_of(context.index, self.settings["base"], half)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class RoPEPositions(Positions):
    def rotate(self, heads: Tensor, context: Context) -> Tensor:
        left, right = heads.chunk(2, dim=-1)
        angles = angles_of(context.index, self.settings["base"], left.shape[-1])[:, None]
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class ALiBiPositions(Positions):
    def bias(self, block: int, context: Context) -> Tensor:
        fixed = self.settings.get("slopes")
        if fixed is None:
            slopes = self.slopes[block]
        else:
            slopes = context.index.new_tensor(fixed, dtype=torch.float32)
        return -slopes[:, None, None] * distances(context).abs().float()[:, None]


class T5Positions(Positions):
    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        return {"buckets": torch.tensor(config.positions["buckets"])}

    def bias(self, block: int, context: Context) -> Tensor:
        bucket = self.buckets[distances(context).clamp(0, len(self.buckets) - 1)]
        return self.table[bucket].permute(0, 3, 1, 2)


class FIREPositions(Positions):
    def bias(self, block: int, context: Context) -> Tensor:
        scale, threshold = self.scale[block].float(), self.threshold[block].float()
        query = context.index.float()[:, :, None]
        least = (threshold * self.settings["least"]).abs()
        near = ((scale * distances(context)).abs() + 1).log()
        far = ((scale * torch.maximum(query, least)).abs() + 1).log()
        relative = (near / (far + 1e-6))[..., None].to(self.up.dtype)
        features = functional.relu(relative * self.up[block] + self.up_bias[block])
        return (features @ self.down[block] + self.down_bias[block]).permute(0, 3, 1, 2)


class AbacusPositions(Positions):
    """The i-th digit of each number has vector i + 1, any other token vector 0."""

    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        return {"digits": torch.tensor([role["digit"] for role in config.layout["roles"]])}

    def forward(self, context: Context) -> Tensor | float:
        return self.vectors(context) if self.settings["inject"] == "embedding" else 0.0

    def rotate(self, heads: Tensor, context: Context) -> Tensor:
        if self.settings["inject"] == "embedding":
            return heads
        vectors = self.vectors(context).unflatten(-1, (heads.shape[1], -1))
        return heads + vectors.transpose(1, 2)

    def vectors(self, context: Context) -> Tensor:
        digit = (context.role >= 0) & self.digits[context.role]
        row = context.coordinates[..., 0] + self.settings["evaluation_offset"] + 1
        rows = torch.where(digit, row, 0)
        return self.rows_of(self.table, rows)


class CoupledPositions(Positions):
    """A table for each axis; a coordinate's row is one more, padding has row 0."""

    def forward(self, context: Context) -> Tensor:
        rows = torch.where(context.role[..., None] >= 0, context.coordinates + 1, 0)
        return sum(self.rows_of(table, rows[..., axis]) for axis, table in enumerate(self.tables))


class WindowPositions(Positions):
    """Attention to the cells of a window, each with its own bias.

    An absent neighbour is a zero vector, and is attended to like the others.
    """

    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        near = cells(config.positions["near"], config.layout["axes"])
        return {"unknown": near[..., 0] == ABSENT}

    def scores(self, block: int, context: Context, q: Tensor, k: Tensor) -> Tensor:
        """Return batch x queries x cells x heads."""
        scores = (q.transpose(1, 2)[:, :, None] * window_heads(context, k)).sum(dim=-1).float()
        role = context.role.clamp(min=0)
        table = self.biases[block].unflatten(-1, (len(self.unknown), -1))  # heads roles cells
        biases = table[:, role].permute(1, 2, 3, 0).float()
        # cells that a role's window lacks are hidden
        return scores * q.shape[-1] ** -0.5 + hidden(biases, self.unknown[role][..., None])

    def weights(self, block: int, context: Context, q: Tensor, k: Tensor) -> Tensor:
        return self.scores(block, context, q, k).softmax(dim=2)

    def mixed(self, context: Context, weights: Tensor, v: Tensor) -> Tensor:
        return (weights[..., None].to(v.dtype) * window_heads(context, v)).sum(dim=2)

    def shares(self, weights: Tensor, context: Context) -> Tensor:
        assert context.keys is not None
        present = weights.masked_fill(~context.visible[..., None], 0.0)
        batch, time, _, heads = weights.shape
        by_key = weights.new_zeros(batch, time, context.key_index.shape[1], heads)
        keys = context.keys[..., None].expand_as(weights)
        return by_key.scatter_add(2, keys, present).permute(0, 3, 1, 2)


def window_heads(context: Context, heads: Tensor) -> Tensor:
    """Return keys or values of each cell of the queries' windows; zeros for absent neighbours."""
    rows = torch.arange(heads.shape[0], device=heads.device)[:, None, None]
    return heads[rows, :, context.keys].masked_fill(~context.visible[..., None, None], 0.0)


POSITIONS: dict[str, type[Positions]] = {
    "learned": LearnedPositions,
    "nope": Positions,
    "sinusoidal": SinusoidalPositions,
    "rope": RoPEPositions,
    "alibi": ALiBiPositions,
    "t5": T5Positions,
    "fire": FIREPositions,
    "abacus": AbacusPositions,
    "coupled": CoupledPositions,
    "window": WindowPositions,
}


def angles_of(index: Tensor, base: float, half: int) -> Tensor:
    """Return the angles of each index, one for each pair of features."""
    powers = -torch.arange(half, dtype=torch.float32, device=index.device) / half
    return index[..., None].to(torch.float32) * base**powers


def distances(context: Context) -> Tensor:
    """Return how many tokens each key stands before each query."""
    return context.index[:, :, None] - context.key_index[:, None, :]


def hidden(scores: Tensor, where: Tensor) -> Tensor:
    """Return scores with the lowest value of their type where nothing is visible."""
    return scores.masked_fill(where, torch.finfo(scores.dtype).min)
