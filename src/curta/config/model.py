"""Size and design of the transformer, as a recipe states them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt, MaxLen

from curta.config.errors import refuse_if
from curta.config.limits import RATIO, WIDTH, Layers, Parts, Rate

Shared = Literal["key-query", "value-key", "out-query", "out-value", "norms"]
Bias = Literal["qkv", "out", "mlp", "norms", "head"]
DropoutSite = Literal["embedding", "attention", "mlp", "output"]


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
    input_injection: Literal["none", "recurrence", "block", "sublayer", "normed"] = "none"
    """Adds the embedded input again before each recurrence, block or sublayer; none: only at first.

    With `normed` it is added to what a sub-layer is given after its norm, and is no part of the
    state that is passed on. The first recurrence begins with that input as its state.
    """
    mlp_ratio: Annotated[int, Ge(1), Le(RATIO)] = 4
    """Inner width of the feed-forward part, in multiples of `width`."""
    gated: bool = False
    """Whether the inner layer of the MLP is multiplied by a gate (Shazeer, arXiv 2002.05202)."""
    activation: Literal["relu", "relu2", "gelu", "gelu_erf", "silu"] = "relu2"
    """Function within the MLP: relu, relu2 (its square), gelu (tanh form), gelu_erf, silu."""
    norm: Literal["rms", "layer", "plain", "none"] = "rms"
    """RMSNorm (rms), LayerNorm without bias (layer) or parameters (plain), or no norm (none)."""
    norm_epsilon: Rate = 1e-6
    """What is added to the mean square under the root of a norm."""
    norm_placement: Literal["pre", "post_residual", "post"] = "pre"
    """Normalise before each sub-layer (pre), also the sum after it (post_residual), or it alone.

    That is `post`, as the first transformers had it (Vaswani et al., arXiv 1706.03762).
    """
    final_norm: bool = True
    """Whether the last state is normalised before the head."""
    biases: Annotated[tuple[Bias, ...], MaxLen(5)] = ()
    """What has a bias: queries, keys and values (qkv), attention's out, the mlp, norms, the head.

    They begin at zero, except with `init` torch and, outside of attention, torch_encoder.
    """
    attention_scale: bool = True
    """Whether scores are divided by the root of a head's width.

    If not, queries begin smaller by as much instead.
    """
    init: Literal["fan_in", "normal", "gpt2", "torch", "torch_encoder", "ladder"] = "fan_in"
    """How weights are drawn before the first step.

    fan_in: normal, with deviation 1 for embeddings and the root of 1 / inputs for matrices;
    normal: all with deviation `init_std`; gpt2: the same, but for matrices that add to the state,
    which have less by the root of twice the blocks; torch: embeddings with deviation 1, matrices
    and their biases uniform up to the root of 1 / inputs; torch_encoder: the same, but as
    `nn.TransformerEncoder` draws attention (Xavier for queries, keys and values as one matrix,
    biases zero), and all blocks alike; ladder: as fan_in, but embeddings with deviation 0.25 and
    a head of its own with 1.
    """
    init_std: Rate = 0.02
    """Standard deviation of all weights before the first step, with `init` normal or gpt2."""
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    """Share left out in training, at `dropout_sites`; 0: none."""
    dropout_sites: Annotated[tuple[DropoutSite, ...], MaxLen(4)] = ("embedding", "output")
    """Where: the embedding, attention weights, the mlp's inner layer, each sub-layer's output."""
    causal: bool = True
    """Whether a token sees only what comes before it; false: the whole text.

    What it is asked for must then not stand in the text.
    """
    tie_embeddings: bool = False
    """Whether the output head uses the embedding's matrix instead of its own."""
    tied_scale: bool = True
    """Whether the logits of a tied head are divided by the root of the width, as in T5."""
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
        shared, kv_heads = set(self.weight_sharing), self.kv_heads
        refuse_if(
            self.width % self.heads,
            f"model.width {self.width} is not divisible by model.heads {self.heads}",
        )
        refuse_if(
            self.heads % kv_heads,
            f"model.heads {self.heads} is not divisible by model.num_kv_heads {kv_heads}",
        )
        refuse_if(
            self.num_attention_layers > self.num_layers,
            f"model.num_attention_layers {self.num_attention_layers} is more than"
            f" model.num_layers {self.num_layers}",
        )
        refuse_if(
            self.embedding == "arc" and (self.width != 2 or self.compositional_embeddings),
            "model.embedding 'arc' lies in a plane: it needs model.width 2, and no"
            " model.compositional_embeddings",
        )
        refuse_if(
            len(shared) < len(self.weight_sharing), "model.weight_sharing names something twice"
        )
        refuse_if(
            "norms" in shared and not self.has_gains,
            f"model.weight_sharing 'norms': model.norm {self.norm!r} has no gains to share",
        )
        refuse_if(
            {"out-query", "out-value"} <= shared,
            "model.weight_sharing: choose one of 'out-query' and 'out-value'",
        )
        refuse_if(
            "key-query" in shared and self.head_dim % 2,
            "model.weight_sharing 'key-query' turns pairs of features: it needs a head's width"
            f" that is even, not {self.head_dim}",
        )
        square = min({"key-query", "out-value"} & shared, default=None)
        refuse_if(
            square and kv_heads < self.heads,
            f"model.weight_sharing {square!r} needs a key and value of each head",
        )
        refuse_if(
            "norms" in self.biases and self.norm != "layer",
            f"model.biases 'norms' need model.norm 'layer', not {self.norm!r}",
        )
        refuse_if(
            "norms" in shared and (self.biases or not self.final_norm),
            "model.weight_sharing 'norms' needs model.final_norm, and no model.biases",
        )
        refuse_if(
            self.norm == "none" and self.norm_placement != "pre",
            f"model.norm_placement {self.norm_placement!r} needs a model.norm",
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
    def mlp_width(self) -> int:
        """Inner width of the feed-forward part."""
        return self.width * self.mlp_ratio

    @property
    def injects_into_state(self) -> bool:
        """Whether the embedded input is added to the state itself, which then begins at zero."""
        return self.input_injection in ("recurrence", "block", "sublayer")

    @property
    def norms_before(self) -> bool:
        """Whether what a sub-layer is given is normalised."""
        return self.norm_placement != "post"

    @property
    def norms_after(self) -> bool:
        """Whether the state is normalised after each sub-layer."""
        return self.norm_placement != "pre"

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.width // self.heads
