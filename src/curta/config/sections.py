"""The sections `[model]`, `[optimizer]`, `[training]` and `[evaluation]` of a recipe.

`model.transformer` and `training.optimizers` build what the first two describe.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Discriminator, StringConstraints, Tag

from curta.config import limits
from curta.config.errors import UserError, quoted, refuse_first


def form(value: object) -> str:
    """Return the form of a value, where a field may have several: list, text or other."""
    if isinstance(value, list | tuple):
        return LIST
    return TEXT if isinstance(value, str) else OTHER


LIST, TEXT, OTHER = FORMS = ("(list)", "(text)", "(other)")
SizeText = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,5}([/x][1-9][0-9]{0,5})?$")]
"""A size as a text: 50/25, 20x5."""
Size = Annotated[
    Annotated[int, Ge(1), Le(limits.DIGITS), Tag(OTHER)] | Annotated[SizeText, Tag(TEXT)],
    Discriminator(form),
]
Sizes = Annotated[tuple[Size, ...], MinLen(1)]
SizesOfEach = Annotated[
    Annotated[Sizes, Tag(LIST)] | Annotated[dict[str, Sizes], Tag(OTHER)],
    Discriminator(form),
]


Shared = Literal["key-query", "value-key", "out-query", "out-value", "norms"]
Bias = Literal["qkv", "out", "mlp", "norms", "head"]
DropoutSite = Literal["embedding", "attention", "mlp", "output"]


@dataclass(frozen=True)
class ModelConfig:
    """Size and design of the transformer."""

    width: Annotated[int, Ge(1), Le(limits.WIDTH)] = 32
    """Length of a token's vector; a multiple of `heads`."""
    heads: limits.Parts = 4
    """Attention heads of a layer."""
    num_kv_heads: limits.Parts | None = None
    """Heads of keys and values, shared evenly by the heads; not set: `heads`."""
    num_layers: limits.Layers = 2
    """Blocks, including MLP-only ones."""
    num_attention_layers: limits.Layers = 1
    """How many blocks, from the first on, have attention."""
    num_recurrences: limits.Layers = 1
    """How many times all blocks are run, with the same weights."""
    input_injection: Literal["none", "recurrence", "block", "sublayer", "normed"] = "none"
    """Adds the embedded input again before each recurrence, block or sublayer, or to none.

    With `normed` it is added to the input of each sub-layer after its norm, not to the state.
    """
    mlp_ratio: Annotated[int, Ge(1), Le(limits.RATIO)] = 4
    """Inner width of the MLP, in multiples of `width`."""
    gated: bool = False
    """Whether a gate multiplies the MLP's inner layer (Shazeer, arXiv 2002.05202)."""
    activation: Literal["relu", "relu2", "gelu", "gelu_erf", "silu"] = "relu2"
    """Activation of the MLP: relu, relu2 (its square), gelu (tanh form), gelu_erf, silu."""
    norm: Literal["rms", "layer", "plain", "none"] = "rms"
    """RMSNorm (rms), LayerNorm without bias (layer) or parameters (plain), or none."""
    norm_epsilon: limits.Rate = 1e-6
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
    init_std: limits.Rate = 0.02
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


