"""The certificate of a run: whether every member is right on every window that can occur.

Generation is the learned function iterated on windows, so a member that is right on all of them
is exact at every length. They are listed by recording problems far beyond training, and where
that is possible the list is proved complete (`programs.proof.closing`).

certificate.json       what was listed, proved, and found of every member
windows.safetensors    every window, what follows it, what each member writes, with what margin
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation import catalogue, memo, rounding
from curta.evaluation.catalogue import CONFIDENCE, Found
from curta.evaluation.results import (
    Certificate,
    ClosureResult,
    Listing,
    MemberWindows,
    OperandSizes,
    RoleWindows,
    Rounding,
    WrongWindow,
)
from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.problems.problem import Problem
from curta.programs.machine.machine import neighbour_name
from curta.programs.machine.recording import Recording, seen
from curta.programs.machine.table import WindowIndex
from curta.training.windows import TrainingWindows

SHOWN = 20
"""Wrong windows of a member that are named one by one."""

BOUND = (
    "first-order sum of all rounding errors of a single-precision pass, in any order of summation,"
    " none cancelling another, of the difference to the second-best token"
)

Say = Callable[[str], None]


class Listed(NamedTuple):
    """All windows of a run's programs, each once, and a problem in which each occurs."""

    rows: Int[np.ndarray, "windows cells"]
    targets: Int[np.ndarray, " windows"]
    examples: list[Problem]
    conflicts: int
    """Windows of several operators after which these want different tokens."""
    met: int = 0
    """How many, at the end, the listing lacked: training, an evaluation or `ask` met them."""


class Prepared(NamedTuple):
    """All that needs no weights, so that it can be found beside the training."""

    found: dict[str, Found]
    """By operator."""
    listed: Listed


class Judged(NamedTuple):
    """What every member makes of every window."""

    token: Int[np.ndarray, "members windows"]
    margin: Float[np.ndarray, "members windows"]
    bound: Float[np.ndarray, "members windows"] | None
    """How far rounding can move the margin; None where no bound is known."""
    since: Int[np.ndarray, "members windows"]
    """The round of repair since which each member was shown it; 0: in training, -1: never."""

    @property
    def wrong(self) -> Bool[np.ndarray, "members windows"]:
        """A margin that is no number is none."""
        return ~(self.margin > 0)

    @property
    def below_bound(self) -> Bool[np.ndarray, "members windows"]:
        """Where another machine may write something else: what is rounded there and what is
        rounded here may be as far apart as twice the bound."""
        assert self.bound is not None
        return np.abs(self.margin) <= 2 * self.bound


def certify(
    models: Models,
    recipe: Recipe,
    seeds: Sequence[int],
    windows: TrainingWindows,
    say: Say,
    prepared: Prepared | None = None,
) -> tuple[Certificate, bytes]:
    """Lists all windows and asks every member; the contents of both files.

    `windows` are those of each member's training. Raises UserError for models that are of no
    program under a window.
    """
    layout = models.layout
    if not isinstance(layout, ProgramLayout) or models.memo is None:
        raise UserError("only models of a program under a window can be certified")
    found, listed = prepared or prepare(recipe, layout, say)
    say(f"{len(listed.rows):,} windows")
    listed = with_met(listed, windows)
    judged = judge(models, listed, windows.find(listed.rows))
    rounds = [windows.rounds(member) for member in range(models.members)]
    return _content(found, layout, seeds, rounds, listed, judged), _arrays(listed, judged)


def prepare(recipe: Recipe, layout: ProgramLayout, say: Say = lambda what: None) -> Prepared:
    """Lists the windows of every operator, with attempts at proofs."""
    found: dict[str, Found] = {}
    for task in recipe.tasks:
        say(f"windows of {task.operator}")
        found[task.operator] = catalogue.found(recipe, layout, task)
    return Prepared(found, together(list(found.values())))


