"""List the windows that can occur, by recording problems of all kinds and sizes.

A model that is right on every window that can occur is exact at every length, so the list must be
long. `search` looks for problems with new windows, as a fuzzer does; `list_windows` searches in
growing sizes, then draws problems at random and bounds the chance that the next one has a window
that is not listed.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from curta.problems.sizes import Sizes
from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.paper import FixedVocabulary, ProgramError, Vocabulary
from curta.programs.machine.program import Program, RecordedText
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.sampling import Drawer, OperandDigits, rare, refused
from curta.programs.machine.survey import FACTORS

BATCH = 16_000
"""Tokens to record before looking for new windows."""

DELTA = 0.01
"""The probability that a bound on chances is wrong."""

LEAST = 0.1
"""The least share of each kind of problem in a search: drawn, drawn short, skewed, changed."""

Operands = tuple[int, ...]

Brought = tuple[int, int]
"""The number of new windows that a problem brought, and of its tokens."""


class Lister:
    """Lists the windows of problems in a table, each with a problem in which it occurs."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        windows: Windows,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.program, self.machine, self.windows = program, machine, windows
        self.formats = {program.operator: machine.formats[program.operator]}
        self._vocabulary = vocabulary or FixedVocabulary(machine.numbers)
        self.table = WindowTable(cells_of(windows))
        self.examples: list[Operands] = []
        self.unwritable: list[Operands] = []
        """Problems whose text holds a token that the machine does not have."""
        self.curve: list[tuple[int, int]] = []
        self.tokens = self.problems = 0

    def add(self, problems: Sequence[Operands]) -> list[Brought]:
        """Record problems, and return what each one brought: nothing if it has no answer."""
        texts = dict[int, RecordedText]()
        for place, operands in enumerate(problems):
            if refused(self.program, operands):
                continue
            try:
                texts[place] = self.program.record(operands, self._vocabulary)
            except ProgramError:
                self.unwritable.append(operands)
        if not texts:
            return [(0, 0)] * len(problems)
        recording = Recording.of(list(texts.values()))
        before, places = len(self.table), list(texts)
        self.table.add(recorded_windows(self.machine, recording, self.windows))
        new = [places[text] for text in (self.table.example[before:] - self.problems).tolist()]
        self.examples += [problems[place] for place in new]
        self.tokens += len(recording.tokens)
        self.problems += len(texts)
        self.curve.append((self.tokens, len(self.table)))
        counts = Counter(new)
        lengths = {place: len(tokens) for place, (tokens, _) in texts.items()}
        return [(counts[place], lengths.get(place, 0)) for place in range(len(problems))]


def search(
    lister: Lister, sizes: Sizes, rng: Random, budget: int, near: Sequence[Operands] = ()
) -> list[Operands]:
    """Look for problems of these sizes that bring new windows, until `budget` tokens are recorded.

    Problems are drawn, drawn short, or changed slightly from those that brought new windows (at
    first from `near`); whichever way brings most is used most. A program that draws its own
    problems gets no changed ones, since it might never draw them. Returns the problems that brought
    new windows, in order; deterministic given `rng`.
    """
    program = lister.program
    drawer, short = (Drawer(program, s, rng) for s in (sizes, sizes.short()))
    pool = [drawer.digits(problem) for problem in near]
    begin = len(pool)
    arms: list[Callable[[], OperandDigits]] = [drawer.draw, short.draw]
    if program.draw is None:
        arms += [drawer.skewed, lambda: drawer.change(rng.choice(pool) if pool else drawer.draw())]
        arms += [lambda: drawer.digits(rare(program, sizes, rng))] * bool(program.cases)
    yields = [1.0] * len(arms)
    for count in _batches(lister, budget):
        kinds = rng.choices(range(len(arms)), yields, k=count)
        batch = [arms[kind]() for kind in kinds]
        brought = lister.add([drawer.numbers(digits) for digits in batch])
        pool += [digits for digits, (new, _) in zip(batch, brought, strict=True) if new]
        # New windows per token of each kind, the last batch weighing half: the kind that brings
        # most is drawn most often, and none is ever given up.
        mixed = []
        for kind, before in enumerate(yields):
            of_kind = [pair for k, pair in zip(kinds, brought, strict=True) if k == kind]
            rate = sum(new for new, _ in of_kind) / max(1, sum(tokens for _, tokens in of_kind))
            mixed.append((before + (rate if of_kind else before)) / 2)
        yields = [max(share, LEAST * sum(mixed), 1e-9) for share in mixed]
    return [drawer.numbers(digits) for digits in pool[begin:]]


