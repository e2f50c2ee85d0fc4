"""The contents of `run.json`, of a line of `metrics.jsonl`, and of `comparison.json`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from curta.config.task import Span
from curta.evaluation.results import SliceResult, SliceSummary, SummaryStatistics, UnevaluatedSize
from curta.evaluation.statistics import range_of, round_share
from curta.programs.user.userfiles import KeptFile

Stage = Literal["training", "evaluating", "certifying", "reporting"]
"""The stages of a run, in order; see `life.py`."""
STAGES: tuple[Stage, ...] = get_args(Stage)

Status = Stage | Literal["created", "interrupted", "stopped", "failed", "finished"]
"""The stage of a run at work, or the state of one at rest: `stopped` if no member is left."""


Seed = Annotated[int, Field(ge=-(2**31), lt=2**31)]


@dataclass(frozen=True)
class Origin:
    """Where an imported run comes from."""

    form: str
    """The format of the file."""
    path: str
    """The path of the file."""
    run: str
    """The name of the run in it."""


@dataclass(frozen=True)
class Checkout:
    """The state of a git repository."""

    commit: str
    """The commit."""
    dirty: bool
    """Whether tracked files had changed since."""


@dataclass(frozen=True)
class Tracking:
    """How trackers store a run."""

    project: str = ""
    """The project, which may be `team/project`; by default that of WANDB_PROJECT, or `curta`."""
    tags: tuple[str, ...] = ()
    """The tags of the run."""
    online: bool = False
    """Whether Weights & Biases uploads during the run, as WANDB_MODE=online also requests; else
    `wandb sync` uploads the files later."""


AS_USUAL = Tracking()


@dataclass(frozen=True)
class RunInfo:
    """The state of a run, as saved in `run.json`: `run.folder.read_info()`."""

    FORMAT: ClassVar[int] = 5
    REMEDY: ClassVar[str] = "train it again"

    name: str
    """The name of the run."""
    recipe: str
    """The recipe, as it was named."""
    seeds: list[Seed]
    """The seed of each member."""
    status: Status
    """The stage that is at work (`training`, `evaluating`, `certifying`, `reporting`), or else
    `created`, `interrupted`, `stopped`, `failed` or `finished`."""
    created: str
    """When it was created."""
    versions: dict[str, str]
    """The versions of Python, Curta and its libraries."""
    device: str
    """The device that it is trained on."""
    platform: str
    """The operating system and processor."""
    steps: int
    """The number of training steps, without those of repair."""
    trained_digits: Span
    """The fewest and the most digits of any operand in training."""
    operators: list[str]
    """The operators that it learns."""
    structure: str
    """The structure that the model is given, in words."""
    stopped: dict[int, int]
    """By member, the step at which its loss was no longer finite."""
    programs: tuple[str, ...] = ()
    """The names of its programs."""
    files: tuple[KeptFile, ...] = ()
    """The user's Python files, copied into its folder."""
    track: tuple[str, ...] = ()
    """The names of its trackers."""
    tracking: Tracking = Tracking()
    """How trackers store it."""
    parameters: int | None = None
    """The number of parameters of one member; None before training."""
    training_seconds: float | None = None
    """The time of training."""
    compile_seconds: float | None = None
    """The time that compiling the training step took."""
    ended: int | None = None
    """The step at which training ended early because it met `training.stop_at`."""
    imported: Origin | None = None
    """Where an imported run comes from."""
    wanted: tuple[Stage, ...] = ()
    """The stages that are to follow training."""
    done: tuple[Stage, ...] = ()
    """The stages that are done with the newest weights."""
    checkpoint: int = 0
    """The step of the newest checkpoint."""
    failure: str = ""
    """The error of a stage that failed."""
    command: tuple[str, ...] = ()
    """The command that began it."""
    code: dict[str, Checkout] = field(default_factory=dict)
    """The commits of the working directory (`here`) and of Curta, if they are git repositories."""

    @property
    def over(self) -> bool:
        """Whether training is done, or no member is left to train."""
        return "training" in self.done or self.status == "stopped"

    @property
    def alive(self) -> bool:
        """Whether any member still trains."""
        return len(self.stopped) < len(self.seeds)

    def at_rest(self) -> "RunInfo":
        """Return the state to save in files that outlast the present stage."""
        if self.status not in STAGES[1:]:
            return self
        return replace(self, status="finished" if self.over else "interrupted")