def with_met(listed: Listed, windows: TrainingWindows) -> Listed:
    """Return the list plus the windows that the run has met outside it."""
    index = WindowIndex(listed.rows.shape[1])
    index.enter(listed.rows)
    number = index.find(windows.rows)
    known = np.flatnonzero(number >= 0)
    conflicts = int(np.sum(listed.targets[number[known]] != windows.targets[known]))
    met = [n for n in np.flatnonzero(number < 0).tolist() if n in windows.examples]
    return Listed(
        np.concatenate([listed.rows, windows.rows[met]]),
        np.concatenate([listed.targets, windows.targets[met]]),
        listed.examples + [windows.examples[n] for n in met],
        listed.conflicts + conflicts,
        len(met),
    )


def judge(models: Models, listed: Listed, since: Int[np.ndarray, "members windows"]) -> Judged:
    """All members on all windows, with bounds on rounding where they are known."""
    found = memo.calculate(models.stacked, listed.rows, listed.targets)
    if rounding.unbounded(models.stacked):
        return Judged(found.token, found.margin, None, since)
    bounds = [
        rounding.margins(models.member(member), listed.rows, listed.targets).bound
        for member in range(models.members)
    ]
    return Judged(found.token, found.margin, np.stack(bounds), since)


def together(found: Sequence[Found]) -> Listed:
    """The windows of all operators as one list; those that several have are one.

    Windows a, b of one operator and b, c of another: a, b, c, with the first one's example of b.
    """
    index, examples, conflicts = WindowIndex(found[0].rows.shape[1]), list[Problem](), 0
    targets = found[0].targets[:0]
    for one in found:
        number = index.find(one.rows)
        new, known = np.flatnonzero(number < 0), np.flatnonzero(number >= 0)
        conflicts += int(np.sum(targets[number[known]] != one.targets[known]))
        index.enter(one.rows[new])
        targets = np.concatenate([targets, one.targets[new]])
        examples += [Problem(one.operator, one.examples[n], one.base) for n in new.tolist()]
    return Listed(index.rows, targets, examples, conflicts)


def _content(
    found: dict[str, Found],
    layout: ProgramLayout,
    seeds: Sequence[int],
    rounds: Sequence[list[int]],
    listed: Listed,
    judged: Judged,
) -> Certificate:
    """What certificate.json says."""
    every = list(found.values())
    return Certificate(
        grade="closed" if all(one.closed for one in every) and not listed.met else "saturated",
        windows=len(listed.rows),
        met=listed.met,
        conflicts=listed.conflicts + sum(one.conflicts for one in every),
        unwritable=[str(problem) for one in every for problem in one.unwritable],
        listing=_listing(every),
        closure=_closure(found),
        operators={operator: one.listing for operator, one in found.items()},
        rounding=Rounding(None if judged.bound is None else float(judged.bound.max()), BOUND),
        roles=_roles(layout, listed),
        members=[
            _member(number, seed, rounds[number], judged) for number, seed in enumerate(seeds)
        ],
        wrong=[
            _wrong(member, window, layout, listed, judged)
            for member in range(len(seeds))
            for window in np.flatnonzero(judged.wrong[member])[:SHOWN].tolist()
        ],
    )


def _listing(found: Sequence[Found]) -> Listing:
    """What was recorded, all operators together; the bound is that of the worst of them."""
    each = [one.listing for one in found]
    return Listing(
        problems=sum(one.problems for one in each),
        tokens=sum(one.tokens for one in each),
        sizes={one.operator: _sizes(one.listing.sizes[-1]) for one in found},
        once=sum(one.once for one in each),
        bound=max(one.bound for one in each),
        good_turing=max(one.once / max(1, one.drawn) for one in each),
        confidence=CONFIDENCE,
        growth=_growth([one.curve for one in found]),
    )


def _sizes(sizes: OperandSizes) -> str:
    """The largest sizes: `1..40 digits`, for several numbers `2..20 of 1..32 digits`."""
    few, many = sizes.operands
    spans = dict.fromkeys([sizes.first, sizes.others])
    digits = " and ".join(f"{low}..{high}" if low < high else f"{high}" for low, high in spans)
    return f"{few}..{many} of {digits} digits" if many > few else f"{digits} digits"


