"""`CurtaForCausalLM` for TransformerLens: which of its modules is which component, with its hooks.

Hooks have TransformerLens' names, so `blocks.L.hook_resid_post` is Curta's site `layer.L.after`.
Further hooks:

    role_embed.hook_out         the vectors of roles, where a model has them
    blocks.L.before.hook_out    the state at the start of a layer, an injected input added
    blocks.L.ln1_after, .ln2_after   norms of the state after a sub-layer, where it has them

Recurrences are unrolled: a model of two layers and three recurrences has six blocks with shared
weights, each with its own hooks. A token that is composed of parts has one vector.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
from transformer_lens.model_bridge.architecture_adapter import ArchitectureAdapter
from transformer_lens.model_bridge.generalized_components import (
    AttentionBridge,
    BlockBridge,
    EmbeddingBridge,
    LinearBridge,
    MLPBridge,
    NormalizationBridge,
    UnembeddingBridge,
)
from transformer_lens.model_bridge.generalized_components.base import GeneralizedComponent

from curta.export.huggingface.classes import CurtaClass
from curta.export.huggingface.modeling_curta import INTO_STATE, CurtaForCausalLM, Spelling
from curta.export.huggingface.positions_curta import (
    AbacusPositions,
    LearnedPositions,
    Positions,
    RoPEPositions,
)
from curta.export.huggingface.reading_curta import LONGEST, Context

ACTIVATIONS = {"gelu": "gelu_new", "gelu_erf": "gelu"}
"""Names in TransformerLens that differ from Curta's."""


