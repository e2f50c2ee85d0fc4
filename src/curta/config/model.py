"""Size and design of the transformer, as a recipe states them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt, MaxLen

from curta.config.errors import UserError
from curta.config.limits import RATIO, WIDTH, Layers, Parts, Rate

Shared = Literal["key-query", "value-key", "out-query", "out-value", "norms"]


@dataclass(frozen=True)
class ModelConfig:
    """Size and design of the transformer."""

    width: Annotated[int, Ge(1), Le(WIDTH)] = 32
    """Length of the vector that stands for a token; a multiple of `heads`."""
    heads: Parts = 4
    """Attention heads of a layer, which share the width evenly."""
    num_kv_heads: Parts | None = None
    """How many keys and values the heads share evenly; not set: each has its own."""
    num_layers: Layers = 2
    """Blocks of the transformer, MLP-only ones included."""
    num_attention_layers: Layers = 1
    """How many blocks, from the first on, attend; the others see one token at a time."""
    num_recurrences: Layers = 1
    """How many times all blocks are run over, with the same weights; 1: once."""
    input_injection: Literal["none", "block", "sublayer"] = "none"
    """Adds the embedded input again before every block, or sublayer; none: only at first.

    The first recurrence then begins with that input as its state.
    """
    mlp_ratio: Annotated[int, Ge(1), Le(RATIO)] = 4
    """Inner width of the feed-forward part, in multiples of `width`."""
    gated: bool = False
    """Whether the inner layer of the MLP is multiplied by a gate (Shazeer, arXiv 2002.05202)."""
    activation: Literal["relu", "relu2", "gelu", "silu"] = "relu2"
    """Function within the MLP: relu, relu2 (its square), gelu (tanh form), silu."""
    norm: Literal["rms", "layer", "plain", "none"] = "rms"
    """RMSNorm (rms), LayerNorm without bias (layer) or parameters (plain), or no norm (none)."""
    norm_placement: Literal["pre", "post_residual"] = "pre"
    """Normalise before each sub-layer (pre), or also the sum after it (post_residual)."""
    attention_scale: bool = True
    """Whether scores are divided by the root of a head's width.

    If not, queries begin smaller by as much instead.
    """
    init: Literal["fan_in", "normal"] = "fan_in"
    """Deviation of first weights: by fan_in, with 1 for embeddings, or normal (`init_std`)."""
    init_std: Rate = 0.02
    """Standard deviation of all weights before the first step, with `init` normal."""
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    """Share of embeddings and of each sub-layer's output left out in training; 0: none."""
    causal: bool = True
    """Whether a token sees only what comes before it; false: the whole text.

    What it is asked for must then not stand in the text.
    """
    tie_embeddings: bool = False
    """Whether the output head uses the embedding's matrix instead of its own."""
    weight_sharing: Annotated[tuple[Shared, ...], MaxLen(4)] = ()
    """Weights that stand for others: key-query, value-key, out-query or out-value, norms.

    Keys' matrix is then that of queries, its pairs of features turned by one learned angle; values'
    that of keys; what leaves attention that of queries, transposed, or that of values, transposed
    and negative; all norms have the same gains.
    Source: AdderBoard, github.com/anadim/AdderBoard; out-value is Curta's own.
    """
    role_embeddings: bool = False
    """Whether a learned vector for the part that a token plays in its layout is added.

    This is structure that a plain model would have to find.
    """
    compositional_embeddings: bool = False
    """Whether a program's token is the sum of vectors for symbol, carry, role and move.

    This is structure that a plain model would have to find.
    """
    embedding: Literal["table", "arc"] = "table"
    """A learned vector for each token (table), or all on an arc of a circle (arc).

    Of an arc the radius, the angle of the first token and that between two are learned; tokens
    stand in the order of the vocabulary. Source: AdderBoard, github.com/anadim/AdderBoard.
    """
    qk_input: Literal["state", "positions"] = "state"
    """What queries and keys are made of: the state, or positions' vectors alone (positions).

    These are then not added to the embeddings, so attention weights do not depend on the tokens.
    Source: AdderBoard, github.com/anadim/AdderBoard.
    """

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise UserError(
                f"model.width {self.width} is not divisible by model.heads {self.heads}"
            )
        if self.heads % self.kv_heads:
            raise UserError(
                f"model.heads {self.heads} is not divisible by model.num_kv_heads {self.kv_heads}"
            )
        if self.num_attention_layers > self.num_layers:
            raise UserError(
                f"model.num_attention_layers {self.num_attention_layers} is more than"
                f" model.num_layers {self.num_layers}"
            )

        if self.embedding == "arc" and (self.width != 2 or self.compositional_embeddings):
            raise UserError(
                "model.embedding 'arc' lies in a plane: it needs model.width 2, and no"
                " model.compositional_embeddings"
            )
        self._check_sharing()

    def _check_sharing(self) -> None:
        """Raises UserError for weights that cannot stand for others."""
        if len(set(self.weight_sharing)) < len(self.weight_sharing):
            raise UserError("model.weight_sharing names something twice")
        if "norms" in self.weight_sharing and not self.has_gains:
            raise UserError(
                f"model.weight_sharing 'norms': model.norm {self.norm!r} has no gains to share"
            )
        if {"out-query", "out-value"} <= set(self.weight_sharing):
            raise UserError("model.weight_sharing: choose one of 'out-query' and 'out-value'")
        if "key-query" in self.weight_sharing and self.head_dim % 2:
            raise UserError(
                "model.weight_sharing 'key-query' turns pairs of features: it needs a head's width"
                f" that is even, not {self.head_dim}"
            )
        square = {"key-query", "out-value"} & set(self.weight_sharing)
        if square and self.kv_heads < self.heads:
            raise UserError(
                f"model.weight_sharing {min(square)!r} needs a key and value of each head"
            )

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_kv_heads or self.heads

    @property
    def has_gains(self) -> bool:
        """Whether norms multiply by a learned gain."""
        return self.norm in ("rms", "layer")

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.width // self.heads
