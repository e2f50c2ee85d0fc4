"""The results of evaluations and certificates, as saved in evaluation.json and certificate.json.

Lists over members follow the order of the run's seeds. Shares range from 0 to 1.
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
"""Which problems of one size: `random`, or a special case. In JSON the field is called `slice`."""

CERTIFICATE, WINDOWS = "certificate.json", "windows.safetensors"
"""The files of a certificate in a run's folder."""

TRAINED, HELD_OUT = "trained", "held out"
"""Names of curves measured during training: `+ held out`; any other name is a size, `+ 20`."""


@dataclass(frozen=True)
class FirstError:
    """The first error in a text that a member wrote."""

    at: int
    """The index of the first wrong character."""
    start: int
    """The index of the character at which both excerpts begin."""
    written: str
    """What the member wrote, from `start` on."""
    expected: str
    """The correct text, from `start` on."""
    token: int
    """The index of the first wrong token."""


@dataclass(frozen=True)
class MemberAnswer:
    """A problem, and a member's answer to it."""

    problem: str
    """The problem, such as `12+34`."""
    truth: str
    """The correct answer."""
    answer: str | None
    """The member's answer; None if its text holds no valid answer."""
    member: int
    """The number of the member."""


@dataclass(frozen=True)
class WrongAnswer(MemberAnswer):
    """A problem on which a member made an error."""

    first_error: FirstError
    """Where the text goes wrong."""


@dataclass(frozen=True)
class Example(MemberAnswer):
    """A problem, and the whole text that a member wrote."""

    text: str
    """What the member wrote."""
    first_error: FirstError | None
    """Where the text goes wrong; None if it is correct."""


@dataclass(frozen=True)
class Generated:
    """A sample of a slice that every member generated token by token."""

    count: int
    """The number of problems in the sample."""
    exact_match: list[float]
    """For each member, the share of correct answers; intermediate steps may be wrong."""
    agrees: bool
    """Whether generated texts are correct exactly where the teacher-forced pass predicts it."""
    tokens_per_second: int
    """Tokens generated in a second."""


@dataclass(frozen=True)
class ProblemSlice:
    """A set of problems of one operator, size and slice."""

    operator: str
    """The operator, such as `+`."""
    size: str
    """The size as the recipe states it, such as `20`, `50/25` or `20x5`; for a table, the values of
    its operands, such as `0..99`."""
    digits: int
    """The number of digits of the longest operand."""
    slice_name: SliceName
    """The kind of problems, `random` or a special case such as `carry`."""
    count: int
    """The number of problems."""

    @property
    def slice_fields(self) -> dict[str, Any]:
        """The fields of a `ProblemSlice` alone."""
        return {name: getattr(self, name) for name in ProblemSlice.__dataclass_fields__}


@dataclass(frozen=True)
class SliceResult(ProblemSlice):
    """The results of every member on one slice of problems."""

    exact_match: list[float]
    """For each member, the share of problems written without an error."""
    token_accuracy: list[float]
    """For each member, the share of correct tokens."""
    perplexity: list[float]
    """For each member, the perplexity of scored tokens, given the correct text before them."""
    generated: Generated
    """A sample that was generated token by token."""
    errors: list[WrongAnswer]
    """One error of each member that made any."""


@dataclass(frozen=True)
class UnevaluatedSize:
    """A size at which the models were not evaluated."""

    operator: str
    """The operator."""
    size: str
    """The size as the recipe states it."""
    digits: int
    """The number of digits of the longest operand."""
    reason: str
    """Why it was left out."""


@dataclass(frozen=True)
class Share:
    """The exact match of every member on a set of problems."""

    count: int
    """The number of problems."""
    exact_match: list[float]
    """For each member, the share of correct problems."""


@dataclass(frozen=True)
class Gap:
    """The generalisation gap: exact match on training problems and on held-out ones."""

    operator: str
    """The operator."""
    problems: str
    """The size of the problems, such as `1 to 10 digits`; for a table, its operands (`0..99`)."""
    trained: Share
    """The result on problems of training."""
    held_out: Share
    """The result on held-out problems."""
    gap: list[float]
    """For each member, the difference of the two."""
    twins: Share | None = None
    """The result on held-out problems whose mirror image (2+1 for 1+2) is in training, if any."""


@dataclass(frozen=True)
class Grid:
    """Exact match by the digits of both operands."""

    operator: str
    """The operator."""
    max_digits: int
    """The largest number of digits."""
    digits: list[int]
    """The number of digits of each row and column, from 1 to `max_digits`."""
    count: int
    """The number of problems in each cell."""
    exact_match: list[list[list[float]]]
    """Exact match by member, digits of the first operand, digits of the second."""


@dataclass(frozen=True)
class WholeTable:
    """The result on every problem with two operands from 0 to a limit."""

    operator: str
    """The operator."""
    limit: int
    """The largest operand."""
    count: int
    """The number of problems."""
    correct: list[int]
    """For each member, the number of correct answers."""