class CurtaAdapter(ArchitectureAdapter):
    """An adapter whose components depend on the model's settings."""

    supports_hf_output_attentions = False  # patterns are hooked where they are made
    supports_compatibility_mode = False  # weights are not folded into one another

    def prepare_model(self, model: CurtaForCausalLM) -> None:
        """Rewrite the model so that every value has its own module, and map these modules."""
        settings, inner = model.config.model, model.model
        config = copy.copy(model.config)
        config.parts = None
        if model.config.parts is not None:  # one vector for each token in place of its parts
            with torch.no_grad():
                every = torch.arange(len(model.config.parts), device=model.device)
                vectors = inner.spelling(every, inner.tokens)
            inner.tokens = nn.Embedding.from_pretrained(vectors, False)
        inner.spelling = Spelling(config)
        # recurrences as further blocks with shared weights
        shared = {id(weight): weight for weight in inner.blocks.parameters()}
        copies = [
            copy.deepcopy(block, dict(shared))
            for _ in range(settings["num_recurrences"] - 1)
            for block in inner.blocks
        ]
        inner.blocks = nn.ModuleList([*inner.blocks, *copies])
        model.config.model = settings | {"num_recurrences": 1}
        model.get_rope_index = None  # by which TransformerLens knows that it needs no position_ids
        self._configure(model)
        self.component_mapping = self._components(model)

    def _configure(self, model: CurtaForCausalLM) -> None:
        """Set TransformerLens' configuration besides the modules."""
        settings, positions, cfg = model.config.model, model.model.positions, self.cfg
        kv_heads = settings.get("num_kv_heads") or settings["heads"]
        cfg.n_layers = len(model.model.blocks)
        cfg.n_ctx = len(positions.table) if isinstance(positions, LearnedPositions) else LONGEST
        cfg.d_mlp = settings["width"] * settings["mlp_ratio"]
        cfg.n_key_value_heads = None if kv_heads == settings["heads"] else kv_heads
        cfg.act_fn = ACTIVATIONS.get(settings["activation"], settings["activation"])
        cfg.gated_mlp, cfg.attn_only = settings["gated"], False
        cfg.normalization_type = "RMS" if settings["norm"] == "rms" else "LN"
        cfg.uses_rms_norm = cfg.final_rms = settings["norm"] == "rms"
        cfg.eps, cfg.use_attn_scale = settings["norm_epsilon"], settings["attention_scale"]
        turned = isinstance(positions, RoPEPositions)
        cfg.positional_embedding_type = "rotary" if turned else "standard"

    def _components(self, model: CurtaForCausalLM) -> dict[str, GeneralizedComponent]:
        inner, components = model.model, dict[str, GeneralizedComponent]()
        components["embed"] = EmbeddingBridge(name="model.tokens")
        if inner.roles is not None:
            components["role_embed"] = EmbeddingBridge(name="model.roles")
        # whether the encoding adds vectors to those of the tokens
        adds = type(inner.positions).forward is not Positions.forward
        if isinstance(inner.positions, AbacusPositions):
            adds = inner.positions.settings["inject"] == "embedding"
        if adds:
            components["pos_embed"] = PositionsHooks(name="model.positions")
        components["blocks"] = self._block(model.config.model)
        norm_hooks = GeneralizedComponent if isinstance(inner.norm, nn.Identity) else NormHooks
        components["ln_final"] = norm_hooks("model.norm", self.cfg)
        return components | {"unembed": UnembeddingBridge(name="head")}

    def _block(self, settings: dict[str, Any]) -> GeneralizedComponent:
        """Return all modules of a block; those that a layer lacks are optional."""
        before, after = settings["norm_placement"] != "post", settings["norm_placement"] != "pre"
        modules: dict[str, GeneralizedComponent] = {}
        if settings["input_injection"] in INTO_STATE:
            modules["before"] = GeneralizedComponent("before", self.cfg)
        for number, name in enumerate(("attention", "mlp"), start=1):
            if before:
                modules[f"ln{number}"] = NormHooks(f"{name}.norm", self.cfg, optional=True)
            if after:
                modules[f"ln{number}_after"] = NormHooks(f"{name}.after", self.cfg, optional=True)
        linear = {"q": "query", "k": "key", "v": "value"}
        attention = {ours: LinearBridge(name=theirs) for ours, theirs in linear.items()}
        attention["o"] = OutHooks(name="out", config=self.cfg)
        linear = {"in": "up", "out": "down"} | ({"gate": "gate"} if settings["gated"] else {})
        mlp = {ours: LinearBridge(name=theirs) for ours, theirs in linear.items()}
        modules["attn"] = AttentionHooks("attention", self.cfg, submodules=attention, optional=True)
        modules["middle"] = GeneralizedComponent("middle", self.cfg, optional=True)
        modules["mlp"] = FeedForwardHooks("mlp", self.cfg, submodules=mlp)
        return BlockHooks("model.blocks", self.cfg, submodules=modules)


ArchitectureAdapterFactory.register_adapter(CurtaClass.architecture, CurtaAdapter)


class NormHooks(NormalizationBridge):
    """A norm with or without mean, gain and bias; hooks at its scale and before the gain."""

    def __init__(self, name: str, config: Any, optional: bool = False) -> None:
        super().__init__(name, config, optional=optional, uses_rms_norm=config.uses_rms_norm)

    def _apply_weight_and_bias(self, normed: Tensor, dtype: torch.dtype) -> Tensor:
        norm, normed = self.original_component, normed.to(dtype)
        normed = normed if norm.weight is None else normed * norm.weight
        return normed if norm.bias is None else normed + norm.bias


class PositionsHooks(GeneralizedComponent):
    """The vectors that an encoding adds to those of the tokens."""

    def forward(self, context: Context) -> Tensor:
        return self.hook_out(self.original_component(context))


class FeedForwardHooks(MLPBridge):
    """`hook_pre` is the activation's input; with a gate, `hook_pre_linear` is the other factor."""

    def __init__(self, name: str, config: Any, submodules: dict[str, GeneralizedComponent]) -> None:
        super().__init__(name, config, submodules=submodules)
        if "gate" in submodules:
            gated = {"hook_pre": "gate.hook_out", "hook_pre_linear": "in.hook_out"}
            self.hook_aliases = MLPBridge.hook_aliases | gated


