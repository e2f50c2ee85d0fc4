"""`CurtaForCausalLM` for TransformerLens: which of its modules is which component.

Hooks have TransformerLens' names, so `blocks.L.hook_resid_post` is Curta's site `layer.L.after`.
Further hooks:

    role_embed.hook_out         the vectors of roles, where a model has them
    blocks.L.before.hook_out    the state at the start of a layer, an injected input added
    blocks.L.ln1_after, .ln2_after   norms of the state after a sub-layer, where it has them

Recurrences are unrolled: a model of two layers and three recurrences has six blocks with shared
weights, each with its own hooks. A token that is composed of parts has one vector.
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

from curta.export.huggingface.curta_class import CurtaClass
from curta.export.huggingface.modeling_curta import INTO_STATE, CurtaForCausalLM, Spelling
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
"""Names in TransformerLens that differ from Curta's."""


def register() -> None:
    """Register the adapter with TransformerLens."""
    ArchitectureAdapterFactory.register_adapter(CurtaClass.architecture, CurtaAdapter)


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
        inner = model.model
        final = isinstance(inner.norm, nn.Identity)
        components: dict[str, GeneralizedComponent] = {
            "embed": EmbeddingBridge(name="model.tokens")
        }
        if inner.roles is not None:
            components["role_embed"] = EmbeddingBridge(name="model.roles")
        adds = type(inner.positions).embed is not Positions.embed  # vectors to those of the tokens
        if isinstance(inner.positions, AbacusPositions):
            adds = inner.positions.settings["inject"] == "embedding"
        if adds:
            components["pos_embed"] = PositionsHooks(name="model.positions")
        components["blocks"] = self._block(model.config.model)
        components["ln_final"] = (GeneralizedComponent if final else NormHooks)(
            "model.norm", self.cfg
        )
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
