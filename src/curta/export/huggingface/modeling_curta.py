"""A transformer that calculates, exported by Curta, for the transformers library.

Besides the tokens, the model uses the layout of its texts: the role of each token and its
coordinates. Both follow from `input_ids` alone (`reading_curta.py`), for each text of a batch. All
state of a text is in the cache of keys and values, so one model may write any number of texts at
the same time.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.activations import ReLUSquaredActivation
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.utils import can_return_tuple

from .asking_curta import answer, prompt
from .positions_curta import POSITIONS
from .reading_curta import Constants, Context, Reading, remembered

INTO_STATE = ("recurrence", "block", "sublayer")
"""Injections of the embedded input that become part of the state."""

ACTIVATIONS = {
    "relu": nn.ReLU,
    "relu2": ReLUSquaredActivation,
    "gelu": partial(nn.GELU, approximate="tanh"),
    "gelu_erf": nn.GELU,
    "silu": nn.SiLU,
}


class CurtaConfig(PretrainedConfig):
    """Settings of the model, of its positions and of the layout of its texts.

    There are `vectors` of tokens, or of the `parts` that make up each token.
    """

    model_type = "curta"
    keys_to_ignore_at_inference = ["past_key_values"]  # noqa: RUF012

    def __init__(
        self,
        model: dict[str, Any] | None = None,
        positions: dict[str, Any] | None = None,
        layout: dict[str, Any] | None = None,
        vectors: int = 0,
        parts: list[list[int]] | None = None,
        use_cache: bool = True,
        **other: Any,
    ) -> None:
        self.model, self.positions, self.layout = model or {}, positions or {}, layout or {}
        self.vectors, self.parts, self.use_cache = vectors, parts, use_cache
        super().__init__(**other)


class Norm(nn.Module):
    """Root mean square 1, and mean 0 if so configured; with an optional gain and bias."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        width, self.epsilon = settings["width"], settings["norm_epsilon"]
        self.centred, gained = settings["norm"] != "rms", settings["norm"] != "plain"
        self.weight = nn.Parameter(torch.ones(width)) if gained else None
        self.bias = nn.Parameter(torch.zeros(width)) if "norms" in settings["biases"] else None

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        if self.centred:
            wide = wide - wide.mean(dim=-1, keepdim=True)
        square = wide.square().mean(dim=-1, keepdim=True)
        x = (wide * (square + self.epsilon).rsqrt()).to(x.dtype)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias


def dropout(settings: dict[str, Any], site: str) -> nn.Dropout:
    return nn.Dropout(settings["dropout"] if site in settings["dropout_sites"] else 0.0)


