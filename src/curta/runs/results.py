"""comparison.json: what is compared, and what is known of it by now."""

from dataclasses import dataclass
from typing import Any, ClassVar

from curta.evaluation.results import SliceSummary, SummaryStatistics, UnevaluatedSize
from curta.programs.user.userfiles import KeptFile


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
