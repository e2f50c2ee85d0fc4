"""The certificate of a run: whether every member is right on every window that can occur.

Generation is the learned function iterated on windows, so a member that is right on all of them
is exact at every length. They are listed by recording problems far beyond training, and where
that is possible the list is proved complete (`programs.proof.closing`).

certificate.json       what was listed, proved, and found of every member
windows.safetensors    every window, what follows it, what each member writes, with what margin;
                       of a list that is proved complete, what shows that it is
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation import catalogue, memo, rounding
from curta.evaluation.catalogue import CONFIDENCE, WindowCatalogue
from curta.evaluation.results import (
    Certificate,
    ClosureResult,
    Listing,
    MemberWindows,
    RoleWindows,
    Rounding,
    WrongWindow,
)
from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.problems.problem import Problem
from curta.programs.machine.machine import neighbour_name
from curta.programs.machine.recording import Recording, WindowIndex, recorded_windows
from curta.training.windows import TrainingWindows

SHOWN = 20
"""Wrong windows of a member that are named one by one."""

BOUND = (
    "first-order sum of all rounding errors of a single-precision pass, in any order of summation,"
    " none cancelling another, of the difference to the second-best token"
)

Say = Callable[[str], None]


class WindowList(NamedTuple):
    """All windows of a run's programs, each once, and a problem in which each occurs."""

    rows: Int[np.ndarray, "windows cells"]
    targets: Int[np.ndarray, " windows"]
    examples: list[Problem]
    conflicts: int
    """Windows of several operators after which these want different tokens."""
    met: int = 0
    """How many, at the end, the listing lacked: training, an evaluation or `ask` met them."""


class ListedWindows(NamedTuple):
    """All that needs no weights, so that it can be listed beside the training."""

    by_operator: dict[str, WindowCatalogue]
    listed: WindowList


class WindowVerdicts(NamedTuple):
    """What every member makes of every window."""

    token: Int[np.ndarray, "members windows"]
    margin: Float[np.ndarray, "members windows"]
    bound: Float[np.ndarray, "members windows"] | None
    """How far rounding can move the margin; None where no bound is known."""
    since: Int[np.ndarray, "members windows"]
    """The round of repair since which each member was shown it; 0: in training, -1: never."""

    @property
    def wrong(self) -> Bool[np.ndarray, "members windows"]:
        """Where the margin is not positive, or no number."""
        return ~(self.margin > 0)

    @property
    def below_bound(self) -> Bool[np.ndarray, "members windows"]:
        """Where another machine may write another token.

        What is rounded there and here may be as far apart as twice the bound.
        """
        assert self.bound is not None
        return np.abs(self.margin) <= 2 * self.bound


def certify(
    models: Models,
    recipe: Recipe,
    seeds: Sequence[int],
    windows: TrainingWindows,
    say: Say,
    prepared: ListedWindows | None = None,
) -> tuple[Certificate, bytes]:
    """List all windows and evaluate every member on them; the contents of both files.

    `windows` are those of each member's training. Raises UserError for models that are of no
    program under a window.
    """
    layout = models.layout
    if not isinstance(layout, ProgramLayout) or models.memo is None:
        raise UserError("only models of a program under a window can be certified")
    by_operator, listed = prepared or prepare(recipe, layout, say)
    say(f"{len(listed.rows):,} windows")
    listed = with_met(listed, windows)
    verdicts = judge(models, listed, windows.find(listed.rows))
    catalogues, bound = list(by_operator.values()), verdicts.bound
    certificate = Certificate(
        grade="closed" if all(one.closed for one in catalogues) and not listed.met else "saturated",
        windows=len(listed.rows),
        met=listed.met,
        conflicts=listed.conflicts + sum(one.conflicts for one in catalogues),
        unwritable=[str(problem) for one in catalogues for problem in one.unwritable],
        listing=_listing(catalogues),
        closure=_closure(catalogues),
        operators={operator: one.listing for operator, one in by_operator.items()},
        rounding=Rounding(None if bound is None else float(bound.max()), BOUND),
        roles=_roles(layout, listed),
        members=[
            _member(number, seed, windows.rounds(number), verdicts)
            for number, seed in enumerate(seeds)
        ],
        wrong=[
            WrongWindow(
                member=member,
                role=layout.machine.tokens[listed.rows[window][0]].role,
                window=window_texts(layout, listed.rows[window]),
                expected=layout.machine.tokens[listed.targets[window]].text,
                written=layout.machine.tokens[verdicts.token[member, window]].text,
                margin=float(verdicts.margin[member, window]),
                shown=bool(verdicts.since[member, window] >= 0),
                problem=str(listed.examples[window]),
                at=place_of(layout, listed.examples[window], listed.rows[window]),
            )
            for member in range(len(seeds))
            for window in np.flatnonzero(verdicts.wrong[member])[:SHOWN].tolist()
        ],
    )
    arrays: dict[str, Any] = {
        "rows": listed.rows.astype(np.int32, order="C"),
        "targets": listed.targets.astype(np.int32, order="C"),
        "token": verdicts.token.astype(np.int32, order="C"),
        "margin": verdicts.margin.astype(np.float32, order="C"),
        "shown": (verdicts.since + 1).astype(np.uint16, order="C"),
    }
    if bound is not None:
        arrays["bound"] = bound.astype(np.float32, order="C")
    if certificate.grade == "closed":
        for operator, one in by_operator.items():
            arrays |= {f"closure {operator} {name}": a for name, a in one.evidence.items()}
    return certificate, safetensors.numpy.save(arrays)