@dataclass(frozen=True)
class Written:
    """The text that one member wrote after a problem."""

    text: str
    """The text."""
    answer: str | None
    """The answer in it; None if it holds no valid answer."""
    first_error: FirstError | None
    """Where it goes wrong; None if it is correct."""


@dataclass(frozen=True)
class NamedProblem:
    """A problem that the recipe names, and what members wrote before and after training."""

    operator: str
    """The operator."""
    problem: str
    """The problem."""
    truth: str
    """The correct answer."""
    before: list[Written]
    """For each member, its text with the initial weights."""
    after: list[Written]
    """For each member, its text after training."""


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation, as saved in `evaluation.json`."""

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "evaluate it again"

    seed: int
    """The seed from which the problems were drawn."""
    lengths: list[SliceResult]
    """The results by operator, size and slice."""
    examples: list[Example]
    """A few texts of every member."""
    grids: tuple[Grid, ...] = ()
    """One grid for each operator of two operands, if the evaluation has `grid`."""
    tables: tuple[WholeTable, ...] = ()
    """One count for each operator of two operands, if the evaluation has `table`."""
    splits: tuple[Split, ...] = ()
    """How the problems of each table are split into training and held-out ones."""
    named: tuple[NamedProblem, ...] = ()
    """The problems that the recipe names."""
    gaps: tuple[Gap, ...] = ()
    """The generalisation gap of each operator whose training problems are known."""
    num_recurrences: int | None = None
    """The number of recurrences; None if it is the recipe's."""
    changes: dict[str, Any] = field(default_factory=dict)
    """The settings that differ from the recipe's."""
    step: int = 0
    """The step of the checkpoint that was evaluated."""
    unevaluated: tuple[UnevaluatedSize, ...] = ()
    """Sizes that were left out because every member was wrong on all problems of a shorter size."""


def agrees(rows: Sequence[SliceResult]) -> bool:
    """Return whether all generated texts agree with the teacher-forced pass."""
    return all(row.generated.agrees for row in rows)


@dataclass(frozen=True)
class SummaryStatistics:
    """One measure of every member, with its median and range."""

    members: list[float | None]
    """The value of each member; None if it has none."""
    median: float | None = None
    """The median of the values."""
    min: float | None = None
    """The smallest value."""
    max: float | None = None
    """The largest value."""


@dataclass(frozen=True)
class SliceSummary(ProblemSlice):
    """The results on one slice of problems, summarised over the members."""

    exact_match: SummaryStatistics
    """The share of problems written without an error."""
    token_accuracy: SummaryStatistics
    """The share of correct tokens."""
    perplexity: SummaryStatistics
    """The perplexity of the correct text."""


@dataclass(frozen=True)
class OperandSizes:
    """A range of problem sizes, each field as (fewest, most)."""

    first: Span
    """Digits of the first operand."""
    others: Span
    """Digits of the other operands."""
    operands: Span
    """The number of operands."""


@dataclass(frozen=True)
class OperatorListing:
    """How the windows of one operator were listed, and the result of the proof."""

    windows: int
    """The number of windows."""
    problems: int
    """The number of problems that were written."""
    tokens: int
    """The number of tokens in them."""
    sizes: list[OperandSizes]
    """The sizes of these problems."""
    drawn: int
    """How many of them were drawn at random, after the others."""
    fresh: int
    """How many of the random ones brought a new window."""
    once: int
    """The number of windows that occur in only one of the random ones."""
    bound: float
    """Upper bound on the chance that a new random problem holds an unlisted window."""
    confidence: float
    """The confidence of this bound, from 0 to 1."""
    closed: bool
    """Whether the list is proved complete, for problems of any length."""
    open: int
    """The number of windows that the proof could neither reach nor exclude."""
    reasons: list[str]
    """Why the proof does not close."""
    views: int
    """The number of states that the proof went through."""
    seconds: float
    """The time of the proof."""


@dataclass(frozen=True)
class Listing:
    """How the windows of all operators were listed."""

    problems: int
    """The number of problems that were written."""
    tokens: int
    """The number of tokens in them."""
    sizes: dict[str, str]
    """The largest sizes of these problems, by operator."""
    once: int
    """The number of windows that occur in only one random problem."""
    bound: float
    """The largest bound of any operator; see `OperatorListing`."""
    good_turing: float
    """The Good-Turing estimate of the number of unlisted windows in a new random problem."""
    confidence: float
    """The confidence of the bound, from 0 to 1."""
    growth: list[tuple[int, int]]
    """Pairs: tokens recorded so far, and windows found in them."""


@dataclass(frozen=True)
class ClosureResult:
    """The result of the proof that the list of windows is complete."""

    closed: bool
    """Whether it is proved, for problems of any length."""
    open: int
    """The number of windows that the proof could neither reach nor exclude."""
    reason: str
    """How the list was proved complete, or why it was not."""


