"""`CurtaForCausalLM` for TransformerLens: which of its modules is which component.

Hooks have TransformerLens's names, so `blocks.L.hook_resid_post` is Curta's site `layer.L.after`.
Besides those that its own models have:

    role_embed.hook_out         the vectors of roles, where a model has them
    blocks.L.before.hook_out    the state that a layer begins with, an injected input added
    blocks.L.ln1_after, .ln2_after   norms of the state after a sub-layer, where it has them

Recurrences are written out: the blocks of a model of two layers and three recurrences are six,
with shared weights, each with hooks of its own. A token that is made of parts has one vector.
"""

import copy
from typing import Any

import torch
from torch import nn
from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
from transformer_lens.model_bridge.architecture_adapter import ArchitectureAdapter
from transformer_lens.model_bridge.generalized_components import (
    EmbeddingBridge,
    LinearBridge,
    UnembeddingBridge,
)
from transformer_lens.model_bridge.generalized_components.base import GeneralizedComponent

from curta.export.huggingface.modeling_curta import INTO_STATE, CurtaForCausalLM, Spelling
from curta.export.huggingface.own import Own
from curta.export.huggingface.positions_curta import (
    AbacusPositions,
    LearnedPositions,
    Positions,
    RoPEPositions,
)
from curta.export.huggingface.reading_curta import LONGEST
from curta.export.lens.components import (
    AttentionHooks,
    BlockHooks,
    FeedForwardHooks,
    NormHooks,
    OutHooks,
    PositionsHooks,
)

ACTIVATIONS = {"gelu": "gelu_new", "gelu_erf": "gelu"}
"""Names of TransformerLens that are not ours."""


def register() -> None:
    """Makes the adapter known to TransformerLens."""
    ArchitectureAdapterFactory.register_adapter(Own.architecture, CurtaAdapter)


class CurtaAdapter(ArchitectureAdapter):
    """The settings of a model are its own, so components are known once there is the model."""

    supports_hf_output_attentions = False  # patterns are hooked where they are made
    supports_compatibility_mode = False  # weights are not folded into one another

    def prepare_model(self, model: CurtaForCausalLM) -> None:
        """Rewrite the model so that every value has its own module, and map these modules."""
        settings = model.config.model
        model.model.tokens, model.model.spelling = _vectors(model), Spelling(_plain(model.config))
        model.model.blocks = _unrolled(model.model.blocks, settings["num_recurrences"])
        model.config.model = settings | {"num_recurrences": 1}
        model.get_rope_index = None  # by which TransformerLens knows that it needs no position_ids
        self._configure(model)
        self.component_mapping = self._components(model)

    def _configure(self, model: CurtaForCausalLM) -> None:
        """What TransformerLens asks of a model besides its modules."""
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
        inner = model.model
        final = isinstance(inner.norm, nn.Identity)
        found: dict[str, GeneralizedComponent] = {"embed": EmbeddingBridge(name="model.tokens")}
        if inner.roles is not None:
            found["role_embed"] = EmbeddingBridge(name="model.roles")
        if _adds(inner.positions):
            found["pos_embed"] = PositionsHooks(name="model.positions")
        found["blocks"] = self._block(model.config.model)
        found["ln_final"] = (GeneralizedComponent if final else NormHooks)("model.norm", self.cfg)
        return found | {"unembed": UnembeddingBridge(name="head")}

    def _block(self, settings: dict[str, Any]) -> GeneralizedComponent:
        """All modules of a block; those that a layer has not are left out there."""
        before, after = settings["norm_placement"] != "post", settings["norm_placement"] != "pre"
        parts: dict[str, GeneralizedComponent] = {}
        if settings["input_injection"] in INTO_STATE:
            parts["before"] = GeneralizedComponent("before", self.cfg)
        for number, name in enumerate(("attention", "mlp"), start=1):
            if before:
                parts[f"ln{number}"] = NormHooks(f"{name}.norm", self.cfg, optional=True)
            if after:
                parts[f"ln{number}_after"] = NormHooks(f"{name}.after", self.cfg, optional=True)
        linear = {"q": "query", "k": "key", "v": "value"}
        attention = {ours: LinearBridge(name=theirs) for ours, theirs in linear.items()}
        attention["o"] = OutHooks(name="out", config=self.cfg)
        linear = {"in": "up", "out": "down"} | ({"gate": "gate"} if settings["gated"] else {})
        mlp = {ours: LinearBridge(name=theirs) for ours, theirs in linear.items()}
        parts["attn"] = AttentionHooks("attention", self.cfg, submodules=attention, optional=True)
        parts["middle"] = GeneralizedComponent("middle", self.cfg, optional=True)
        parts["mlp"] = FeedForwardHooks("mlp", self.cfg, submodules=mlp)
        return BlockHooks("model.blocks", self.cfg, submodules=parts)


def _adds(positions: Positions) -> bool:
    """Whether an encoding adds vectors to those of the tokens."""
    if isinstance(positions, AbacusPositions):
        return bool(positions.settings["inject"] == "embedding")
    return type(positions).embed is not Positions.embed


def _vectors(model: CurtaForCausalLM) -> nn.Embedding:
    """A vector for each token, whether it is made of parts or not."""
    if model.config.parts is None:
        return model.model.tokens
    with torch.no_grad():
        every = torch.arange(len(model.config.parts), device=model.device)
        return nn.Embedding.from_pretrained(model.model.spelling(every, model.model.tokens), False)


def _plain(config: Any) -> Any:
    """The config of a model whose tokens are made of no parts."""
    config = copy.copy(config)
    config.parts = None
    return config


def _unrolled(blocks: nn.ModuleList, count: int) -> nn.ModuleList:
    """The blocks so many times, with the same weights in modules of their own."""
    shared = {id(weight): weight for weight in blocks.parameters()}
    copies = [copy.deepcopy(block, dict(shared)) for _ in range(count - 1) for block in blocks]
    return nn.ModuleList([*blocks, *copies])
