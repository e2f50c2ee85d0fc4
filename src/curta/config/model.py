"""The section `[model]` of a recipe: size and design of the transformer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt

from curta.config.errors import refuse_first
from curta.config.limits import RATIO, WIDTH, Layers, Parts, Rate

Shared = Literal["key-query", "value-key", "out-query", "out-value", "norms"]
Bias = Literal["qkv", "out", "mlp", "norms", "head"]
DropoutSite = Literal["embedding", "attention", "mlp", "output"]


@dataclass(frozen=True)
class ModelConfig:
    """Size and design of the transformer."""

    width: Annotated[int, Ge(1), Le(WIDTH)] = 32
    """Length of a token's vector; a multiple of `heads`."""
    heads: Parts = 4
    """Attention heads of a layer."""
    num_kv_heads: Parts | None = None
    """Heads of keys and values, shared evenly by the heads; not set: `heads`."""
    num_layers: Layers = 2
    """Blocks, including MLP-only ones."""
    num_attention_layers: Layers = 1
    """How many blocks, from the first on, have attention."""
    num_recurrences: Layers = 1
    """How many times all blocks are run, with the same weights."""
    input_injection: Literal["none", "recurrence", "block", "sublayer", "normed"] = "none"
    """Adds the embedded input again before each recurrence, block or sublayer, or to none.

    With `normed` it is added to the input of each sub-layer after its norm, not to the state.
    """
    mlp_ratio: Annotated[int, Ge(1), Le(RATIO)] = 4
    """Inner width of the MLP, in multiples of `width`."""
    gated: bool = False
    """Whether a gate multiplies the MLP's inner layer (Shazeer, arXiv 2002.05202)."""
    activation: Literal["relu", "relu2", "gelu", "gelu_erf", "silu"] = "relu2"
    """Activation of the MLP: relu, relu2 (its square), gelu (tanh form), gelu_erf, silu."""
    norm: Literal["rms", "layer", "plain", "none"] = "rms"
    """RMSNorm (rms), LayerNorm without bias (layer) or parameters (plain), or none."""
    norm_epsilon: Rate = 1e-6
    """Added to the mean square under a norm's root."""
    norm_placement: Literal["pre", "post_residual", "post"] = "pre"
    """Normalises before each sub-layer (pre), also the sum after it (post_residual), or only that.

    The last is `post` (Vaswani et al., arXiv 1706.03762).
    """
    final_norm: bool = True
    """Whether the final state is normalised before the head."""
    biases: tuple[Bias, ...] = ()
    """What has a bias: queries, keys and values (qkv), attention's out, the mlp, norms, the head.

    Biases start at zero, except with `init` torch and, outside of attention, torch_encoder.
    """
    attention_scale: bool = True
    """Whether scores are divided by the root of a head's width.

    If not, query weights start smaller by that factor.
    """
    init: Literal["fan_in", "normal", "gpt2", "torch", "torch_encoder", "ladder"] = "fan_in"
    """How weights are first drawn.

    fan_in: normal, deviation 1 for embeddings, sqrt(1 / inputs) for matrices; normal: all with
    deviation `init_std`; gpt2: as normal, but matrices that add to the state smaller by sqrt(2
    blocks); torch: embeddings with deviation 1, matrices and their biases uniform up to sqrt(1 /
    inputs); torch_encoder: as torch, but attention as in `nn.TransformerEncoder` (Xavier for
    queries, keys and values as one matrix, biases zero), and all blocks alike; ladder: as fan_in,
    but embeddings with deviation 0.25, an untied head with 1.
    """
    init_std: Rate = 0.02
    """Standard deviation of first weights, with `init` normal or gpt2."""
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    """Dropout rate in training, at `dropout_sites`."""
    dropout_sites: tuple[DropoutSite, ...] = ("embedding", "output")
    """Where dropout is: embedding, attention weights, inner mlp, sub-layer output."""
    causal: bool = True
    """Whether a token sees only earlier tokens; false: the whole text.

    If false, the answer is written over the prompt.
    """
    tie_embeddings: bool = False
    """Whether the head uses the embedding's matrix."""
    tied_scale: bool = True
    """Whether a tied head's logits are divided by the root of the width, as in T5."""
    weight_sharing: tuple[Shared, ...] = ()
    """Shared weights: key-query, value-key, out-query or out-value, norms.

    key-query: keys use the query matrix, each pair of features rotated by one learned angle;
    value-key: values use the key matrix; out-query: the output matrix is the query matrix,
    transposed; out-value: the value matrix, transposed and negated; norms: all norms share gains.
    Source: AdderBoard, github.com/anadim/AdderBoard; out-value is Curta's.
    """
    role_embeddings: bool = False
    """Whether a learned vector for its role is added to each token's embedding.

    A plain model would have to find this structure.
    """
    compositional_embeddings: bool = False
    """Whether a program's token is the sum of vectors of its symbol, carry, role and move.

    A plain model would have to find this structure.
    """
    embedding: Literal["table", "arc"] = "table"
    """A learned vector for each token (table), or vectors on an arc of a circle (arc).

    An arc learns its radius, first angle and step; tokens are in the order of the vocabulary.
    Source: AdderBoard, github.com/anadim/AdderBoard.
    """
    qk_input: Literal["state", "positions"] = "state"
    """The input of queries and keys: the state, or position vectors alone (positions).

    The vectors are then not added to embeddings, so attention weights ignore the tokens. Source:
    AdderBoard, github.com/anadim/AdderBoard.
    """

    def __post_init__(self) -> None:
        refuse_first(self._contradictions())

    def _contradictions(self) -> Iterator[str]:
        """Yield a line for each pair of fields that contradict each other."""
        shared, kv_heads, layers = set(self.weight_sharing), self.kv_heads, self.num_layers
        if self.width % self.heads:
            yield f"model.width {self.width} is not divisible by model.heads {self.heads}"
        if self.heads % kv_heads:
            yield f"model.heads {self.heads} is not divisible by model.num_kv_heads {kv_heads}"
        if (attending := self.num_attention_layers) > layers:
            yield f"model.num_attention_layers {attending} is more than model.num_layers {layers}"
        if self.embedding == "arc" and (self.width != 2 or self.compositional_embeddings):
            yield (
                "model.embedding 'arc' lies in a plane: it needs model.width 2, and no"
                " model.compositional_embeddings"
            )
        if len(shared) < len(self.weight_sharing):
            yield "model.weight_sharing names something twice"
        if "norms" in shared and not self.has_gains:
            yield f"model.weight_sharing 'norms': model.norm {self.norm!r} has no gains to share"
        if {"out-query", "out-value"} <= shared:
            yield "model.weight_sharing: choose one of 'out-query' and 'out-value'"
        if "key-query" in shared and self.head_dim % 2:
            yield (
                "model.weight_sharing 'key-query' turns pairs of features: it needs a head's width"
                f" that is even, not {self.head_dim}"
            )
        square = min({"key-query", "out-value"} & shared, default=None)
        if square and kv_heads < self.heads:
            yield f"model.weight_sharing {square!r} needs a key and value of each head"
        if "norms" in self.biases and self.norm != "layer":
            yield f"model.biases 'norms' need model.norm 'layer', not {self.norm!r}"
        if "norms" in shared and (self.biases or not self.final_norm):
            yield "model.weight_sharing 'norms' needs model.final_norm, and no model.biases"
        if self.norm == "none" and self.norm_placement != "pre":
            yield f"model.norm_placement {self.norm_placement!r} needs a model.norm"

    @property
    def kv_heads(self) -> int:
        """Number of heads of keys and values."""
        return self.num_kv_heads or self.heads

    @property
    def has_gains(self) -> bool:
        """Whether norms multiply by a learned gain."""
        return self.norm in ("rms", "layer")

    @property
    def mlp_width(self) -> int:
        """Inner width of the MLP."""
        return self.width * self.mlp_ratio

    @property
    def injects_into_state(self) -> bool:
        """Whether the embedded input is added to the state, which then starts at zero."""
        return self.input_injection in ("recurrence", "block", "sublayer")

    @property
    def norms_before(self) -> bool:
        """Whether the input of a sub-layer is normalised."""
        return self.norm_placement != "post"

    @property
    def norms_after(self) -> bool:
        """Whether the state is normalised after each sub-layer."""
        return self.norm_placement != "pre"

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.width // self.heads
