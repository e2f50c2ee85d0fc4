"""What summary.json of a run and comparison.json say: the files are these as JSON."""

from dataclasses import dataclass
from typing import Any, ClassVar

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
from curta.runs.info import RunInfo


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