def _growth(curves: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Tokens and windows, one operator after the other: a hundred points at most, with the last.

    >>> _growth([[(10, 4), (20, 6)], [(10, 3)]])
    [(10, 4), (20, 6), (30, 9)]
    """
    found, tokens, windows = list[tuple[int, int]](), 0, 0
    for curve in curves:
        found += [(tokens + t, windows + w) for t, w in curve]
        tokens, windows = found[-1]
    step = -(-len(found) // 100)
    return found[(len(found) - 1) % step :: step]


def _closure(found: dict[str, Found]) -> ClosureResult:
    """What came of the proofs."""
    each = {operator: one.listing for operator, one in found.items()}
    reasons = [
        "; ".join(one.reasons) or f"{operator}: {one.open:,} open"
        for operator, one in each.items()
        if not one.closed
    ]
    reason = "; ".join(reasons) or "proved by sweeps from the prompts on"
    return ClosureResult(not reasons, sum(one.open for one in each.values()), reason)


def _roles(layout: ProgramLayout, listed: Listed) -> list[RoleWindows]:
    machine = layout.machine
    counts = np.bincount(machine.role[listed.rows[:, 0]], minlength=len(machine.roles))
    return [
        RoleWindows(
            role=role.name,
            sees=[neighbour_name(machine.axes, near) for near in layout.windows[role.name]],
            windows=int(count),
        )
        for role, count in zip(machine.roles, counts, strict=True)
        if role.name in layout.windows
    ]


def _member(number: int, seed: int, rounds: list[int], judged: Judged) -> MemberWindows:
    since, wrong = judged.since[number], judged.wrong[number]
    held_out = since < 0
    return MemberWindows(
        member=number,
        seed=seed,
        shown=int((since == 0).sum()),
        repaired=int((since > 0).sum()),
        rounds=rounds,
        correct=int((~wrong).sum()),
        wrong=int(wrong.sum()),
        held_out=int(held_out.sum()),
        held_out_correct=int((held_out & ~wrong).sum()),
        margin=float(judged.margin[number].min()),
        below_bound=None if judged.bound is None else int(judged.below_bound[number].sum()),
    )


def _wrong(
    member: int, window: int, layout: ProgramLayout, listed: Listed, judged: Judged
) -> WrongWindow:
    """One wrong window, and a problem in which it occurs."""
    machine, row, problem = layout.machine, listed.rows[window], listed.examples[window]
    return WrongWindow(
        member=member,
        role=machine.tokens[row[0]].role,
        window=window_texts(layout, row),
        expected=machine.tokens[listed.targets[window]].text,
        written=machine.tokens[judged.token[member, window]].text,
        margin=float(judged.margin[member, window]),
        shown=bool(judged.since[member, window] >= 0),
        problem=str(problem),
        at=place_of(layout, problem, row),
    )


def window_texts(layout: ProgramLayout, row: Int[np.ndarray, " cells"]) -> list[str]:
    """The cells of a window as people read them: the query, then each neighbour."""
    machine = layout.machine
    near = layout.windows[machine.tokens[row[0]].role]
    return [machine.tokens[row[0]].text] + [
        f"{neighbour_name(machine.axes, one)}: "
        f"{machine.tokens[cell].symbol if cell < len(machine.tokens) else 'nothing'}"
        for one, cell in zip(near, row[1:].tolist(), strict=False)
    ]


def place_of(layout: ProgramLayout, problem: Problem, row: Int[np.ndarray, " cells"]) -> int:
    """Where in a problem's text the window's query stands, in tokens; -1 if nowhere."""
    recording = Recording.of([layout.tokens_of(problem)])
    rows = seen(layout.machine, recording, layout.windows).rows
    same = np.flatnonzero((rows == row).all(axis=1))
    return int(np.flatnonzero(recording.asked)[same[0]]) if len(same) else -1


def _arrays(listed: Listed, judged: Judged) -> bytes:
    arrays: dict[str, Any] = {
        "rows": listed.rows.astype(np.int32, order="C"),
        "targets": listed.targets.astype(np.int32, order="C"),
        "token": judged.token.astype(np.int32, order="C"),
        "margin": judged.margin.astype(np.float32, order="C"),
        "shown": (judged.since + 1).astype(np.uint16, order="C"),
    }
    if judged.bound is not None:
        arrays["bound"] = judged.bound.astype(np.float32, order="C")
    return safetensors.numpy.save(arrays)
