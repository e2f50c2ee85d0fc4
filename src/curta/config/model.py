"""Size and design of the transformer, as a recipe states them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt

from curta.config.errors import UserError
from curta.config.limits import RATIO, WIDTH, Layers, Parts, Rate


@dataclass(frozen=True)
class ModelConfig:
    """Size and design of the transformer.

    `num_attention_layers` counts the blocks, from the first on, that have attention; the
    others see one token at a time. All blocks are run `num_recurrences` times over, and with
    `input_injection` the embedded input is added to the state before every block, or before every
    sub-layer, so that it is the state with which the first recurrence begins. Queries share
    `num_kv_heads` keys and values evenly, each has its own if that is not set.
    `norm_placement` normalises before each sub-layer, or also the sum after it;
    `activation` "gelu" is the tanh form. Without `attention_scale` scores are not divided
    by the root of the features, and queries begin smaller by as much instead. `init`
    gives every weight the deviation of its fan-in and embeddings that of 1, or all of
    them `init_std`. `dropout` is the share of the embeddings and of each sub-layer's
    output that is left out in training.

    Without `causal` a token sees the whole text, so what it is asked for must not stand in it.

    `role_embeddings` add a vector for the part that each token plays in its layout, and with
    `compositional_embeddings` the vector of a digit that carries is the sum of the digit's and
    the carry's: structure that a plain model would have to find.

    With `embedding` "arc" all tokens' vectors lie on an arc of a circle, in the order of the
    vocabulary: radius, angle of the first and angle between two are all that is learned. With
    `qk_input` "positions" queries and keys are made of the vectors of positions alone, which are
    not added to the embeddings, so attention weights do not depend on the tokens. `norm` "none"
    leaves the norms out. Source of these three: AdderBoard, github.com/anadim/AdderBoard, where
    entries add two ten-digit numbers with as few parameters as they can.
    """

    width: Annotated[int, Ge(1), Le(WIDTH)] = 32
    heads: Parts = 4
    num_kv_heads: Parts | None = None
    num_layers: Layers = 2
    num_attention_layers: Layers = 1
    num_recurrences: Layers = 1
    input_injection: Literal["none", "block", "sublayer"] = "none"
    mlp_ratio: Annotated[int, Ge(1), Le(RATIO)] = 4
    gated: bool = False
    activation: Literal["relu", "relu2", "gelu", "silu"] = "relu2"
    norm: Literal["rms", "layer", "plain", "none"] = "rms"
    norm_placement: Literal["pre", "post_residual"] = "pre"
    attention_scale: bool = True
    init: Literal["fan_in", "normal"] = "fan_in"
    init_std: Rate = 0.02
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    causal: bool = True
    tie_embeddings: bool = False
    role_embeddings: bool = False
    compositional_embeddings: bool = False
    embedding: Literal["table", "arc"] = "table"
    qk_input: Literal["state", "positions"] = "state"

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