@dataclass(frozen=True)
class Rounding:
    """How far rounding errors can move a margin."""

    bound: float | None
    """The bound in logits; None if it is unknown."""
    how: str
    """How the bound was found."""


@dataclass(frozen=True)
class RoleWindows:
    """The windows of one role."""

    role: str
    """The role."""
    sees: list[str]
    """The names of the squares that its tokens see."""
    windows: int
    """The number of its windows."""


@dataclass(frozen=True)
class MemberWindows:
    """The results of one member on all windows."""

    member: int
    """The number of the member."""
    seed: int
    """Its seed."""
    shown: int
    """The number of windows that it met in training."""
    correct: int
    """The number of windows after which it writes the correct token."""
    wrong: int
    """The number of windows after which it writes another token."""
    held_out: int
    """The number of windows that it met neither in training nor in repair."""
    held_out_correct: int
    """How many of these are correct."""
    margin: float
    """The smallest margin, in logits, of the correct token over the next best."""
    below_bound: int | None
    """The number of windows whose margin is at most twice the bound on rounding, if it is known."""
    repaired: int = 0
    """The number of windows that it met only in rounds of repair."""
    rounds: list[int] = field(default_factory=list)
    """The number of wrong windows when each round of repair began."""


@dataclass(frozen=True)
class WrongWindow:
    """A window after which a member writes a wrong token."""

    member: int
    """The number of the member."""
    role: str
    """The role of the last token, which sees the window."""
    window: list[str]
    """What it sees, as text."""
    expected: str
    """The correct next token."""
    written: str
    """The token that the member writes."""
    margin: float
    """The margin of the correct token in logits, which is negative."""
    shown: bool
    """Whether the member met the window in training or in a round of repair."""
    problem: str
    """A problem in which the window occurs."""
    at: int
    """The index of the last token in the text of the problem; -1 if the window is not in it."""


@dataclass(frozen=True)
class Certificate:
    """A certificate, as saved in `certificate.json`: every member on every known window."""

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "certify it again"

    grade: Literal["closed", "saturated"]
    """`closed` if the list of windows is proved complete, for problems of any length; `saturated`
    if random problems hardly bring new ones."""
    windows: int
    """The number of windows."""
    conflicts: int
    """The number of windows that are followed by different tokens."""
    unwritable: list[str]
    """Problems whose text needs a token that the models lack."""
    listing: Listing
    """How the windows were listed."""
    closure: ClosureResult
    """The result of the proof that the list is complete."""
    operators: dict[str, OperatorListing]
    """The listing and the proof of each operator."""
    rounding: Rounding
    """How far rounding errors can move a margin."""
    roles: list[RoleWindows]
    """The windows of each role."""
    members: list[MemberWindows]
    """The results of each member."""
    wrong: list[WrongWindow]
    """Some wrong windows of each member that has any."""
    met: int = 0
    """The number of windows that only training, evaluations and questions brought, not the listing.
    """

    @property
    def sound(self) -> bool:
        """Whether the windows have no conflicts, and all texts can be written with the tokens."""
        return not self.conflicts and not self.unwritable

    @property
    def perfect(self) -> bool:
        """Whether the certificate is sound and no member has a wrong window."""
        return self.sound and not self.wrong_seeds

    @property
    def wrong_seeds(self) -> list[int]:
        """The seeds of the members that have a wrong window."""
        return [member.seed for member in self.members if member.wrong]


class CertifiedWindows(NamedTuple):
    """Every window of a certificate, as saved in `windows.safetensors`."""

    rows: Int[np.ndarray, "windows cells"]
    """The token in each cell of the window; an empty square has the number after the last token."""
    targets: Int[np.ndarray, " windows"]
    """The correct next token."""
    token: Int[np.ndarray, "members windows"]
    """The token that each member writes."""
    margin: Float[np.ndarray, "members windows"]
    """The margin of the correct token over the next best, in logits."""
    shown: Int[np.ndarray, "members windows"]
    """0 if the member never met the window, 1 if training showed it, 1 + N if repair N did."""


def operator_and_curve(name: str) -> tuple[str, str]:
    """Split the name of a curve measured during training into its operator and its kind.

    >>> operator_and_curve("+ mod 97 held out"), operator_and_curve("+ 20")
    (('+ mod 97', 'held out'), ('+', '20'))
    """
    for curve in (TRAINED, HELD_OUT):
        if name.endswith(f" {curve}"):
            return name.removesuffix(f" {curve}"), curve
    operator, _, size = name.rpartition(" ")
    return operator, size


def read_windows(folder: Path) -> CertifiedWindows | None:
    """Return the windows of the certificate in a run's folder; None if there are none.

    Raises UserError if they are damaged. With thousands of members they take many gigabytes.
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