class SubLayer(nn.Module):
    """What attention and feed-forward share: the norm before, and adding to the state."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        placement = settings["norm_placement"]
        self.norm = None if placement == "post" else Norm(settings)
        self.after = None if placement == "pre" else Norm(settings)
        self.injected = settings["input_injection"] == "normed"
        self.dropout = dropout(settings, "output")

    def sublayer_input(self, x: Tensor, entry: Tensor) -> Tensor:
        x = x if self.norm is None else self.norm(x)
        return x + entry if self.injected else x

    def added(self, x: Tensor, change: Tensor) -> Tensor:
        x = x + self.dropout(change)
        return x if self.after is None else self.after(x)


class Attention(SubLayer):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        width, self.heads = settings["width"], settings["heads"]
        self.head_dim = width // self.heads
        kv_heads = settings.get("num_kv_heads") or self.heads
        self.scaled, biased = settings["attention_scale"], settings["biases"]
        self.query = nn.Linear(width, width, bias="qkv" in biased)
        self.key = nn.Linear(width, kv_heads * self.head_dim, bias="qkv" in biased)
        self.value = nn.Linear(width, kv_heads * self.head_dim, bias="qkv" in biased)
        self.out = nn.Linear(width, width, bias="out" in biased)
        self.weights_dropout = dropout(settings, "attention")

    def forward(
        self,
        h: Tensor,
        block: int,
        layer: int,
        positions: nn.Module,
        context: Context,
        cache: DynamicCache | None,
        with_shares: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Return attention's change of the state and, with `with_shares`, its weights by key.

        `block` is the number of the block, `layer` that of its keys and values in the cache.
        """
        # batch x heads x time x features
        query, key, value = (
            matrix(h).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for matrix in (self.query, self.key, self.value)
        )
        query, key = positions.rotated(query, key, context)
        query = query if self.scaled else query * self.head_dim**0.5
        key, value = remembered(cache, layer, key, value)
        if (sharing := self.heads // key.shape[1]) > 1:  # query heads share keys and values
            key, value = (part.repeat_interleave(sharing, dim=1) for part in (key, value))
        weights = positions.weights(block, context, query, key)
        heads = positions.mixed(context, self.weights_dropout(weights), value)
        change = self.out(heads.flatten(-2))
        return change, positions.shares(weights, context) if with_shares else None


class FeedForward(SubLayer):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        width, wide = settings["width"], settings["width"] * settings["mlp_ratio"]
        biased = "mlp" in settings["biases"]
        self.activate = ACTIVATIONS[settings["activation"]]()
        self.up = nn.Linear(width, wide, bias=biased)
        self.gate = nn.Linear(width, wide, bias=biased) if settings["gated"] else None
        self.down = nn.Linear(wide, width, bias=biased)
        self.inner_dropout = dropout(settings, "mlp")

    def forward(self, h: Tensor) -> Tensor:
        """Return the feed-forward's change of the state."""
        up = self.up(h)
        inner = self.activate(up) if self.gate is None else self.activate(self.gate(h)) * up
        return self.down(self.inner_dropout(inner))


class Injection(nn.Module):
    """The state, plus the embedded input if it is injected there."""

    def __init__(self, injected: bool) -> None:
        super().__init__()
        self.injected = injected

    def forward(self, x: Tensor, entry: Tensor) -> Tensor:
        return x + entry if self.injected else x


class CurtaBlock(GradientCheckpointingLayer):
    """Attention, except in an MLP-only layer, and feed-forward."""

    def __init__(self, settings: dict[str, Any], number: int) -> None:
        super().__init__()
        self.number, injection = number, settings["input_injection"]
        attends = number < settings["num_attention_layers"]
        first = injection == "recurrence" and number == 0
        self.before = Injection(first or injection in ("block", "sublayer"))
        self.attention = Attention(settings) if attends else None
        self.middle = Injection(injection == "sublayer") if attends else None
        self.mlp = FeedForward(settings)

    def forward(
        self,
        x: Tensor,
        entry: Tensor,
        layer: int,
        positions: nn.Module,
        context: Context,
        past_key_values: DynamicCache | None = None,
        with_shares: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the state after the block, and its attention weights if requested."""
        x, shares = self.before(x, entry), None
        if self.attention is not None and self.middle is not None:
            h = self.attention.sublayer_input(x, entry)
            change, shares = self.attention(
                h, self.number, layer, positions, context, past_key_values, with_shares
            )
            x = self.middle(self.attention.added(x, change), entry)
        change = self.mlp(self.mlp.sublayer_input(x, entry))
        return self.mlp.added(x, change), shares


class Spelling(Constants):
    """The sum of vectors for each token, where tokens are composed of parts."""

    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        return {} if config.parts is None else {"parts": torch.tensor(config.parts)}

    def forward(self, tokens: Tensor, vectors: nn.Module) -> Tensor:
        if not self._buffers:
            return vectors(tokens)
        return vectors(functional.embedding(tokens, self.parts)).sum(dim=-2)


class CurtaPreTrainedModel(PreTrainedModel):
    config_class = CurtaConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["CurtaBlock"]  # noqa: RUF012

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Constants):
            module.fill()


class CurtaModel(CurtaPreTrainedModel):
    """All blocks, up to the state before the head."""

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        settings, layout = config.model, config.layout
        width = settings["width"]
        self.tokens = nn.Embedding(config.vectors, width)
        self.roles = (
            nn.Embedding(len(layout["roles"]), width) if settings["role_embeddings"] else None
        )
        self.positions = POSITIONS[config.positions["kind"]](config)
        self.dropout = dropout(settings, "embedding")
        self.blocks = nn.ModuleList(CurtaBlock(settings, i) for i in range(settings["num_layers"]))
        self.norm = Norm(settings) if settings["final_norm"] else nn.Identity()
        self.injected = settings["input_injection"] in INTO_STATE
        scaled = settings["tie_embeddings"] and settings["tied_scale"]
        self.scale = width**-0.5 if scaled else 1.0
        self.reading, self.spelling = Reading(config), Spelling(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.tokens

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: DynamicCache | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **unsupported: Any,
    ) -> BaseModelOutputWithPast:
        """Return states of the new tokens, batch x time x width.

        `attention_mask` covers all tokens so far, those in the cache included. Hidden states are
        the embedded tokens and the state after each block, the last one normalised for the head.
        Attentions are batch x heads x queries x keys, for each layer with attention; the remainder
        to 1 is attention to absent neighbours in a window. Both cover every recurrence in order.
        """
        for name, value in unsupported.items():
            if value is not None:
                raise ValueError(
                    f"no {name}: where tokens stand follows from input_ids and attention_mask alone"
                )
        cache, config = past_key_values, self.config
        if cache is not None and not isinstance(cache, DynamicCache):
            raise ValueError(f"past_key_values must be a DynamicCache, not {type(cache).__name__}")
        if use_cache is None:
            use_cache = config.use_cache and not self.training
        if use_cache and cache is None:
            cache = DynamicCache()
        if output_hidden_states is None:
            output_hidden_states = config.output_hidden_states
        if output_attentions is None:
            output_attentions = config.output_attentions

        # Embed: tokens, their roles, and their positions where these are vectors.
        context = self.reading(input_ids, attention_mask, cache)
        x = self.spelling(input_ids, self.tokens)
        if self.roles is not None:
            x = x + self.roles(context.role.clamp(min=0))
        entry = self.dropout((x + self.positions(context)).to(x.dtype))

        # All blocks, as often as the model is looped. The cache's first layer is `reading`'s.
        x = torch.zeros_like(entry) if self.injected else entry
        states, attentions, layer = [entry], list[Tensor](), 1
        for _ in range(config.model["num_recurrences"]):
            for block in self.blocks:
                x, shares = block(
                    x,
                    entry,
                    layer,
                    self.positions,
                    context,
                    past_key_values=cache,
                    with_shares=bool(output_attentions),
                )
                states.append(x)
                layer += block.attention is not None
                attentions += [] if shares is None else [shares]
        last = self.norm(x) * self.scale
        return BaseModelOutputWithPast(
            last_hidden_state=last,
            past_key_values=cache,
            hidden_states=(*states[:-1], last) if output_hidden_states else None,
            attentions=tuple(attentions) if output_attentions else None,
        )


class CurtaForCausalLM(CurtaPreTrainedModel, GenerationMixin):
    """The model with its head: logits of the token that follows each.

    A model that writes as a program does has `prompt` and `answer`:
    `written = model.generate(given := model.prompt("+", 12, 34))`, and then
    `model.answer("+", written[0], given.shape[1])`.
    """

    _tied_weights_keys = {"head.weight": "model.tokens.weight"}  # noqa: RUF012

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        self.model = CurtaModel(config)
        biased = "head" in config.model["biases"]
        self.head = nn.Linear(config.model["width"], config.vocab_size, bias=biased)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        logits_to_keep: int | Tensor = 0,
        num_items_in_batch: Tensor | int | None = None,
        past_key_values: DynamicCache | None = None,
        **options: Any,
    ) -> CausalLMOutputWithPast:
        output = self.model(input_ids, attention_mask, past_key_values, **options, return_dict=True)
        keep = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.head(output.last_hidden_state[:, keep])
        loss = None
        if labels is not None:
            loss = self.loss_function(
                logits, labels, self.config.vocab_size, num_items_in_batch=num_items_in_batch
            )
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=output.past_key_values,
            hidden_states=output.hidden_states,
            attentions=output.attentions,
        )

    def prompt(self, operator: str, *operands: int) -> Tensor:
        """Return the tokens of a problem, as a batch of one."""
        tokens = prompt(self.config.curta["machine"], operator, operands)
        return torch.tensor([tokens], device=self.device)

    def answer(self, operator: str, text: Tensor, start: int) -> Any:
        """Return the answer in a text written from token `start` on; None if there is none."""
        return answer(self.config.curta["machine"], operator, text.tolist(), start)