def _batches(lister: Lister, budget: int) -> Iterator[int]:
    """Yield how many problems to record next, until `budget` is spent or none can be recorded."""
    begin, stop, idle = lister.tokens, lister.tokens + budget, 0
    yield 16
    while lister.tokens < stop and idle < 100:
        before = lister.tokens
        each = max(1, before // max(1, lister.problems))
        size = min(BATCH, stop - before, max(1, before - begin))
        yield max(1, size // each)
        idle = 0 if lister.tokens > before else idle + 1


class SearchSummary(NamedTuple):
    """How a list of windows was made."""

    sizes: list[Sizes]
    drawn: int
    """The number of problems drawn at random; they are the last ones."""
    fresh: int
    """The number of those that brought a window."""
    singletons: int
    """Windows seen in only one drawn problem."""

    @property
    def bound(self) -> float:
        """A bound on the chance that the next problem has a window that is not listed.

        This is Chernoff's bound on the share of drawn problems that brought a window: lists only
        grow, so each was at least as likely to bring one as the next problem is. It holds with
        probability 1 - DELTA.
        """
        return chernoff(self.fresh, self.drawn, DELTA)


def list_windows(
    lister: Lister, sizes: Sizes, seed: int = 0, budget: int = 1_000_000
) -> SearchSummary:
    """List windows of problems of these sizes and of several times these sizes.

    Two thirds of the budget go to a search in growing sizes; a size ends early once a tenth of its
    share brings nothing new. The rest goes to problems drawn at random, each size equally often.
    """
    rng, table = Random(seed), lister.table
    ranges = [sizes.times(factor) for factor in FACTORS]
    for number, range_ in enumerate(ranges, 1):
        until = budget * 2 * number // 3 // len(ranges)
        while lister.tokens < until:
            before = len(table)
            search(lister, range_, rng, min(max(1, budget // 20), until - lister.tokens))
            if len(table) == before:
                break
    searched, fresh = lister.problems, 0
    drawers = [Drawer(lister.program, range_, rng) for range_ in ranges]
    for count in _batches(lister, budget - lister.tokens):
        chosen = [rng.choice(drawers) for _ in range(count)]
        brought = lister.add([drawer.numbers(drawer.draw()) for drawer in chosen])
        fresh += sum(new > 0 for new, _ in brought)
    once = int(np.sum((table.texts == 1) & (table.example >= searched)))
    return SearchSummary(ranges, lister.problems - searched, fresh, once)


def chernoff(hits: int, draws: int, delta: float) -> float:
    """Return the largest p that so few hits allow: kl(hits / draws, p) = ln(1 / delta) / draws.

    >>> round(chernoff(0, 100, 0.01), 3), round(chernoff(3, 100, 0.01), 3)
    (0.045, 0.112)
    """
    if not draws:
        return 1.0

    def divergence(share: float, chance: float) -> float:
        """Return that of a coin of one chance from one of another, in nats."""
        pairs = ((share, chance), (1 - share, 1 - chance))
        return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in pairs if p > 0)

    share, low, high = hits / draws, hits / draws, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if divergence(share, middle) > -math.log(delta) / draws:
            high = middle
        else:
            low = middle
    return high