Momentum = Annotated[float, Ge(0.0), Lt(1.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]


@dataclass(frozen=True)
class OptimizerSettings:
    """What all optimisers have: learning rate, schedule, and clipping of gradients."""

    name: str
    """Which optimiser; changing it keeps the fields that both have."""
    learning_rate: limits.Rate = 1e-2
    """Peak learning rate, when the warm-up ends."""
    clip: Annotated[float, Ge(0.0), Le(1e12)] = 1.0
    """Global norm to which larger gradients are scaled down; 0: never."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Decay of the learning rate after the warm-up: cosine, linear, or constant."""
    warmup: Share = 0.1
    """Share of the steps in which the learning rate rises linearly."""
    final: Share = 0.0
    """Share of the learning rate that it decays to, one step after the last."""


@dataclass(frozen=True)
class SGD(OptimizerSettings):
    """Stochastic gradient descent."""

    name: Literal["sgd"] = "sgd"
    momentum: Momentum = 0.9
    """Momentum of updates."""


@dataclass(frozen=True)
class _Moments(OptimizerSettings):
    """What Adam and its successors have."""

    beta1: Momentum = 0.9
    """Decay of the running mean of gradients."""
    beta2: Momentum = 0.98
    """Decay of the running mean of squared gradients."""


@dataclass(frozen=True)
class _Decaying(_Moments):
    """What optimisers with weight decay have."""

    weight_decay: limits.RateOrNone = 0.01
    """Share of every weight, times the learning rate, subtracted at each step."""


@dataclass(frozen=True)
class Adam(_Moments):
    """Adam (Kingma and Ba, arXiv 1412.6980)."""

    name: Literal["adam"] = "adam"


@dataclass(frozen=True)
class AdamW(_Decaying):
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""

    name: Literal["adamw"] = "adamw"


@dataclass(frozen=True)
class Muon(_Decaying):
    """Muon for the matrices of blocks, with `momentum`; AdamW, with the betas, for the rest.

    By optax, both with Nesterov momentum.
    """

    name: Literal["muon"] = "muon"
    momentum: Momentum = 0.9
    """Decay of the running mean of gradients, for the matrices of blocks."""


OPTIMIZERS: dict[str, type[OptimizerSettings]] = {
    kind.name: kind for kind in (SGD, Adam, AdamW, Muon)
}
"""The settings of each optimiser, by name."""


def _name(value: object) -> object:
    """Return the name of the optimiser; AdamW if settings do not say."""
    return value.get("name", "adamw") if isinstance(value, dict) else getattr(value, "name", None)


Optimizer = Annotated[
    Annotated[SGD, Tag("sgd")]
    | Annotated[Adam, Tag("adam")]
    | Annotated[AdamW, Tag("adamw")]
    | Annotated[Muon, Tag("muon")],
    Discriminator(_name),
]


@dataclass(frozen=True)
class Training:
    """How long to train, on what, and how often to save, validate and evaluate."""

    steps: limits.Steps = 1000
    """How many updates of the weights."""
    extended_at: tuple[limits.Steps, ...] = ()
    """Steps at which training had ended before `--resume` extended it.

    Up to each, the learning rate follows the schedule that ends there.
    """
    batch: Annotated[int, Ge(1), Le(1 << 20)] = 64
    """Problems of a step, of all tasks together; windows with positions `window`."""
    checkpoint_every: limits.Steps = 500
    """Steps between checkpoints, from which training can resume."""
    checkpoints: limits.StepsOrNever = 2
    """How many of the newest checkpoints are kept, besides those of former ends; 0: all.

    They hold the state to resume from and, unless `keep` is last, the best models so far.
    """
    history_every: limits.StepsOrNever = 0
    """Steps between records of all token embeddings; 0: never.

    The first and last states are recorded too.
    """
    loss: Literal["answer", "all", "padded", "numeric"] = "answer"
    """Tokens in the loss: answer (the completion), all (also the prompt), padded (also padding).

    `numeric`: the completion, with a larger loss for digits farther off.
    """
    validate_every: limits.StepsOrNever = 0
    """Steps between validations; 0: never.

    Their problems are held out if the task holds any out, another set of the same kind with
    `task.rows`, and otherwise drawn as in training.
    """
    validation: limits.Problems = 256
    """Problems of each task in a validation."""
    fresh_validation: bool = False
    """Whether each validation draws other held-out problems, and averages over all evenly.

    Otherwise problems stay the same, and tasks count by weight.
    """
    keep: Literal["last", "best", "best-tokens"] = "last"
    """Which weights are the result: those of the last step, or of the best validation.

    Best has the most exact matches (best-tokens: correct tokens), then the least loss.
    """
    named_at_checkpoints: bool = False
    """Whether members also answer `evaluation.named` at each checkpoint.

    Answers, and the perplexity of the correct one, are in metrics.jsonl.
    """
    stop_at: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    """Ends training once every member is right on this share of a validation; not set: never."""
    stop_after: limits.StepsOrNever = 0
    """Earliest step at which `stop_at` can end training."""
    evaluate_every: limits.StepsOrNever = 0
    """Steps between evaluations during training; 0: never.

    Members answer training and held-out problems, if the evaluation has both, and random ones of
    some sizes. Plotted; training does not depend on it.
    """
    evaluate_digits: SizesOfEach | None = None
    """Sizes of these evaluations; not set: those of `evaluation.digits`."""
    evaluate_count: limits.Problems = 100
    """Problems of each size in these evaluations."""
    problems: limits.Problems = 3000
    """How many problems of a program each member trains on, of all tasks."""
    order: Literal["drawn", "epochs", "fixed"] = "drawn"
    """A finite set is drawn with repetition, in epochs, or in fixed batches.

    An epoch is a random order of all problems; fixed batches repeat, without the problems left
    over. For layouts with task.values or task.rows.
    """
    held_out_windows: Annotated[float, Ge(0.0), Le(1.0)] = 0.1
    """Share of the certificate's windows that training never shows, drawn by the seed.

    All others are shown, whether or not the member's problems have them.
    """
    repair: Annotated[int, Ge(0), Le(1_000)] = 10
    """Most rounds of repair after the last step.

    A round continues training at a low rate and adds the windows that are wrong, until none is.
    """
    sampling: Literal["uniform", "frequency"] = "uniform"
    """How distinct windows are drawn: uniform, or by frequency in texts."""
    recurrence_loss: Literal["last", "mixed", "progressive"] = "last"
    """Recurrences after which a looped model's loss is taken: last, mixed or progressive.

    See docs/published.md.
    """
    progressive_alpha: Annotated[float, Ge(0.0), Le(1.0)] = 1.0
    """Share of a progressive loss after a random number of recurrences."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Activations of a training step in float32, or bfloat16, faster on accelerators only.

    Weights, optimiser, norms, softmax, loss, and everything after training are always float32.
    """

    def __post_init__(self) -> None:
        check_sizes("training.evaluate_digits", self.evaluate_digits or ())
        if list(self.ends) != sorted(set(self.ends)):
            raise UserError(
                f"training.extended_at {quoted(list(self.extended_at))}: each must be larger than"
                f" the one before, and all smaller than training.steps, {self.steps:,}"
            )

    @property
    def ends(self) -> tuple[int, ...]:
        """The steps at which training ended or will end, in order."""
        return (*self.extended_at, self.steps)


@dataclass(frozen=True)
class EvaluationSettings:
    """What is evaluated after training."""

    digits: SizesOfEach = (20, 100)
    """Sizes, in digits: 100, 50/25 (first and other operands), 20x5 (20 operands of 5).

    A list of sizes, or a table of lists by operator.
    """
    all_sizes: bool = False
    """Whether to evaluate every size.

    Otherwise longer ones are skipped once every seed fails on all problems of a size beyond
    training.
    """
    count: limits.Problems = 200
    """Problems of each slice at each size."""
    generated: limits.Problems = 8
    """How many of these are also written token by token, to confirm exact match."""
    grid: Annotated[int, Ge(0), Le(1_000)] = 0
    """Largest digit count in a heat map over both operands' lengths; 0: no map."""
    grid_count: limits.Problems = 20
    """Problems in each cell of the heat map."""
    table: Annotated[int, Ge(0), Le(2_000)] = 0
    """Evaluate every problem of two operands up to this number; 0: none."""
    held_out: limits.Problems = 1000
    """How many training problems, and as many held-out ones, are compared.

    For programs, `task.rows` and `task.held_out`.
    """
    layouts: tuple[str, ...] = ()
    """Other layouts of the same characters, or programs, for held-out problems."""
    certificate: Annotated[int, Ge(0), Le(1_000_000_000)] = 600_000
    """How many tokens to record for the list of a program's windows; 0: no certificate."""
    named: tuple[str, ...] = ()
    """Single problems that members answer before the first step and after training."""
    seed: limits.Seed = 1
    """Seed of the problems."""

    def __post_init__(self) -> None:
        check_sizes("evaluation.digits", self.digits)

    def sizes(self, operator: str) -> tuple[int | str, ...]:
        """Return the sizes at which this operator is evaluated, by the digits of all operands."""
        sizes = self.digits.get(operator, ()) if isinstance(self.digits, dict) else self.digits
        return tuple(sorted(sizes, key=lambda size: sum(size_digits(size))))


def size_digits(size: int | str, least: int = 2) -> tuple[int, ...]:
    """Parse a size into the digits of each operand of an operator with at least `least` operands.

    >>> size_digits(20), size_digits("50/25", 3), size_digits("3x5")
    ((20, 20), (50, 25, 25), (5, 5, 5))
    """
    first, _, others = str(size).partition("/")
    count, times, digits = first.partition("x")
    if times:
        return (int(digits),) * int(count)
    return (int(first),) + (int(others or first),) * (least - 1)


def check_sizes(field: str, sizes: SizesOfEach) -> None:
    """Raise UserError for a field with a size that is too large to evaluate."""
    for group in sizes.values() if isinstance(sizes, dict) else (sizes,):
        for size in group:
            digits = size_digits(size)
            if max(digits) > limits.DIGITS:
                raise UserError(f"{field} {quoted(size)}: at most {limits.DIGITS:,} digits")
            if len(digits) > limits.OPERANDS:
                raise UserError(f"{field} {quoted(size)}: at most {limits.OPERANDS:,} operands")
