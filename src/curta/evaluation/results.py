"""What an evaluation and a certificate say: evaluation.json and certificate.json are these as JSON.

Lists over members are in the order of the run's seeds. Shares are from 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field

from curta.config import files
from curta.config.errors import UserError
from curta.config.task import Span
from curta.problems.sizes import Split

SliceName = Annotated[str, Field(alias="slice")]
"""Which problems of one size: `random`, or a special case; in JSON it is called `slice`."""

CERTIFICATE, WINDOWS = "certificate.json", "windows.safetensors"
"""The files of a certificate in a run's folder."""

TRAINED, HELD_OUT = "trained", "held out"
"""Names of curves that are watched in training: `+ held out`; any other is a size, `+ 20`."""


@dataclass(frozen=True)
class FirstError:
    """The first wrong token of a text, and both texts from `start` on.

    `at` and `start` count characters from 0, `token` counts tokens.
    """

    at: int
    start: int
    written: str
    expected: str
    token: int


@dataclass(frozen=True)
class WrongAnswer:
    """A problem that a member wrote wrong, and where; no answer if none can be read in that."""

    problem: str
    truth: str
    answer: str | None
    member: int
    first_error: FirstError


@dataclass(frozen=True)
class Example:
    """A problem, its truth, and all that a member wrote."""

    problem: str
    truth: str
    answer: str | None
    member: int
    text: str
    first_error: FirstError | None


@dataclass(frozen=True)
class Generated:
    """What every member writes token by token: `exact_match` of answers, whatever stands before.

    `agrees`: the texts that are right to the letter are those of a teacher-forced pass.
    """

    count: int
    exact_match: list[float]
    agrees: bool
    tokens_per_second: int


@dataclass(frozen=True)
class ProblemSlice:
    """So many problems of one operator, size and slice.

    `size` is as the recipe has it: `20`, `50/25` or `20x5`, or the values of a table's operands,
    `0..99`; `digits` are those of the longest operand.
    """

    operator: str
    size: str
    digits: int
    slice_name: SliceName
    count: int

    @property
    def slice_fields(self) -> dict[str, Any]:
        """These fields alone."""
        return {name: getattr(self, name) for name in ProblemSlice.__dataclass_fields__}


@dataclass(frozen=True)
class SliceResult(ProblemSlice):
    """What every member makes of a slice of problems.

    `token_accuracy` is the share of right tokens, `perplexity` that of the right answer. Of a
    member that is wrong there is one error.
    """

    exact_match: list[float]
    token_accuracy: list[float]
    perplexity: list[float]
    generated: Generated
    errors: list[WrongAnswer]


@dataclass(frozen=True)
class UnevaluatedSize:
    """A size at which models were not evaluated, and why."""

    operator: str
    size: str
    digits: int
    reason: str


@dataclass(frozen=True)
class Share:
    """Exact match of every member on `count` problems."""

    count: int
    exact_match: list[float]


@dataclass(frozen=True)
class Gap:
    """Exact match of every member on problems of training, on held-out ones, and the difference.

    `problems` are the operands of a table, `0..99`, or `1 to 10 digits`. Of those held out,
    `twins` have their twin (2+1 of 1+2) in training; None where there are none.
    """

    operator: str
    problems: str
    trained: Share
    held_out: Share
    gap: list[float]
    twins: Share | None = None


@dataclass(frozen=True)
class Grid:
    """Exact match of one operator by member, digits of the first and of the second operand."""

    operator: str
    max_digits: int
    digits: list[int]
    count: int
    exact_match: list[list[list[float]]]


@dataclass(frozen=True)
class WholeTable:
    """How many of all problems with two operands from 0 to `limit` each member has correct."""

    operator: str
    limit: int
    count: int
    correct: list[int]


@dataclass(frozen=True)
class Written:
    """What one member wrote after a problem, and the answer in it; None if it is malformed."""

    text: str
    answer: str | None
    first_error: FirstError | None


@dataclass(frozen=True)
class NamedProblem:
    """A problem that the recipe names, and what every member wrote before training and after."""

    operator: str
    problem: str
    truth: str
    before: list[Written]
    after: list[Written]


@dataclass(frozen=True)
class Evaluation:
    """`evaluation.json`: everything measured after training.

    `seed` draws the problems; `num_recurrences` is set where it is not the recipe's. Each
    operator of two operands has one of `grids` and one of `tables`, if they are asked for. There
    is one of `gaps` for each operator of which it is known what was trained on.
    `changes` are the settings in which it is not the recipe's, `step` that of the weights.
    `unevaluated` are sizes that were left out, since models were wrong on all that is shorter.
    """

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "evaluate it anew"

    seed: int
    lengths: list[SliceResult]
    examples: list[Example]
    grids: tuple[Grid, ...] = ()
    tables: tuple[WholeTable, ...] = ()
    splits: tuple[Split, ...] = ()
    named: tuple[NamedProblem, ...] = ()
    gaps: tuple[Gap, ...] = ()
    num_recurrences: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    unevaluated: tuple[UnevaluatedSize, ...] = ()


def agrees(rows: Sequence[SliceResult]) -> bool:
    """Whether all that was generated token by token is what one pass said it would be."""
    return all(row.generated.agrees for row in rows)


@dataclass(frozen=True)
class SummaryStatistics:
    """A value of every member; median, least and greatest where any member has one."""

    members: list[float | None]
    median: float | None = None
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class SliceSummary(ProblemSlice):
    """A `SliceResult` in short: its figures over the members."""

    exact_match: SummaryStatistics
    token_accuracy: SummaryStatistics
    perplexity: SummaryStatistics


