"""Size and design of the transformer, as a recipe states them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

from curta.config.errors import UserError

Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Model:
    """Size and design of the transformer.

    `attending` counts the blocks, from the first on, that have attention; the
    others see one token at a time. All blocks are run `loops` times over, and with
    `inject` the embedded input is added to the state before every block, or before every
    sub-layer, so that it is the state with which the first loop begins. Queries share
    `key_value_heads` keys and values evenly, each has its own if that is not set.
    `norm_placement` normalises before each sub-layer, or also the sum after it;
    `activation` "gelu" is the tanh form. Without `attention_scale` scores are not divided
    by the root of the features, and queries begin smaller by as much instead. `init`
    gives every weight the deviation of its fan-in and embeddings that of 1, or all of
    them `init_std`. `dropout` is the share of the embeddings and of each sub-layer's
    output that is left out in training.

    Without `causal` a token sees the whole text, so what it is asked for must not stand in it.

    `kinds` adds an embedding of the part each token plays in its layout, and `spelled`
    makes the vector of a digit that carries the sum of the digit's and the carry's:
    structure that a plain model would have to find.
    """

    width: Count = 32
    heads: Count = 4
    key_value_heads: Count | None = None
    blocks: Count = 2
    attending: Count = 1
    loops: Count = 1
    inject: Literal["none", "block", "sublayer"] = "none"
    mlp_factor: Count = 4
    gated: bool = False
    activation: Literal["relu", "relu2", "gelu", "silu"] = "relu2"
    norm: Literal["rms", "layer", "plain"] = "rms"
    norm_placement: Literal["pre", "post_residual"] = "pre"
    attention_scale: bool = True
    init: Literal["fan_in", "normal"] = "fan_in"
    init_std: Annotated[float, Gt(0.0)] = 0.02
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    causal: bool = True
    tied: bool = False
    kinds: bool = False
    spelled: bool = False

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise UserError(
                f"model.width {self.width} is not divisible by model.heads {self.heads}"
            )
        if self.heads % self.remembered:
            raise UserError(
                f"model.heads {self.heads} is not divisible by"
                f" model.key_value_heads {self.remembered}"
            )
        if self.attending > self.blocks:
            raise UserError(
                f"model.attending {self.attending} is more than model.blocks {self.blocks}"
            )

    @property
    def remembered(self) -> int:
        """Heads of keys and values."""
        return self.key_value_heads or self.heads

    @property
    def features(self) -> int:
        """Width of one head."""
        return self.width // self.heads
