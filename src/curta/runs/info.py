"""What `run.json`, a line of `metrics.jsonl` and `comparison.json` hold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from curta.config.task import Span
from curta.evaluation.results import SliceResult, SliceSummary, SummaryStatistics, UnevaluatedSize
from curta.evaluation.statistics import round_share
from curta.programs.user.userfiles import KeptFile

Stage = Literal["training", "evaluating", "certifying", "reporting"]
"""What a run does, in order; see `life.py`."""
STAGES: tuple[Stage, ...] = get_args(Stage)

Status = Stage | Literal["created", "interrupted", "stopped", "failed", "finished"]
"""A stage, or how a run rests; `stopped` if no member is left to train."""


Seed = Annotated[int, Field(ge=-(2**31), lt=2**31)]


@dataclass(frozen=True)
class Origin:
    """Where an imported run comes from: file format, path, and its name there."""

    form: str
    path: str
    run: str


@dataclass(frozen=True)
class Checkout:
    """A git commit, and whether tracked files were changed since."""

    commit: str
    dirty: bool


@dataclass(frozen=True)
class Tracking:
    """Where trackers keep a run: a project, which may be `team/project`, tags, and whether now.

    Without a project it is that of WANDB_PROJECT, or `curta`. Weights & Biases sends while the run
    goes on if `online`, or where WANDB_MODE says so; otherwise `wandb sync` sends its files later.
    """

    project: str = ""
    tags: tuple[str, ...] = ()
    online: bool = False


AS_USUAL = Tracking()


@dataclass(frozen=True)
class RunInfo:
    """`run.json`: the model, its data, and the progress so far.

    `status` is a stage, or how the run ended; `wanted` are the stages after training, `done` those
    that are done with the newest weights (see `life.py`), `failure` is what a failed one said.
    `checkpoint` is the step of the newest checkpoint. `parameters` are those of one member,
    `trained_digits` the fewest and the most of any operand, `stopped` the step at which a member's
    loss was no longer finite, by member; `ended` is the step at which training was good enough.
    `command` are the words that began it, `code` the commits of the folder in which that was
    (`here`) and of Curta itself, where they are of git repositories.
    """

    FORMAT: ClassVar[int] = 5
    REMEDY: ClassVar[str] = "train it anew"

    name: str
    recipe: str
    seeds: list[Seed]
    status: Status
    created: str
    versions: dict[str, str]
    device: str
    platform: str
    steps: int
    trained_digits: Span
    operators: list[str]
    structure: str
    stopped: dict[int, int]
    programs: tuple[str, ...] = ()
    files: tuple[KeptFile, ...] = ()
    track: tuple[str, ...] = ()
    tracking: Tracking = Tracking()
    parameters: int | None = None
    training_seconds: float | None = None
    compile_seconds: float | None = None
    ended: int | None = None
    imported: Origin | None = None
    wanted: tuple[Stage, ...] = ()
    done: tuple[Stage, ...] = ()
    checkpoint: int = 0
    failure: str = ""
    command: tuple[str, ...] = ()
    code: dict[str, Checkout] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether no member is left to train."""
        return "training" in self.done or self.status == "stopped"

    @property
    def alive(self) -> bool:
        """Whether any member still trains."""
        return len(self.stopped) < len(self.seeds)

    def at_rest(self) -> "RunInfo":
        """As a file has it that outlasts the stage in which it is written."""
        if self.status not in STAGES[1:]:
            return self
        return replace(self, status="finished" if self.over else "interrupted")


@dataclass(frozen=True)
class NamedAnswer:
    """What one member answers to a named problem, and how well it expects the right answer.

    `answer` is None where what it writes is no answer.
    """

    answer: str | None
    correct: bool
    perplexity: float


@dataclass(frozen=True)
class Metric:
    """A line of `metrics.jsonl`: one member, mean over the steps since the line before.

    `loss` is the mean of a scored token in nats, None once the member has stopped; `seconds` are
    those of training until then. What is validated stands in the line of that step, with the
    exact match of each operator where there are several, the learning rate of the next step, and
    under a window `windows_right`: a bit for each of the windows of `TrainingWindows.sample`, in
    base64. So does `evaluated`: exact match of what is watched, by names such as `+ held out` and
    `+ 20`. `named` are the answers to named problems at a checkpoint, by the problem.
    """

    step: int
    member: int
    loss: float | None
    exact_match: float | None
    seconds: float
    validation_loss: float | None = None
    validation_exact_match: float | None = None
    validation_token_accuracy: float | None = None
    validation_by_operator: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    windows_right: str = ""
    evaluated: dict[str, float] = field(default_factory=dict)
    named: dict[str, NamedAnswer] = field(default_factory=dict)


def summary_statistics(values: Sequence[float | None]) -> SummaryStatistics:
    """Return the value of every member that has one, and median, least and greatest of them."""
    members = [None if value is None or not math.isfinite(value) else value for value in values]
    finite = [value for value in members if value is not None]
    if not finite:
        return SummaryStatistics(members)
    return SummaryStatistics(members, round_share(median(finite)), min(finite), max(finite))


def slice_summary(row: SliceResult) -> SliceSummary:
    """Return a row of the evaluation with its figures over the members."""
    return SliceSummary(
        **row.slice_fields,
        exact_match=summary_statistics(row.exact_match),
        token_accuracy=summary_statistics(row.token_accuracy),
        perplexity=summary_statistics(row.perplexity),
    )


@dataclass(frozen=True)
class ComparisonRow:
    """An entry of a comparison: what it is, its cost, its last training steps, its evaluation.

    `changes` are those of its recipe's fields, `settings` the whole recipe as a table. `entry` is
    the name of the entry that is swept, where there are several. At sizes that are `unplaced` the
    models have no positions; those `unevaluated` were left out of the evaluation.
    """

    name: str
    run: str
    recipe: str
    changes: dict[str, Any]
    structure: str
    settings: dict[str, Any]
    status: str
    lengths: list[SliceSummary]
    unplaced: list[UnevaluatedSize]
    steps: int | None = None
    parameters: int | None = None
    training_seconds: float | None = None
    stopped: dict[int, int] | None = None
    loss: SummaryStatistics | None = None
    exact_match: SummaryStatistics | None = None
    entry: str = ""
    unevaluated: tuple[UnevaluatedSize, ...] = ()


@dataclass(frozen=True)
class ComparisonResults:
    """`comparison.json`: what is compared, and what is known of it by now.

    `files` are the user's files of code that its recipes name, as they lie in its folder.
    """

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "compare it anew"

    name: str
    title: str
    summary: str
    seeds: list[int]
    swept: list[str]
    rows: list[ComparisonRow]
    files: tuple[KeptFile, ...] = ()
