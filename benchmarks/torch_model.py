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
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor, nn

from curta.config.recipe import Recipe

IGNORED = -100
"""Target of a position that is not scored."""

HIDDEN = -1e9

TABLES = ("composition", "role", "has_cell")
"""Under a window: the share of each vector in each token, its role, and the cells of each role."""

Batch = Mapping[str, Tensor]
"""Texts: `tokens`, without the last, `queries` (batch, scored) and their `targets`.

Windows: `rows` of a query's token and its neighbours', one past the last for none, and `targets`.
"""


class Attention(nn.Module):
    """Attention over all tokens of `x`: of all, or in the last such layer of the scored ones."""

    angles: Tensor

    def __init__(self, config: Any, rotates: bool, last: bool) -> None:
        super().__init__()
        self.heads, self.rotates, self.last = config.heads, rotates, last
        self.norm = nn.RMSNorm(config.width, eps=1e-6)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        half = config.width // config.heads // 2
        angles = torch.arange(512)[:, None] * 10_000.0 ** (-torch.arange(half) / half)
        waves = torch.cat([angles.cos(), angles.sin()], dim=-1)
        self.register_buffer("angles", waves, persistent=False)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        h = self.norm(x)
        if self.last:
            at = batch["queries"]
            ours, theirs = self.qkv.weight.split([x.shape[-1], 2 * x.shape[-1]])
            q = self._split(F.linear(pick(h, at), ours))
            k, v = (self._split(part) for part in F.linear(h, theirs).chunk(2, dim=-1))
            mask = torch.arange(k.shape[2]) <= at[:, None, :, None]
            q, k = self._turn(q, self.angles[at][:, None]), self._turn(k, self.angles)
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = pick(x, at)
        else:
            q, k, v = (self._split(part) for part in self.qkv(h).chunk(3, dim=-1))
            q, k = self._turn(q, self.angles), self._turn(k, self.angles)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(seen.transpose(1, 2).reshape(x.shape))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _turn(self, heads: Tensor, angles: Tensor) -> Tensor:
        """RoPE."""
        if not self.rotates:
            return heads
        cos, sin = angles[..., : heads.shape[2], :].chunk(2, dim=-1)
        left, right = heads.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class WindowAttention(nn.Module):
    """Attention of queries over the cells of their windows; the vocabulary's keys are looked up."""

    role: Tensor
    has_cell: Tensor

    def __init__(self, config: Any, role: Tensor, has_cell: Tensor) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.width, eps=1e-6)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.register_buffer("role", role, persistent=False)
        self.register_buffer("has_cell", has_cell, persistent=False)
        self.bias = nn.Parameter(torch.empty(config.heads, has_cell.numel()))

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """From the vectors of the vocabulary to those of each window's query."""
        rows, heads = batch["rows"], len(self.bias)
        queries = rows[:, 0]
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        k, v = (F.embedding(rows, F.pad(part, (0, 0, 0, 1))) for part in (k, v))
        q, k, v = (part.unflatten(-1, (heads, -1)) for part in (F.embedding(queries, q), k, v))
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
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.norm = nn.RMSNorm(config.width, eps=1e-6)
        self.up = nn.Linear(config.width, config.mlp_ratio * config.width, bias=False)
        self.down = nn.Linear(config.mlp_ratio * config.width, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.activation(self.up(self.norm(x))))


class Decoder(nn.Module):
    """Embeddings, blocks (the first `num_attention_layers` attend), head.

    Under a window the blocks start from the vectors of the vocabulary. `arrays` are weights by
    their names, and under a window its tables, such as those of `export.arrays_of`.
    """

    composition: Tensor

    def __init__(self, recipe: Recipe, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        config, rotates = recipe.model, recipe.positions.name == "rope"
        state = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        tables = {name: state.pop(name) for name in TABLES if name in state}
        self.tokens = nn.Embedding(*state["tokens.weight"].shape)
        learned = state.get("places.weight")
        self.places = None if learned is None else nn.Embedding(*learned.shape)
        count, attention = config.num_attention_layers, list[nn.Module]()
        for number in range(count):
            if tables:
                attention.append(WindowAttention(config, tables["role"], tables["has_cell"]))
            else:
                attention.append(Attention(config, rotates, last=number == count - 1))
        self.attention = nn.ModuleList(attention)
        self.feedforward = nn.ModuleList(Feedforward(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.width, eps=1e-6)
        self.head = nn.Linear(*reversed(state["head.weight"].shape), bias=False)
        self.register_buffer("composition", tables.get("composition"), persistent=False)
        self.load_state_dict(state)

    def forward(self, batch: Batch) -> Tensor:
        """Logits for the token that follows each of the batch's queries or windows."""
        if "rows" in batch:
            x = self.composition @ self.tokens.weight
        else:
            x = self.tokens(batch["tokens"])
        if self.places is not None:
            x = x + self.places.weight[: x.shape[1]]
        for number, feedforward in enumerate(self.feedforward):
            if number < len(self.attention):
                x = self.attention[number](x, batch)
            x = feedforward(x)
        return self.head(self.norm(x))


def pick(x: Tensor, at: Tensor) -> Tensor:
    """Rows of `x` (batch, time, width) at the given times."""
    return x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))


def loss(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross entropy over the scored tokens."""
    logits, targets = model(batch).flatten(0, -2), batch["targets"].flatten()
    return F.cross_entropy(logits, targets, ignore_index=IGNORED)


class Trainer:
    """The optimiser with Curta's hyper-parameters and schedule."""

    def __init__(self, model: nn.Module, recipe: Recipe) -> None:
        self.model, self.steps = model, recipe.training.steps
        self.settings = asdict(recipe.optimizer)
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=self.settings["learning_rate"],
            betas=(self.settings["beta1"], self.settings["beta2"]),
            weight_decay=self.settings["weight_decay"],
            fused=True,
        )
        self.objective: Callable[[nn.Module, Batch], Tensor] = loss

    def step(self, batch: Batch, number: int) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.objective(self.model, batch).backward()
        self.update(number)

    def update(self, number: int) -> None:
        """Clips what `backward` left and applies it, at the rate of this step."""
        nn.utils.clip_grad_norm_(self.parameters, self.settings["clip"])
        # a linear warm-up, then a half cosine
        warm = max(1.0, self.settings["warmup"] * self.steps)
        progress = min(1.0, max(0.0, (number - warm) / max(1.0, self.steps - warm)))
        final = self.settings["final"]
        course = final + (1.0 - final) * 0.5 * (1.0 + math.cos(math.pi * progress))
        rate = self.settings["learning_rate"] * min(1.0, (number + 1) / warm) * course
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