@dataclass(frozen=True)
class NamedAnswer:
    """The answer of one member to a named problem."""

    answer: str | None
    """The answer; None if the member's text holds no valid one."""
    correct: bool
    """Whether it is right."""
    perplexity: float
    """The perplexity of the correct answer."""


@dataclass(frozen=True)
class Metric:
    """The progress of one member, as a line of `metrics.jsonl`.

    Fields about validation are set only in lines of steps at which it took place.
    """

    step: int
    """The step; means are over the steps since the member's previous line."""
    member: int
    """The number of the member."""
    loss: float | None
    """The mean loss of a scored token, in nats; None once the member has stopped."""
    exact_match: float | None
    """The mean share of training problems without an error."""
    seconds: float
    """The time of training so far."""
    validation_loss: float | None = None
    """The loss on validation problems."""
    validation_exact_match: float | None = None
    """The exact match on validation problems."""
    validation_token_accuracy: float | None = None
    """The share of correct tokens on validation problems."""
    validation_by_operator: dict[str, float] = field(default_factory=dict)
    """The exact match on validation problems by operator, if there are several."""
    learning_rate: float | None = None
    """The learning rate of the next step."""
    windows_right: str = ""
    """Under a window, a bit for each window of `TrainingWindows.sample`, in base64: 1 if right."""
    evaluated: dict[str, float] = field(default_factory=dict)
    """The exact match of each curve measured during training, such as `+ held out` and `+ 20`."""
    named: dict[str, NamedAnswer] = field(default_factory=dict)
    """At a checkpoint, the answers to named problems."""


def summary_statistics(values: Sequence[float | None]) -> SummaryStatistics:
    """Return the finite values of the members, with median, minimum and maximum."""
    members = [None if value is None or not math.isfinite(value) else value for value in values]
    finite = [value for value in members if value is not None]
    if not finite:
        return SummaryStatistics(members)
    middle, low, high = range_of(finite)
    return SummaryStatistics(members, round_share(middle), low, high)


def slice_summary(row: SliceResult) -> SliceSummary:
    """Summarise a slice of an evaluation over the members."""
    return SliceSummary(
        **row.slice_fields,
        exact_match=summary_statistics(row.exact_match),
        token_accuracy=summary_statistics(row.token_accuracy),
        perplexity=summary_statistics(row.perplexity),
    )


@dataclass(frozen=True)
class ComparisonRow:
    """One run of a comparison, and its results so far."""

    name: str
    """The name of the run in the comparison."""
    run: str
    """The name of its folder."""
    recipe: str
    """The recipe, as it was named."""
    changes: dict[str, Any]
    """The fields of the recipe that the entry changes."""
    structure: str
    """The structure that the model is given, in words."""
    settings: dict[str, Any]
    """The whole recipe as a table."""
    status: str
    """The status of the run, or `waiting` before it begins."""
    lengths: list[SliceSummary]
    """The results of the evaluation by operator, size and slice."""
    unplaced: list[UnevaluatedSize]
    """Sizes for which the model has no positions."""
    steps: int | None = None
    """The number of training steps; None before the run begins, as below."""
    parameters: int | None = None
    """The number of parameters of one member."""
    training_seconds: float | None = None
    """The time of training."""
    stopped: dict[int, int] | None = None
    """By member, the step at which its loss was no longer finite."""
    loss: SummaryStatistics | None = None
    """The loss in the last steps of training."""
    exact_match: SummaryStatistics | None = None
    """The exact match in the last steps of training."""
    entry: str = ""
    """The entry that this run belongs to, if the comparison sweeps several."""
    unevaluated: tuple[UnevaluatedSize, ...] = ()
    """Sizes that the evaluation left out."""


@dataclass(frozen=True)
class ComparisonResults:
    """The entries of a comparison and their results so far, as saved in `comparison.json`."""

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "compare it again"

    name: str
    """The name of the comparison."""
    title: str
    """Its title."""
    summary: str
    """What it is about."""
    seeds: list[int]
    """The seeds of every run."""
    swept: list[str]
    """The fields that take several values."""
    rows: list[ComparisonRow]
    """The runs."""
    files: tuple[KeptFile, ...] = ()
    """The Python files that its recipes name, as they lie in its folder."""
