"""The certificate of a run: whether every member is right on every window that can occur.

Generation is the learned function iterated on windows, so a member that is right on all of them
is exact at every length. They are listed by recording problems far beyond training, and where
that is possible the list is proved complete (`programs.proof.closing`).

The list of an operator follows from a program's code, its windows and the sizes of training alone.
So it is kept in the cache folder, and a second run of the same program need not list anything.

certificate.json       what was listed, proved, and found of every member
windows.safetensors    every window, what follows it, what each member writes, with what margin;
                       of a list that is proved complete, what shows that it is
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from jaxtyping import Int

from curta.config import files, typed
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.evaluation import results, rounding, scoring
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.layouts.texts import cache_path, unchanging
from curta.problems import task_sizes
from curta.problems.problem import Problem
from curta.programs.machine.machine import neighbour_name, window_cells
from curta.programs.machine.recording import WindowIndex, find_query
from curta.programs.proof import closing
from curta.programs.proof.closing import list_and_prove
from curta.programs.proof.listing import DELTA, Lister
from curta.training.windows import TrainingWindows, WindowRows, WindowTargets

STRANGE = 20
"""Problems that cannot be written which are named one by one."""

CONFIDENCE = 1 - DELTA
"""Of the bound on what a list lacks."""

Operands = tuple[int, ...]


class WindowCatalogue(NamedTuple):
    """The windows of one operator, and how they were listed and proved to be all."""

    operator: str
    base: int
    rows: WindowRows
    targets: WindowTargets
    examples: list[Operands]
    """For each window a problem in which it occurs."""
    strange: list[Operands]
    """Some of the problems whose text needs a token that the machine does not have."""
    conflicts: int
    curve: list[tuple[int, int]]
    """Tokens recorded, windows known."""
    listing: results.OperatorListing
    evidence: dict[str, np.ndarray]
    """What shows that there are no others, see `Proof.evidence`; nothing where that is not so."""

    @property
    def closed(self) -> bool:
        """Whether no text of any length meets a window that is not in the list."""
        return self.listing.closed and not self.strange


def catalogue_of(recipe: Recipe, layout: Layout, task: Task) -> WindowCatalogue:
    """Return one operator's windows: from the cache, where the same were listed before."""
    assert layout.recorder is not None
    program, budget = layout.recorder.programs[task.operator], recipe.evaluation.certificate
    vocabulary, sizes = layout.recorder.vocabularies[task.operator], task_sizes.sizes(task)
    # All that a list follows from.
    code = (program.name, program.base, program.file, task.operator, sizes, budget)
    machine = (layout.machine.tokens, layout.machine.roles, layout.windows)
    origin = (code, machine, closing.FIRST, closing.SECONDS)
    path = (
        cache_path("windows", origin, __file__, results.__file__) if unchanging(program) else None
    )
    if path is not None and (content := files.read_entry(path)) is not None:
        return _parsed(content)
    lister = Lister(program, layout.machine, layout.windows, vocabulary)
    listing, closure = list_and_prove(lister, sizes, budget)
    table = lister.table
    summary = results.OperatorListing(
        windows=len(table),
        problems=lister.problems,
        tokens=lister.tokens,
        sizes=[results.OperandSizes(*sizes) for sizes in listing.sizes],
        drawn=listing.drawn,
        fresh=listing.fresh,
        once=listing.singletons,
        bound=listing.bound,
        confidence=CONFIDENCE,
        closed=closure.closed,
        open=len(closure.open),
        reasons=closure.reasons,
        views=closure.states,
        seconds=round(closure.seconds, 3),
    )
    catalogue = WindowCatalogue(
        operator=program.operator,
        base=program.base,
        rows=table.rows,
        targets=table.targets,
        examples=lister.examples,
        strange=sorted(set(lister.strange))[:STRANGE],
        conflicts=len(table.conflicts),
        curve=lister.curve,
        listing=summary,
        evidence=closure.evidence,
    )
    if path is not None:
        files.keep_entry(path, _content(catalogue))
    return catalogue


def _content(catalogue: WindowCatalogue) -> bytes:
    """Return the arrays, and all else as JSON beside them."""
    fields = catalogue._asdict() | {"listing": typed.as_json(catalogue.listing)}
    arrays = {name: fields.pop(name) for name in ("rows", "targets")} | fields.pop("evidence")
    text = np.frombuffer(json.dumps(fields).encode(), np.uint8)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays | {"fields": text})