def prepare(recipe: Recipe, layout: ProgramLayout, say: Say = lambda line: None) -> ListedWindows:
    """List the windows of every operator, with attempts at proofs."""
    by_operator: dict[str, WindowCatalogue] = {}
    for task in recipe.tasks:
        say(f"windows of {task.operator}")
        by_operator[task.operator] = catalogue.of_task(recipe, layout, task)
    return ListedWindows(by_operator, together(list(by_operator.values())))


def with_met(listed: WindowList, windows: TrainingWindows) -> WindowList:
    """Return the list plus the windows that the run has met outside it."""
    index = WindowIndex(listed.rows.shape[1])
    index.enter(listed.rows)
    number = index.find(windows.rows)
    known = np.flatnonzero(number >= 0)
    conflicts = int(np.sum(listed.targets[number[known]] != windows.targets[known]))
    met = [n for n in np.flatnonzero(number < 0).tolist() if n in windows.examples]
    return WindowList(
        np.concatenate([listed.rows, windows.rows[met]]),
        np.concatenate([listed.targets, windows.targets[met]]),
        listed.examples + [windows.examples[n] for n in met],
        listed.conflicts + conflicts,
        len(met),
    )


def judge(
    models: Models, listed: WindowList, since: Int[np.ndarray, "members windows"]
) -> WindowVerdicts:
    """Evaluate all members on all windows, with bounds on rounding where they are known."""
    outputs = memo.calculate(models.stacked, listed.rows, listed.targets)
    bound = None
    if not rounding.unbounded(models.stacked):
        bound = np.stack(
            [
                rounding.margins(models.member(member), listed.rows, listed.targets).bound
                for member in range(models.members)
            ]
        )
    return WindowVerdicts(outputs.token, outputs.margin, bound, since)


def together(catalogues: Sequence[WindowCatalogue]) -> WindowList:
    """Return the windows of all operators as one list; those that several have are one.

    Windows a, b of one operator and b, c of another: a, b, c, with the first one's example of b.
    """
    index, examples, conflicts = WindowIndex(catalogues[0].rows.shape[1]), list[Problem](), 0
    targets = catalogues[0].targets[:0]
    for one in catalogues:
        number = index.find(one.rows)
        new, known = np.flatnonzero(number < 0), np.flatnonzero(number >= 0)
        conflicts += int(np.sum(targets[number[known]] != one.targets[known]))
        index.enter(one.rows[new])
        targets = np.concatenate([targets, one.targets[new]])
        examples += [Problem(one.operator, one.examples[n], one.base) for n in new.tolist()]
    return WindowList(index.rows, targets, examples, conflicts)


def _listing(catalogues: Sequence[WindowCatalogue]) -> Listing:
    """Return what was recorded, all operators together; the bound is that of the worst."""
    listings, sizes = [one.listing for one in catalogues], dict[str, str]()
    for one in catalogues:  # `1..40 digits`, for several numbers `2..20 of 1..32 digits`
        largest = one.listing.sizes[-1]
        spans = dict.fromkeys([largest.first, largest.others])
        digits = " and ".join(f"{low}..{high}" if low < high else f"{high}" for low, high in spans)
        few, many = largest.operands
        sizes[one.operator] = (
            f"{few}..{many} of {digits} digits" if many > few else f"{digits} digits"
        )
    return Listing(
        problems=sum(one.problems for one in listings),
        tokens=sum(one.tokens for one in listings),
        sizes=sizes,
        once=sum(one.once for one in listings),
        bound=max(one.bound for one in listings),
        good_turing=max(one.once / max(1, one.drawn) for one in listings),
        confidence=CONFIDENCE,
        growth=_growth([one.curve for one in catalogues]),
    )


def _growth(curves: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return tokens and windows, one operator after the other: at most a hundred points.

    >>> _growth([[(10, 4), (20, 6)], [(10, 3)]])
    [(10, 4), (20, 6), (30, 9)]
    """
    points, tokens, windows = list[tuple[int, int]](), 0, 0
    for curve in curves:
        points += [(tokens + t, windows + w) for t, w in curve]
        tokens, windows = points[-1]
    step = -(-len(points) // 100)
    return points[(len(points) - 1) % step :: step]


def _closure(catalogues: Sequence[WindowCatalogue]) -> ClosureResult:
    """Return what came of the proofs."""
    reasons = [
        "; ".join(one.listing.reasons) or f"{one.operator}: {one.listing.open:,} open"
        for one in catalogues
        if not one.listing.closed
    ]
    reason = "; ".join(reasons) or "proved by sweeps from the prompts on"
    return ClosureResult(not reasons, sum(one.listing.open for one in catalogues), reason)


def _roles(layout: ProgramLayout, listed: WindowList) -> list[RoleWindows]:
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


def _member(number: int, seed: int, rounds: list[int], verdicts: WindowVerdicts) -> MemberWindows:
    since, wrong = verdicts.since[number], verdicts.wrong[number]
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
        margin=float(verdicts.margin[number].min()),
        below_bound=None if verdicts.bound is None else int(verdicts.below_bound[number].sum()),
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
    rows = recorded_windows(layout.machine, recording, layout.windows).rows
    same = np.flatnonzero((rows == row).all(axis=1))
    return int(np.flatnonzero(recording.is_query)[same[0]]) if len(same) else -1
