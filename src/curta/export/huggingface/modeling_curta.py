"""A transformer that calculates, exported by Curta, for the transformers library.

Besides the tokens the model is given what the layout of its texts says: the part that each
token plays (its kind) and where it stands (its coordinates). Both are found from `input_ids`
alone (`positions_curta.py`), for each text of a batch.

Keys and values are not remembered from one call to the next, only what was read of the texts.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput

from .asking_curta import answer, prompt
from .positions_curta import POSITIONS, Positions, Readers, Spot

EPSILON = 1e-6

ACTIVATIONS = {
    "relu": functional.relu,
    "relu2": lambda x: functional.relu(x).square(),
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


class CurtaConfig(PretrainedConfig):
    """Settings of the model, of its positions and of the layout of its texts.

    There are `vectors` of tokens, or of the `parts` that each token is made of.
    """

    model_type = "curta"

    def __init__(
        self,
        model: dict[str, Any] | None = None,
        positions: dict[str, Any] | None = None,
        layout: dict[str, Any] | None = None,
        vectors: int = 0,
        parts: list[list[int]] | None = None,
        **rest: Any,
    ) -> None:
        self.model, self.positions, self.layout = model or {}, positions or {}, layout or {}
        self.vectors, self.parts = vectors, parts
        super().__init__(**rest)


class Norm(nn.Module):
    """Root mean square 1, and mean 0 where the settings say so; a gain if it has any."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.centred = settings["norm"] != "rms"
        gained = settings["norm"] != "plain"
        self.weight = nn.Parameter(torch.ones(settings["width"])) if gained else None

    def forward(self, x: Tensor) -> Tensor:
        if self.centred:
            x = x - x.mean(dim=-1, keepdim=True)
        x = x * (x.square().mean(dim=-1, keepdim=True) + EPSILON).rsqrt()
        return x if self.weight is None else x * self.weight


class SubLayer(nn.Module):
    """What attention and feed-forward share: a norm before, and what is done with the change."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.norm = Norm(settings)
        self.after = Norm(settings) if settings["norm_placement"] == "post_residual" else None
        self.dropout = nn.Dropout(settings["dropout"])

    def added(self, x: Tensor, change: Tensor) -> Tensor:
        x = x + self.dropout(change)
        return x if self.after is None else self.after(x)


class Attention(SubLayer):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        width, self.heads = settings["width"], settings["heads"]
        self.head_dim = width // self.heads
        kv_heads = settings.get("num_kv_heads") or self.heads
        self.scaled = settings["attention_scale"]
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.value = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, block: int, positions: Positions, spot: Spot) -> Tensor:
        h = self.norm(x)
        query, key, value = (self._split(part(h)) for part in (self.query, self.key, self.value))
        query, key = positions.rotate(query, spot), positions.rotate(key, spot)
        query = query if self.scaled else query * self.head_dim**0.5
        key, value = self._repeat_kv(key), self._repeat_kv(value)
        seen = positions.attend(block, spot, query, key, value)
        return self.added(x, self.out(seen.flatten(-2)))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_dim))

    def _repeat_kv(self, heads: Tensor) -> Tensor:
        """Keys or values, each as often as there are queries that share it."""
        return heads.repeat_interleave(self.heads // heads.shape[2], dim=2)


class FeedForward(SubLayer):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        width, wide = settings["width"], settings["width"] * settings["mlp_ratio"]
        self.activate = ACTIVATIONS[settings["activation"]]
        self.up = nn.Linear(width, wide, bias=False)
        self.gate = nn.Linear(width, wide, bias=False) if settings["gated"] else None
        self.down = nn.Linear(wide, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        if self.gate is None:
            return self.added(x, self.down(self.activate(self.up(h))))
        return self.added(x, self.down(self.activate(self.gate(h)) * self.up(h)))


class Block(GradientCheckpointingLayer):
    """Attention, unless it is an MLP-only layer, and feed-forward."""

    def __init__(self, settings: dict[str, Any], number: int) -> None:
        super().__init__()
        self.number, self.input_injection = number, settings["input_injection"]
        self.attention = Attention(settings) if number < settings["num_attention_layers"] else None
        self.mlp = FeedForward(settings)

    def forward(self, x: Tensor, entry: Tensor, positions: Positions, spot: Spot) -> Tensor:
        x = x if self.input_injection == "none" else x + entry
        if self.attention is not None:
            x = self.attention(x, self.number, positions, spot)
            x = x + entry if self.input_injection == "sublayer" else x
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
        settings, layout = config.model, config.layout
        width = settings["width"]
        self.tokens = nn.Embedding(config.vectors, width)
        self.roles = (
            nn.Embedding(len(layout["roles"]), width) if settings["role_embeddings"] else None
        )
        self.positions = POSITIONS[config.positions["kind"]](config)
        self.dropout = nn.Dropout(settings["dropout"])
        self.blocks = nn.ModuleList(Block(settings, i) for i in range(settings["num_layers"]))
        self.norm = Norm(settings)
        self.scale = width**-0.5 if settings["tie_embeddings"] else 1.0
        self.readers = Readers(config)
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
        spot = self.readers.locate(input_ids, attention_mask)
        entry = self.dropout(self._embed(input_ids, spot))
        x = entry if self.config.model["input_injection"] == "none" else torch.zeros_like(entry)
        for _ in range(self.config.model["num_recurrences"]):
            for block in self.blocks:
                x = block(x, entry, self.positions, spot)
        return BaseModelOutput(last_hidden_state=self.norm(x) * self.scale)

    def _embed(self, tokens: Tensor, spot: Spot) -> Tensor:
        x = self._characters(tokens)
        if self.roles is not None:
            x = x + self.roles(spot.role.clamp(min=0))
        return x + self.positions.embed(spot)

    def _characters(self, tokens: Tensor) -> Tensor:
        """Vectors of tokens; of one that is made of parts, the sum of theirs."""
        parts = self.config.parts
        if parts is None:
            return self.tokens(tokens)
        return self.tokens(tokens.new_tensor(parts)[tokens]).sum(dim=-2)


class CurtaForCausalLM(CurtaPreTrainedModel, GenerationMixin):
    """The model with its head: logits of the token that follows each.

    Of a model that writes as a program does, problems are put by `prompt` and answers are read
    by `answer`: `written = model.generate(given := model.prompt("+", 12, 34))`, and then
    `model.answer("+", written[0], given.shape[1])`.
    """

    _tied_weights_keys = {"head.weight": "model.tokens.weight"}  # noqa: RUF012

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        self.model = CurtaModel(config)
        self.head = nn.Linear(config.model["width"], config.vocab_size, bias=False)
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

    def prompt(self, operator: str, *operands: int) -> Tensor:
        """The tokens of a problem, as a batch of one."""
        tokens = prompt(self.config.curta["machine"], operator, operands)
        return torch.tensor([tokens], device=self.device)

    def answer(self, operator: str, text: Tensor, start: int) -> Any:
        """The answer in a text that was written from token `start` on; None if there is none."""
        return answer(self.config.curta["machine"], operator, text.tolist(), start)