@dataclass(frozen=True)
class OperandSizes:
    """Digits of the first operand and of the others, and how many operands there are."""

    first: Span
    others: Span
    operands: Span


@dataclass(frozen=True)
class OperatorListing:
    """How the windows of one operator were listed, and what the proof came to.

    Of the problems the last ones were `drawn` at random, `fresh` of them brought a new window, and
    `once` windows were seen in one of them alone. `bound` is on the chance that the next problem
    holds a window that is not listed, `open` are windows that the proof could not exclude, and
    `seconds` those of the proof.
    """

    windows: int
    problems: int
    tokens: int
    sizes: list[OperandSizes]
    drawn: int
    fresh: int
    once: int
    bound: float
    confidence: float
    closed: bool
    open: int
    reasons: list[str]
    views: int
    seconds: float


@dataclass(frozen=True)
class Listing:
    """What was recorded, all operators together; `bound` is that of the worst of them.

    `sizes` are the largest ones by operator, `growth` is windows known by tokens recorded.
    """

    problems: int
    tokens: int
    sizes: dict[str, str]
    once: int
    bound: float
    good_turing: float
    confidence: float
    growth: list[tuple[int, int]]


@dataclass(frozen=True)
class ClosureResult:
    """Whether the list is proved complete; `open` counts what is neither shown nor excluded."""

    closed: bool
    open: int
    reason: str


@dataclass(frozen=True)
class Rounding:
    """How far rounding can move a margin, and how that was found; None where it is not known."""

    bound: float | None
    how: str


@dataclass(frozen=True)
class RoleWindows:
    """A role, the names of its neighbours, and how many windows it has."""

    role: str
    sees: list[str]
    windows: int


@dataclass(frozen=True)
class MemberWindows:
    """How one member does on all windows, counted.

    Training showed it those that are `shown`, rounds of repair those that are `repaired`;
    `held_out` are all others. `rounds` has how many were wrong as each of its rounds began.
    `margin` is the smallest, in logits, of the right token over the next best, `below_bound`
    counts those of at most twice the bound on rounding, if any.
    """

    member: int
    seed: int
    shown: int
    correct: int
    wrong: int
    held_out: int
    held_out_correct: int
    margin: float
    below_bound: int | None
    repaired: int = 0
    rounds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class WrongWindow:
    """A window after which a member writes something wrong, and a problem in which it occurs.

    `at` is where in the problem's text the window's query stands, in tokens; -1 if it does not.
    """

    member: int
    role: str
    window: list[str]
    expected: str
    written: str
    margin: float
    shown: bool
    problem: str
    at: int


@dataclass(frozen=True)
class Certificate:
    """`certificate.json`: all windows that are known to occur, and what members make of them.

    `unwritable` are problems whose text needs a token that the models do not have, `conflicts`
    windows that go on in two ways. Of each member some of the wrong windows are listed. `met` of
    the windows are none of the listing's: training, evaluations and questions met them.
    """

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "certify it anew"

    grade: Literal["closed", "saturated"]
    windows: int
    conflicts: int
    unwritable: list[str]
    listing: Listing
    closure: ClosureResult
    operators: dict[str, OperatorListing]
    rounding: Rounding
    roles: list[RoleWindows]
    members: list[MemberWindows]
    wrong: list[WrongWindow]
    met: int = 0

    @property
    def sound(self) -> bool:
        """Whether the list is one of a function that the model's tokens can write."""
        return not self.conflicts and not self.unwritable

    @property
    def perfect(self) -> bool:
        """Whether it is sound, and no member has a wrong window."""
        return self.sound and not self.wrong_seeds

    @property
    def wrong_seeds(self) -> list[int]:
        """The seeds whose member has a wrong window."""
        return [member.seed for member in self.members if member.wrong]


class CertifiedWindows(NamedTuple):
    """`windows.safetensors`: every window, what is right after it, and what members do.

    Tokens, but for `margin` in logits and `shown`: 0 for a window that the member was never shown,
    1 for one that training showed, 1 + N for one that the Nth round of repair did.
    """

    rows: Int[np.ndarray, "windows cells"]
    targets: Int[np.ndarray, " windows"]
    token: Int[np.ndarray, "members windows"]
    margin: Float[np.ndarray, "members windows"]
    shown: Int[np.ndarray, "members windows"]


def operator_and_curve(name: str) -> tuple[str, str]:
    """Return the operator of a watched curve, and which curve it is.

    >>> operator_and_curve("+ mod 97 held out"), operator_and_curve("+ 20")
    (('+ mod 97', 'held out'), ('+', '20'))
    """
    for curve in (TRAINED, HELD_OUT):
        if name.endswith(f" {curve}"):
            return name.removesuffix(f" {curve}"), curve
    operator, _, size = name.rpartition(" ")
    return operator, size


def read_windows(folder: Path) -> CertifiedWindows | None:
    """The windows of the certificate in a run's folder; None if it has kept none.

    Raises UserError if they are damaged. Those of thousands of members are many gigabytes.
    """
    import safetensors
    import safetensors.numpy

    path, where = folder / WINDOWS, f"run {folder.name!r} is damaged: {WINDOWS}"
    try:
        arrays = safetensors.numpy.load(files.read_bytes(path, 1 << 36))
        return CertifiedWindows(*(arrays[name] for name in CertifiedWindows._fields))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{where}: {error.strerror}") from None
    except (safetensors.SafetensorError, KeyError):
        raise UserError(f"{where} is not what was written") from None
