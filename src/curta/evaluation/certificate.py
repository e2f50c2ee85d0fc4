"""Certify a run: check every member on every window that can occur.

Generation applies the learned function to one window after another, so a member that is right on
all of them is exact at every length. Windows are listed by writing problems far larger than those
of training. Where possible, the list is then proved complete (`programs.proof.closing`).

The list of an operator depends only on the program's code, its windows and the sizes of training.
So it is stored in the cache folder, and a second run of the same program lists nothing again.

certificate.json       the listing, the proof, and the results of every member
windows.safetensors    every window, the correct next token, the token that each member writes, and
                       its margin; for a list that is proved complete, the evidence
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
from curta.programs.proof.listing import DELTA, Lister, Operands
from curta.training.windows import TrainingWindows, WindowRows, WindowTargets

UNWRITABLE = 20
"""The most problems that cannot be written to name in a certificate."""

NAMED = 20
"""The most wrong windows of a member to name in a certificate."""

POINTS = 100
"""The most points of the curve of windows by tokens written."""

ROUNDING = (
    "first-order sum of all rounding errors of a single-precision pass, in any order of summation,"
    " none cancelling another, of the difference to the second-best token"
)
"""What the bound on rounding covers, in the words of a certificate."""

CONFIDENCE = 1 - DELTA
"""The confidence of the bound on windows that a list lacks."""


class WindowCatalogue(NamedTuple):
    """The windows of one operator, and how the list was made and proved complete."""

    operator: str
    """The operator."""
    base: int
    """The base in which operands are written."""
    rows: WindowRows
    """The windows."""
    targets: WindowTargets
    """The correct token after each window."""
    examples: list[Operands]
    """The operands of a problem in which each window occurs."""
    unwritable: list[Operands]
    """Operands of some problems whose text needs a token that the machine lacks."""
    conflicts: int
    """The number of windows that are followed by different tokens."""
    curve: list[tuple[int, int]]
    """Pairs: tokens recorded so far, and windows found in them."""
    listing: results.OperatorListing
    """How the windows were listed, and the result of the proof."""
    evidence: dict[str, np.ndarray]
    """The proof that there are no other windows, see `Proof.evidence`; empty without a proof."""

    @property
    def closed(self) -> bool:
        """Whether it is proved that no text of any length has a window outside the list."""
        return self.listing.closed and not self.unwritable


def catalogue_of(recipe: Recipe, layout: Layout, task: Task) -> WindowCatalogue:
    """Return the windows of one operator, from the cache if they were listed before."""
    assert layout.recorder is not None
    program, budget = layout.recorder.programs[task.operator], recipe.evaluation.certificate
    vocabulary, sizes = layout.recorder.vocabularies[task.operator], task_sizes.sizes(task)
    # Everything that determines the list.
    code = (program.name, program.base, program.file, task.operator, sizes, budget)
    machine = (layout.machine.tokens, layout.machine.roles, layout.windows)
    origin = (code, machine, closing.FIRST, closing.SECONDS)
    path = (
        cache_path("windows", origin, __file__, results.__file__) if unchanging(program) else None
    )
    if path is not None and (content := files.read_entry(path)) is not None:
        return _from_bytes(content)
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
        unwritable=sorted(set(lister.unwritable))[:UNWRITABLE],
        conflicts=len(table.conflicts),
        curve=lister.curve,
        listing=summary,
        evidence=closure.evidence,
    )
    if path is not None:
        files.keep_entry(path, _to_bytes(catalogue))
    return catalogue


def _to_bytes(catalogue: WindowCatalogue) -> bytes:
    """Return a catalogue as the bytes of a file: its arrays, and all other fields as JSON."""
    fields = catalogue._asdict() | {"listing": typed.as_json(catalogue.listing)}
    arrays = {name: fields.pop(name) for name in ("rows", "targets")} | fields.pop("evidence")
    text = np.frombuffer(json.dumps(fields).encode(), np.uint8)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays | {"fields": text})


def _from_bytes(content: bytes) -> WindowCatalogue:
    """Return the catalogue that `_to_bytes` wrote."""
    arrays: dict[str, Any] = safetensors.numpy.load(content)
    fields: dict[str, Any] = json.loads(arrays.pop("fields").tobytes())
    for name in ("examples", "unwritable", "curve"):
        fields[name] = [tuple(numbers) for numbers in fields[name]]
    listing = json.dumps(fields["listing"])
    fields["listing"] = typed.parse(results.OperatorListing, listing, "the cache", "windows")
    fields |= {name: arrays.pop(name) for name in ("rows", "targets")}
    return WindowCatalogue(**fields, evidence=arrays)


Say = Callable[[str], None]


class WindowList(NamedTuple):
    """All distinct windows of a run's programs; they do not depend on its weights."""

    rows: WindowRows
    """The windows."""
    targets: WindowTargets
    """The correct token after each window."""
    examples: list[Problem]
    """A problem in which each window occurs."""
    conflicts: int
    """The number of windows that several operators share but continue with different tokens."""
    catalogues: list[WindowCatalogue]
    """The windows of each operator."""


