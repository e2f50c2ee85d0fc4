"""What a run and a comparison say of themselves: their JSON files are these as JSON."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from curta.config.task import Span
from curta.evaluation.results import (
    Gap,
    NamedProblem,
    SliceSummary,
    SummaryStatistics,
    UnevaluatedSize,
    WholeTable,
)
from curta.problems.sizes import Split
from curta.programs.user.userfiles import KeptFile

Stage = Literal["training", "evaluating", "certifying", "reporting"]
"""What a run does, in order; see `life.py`."""
STAGES: tuple[Stage, ...] = get_args(Stage)

Status = Stage | Literal["created", "interrupted", "stopped", "failed", "finished"]
"""A stage, or how a run rests; `stopped` if no member is left to train."""


Seed = Annotated[int, Field(ge=-(2**31), lt=2**31)]


@dataclass(frozen=True)
class Origin:
    """Where an imported run comes from: the form of its files, their place, its name there."""

    form: str
    path: str
    run: str


@dataclass(frozen=True)
class Checkout:
    """A git commit, and whether tracked files were changed since."""

    commit: str
    dirty: bool


@dataclass(frozen=True)
class RunInfo:
    """`run.json`: what is trained, on what, and how far it came.

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
        """Whether nothing of it is left to train."""
        return "training" in self.done or self.status == "stopped"

    @property
    def alive(self) -> bool:
        """Whether a member is left to train."""
        return len(self.stopped) < len(self.seeds)

    def at_rest(self) -> "RunInfo":
        """As a file has it that outlasts the stage in which it is written."""
        if self.status not in STAGES[1:]:
            return self
        return replace(self, status="finished" if self.over else "interrupted")


@dataclass(frozen=True)
class Metric:
    """A line of `metrics.jsonl`: one member, mean over the steps since the line before.

    `loss` is the mean of a scored token in nats, None once the member has stopped; `seconds` are
    those of training until then. What is validated stands in the line of that step, and so does
    `evaluated`: exact match of what is watched, by names such as `+ held out` and `+ 20`.
    """

    step: int
    member: int
    loss: float | None
    exact_match: float | None
    seconds: float
    validation_loss: float | None = None
    validation_exact_match: float | None = None
    validation_token_accuracy: float | None = None
    evaluated: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskSummary:
    """What a task draws, how many of its problems a step has, and the rows of its table."""

    settings: dict[str, Any]
    problems_a_step: int
    table_rows: int | None = None
    trained_rows: int | None = None


@dataclass(frozen=True)
class DataSummary:
    """How problems are written, what each task draws, and the splits as they were counted."""

    layout: str
    vocabulary: list[str]
    tasks: list[TaskSummary]
    splits: list[Split]
    programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckpointFile:
    """The newest checkpoint, as a file in the run's folder."""

    step: int
    file: str
    bytes: int


@dataclass(frozen=True)
class ModelSummary:
    """Parameters of one member, by their shapes, and the file that holds all members."""

    shapes: dict[str, list[int]]
    checkpoint: CheckpointFile | None = None


@dataclass(frozen=True)
class Ends:
    """The last and the best value of one member, and the step of each."""

    last: float
    last_step: int
    best: float
    best_step: int


Column = tuple[Ends | None, ...]
"""For each member; None for one that has no value. Empty if none was ever recorded."""


@dataclass(frozen=True)
class TrainingSummary:
    """Steps, and where every member's figures ended and were best.

    `problems` are those of all steps, or under positions window the windows.
    """

    steps: int
    steps_planned: int
    problems: int
    loss: Column = ()
    exact_match: Column = ()
    validation_loss: Column = ()
    validation_exact_match: Column = ()


@dataclass(frozen=True)
class GridSummary:
    """Mean and lowest cell of every member's grid."""

    operator: str
    max_digits: int
    count: int
    mean: SummaryStatistics
    lowest_cell: SummaryStatistics


@dataclass(frozen=True)
class EvaluationSummary:
    """The evaluation: figures of every row over the members, grids in short; tables and gaps."""

    lengths: list[SliceSummary]
    grids: tuple[GridSummary, ...] = ()
    tables: tuple[WholeTable, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unevaluated: tuple[UnevaluatedSize, ...] = ()
    seed: int | None = None
    num_recurrences: int | None = None


@dataclass(frozen=True)
class Summary:
    """`summary.json`: what a run was and what was found; `hyperparameters` are recipe sections."""

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "evaluate it anew"

    run: RunInfo
    data: DataSummary
    model: ModelSummary
    hyperparameters: dict[str, Any]
    training: TrainingSummary
    results: EvaluationSummary
    named: list[NamedProblem]


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
