"""A transformer that calculates, exported by Curta, for the transformers library.

Besides the tokens the model is given what the layout of its texts says: the part that each
token plays (its kind) and where it stands (its coordinates). Both follow from the tokens so
far, by `layout_curta.step`, and are found here from `input_ids` alone, for each text of a batch.
What `attention_mask` hides is no part of a text, on whichever side it stands.

Nothing is remembered from one call to the next: `generate` reads the whole text for each token.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput

from .layout_curta import STATES, step

HIDDEN = -1e9
EPSILON = 1e-6
NOBODY, SELF = -1, -2
PADDING = -1

ACTIVATIONS = {
    "relu": functional.relu,
    "relu2": lambda x: functional.relu(x).square(),
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


class CurtaConfig(PretrainedConfig):
    """Settings of the model, of its positions and of the layout of its texts."""

    model_type = "curta"

    def __init__(
        self,
        design: dict[str, Any] | None = None,
        positions: dict[str, Any] | None = None,
        layout: dict[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        self.design, self.positions, self.layout = design or {}, positions or {}, layout or {}
        super().__init__(**rest)


@dataclass(frozen=True)
class Spot:
    """Where the tokens of a batch stand, and which keys each of them sees.

    With a window `keys` are the listed neighbours, else every token, in order.
    """

    index: Tensor  # batch time
    kind: Tensor  # batch time
    coordinates: Tensor  # batch time axes
    keys: Tensor | None  # batch time neighbours
    visible: Tensor  # batch time neighbours, or batch time time


class Reader:
    """Reads a text from left to right, in plain numbers."""

    def __init__(self, layout: dict[str, Any], near: list[Any] | None) -> None:
        self.kinds, self.axes, self.near = layout["kinds"], layout["axes"], near
        self.state = [0] * STATES
        self.found: dict[tuple[int, ...], int] = {}

    def read(self, token: int, slot: int) -> tuple[int, list[int], list[int]]:
        """Kind, coordinates and neighbours (slots, -1 if absent) of the next token."""
        self.state, kind, coordinates = step(self.state, token)
        if self.near is None:
            return kind, coordinates, []
        self.found[self._address(kind, coordinates)] = slot
        group = self.near[self.kinds[kind]["group"]]
        seen = [self._seen(near, moved, coordinates, slot) for near, moved in group]
        return kind, coordinates, seen

    def _seen(self, kind: int, moved: list[int], coordinates: list[int], slot: int) -> int:
        if kind == SELF:
            return slot
        if kind == NOBODY:
            return -1
        wanted = [at + far for at, far in zip(coordinates, moved, strict=True)]
        return self.found.get(self._address(kind, wanted), -1)

    def _address(self, kind: int, coordinates: list[int]) -> tuple[int, ...]:
        """Kind and coordinates, without the axes on which the kind is everywhere."""
        wild = self.kinds[kind]["wild"]
        return (kind, *(at for at, free in zip(coordinates, wild, strict=True) if not free))


def locate(tokens: Tensor, mask: Tensor | None, config: CurtaConfig) -> Spot:
    """Where all tokens of a batch stand; padding is nowhere and seen by nobody."""
    near = config.positions.get("near")
    width, axes = len(near[0]) if near else 0, config.layout["axes"]
    nowhere = (PADDING, [0] * axes, [-1] * width)
    written = torch.ones_like(tokens) if mask is None else mask
    rows = []
    for row, there in zip(tokens.tolist(), written.tolist(), strict=True):
        reader, texts = Reader(config.layout, near), enumerate(zip(row, there, strict=True))
        rows.append(
            [reader.read(token, slot) if real else nowhere for slot, (token, real) in texts]
        )
    kind, coordinates, keys = (
        torch.tensor([[token[part] for token in row] for row in rows], device=tokens.device)
        for part in range(3)
    )
    real = written.bool()
    index = (real.long().cumsum(dim=1) - 1).clamp(min=0)
    if near:
        return Spot(index, kind, coordinates, keys.clamp(min=0), keys >= 0)
    earlier = torch.ones(2 * tokens.shape[1:], dtype=torch.bool, device=tokens.device).tril()
    return Spot(index, kind, coordinates, None, earlier & real[:, None, :])


class Positions(nn.Module):
    """No positions; the base of all encodings, with attention over all earlier tokens."""

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__()
        self.settings, self.kinds = config.positions, config.layout["kinds"]
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
        digits = spot.index.new_tensor([kind["digit"] for kind in self.kinds], dtype=torch.bool)
        digit = (spot.kind >= 0) & digits[spot.kind]
        rows = torch.where(digit, spot.coordinates[..., 0] + 1, 0)
        return self.chosen(self.table, rows)


class Coupled(Positions):
    """A table for each axis; a coordinate's row is one more, padding has row 0."""

    def embed(self, spot: Spot) -> Tensor:
        rows = torch.where(spot.kind[..., None] >= 0, spot.coordinates + 1, 0)
        return sum(self.chosen(table, rows[..., axis]) for axis, table in enumerate(self.tables))


