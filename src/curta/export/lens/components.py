"""Components of a bridge around the modules of `modeling_curta.py`, with their hooks."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformer_lens.model_bridge.generalized_components import (
    AttentionBridge,
    BlockBridge,
    LinearBridge,
    MLPBridge,
    NormalizationBridge,
)
from transformer_lens.model_bridge.generalized_components.base import GeneralizedComponent

from curta.export.huggingface.reading_curta import Context


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

    def forward(self, context: Context) -> Tensor | float:
        added = self.original_component(context)
        return self.hook_out(added) if isinstance(added, Tensor) else added


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


class HookedPositions(nn.Module):
    """An encoding as used by one layer's attention, with that layer's hooks.

    Scores and weights are batch x heads x queries x keys, also for a window.
    """

    def __init__(self, positions: nn.Module, hooks: AttentionHooks) -> None:
        super().__init__()
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

    def mixed(self, context: Context, weights: Tensor, v: Tensor) -> Tensor:
        return (weights.to(v.dtype) @ v).transpose(1, 2)

    def shares(self, weights: Tensor, context: Context) -> Tensor:
        return weights


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
