"""Curta's decoder in PyTorch, to compare the time of one training step.

Everything that does arithmetic is the same: shapes of weights (a Linear keeps its
own transposed), initial scale, masks, the loss over scored tokens only. The form is
PyTorch's own: fused kernels where it has them (`scaled_dot_product_attention`,
`RMSNorm`, fused AdamW), one matrix for queries, keys and values, and, as in
Curta, nothing but the scored positions after the keys of the last attention layer.
Under a window keys and values are calculated once for the vocabulary and looked up, as in
Curta too.

`python -m benchmarks.check` holds logits, loss, gradients and the optimiser's
step against Curta's.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor, nn

IGNORED = -100
"""Target of a position that is not scored."""

HIDDEN = -1e9


@dataclass(frozen=True)
class Size:
    """Size and design of the model; the fields are those of Curta's recipe."""

    vocabulary: int
    width: int
    heads: int
    num_layers: int
    num_attention_layers: int
    mlp_ratio: int
    activation: str
    positions: str
    position_rows: int = 0
    base: float = 10_000.0
    composition: Sequence[Sequence[float]] = ()
    """Under a window: the share of each vector in each token,"""
    role: Sequence[int] = ()
    """the role of each token,"""
    has_cell: Sequence[Sequence[bool]] = ()
    """and which cells each role's window has."""


class Batch(NamedTuple):
    """Written problems, without their last token, after which nothing is predicted."""

    tokens: Tensor
    queries: Tensor
    targets: Tensor


class Windows(NamedTuple):
    """Windows: a query's token and its neighbours', one past the last for none."""

    rows: Tensor
    targets: Tensor


class Attention(nn.Module):
    """Attention of `at`, the scored positions, over all tokens of `x`."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm = nn.RMSNorm(size.width, eps=1e-6)
        self.qkv = nn.Linear(size.width, 3 * size.width, bias=False)
        self.out = nn.Linear(size.width, size.width, bias=False)

    def forward(self, x: Tensor, turn: Callable[..., Tensor], at: Tensor | None) -> Tensor:
        h = self.norm(x)
        if at is None:
            q, k, v = (self._split(part) for part in self.qkv(h).chunk(3, dim=-1))
        else:
            scored = pick(h, at)
            ours, theirs = self.qkv.weight.split([x.shape[-1], 2 * x.shape[-1]])
            q = self._split(F.linear(scored, ours))
            k, v = (self._split(part) for part in F.linear(h, theirs).chunk(2, dim=-1))
            x = pick(x, at)
        seen = self._attend(turn(q, at), turn(k, None), v, at)
        return x + self.out(seen.transpose(1, 2).reshape(x.shape))

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, at: Tensor | None) -> Tensor:
        if at is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        mask = torch.arange(k.shape[2]) <= at[:, None, :, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class WindowAttention(Attention):
    """Attention of queries over the cells of their windows; the vocabulary's keys are looked up."""

    role: Tensor
    has_cell: Tensor

    def __init__(self, size: Size) -> None:
        super().__init__(size)
        self.register_buffer("role", torch.tensor(size.role), persistent=False)
        self.register_buffer("has_cell", torch.tensor(size.has_cell), persistent=False)
        self.bias = nn.Parameter(torch.empty(size.heads, self.has_cell.numel()))

    def forward(self, x: Tensor, rows: Tensor) -> Tensor:  # type: ignore[override]
        """From the vectors of the vocabulary to those of each window's query."""
        queries = rows[:, 0]
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        k, v = (F.embedding(rows, F.pad(part, (0, 0, 0, 1))) for part in (k, v))
        q, k, v = (part.unflatten(-1, (self.heads, -1)) for part in (F.embedding(queries, q), k, v))
        table = self.bias.unflatten(1, self.has_cell.shape).permute(1, 2, 0)
        table = table.masked_fill(~self.has_cell[..., None], HIDDEN)
        scores = (q[:, None] * k).sum(-1) * q.shape[-1] ** -0.5 + table[self.role[queries]]
        seen = (scores.softmax(1)[..., None] * v).sum(1)
        return F.embedding(queries, x) + self.out(seen.flatten(1))


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu2": lambda x: F.relu(x).square(),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
}