class BlockHooks(BlockBridge):
    """A block; the state in its middle is hooked where all later modules receive it."""

    FORKS = ("hook_attn_in", "hook_q_input", "hook_k_input", "hook_v_input")
    """TransformerLens' hooks on copies of a state, which do not exist here."""

    def __init__(self, name: str, config: Any, submodules: dict[str, GeneralizedComponent]) -> None:
        direct = "ln2" not in submodules
        super().__init__(name, config, submodules=submodules, mlp_reads_resid_directly=direct)
        aliases = {a: at for a, at in BlockBridge.hook_aliases.items() if a not in self.FORKS}
        before = {"hook_resid_pre": "before.hook_out"} if "before" in submodules else {}
        self.hook_aliases = aliases | before | {"hook_resid_mid": "middle.hook_out"}


class OutHooks(LinearBridge):
    """Apply the output matrix; under `use_attn_result`, head by head, so that each has a hook."""

    _per_head: Callable[[Tensor], Tensor] | None = None

    def forward(self, heads: Tensor) -> Tensor:
        if self._per_head is None:
            return super().forward(heads)
        return self.hook_out(self._per_head(self.hook_in(heads)))


class AttentionHooks(AttentionBridge):
    """Attention as the model computes it, with hooks on its scores and its pattern."""

    supports_split_qkv_fork = False
    supports_attn_result = True

    def forward(
        self,
        h: Tensor,
        block: int,
        layer: int,
        positions: nn.Module,
        context: Context,
        cache: Any,
        with_shares: bool,
    ) -> tuple[Tensor, Tensor | None]:
        attention, hooked = self.original_component, HookedPositions(positions, self)
        self.o._per_head = self._per_head if self.config.use_attn_result else None
        change, shares = attention(
            self.hook_in(h), block, layer, hooked, context, cache, with_shares
        )
        return self.hook_out(change), shares

    def _per_head(self, heads: Tensor) -> Tensor:
        """Return the change of the state, with `hook_result` before the heads are added up."""
        heads = heads.unflatten(-1, (self.config.n_heads, -1))
        return self._compute_per_head_result(heads, *heads.shape[-2:])


class HookedPositions(Positions):
    """An encoding as used by one layer's attention, with that layer's hooks.

    Scores and weights are batch x heads x queries x keys, also for a window, and mix values as they
    do where every key is seen.
    """

    def __init__(self, positions: nn.Module, hooks: AttentionHooks) -> None:
        nn.Module.__init__(self)  # the parameters are those of `positions`
        self.positions, self.hooks = positions, hooks

    def rotated(self, query: Tensor, key: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        query, key = self.positions.rotated(query, key, context)
        if not hasattr(self.hooks, "hook_rot_q"):
            return query, key
        return self.hooks.hook_rot_q(query), self.hooks.hook_rot_k(key)

    def weights(self, block: int, context: Context, q: Tensor, k: Tensor) -> Tensor:
        scores, absent = _over_keys(self.positions.scores(block, context, q, k), context)
        scores = self.hooks.hook_attn_scores(scores)
        shares = torch.cat([scores, absent], dim=-1).softmax(dim=-1)[..., : scores.shape[-1]]
        return self.hooks.hook_pattern(shares)


def _over_keys(scores: Tensor, context: Context) -> tuple[Tensor, Tensor]:
    """Return scores of all keys, and scores of a window's absent neighbours, which have no key.

    The scores 1, 2, 5 of a window's cells, where the second is absent and the others are key 3 and
    key 0, are 5, -inf, -inf, 1 and -inf, 2, -inf.
    """
    if context.keys is None:
        return scores, scores[..., :0]
    cells = scores.permute(0, 3, 1, 2)  # batch heads queries cells
    present = context.visible[:, None]
    keys = context.keys[:, None].expand_as(cells)
    top = cells.amax(dim=-1, keepdim=True)
    shares = (cells - top).exp().masked_fill(~present, 0.0)
    by_key = cells.new_zeros(*cells.shape[:-1], context.key_index.shape[1])
    return by_key.scatter_add(-1, keys, shares).log() + top, cells.masked_fill(present, -torch.inf)