class Window(Positions):
    """Attention to listed neighbours, each with a bias of its own."""

    def attend(self, block: int, spot: Spot, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = torch.arange(len(k), device=k.device)[:, None, None]
        scores = (q[:, :, None] * k[rows, spot.keys]).sum(dim=-1) * q.shape[-1] ** -0.5
        scores = scores + self._biases(block, spot)
        weights = scores.masked_fill(~spot.visible[..., None], HIDDEN).softmax(dim=2)
        return (weights[..., None] * v[rows, spot.keys]).sum(dim=2)

    def _biases(self, block: int, spot: Spot) -> Tensor:
        """Batch x time x neighbours x heads."""
        groups = spot.kind.new_tensor([kind["group"] for kind in self.kinds])
        table = self.biases[block].unflatten(-1, (len(self.settings["near"]), -1))
        return table.permute(1, 2, 0)[groups[spot.kind]]


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


class Norm(nn.Module):
    """Root mean square 1, and mean 0 where the design says so; a gain if it has any."""

    def __init__(self, design: dict[str, Any]) -> None:
        super().__init__()
        self.centred = design["norm"] != "rms"
        gained = design["norm"] != "plain"
        self.weight = nn.Parameter(torch.ones(design["width"])) if gained else None

    def forward(self, x: Tensor) -> Tensor:
        if self.centred:
            x = x - x.mean(dim=-1, keepdim=True)
        x = x * (x.square().mean(dim=-1, keepdim=True) + EPSILON).rsqrt()
        return x if self.weight is None else x * self.weight


class SubLayer(nn.Module):
    """What attention and feed-forward share: a norm before, and what is done with the change."""

    def __init__(self, design: dict[str, Any]) -> None:
        super().__init__()
        self.norm = Norm(design)
        self.after = Norm(design) if design["norm_placement"] == "post_residual" else None
        self.dropout = nn.Dropout(design["dropout"])

    def added(self, x: Tensor, change: Tensor) -> Tensor:
        x = x + self.dropout(change)
        return x if self.after is None else self.after(x)


class Attention(SubLayer):
    def __init__(self, design: dict[str, Any]) -> None:
        super().__init__(design)
        width, self.heads = design["width"], design["heads"]
        self.features = width // self.heads
        remembered = design.get("key_value_heads") or self.heads
        self.scaled = design["attention_scale"]
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, remembered * self.features, bias=False)
        self.value = nn.Linear(width, remembered * self.features, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, block: int, positions: Positions, spot: Spot) -> Tensor:
        h = self.norm(x)
        query, key, value = (self._split(part(h)) for part in (self.query, self.key, self.value))
        query, key = positions.rotate(query, spot), positions.rotate(key, spot)
        query = query if self.scaled else query * self.features**0.5
        key, value = self._spread(key), self._spread(value)
        seen = positions.attend(block, spot, query, key, value)
        return self.added(x, self.out(seen.flatten(-2)))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.features))

    def _spread(self, heads: Tensor) -> Tensor:
        """Keys or values, each as often as there are queries that share it."""
        return heads.repeat_interleave(self.heads // heads.shape[2], dim=2)


class FeedForward(SubLayer):
    def __init__(self, design: dict[str, Any]) -> None:
        super().__init__(design)
        width, wide = design["width"], design["width"] * design["mlp_factor"]
        self.activate = ACTIVATIONS[design["activation"]]
        self.up = nn.Linear(width, wide, bias=False)
        self.gate = nn.Linear(width, wide, bias=False) if design["gated"] else None
        self.down = nn.Linear(wide, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        if self.gate is None:
            return self.added(x, self.down(self.activate(self.up(h))))
        return self.added(x, self.down(self.activate(self.gate(h)) * self.up(h)))


class Block(GradientCheckpointingLayer):
    """Attention, if the block attends, and feed-forward."""

    def __init__(self, design: dict[str, Any], number: int) -> None:
        super().__init__()
        self.number, self.inject = number, design["inject"]
        self.attention = Attention(design) if number < design["attending"] else None
        self.mlp = FeedForward(design)

    def forward(self, x: Tensor, entry: Tensor, positions: Positions, spot: Spot) -> Tensor:
        x = x if self.inject == "none" else x + entry
        if self.attention is not None:
            x = self.attention(x, self.number, positions, spot)
            x = x + entry if self.inject == "sublayer" else x
        return self.mlp(x)


class CurtaPreTrainedModel(PreTrainedModel):
    config_class = CurtaConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["Block"]  # noqa: RUF012


class CurtaModel(CurtaPreTrainedModel):
    """All blocks, to the state from which logits follow."""

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        design, layout = config.design, config.layout
        width = design["width"]
        self.tokens = nn.Embedding(layout["vectors"], width)
        self.kinds = nn.Embedding(len(layout["kinds"]), width) if design["kinds"] else None
        self.positions = POSITIONS[config.positions["kind"]](config)
        self.dropout = nn.Dropout(design["dropout"])
        self.blocks = nn.ModuleList(Block(design, i) for i in range(design["blocks"]))
        self.norm = Norm(design)
        self.scale = width**-0.5 if design["tied"] else 1.0
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.tokens

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        **rest: Any,
    ) -> BaseModelOutput:
        if position_ids is not None:
            raise ValueError("no position_ids: where tokens stand follows from the tokens")
        spot = locate(input_ids, attention_mask, self.config)
        entry = self.dropout(self._embed(input_ids, spot))
        x = entry if self.config.design["inject"] == "none" else torch.zeros_like(entry)
        for _ in range(self.config.design["loops"]):
            for block in self.blocks:
                x = block(x, entry, self.positions, spot)
        return BaseModelOutput(last_hidden_state=self.norm(x) * self.scale)

    def _embed(self, tokens: Tensor, spot: Spot) -> Tensor:
        x = self._characters(tokens)
        if self.kinds is not None:
            x = x + self.kinds(spot.kind.clamp(min=0))
        return x + self.positions.embed(spot)

    def _characters(self, tokens: Tensor) -> Tensor:
        """Vectors of characters; of one that is made of parts, the sum of theirs."""
        spelled = self.config.layout["spelled"]
        if not spelled:
            return self.tokens(tokens)
        return tokens.new_tensor(spelled, dtype=FLOAT)[tokens].to(self.dtype) @ self.tokens.weight


class CurtaForCausalLM(CurtaPreTrainedModel, GenerationMixin):
    """The model with its head: logits of the character that follows each."""

    _tied_weights_keys = {"head.weight": "model.tokens.weight"}  # noqa: RUF012

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        self.model = CurtaModel(config)
        self.head = nn.Linear(config.design["width"], config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        logits_to_keep: int | Tensor = 0,
        num_items_in_batch: Tensor | int | None = None,
        **rest: Any,
    ) -> CausalLMOutput:
        state = self.model(input_ids, attention_mask, **rest).last_hidden_state
        whole = isinstance(logits_to_keep, int)
        logits = self.head(state[:, -logits_to_keep:] if whole else state[:, logits_to_keep])
        if labels is None:
            return CausalLMOutput(logits=logits)
        loss = self.loss_function(
            logits, labels, self.config.vocab_size, num_items_in_batch=num_items_in_batch
        )
        return CausalLMOutput(loss=loss, logits=logits)

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **rest: Any
    ) -> dict[str, Any]:
        """The whole text, at every token."""
        return {"input_ids": input_ids, "attention_mask": attention_mask}