class Feedforward(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[size.activation]
        self.norm = nn.RMSNorm(size.width, eps=1e-6)
        self.up = nn.Linear(size.width, size.mlp_ratio * size.width, bias=False)
        self.down = nn.Linear(size.mlp_ratio * size.width, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.activation(self.up(self.norm(x))))


class Decoder(nn.Module):
    """Over texts: embeddings, blocks (the first `num_attention_layers` attend), head."""

    angles: Tensor

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        learned = size.positions == "learned"
        self.places = nn.Embedding(size.position_rows, size.width) if learned else None
        self.attention = nn.ModuleList(Attention(size) for _ in range(size.num_attention_layers))
        self.feedforward = nn.ModuleList(Feedforward(size) for _ in range(size.num_layers))
        self.norm = nn.RMSNorm(size.width, eps=1e-6)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)
        self.register_buffer("angles", _angles(size), persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """Logits for the token that follows each of the batch's queries."""
        x = self.embed(batch)
        for number, feedforward in enumerate(self.feedforward):
            if number < self.size.num_attention_layers:
                at = batch.queries if number == self.size.num_attention_layers - 1 else None
                x = self.attention[number](x, self.turn, at)
            x = feedforward(x)
        return self.head(self.norm(x))

    def embed(self, batch: Batch) -> Tensor:
        x = self.tokens(batch.tokens)
        return x if self.places is None else x + self.places.weight[: x.shape[1]]

    def turn(self, heads: Tensor, at: Tensor | None) -> Tensor:
        """RoPE, for the tokens in order or for those `at` positions."""
        if self.size.positions != "rope":
            return heads
        angles = self.angles[: heads.shape[2]] if at is None else self.angles[at][:, None]
        cos, sin = angles.chunk(2, dim=-1)
        left, right = heads.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class WindowDecoder(nn.Module):
    """Over windows: vectors of the vocabulary, one attention, layers after it, head."""

    composition: Tensor

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.register_buffer("composition", torch.tensor(size.composition), persistent=False)
        self.tokens = nn.Embedding(self.composition.shape[1], size.width)
        self.attention = nn.ModuleList([WindowAttention(size)])
        self.feedforward = nn.ModuleList(Feedforward(size) for _ in range(size.num_layers))
        self.norm = nn.RMSNorm(size.width, eps=1e-6)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)

    def forward(self, batch: Windows) -> Tensor:
        """Logits for the token that follows each window."""
        x = self.attention[0](self.composition @ self.tokens.weight, batch.rows)
        for feedforward in self.feedforward:
            x = feedforward(x)
        return self.head(self.norm(x))


def _angles(size: Size, length: int = 512) -> Tensor:
    """Cosines and sines for each position."""
    half = size.width // size.heads // 2
    angles = torch.arange(length)[:, None] * size.base ** (-torch.arange(half) / half)
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def from_arrays(size: Size, weights: dict[str, np.ndarray]) -> Decoder | WindowDecoder:
    """A model with weights by their names, such as those of `export.weights`."""
    model = WindowDecoder(size) if size.composition else Decoder(size)
    state = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}
    model.load_state_dict(state)
    return model


def pick(x: Tensor, at: Tensor) -> Tensor:
    """Rows of `x` (batch, time, width) at the given times."""
    return x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))


def loss(model: nn.Module, batch: Batch | Windows) -> Tensor:
    """Mean cross entropy over the scored tokens."""
    logits = model(batch)
    targets = batch.targets.flatten()
    return F.cross_entropy(logits.flatten(0, -2), targets, ignore_index=IGNORED)


@dataclass
class Trainer:
    """The optimiser with Curta's hyper-parameters and schedule."""

    model: nn.Module
    settings: dict[str, Any]
    steps: int

    def __post_init__(self) -> None:
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=self.settings["learning_rate"],
            betas=(self.settings["beta1"], self.settings["beta2"]),
            weight_decay=self.settings["weight_decay"],
            fused=True,
        )
        self.objective: Callable[[nn.Module, Batch | Windows], Tensor] = loss

    def step(self, batch: Batch | Windows, number: int) -> Tensor:
        """One training step; returns the loss, not waited for."""
        value = self.objective(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        value.backward()
        self.update(number)
        return value.detach()

    def update(self, number: int) -> None:
        """Clips what `backward` left and applies it."""
        nn.utils.clip_grad_norm_(self.parameters, self.settings["clip"])
        self.optimizer.param_groups[0]["lr"] = self.settings["learning_rate"] * self._factor(number)
        self.optimizer.step()

    def _factor(self, number: int) -> float:
        """Linear warm-up, then a half cosine."""
        warm = max(1.0, self.settings["warmup"] * self.steps)
        progress = min(1.0, max(0.0, (number - warm) / max(1.0, self.steps - warm)))
        final = self.settings["final"]
        course = final + (1.0 - final) * 0.5 * (1.0 + math.cos(math.pi * progress))
        return min(1.0, (number + 1) / warm) * course


def batches(arrays: dict[str, np.ndarray]) -> Iterable[Batch | Windows]:
    """Batches from arrays with one batch per row."""
    columns = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for number in range(len(columns["targets"])):
        yield batch({name: column[number] for name, column in columns.items()})


def batch(columns: dict[str, Tensor]) -> Batch | Windows:
    """One batch, of what there is."""
    return Windows(**columns) if "rows" in columns else Batch(**columns)