def _parsed(content: bytes) -> WindowCatalogue:
    arrays: dict[str, Any] = safetensors.numpy.load(content)
    fields: dict[str, Any] = json.loads(arrays.pop("fields").tobytes())
    for name in ("examples", "strange", "curve"):
        fields[name] = [tuple(numbers) for numbers in fields[name]]
    listing = json.dumps(fields["listing"])
    fields["listing"] = typed.parse(results.OperatorListing, listing, "the cache", "windows")
    fields |= {name: arrays.pop(name) for name in ("rows", "targets")}
    return WindowCatalogue(**fields, evidence=arrays)


NAMED = 20
"""Wrong windows of a member that are named one by one."""

POINTS = 100
"""Most points of the curve of windows by tokens recorded."""

BOUND = (
    "first-order sum of all rounding errors of a single-precision pass, in any order of summation,"
    " none cancelling another, of the difference to the second-best token"
)

Say = Callable[[str], None]


class WindowList(NamedTuple):
    """All windows of a run's programs, each once: this needs no weights."""

    rows: WindowRows
    targets: WindowTargets
    examples: list[Problem]
    """For each window a problem in which it occurs."""
    conflicts: int
    """Windows of several operators after which these want different tokens."""
    catalogues: list[WindowCatalogue]
    """The windows by operator."""


def prepare(recipe: Recipe, layout: Layout, say: Say = lambda line: None) -> WindowList:
    """List the windows of every operator, with attempts at proofs."""
    catalogues = list[WindowCatalogue]()
    for task in recipe.tasks:
        say(f"windows of {task.operator}")
        catalogues.append(catalogue_of(recipe, layout, task))
    return together(catalogues)


def together(catalogues: Sequence[WindowCatalogue]) -> WindowList:
    """Return the windows of all operators as one list; those that several have are one.

    Windows a, b of one operator and b, c of another: a, b, c, with the first one's example of b.
    """
    empty = catalogues[0].rows[:0], catalogues[0].targets[:0]
    every = WindowList(*empty, [], 0, list(catalogues))
    for entry in catalogues:
        examples = [Problem(entry.operator, operands, entry.base) for operands in entry.examples]
        every = _added(every, entry.rows, entry.targets, dict(enumerate(examples)))
    return every


def _added(
    listed: WindowList, rows: WindowRows, targets: WindowTargets, examples: Mapping[int, Problem]
) -> WindowList:
    """Return the list plus those of these windows that it lacks and that have an example."""
    index = WindowIndex(rows.shape[1])
    index.enter(listed.rows)
    number = index.find(rows)
    shared = np.flatnonzero(number >= 0)
    new = [n for n in np.flatnonzero(number < 0).tolist() if n in examples]
    return WindowList(
        np.concatenate([listed.rows, rows[new]]),
        np.concatenate([listed.targets, targets[new]]),
        listed.examples + [examples[n] for n in new],
        listed.conflicts + int(np.sum(listed.targets[number[shared]] != targets[shared])),
        listed.catalogues,
    )