def prepare(recipe: Recipe, layout: Layout, say: Say = lambda line: None) -> WindowList:
    """List the windows of every operator, and try to prove each list complete."""
    catalogues = list[WindowCatalogue]()
    for task in recipe.tasks:
        say(f"windows of {task.operator}")
        catalogues.append(catalogue_of(recipe, layout, task))
    return merge_catalogues(catalogues)


def merge_catalogues(catalogues: Sequence[WindowCatalogue]) -> WindowList:
    """Merge the windows of all operators into one list without duplicates.

    Windows a, b of one operator and b, c of another give a, b, c, with the example of b from the
    first operator.
    """
    empty = catalogues[0].rows[:0], catalogues[0].targets[:0]
    listed = WindowList(*empty, [], 0, list(catalogues))
    for entry in catalogues:
        examples = [Problem(entry.operator, operands, entry.base) for operands in entry.examples]
        listed = _add_windows(listed, entry.rows, entry.targets, dict(enumerate(examples)))
    return listed


def _add_windows(
    listed: WindowList, rows: WindowRows, targets: WindowTargets, examples: Mapping[int, Problem]
) -> WindowList:
    """Return the list with those of the given windows that are new and have an example."""
    index = WindowIndex(rows.shape[1])
    index.enter(listed.rows)
    number = index.find(rows)  # in the list; -1 for a new window
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
    """List all windows and evaluate every member on them.

    `windows` are the windows of each member's training, `prepared` is the result of `prepare` if it
    is there already. Returns the certificate and the contents of windows.safetensors. Raises
    UserError for models that are not of a program under a window.
    """
    layout = models.layout
    if models.memo is None:
        raise UserError("only models of a program under a window can be certified")
    prepared = prepared or prepare(recipe, layout, say)
    say(f"{len(prepared.rows):,} windows")
    # Windows that only the run itself has met are checked, too.
    listed = _add_windows(prepared, windows.rows, windows.targets, windows.examples)
    rows, targets, catalogues = listed.rows, listed.targets, listed.catalogues
    met, machine = len(rows) - len(prepared.rows), layout.machine

    # Every member on every window: the token that it writes, and the margin of the correct one.
    outputs, bound, doubtful = scoring.outputs_after(models.stacked, rows, targets), None, None
    if not rounding.unbounded(models.stacked):
        members = map(models.member, range(models.members))
        bound = np.stack([rounding.bounds(model, rows, targets) for model in members])
        # Another machine errs by up to `bound` in the other direction. It may then write another
        # token where twice the bound exceeds the margin.
        doubtful = (np.abs(outputs.margin) <= 2 * bound).sum(axis=1)
    wrong = ~(outputs.margin > 0)  # members windows; a margin of NaN is wrong, too
    since = windows.trained_since(rows)
    by_role = np.bincount(machine.role[rows[:, 0]], minlength=len(machine.roles))
    unproved = [
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
            for operands in entry.unwritable
        ],
        listing=_listing(catalogues),
        closure=results.ClosureResult(
            not unproved,
            sum(entry.listing.open for entry in catalogues),
            "; ".join(unproved) or "proved by sweeps from the prompts on",
        ),
        operators={entry.operator: entry.listing for entry in catalogues},
        rounding=results.Rounding(None if bound is None else float(bound.max()), ROUNDING),
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
    """Summarise the listings of all operators; the bound is the largest of them."""
    listings, sizes = [entry.listing for entry in catalogues], dict[str, str]()
    growth, tokens, windows = list[tuple[int, int]](), 0, 0
    for entry in catalogues:  # `1..40 digits`, or for several numbers `2..20 of 1..32 digits`
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
    """Return the cells of a window in words: the query, then each neighbour."""
    cells = window_cells(layout.machine, layout.windows, row.tolist())
    texts = [f"{name}: {symbol or 'nothing'}" for name, symbol in cells]
    return [layout.machine.tokens[row[0]].text, *texts]