def certify(
    models: Models,
    recipe: Recipe,
    windows: TrainingWindows,
    say: Say,
    prepared: WindowList | None = None,
) -> tuple[results.Certificate, bytes]:
    """List all windows and evaluate every member on them; the contents of both files.

    `windows` are those of each member's training. Raises UserError for models that are of no
    program under a window.
    """
    layout = models.layout
    if models.memo is None:
        raise UserError("only models of a program under a window can be certified")
    prepared = prepared or prepare(recipe, layout, say)
    say(f"{len(prepared.rows):,} windows")
    # those that the run has met, but not the listing
    listed = _added(prepared, windows.rows, windows.targets, windows.examples)
    rows, targets, catalogues = listed.rows, listed.targets, listed.catalogues
    met, machine = len(rows) - len(prepared.rows), layout.machine

    outputs, bound, doubtful = scoring.outputs_after(models.stacked, rows, targets), None, None
    if not rounding.unbounded(models.stacked):
        members = map(models.member, range(models.members))
        bound = np.stack([rounding.bounds(model, rows, targets) for model in members])
        # Another machine may write another token where its margin, off by as much in the other
        # direction, has another sign.
        doubtful = (np.abs(outputs.margin) <= 2 * bound).sum(axis=1)
    wrong, since = ~(outputs.margin > 0), windows.find(rows)  # also where a margin is no number
    by_role = np.bincount(machine.role[rows[:, 0]], minlength=len(machine.roles))
    opened = [
        "; ".join(entry.listing.reasons) or f"{entry.operator}: {entry.listing.open:,} open"
        for entry in catalogues
        if not entry.listing.closed
    ]
    certificate = results.Certificate(
        grade="closed" if all(entry.closed for entry in catalogues) and not met else "saturated",
        windows=len(rows),
        met=met,
        conflicts=listed.conflicts + sum(entry.conflicts for entry in catalogues),
        unwritable=[
            str(Problem(entry.operator, operands, entry.base))
            for entry in catalogues
            for operands in entry.strange
        ],
        listing=_listing(catalogues),
        closure=results.ClosureResult(
            not opened,
            sum(entry.listing.open for entry in catalogues),
            "; ".join(opened) or "proved by sweeps from the prompts on",
        ),
        operators={entry.operator: entry.listing for entry in catalogues},
        rounding=results.Rounding(None if bound is None else float(bound.max()), BOUND),
        roles=[
            results.RoleWindows(
                role=role.name,
                sees=[neighbour_name(machine.axes, near) for near in layout.windows[role.name]],
                windows=int(count),
            )
            for role, count in zip(machine.roles, by_role, strict=True)
            if role.name in layout.windows
        ],
        members=[
            results.MemberWindows(
                member=member,
                seed=seed,
                shown=int((since[member] == 0).sum()),
                repaired=int((since[member] > 0).sum()),
                rounds=windows.rounds(member),
                correct=int((~wrong[member]).sum()),
                wrong=int(wrong[member].sum()),
                held_out=int((since[member] < 0).sum()),
                held_out_correct=int(((since[member] < 0) & ~wrong[member]).sum()),
                margin=float(outputs.margin[member].min()),
                below_bound=None if doubtful is None else int(doubtful[member]),
            )
            for member, seed in enumerate(models.seeds)
        ],
        wrong=[
            results.WrongWindow(
                member=member,
                role=machine.tokens[rows[window][0]].role,
                window=window_texts(layout, rows[window]),
                expected=machine.tokens[targets[window]].text,
                written=machine.tokens[outputs.token[member, window]].text,
                margin=float(outputs.margin[member, window]),
                shown=bool(since[member, window] >= 0),
                problem=str(listed.examples[window]),
                at=find_query(
                    machine,
                    layout.windows,
                    layout.tokens_of(listed.examples[window]),
                    rows[window].tolist(),
                ),
            )
            for member in range(models.members)
            for window in np.flatnonzero(wrong[member])[:NAMED].tolist()
        ],
    )
    arrays: dict[str, Any] = {
        "rows": rows.astype(np.int32, order="C"),
        "targets": targets.astype(np.int32, order="C"),
        "token": outputs.token.astype(np.int32, order="C"),
        "margin": outputs.margin.astype(np.float32, order="C"),
        "shown": (since + 1).astype(np.uint16, order="C"),
    }
    if bound is not None:
        arrays["bound"] = bound.astype(np.float32, order="C")
    if certificate.grade == "closed":
        for entry in catalogues:
            arrays |= {f"closure {entry.operator} {name}": a for name, a in entry.evidence.items()}
    return certificate, safetensors.numpy.save(arrays)


def _listing(catalogues: Sequence[WindowCatalogue]) -> results.Listing:
    """Return what was recorded, all operators together; the bound is that of the worst."""
    listings, sizes = [entry.listing for entry in catalogues], dict[str, str]()
    growth, tokens, windows = list[tuple[int, int]](), 0, 0
    for entry in catalogues:  # `1..40 digits`, for several numbers `2..20 of 1..32 digits`
        largest = entry.listing.sizes[-1]
        spans = dict.fromkeys([largest.first, largest.others])
        digits = " and ".join(f"{low}..{high}" if low < high else f"{high}" for low, high in spans)
        few, many = largest.operands
        sizes[entry.operator] = (
            f"{few}..{many} of {digits} digits" if many > few else f"{digits} digits"
        )
        # one operator after the other
        growth += [(tokens + t, windows + w) for t, w in entry.curve]
        tokens, windows = growth[-1]
    step = -(-len(growth) // POINTS)
    return results.Listing(
        problems=sum(entry.problems for entry in listings),
        tokens=sum(entry.tokens for entry in listings),
        sizes=sizes,
        once=sum(entry.once for entry in listings),
        bound=max(entry.bound for entry in listings),
        good_turing=max(entry.once / max(1, entry.drawn) for entry in listings),
        confidence=CONFIDENCE,
        growth=growth[(len(growth) - 1) % step :: step],
    )


def window_texts(layout: Layout, row: Int[np.ndarray, " cells"]) -> list[str]:
    """The cells of a window as people read them: the query, then each neighbour."""
    cells = window_cells(layout.machine, layout.windows, row.tolist())
    texts = [f"{name}: {symbol or 'nothing'}" for name, symbol in cells]
    return [layout.machine.tokens[row[0]].text, *texts]
