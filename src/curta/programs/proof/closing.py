"""Is a list of windows complete? All papers that can occur, sweep by sweep.

The prompts of a format are a regular language of papers. A sweep of the pen turns a language into
another one, for each token that can end it; the windows that it meets on the way are all that
occur. So all languages are followed from the prompts on, until nothing new comes. If each window
that was met is in the list, the list is complete: no text of any length, from any prompt of the
format, meets a window that is not in it.

A window that is not in the list was met on some paper. That paper, followed back through the
sweeps, is a prompt: its problem is recorded, which enters the window, and the sweep is repeated.
So a list completes itself.

**Subtraction.** `12-34=` is swept three times at most. The first sweep begins on `=` and ends with
the sign, `-` or `+`, which is found from everywhere; the pen goes home with it. So there are two
languages behind it: all differences that borrow at their last place, and all others. Windows of
the second sweep see the first one's digits only, so of the columns the operands are dropped, and
states that now have the same futures are merged. Both end with `$`: 2,997 windows.

**What it rests on.** A program writes after a window what it wrote after the same window in the
recorded problems, at every size: that no two recorded texts disagree is checked. Prompts are those
of the format, with operands of any length; a problem that has no answer (`refuse`) counts as well.
What the method does not model is given up with its reason: moves along a second axis, windows that
reach further than one column, marks of home among the operands. A listed window that no sweep met
would be an error of this argument or of its code; then nothing is proved.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from curta.programs.proof.listing import Lister, Operands
from curta.programs.proof.prompts import Paper, Prompts, UnprovableError
from curta.programs.proof.sweep import Sweeper, Swept
from curta.programs.proof.words import BLANK, MARK, PEN, Words

BATCH = 200
"""Problems that are recorded before looking which windows are still missing."""

TAIL = 12
"""Random columns of a problem behind a missing window: what follows may be missing too."""

Row = tuple[int, ...]

Key = tuple[int, tuple[tuple[int, int], ...]]
"""What tells sweeps apart: the token that the pen holds, any of those that move alike, and the
tokens that are found from everywhere, by role."""


class Open(NamedTuple):
    """A window that was met and is not in the list."""

    row: Row
    operator: str
    operands: Operands | None
    """The problem in which it was to be; None if the way to it spells none."""


@dataclass(frozen=True)
class Closure:
    """The result of a proof."""

    open: list[Open]
    reasons: list[str]
    """Why the proof was given up, where it was."""
    states: int
    """States of all sweeps."""
    seconds: float

    @property
    def closed(self) -> bool:
        return not self.open and not self.reasons


def prove(lister: Lister, seconds: float = 10.0) -> Closure:
    """Prove that a list is complete, and complete it where it is not.

    What is not proved in so many seconds of the thread is given up. A program that draws its own
    problems might never draw those that are spelled here, so its list is not completed.
    """
    begin, operator = time.thread_time(), lister.program.operator
    proof, reasons = None, list[str]()
    try:
        # a step that no text showed before changes what a sweep must keep: the proof begins anew
        while proof is None or proof.steps != _steps(lister):
            proof = Proof(lister, begin + seconds)
            proof.run()
        if lister.table.conflicts:
            raise UnprovableError("a window with two different next tokens")
        if not proof.open and not proof.met.all():
            raise UnprovableError("a listed window was not met")
    except UnprovableError as error:
        reasons.append(f"{operator}: {error}")
    open_ = [] if proof is None else [Open(r, operator, p) for r, p in proof.open.items()]
    states = 0 if proof is None else proof.states
    return Closure(open_, reasons, states, time.thread_time() - begin)


def _steps(lister: Lister) -> frozenset[tuple[int, int]]:
    """Which tokens follow on which roles."""
    table = lister.table
    roles = lister.machine.role[table.rows[:, 0]]
    pairs = np.unique(np.stack([roles, table.targets], axis=1), axis=0)
    return frozenset(map(tuple, pairs.tolist()))


class Proof:
    """One attempt, from the prompts to the last sweep."""

    def __init__(self, lister: Lister, until: float) -> None:
        self.lister, self.machine, self.until = lister, lister.machine, until
        self.rng = Random(0)
        self.steps = _steps(lister)
        self.open: dict[Row, Operands | None] = {}
        self.met = np.zeros(0, bool)
        self.states = 0
        self.languages: dict[Key, Words] = {}
        self.origins: dict[Key, list[tuple[Key | None, Words]]] = defaultdict(list)
        """From which languages each came, with the papers as they were there."""

    def run(self) -> None:
        """Follow all languages; raises UnprovableError."""
        machine, (form,) = self.machine, self.lister.formats.values()
        self.axis = machine.axes.index(form.givens[0].along)
        prompts = Prompts(machine, form, self.axis)
        self.live = self._live(prompts.role)
        self._check()
        every = self.live[prompts.role] | {machine.role_numbers[p.role] for p in form.givens}
        columns = sorted(role for role in every if not machine.broadcast_mask[role, self.axis])
        home, offset = (part[:, self.axis] for part in machine.moves)
        marks = {int(offset[token]) for _, token in self.steps if home[token]}
        self.paper, self.prompts = Paper(machine, self.axis, columns, sorted(marks)), prompts
        sweeper = Sweeper(self.paper, self.lister.windows, self.lister.table, self.until)

        everywhere = tuple(sorted(prompts.everywhere.items()))
        begin: Key = self._alike(prompts.pen), everywhere
        self._arrive(None, begin, prompts.words(self.paper))
        waiting = [begin]
        while waiting:
            key = waiting.pop(0)
            swept = self._sweep(sweeper, key)
            if self.steps != _steps(self.lister):
                return
            self.met = np.append(self.met, np.zeros(len(self.lister.table) - len(self.met), bool))
            self.met |= swept.met
            self.states += swept.states
            for token, papers in swept.events.items():
                to, moved = self._move(key, token, papers)
                if not moved.empty and self._arrive(key, to, moved) and to not in waiting:
                    waiting.append(to)

    def _live(self, begin: int) -> dict[int, set[int]]:
        """What roles are seen by a role or by one that can follow, at any distance."""
        machine = self.machine
        following = defaultdict(set)
        for role, token in self.steps:
            following[role].add(int(machine.role[token]))
        live, near = {}, machine.neighbours(self.lister.windows)
        for role in {begin, *(role for roles in following.values() for role in roles)}:
            reached, waiting = {role}, [role]
            while waiting:
                fresh = following[waiting.pop()] - reached
                reached |= fresh
                waiting += fresh
            live[role] = {seen for one in reached for seen, _ in near[one]}
        return live

    def _check(self) -> None:
        """Raise UnprovableError for moves and windows that are not modelled."""
        machine, axis = self.machine, self.axis
        others = [other for other in range(len(machine.axes)) if other != axis]
        for _, token in self.steps:
            if machine.moves.offset[token, others].any():
                raise UnprovableError("it writes along more than one axis")
            if machine.moves.home[token, axis] and machine.moves.offset[token, axis] > 0:
                raise UnprovableError("it moves home to a square among the operands")
        roles = {role for role, _ in self.steps}
        for role, near in enumerate(machine.neighbours(self.lister.windows)):
            for _, moved in near if role in roles else ():
                if abs(moved[axis]) > 1 or any(moved[other] for other in others):
                    raise UnprovableError("a window reaches further than one square")

    def _alike(self, token: int) -> int:
        """The first token of the same role with the same move: their sweeps are made together."""
        machine = self.machine
        if machine.broadcast_mask[machine.role[token], self.axis]:
            return token
        same = (machine.role == machine.role[token]) & (
            (machine.moves.home == machine.moves.home[token])
            & (machine.moves.offset == machine.moves.offset[token])
        ).all(axis=1)
        return int(np.argmax(same))

    def _sweep(self, sweeper: Sweeper, key: Key) -> Swept:
        """Sweep over a language; again as long as missing windows can be recorded."""
        token, everywhere = key
        home, offset = (part[token, self.axis] for part in self.machine.moves)
        down = bool(offset < 0 and not home)
        while True:
            swept = sweeper.sweep(self.languages[key], down, dict(everywhere))
            missing = [row for row in swept.missing if row not in self.open]
            before = len(self.lister.table)
            self._record(key, swept, missing, down)
            if len(self.lister.table) == before:
                return swept

    def _record(self, key: Key, swept: Swept, missing: Sequence[Row], down: bool) -> None:
        """Record problems for missing windows, until each was recorded or cannot be.

        Behind a missing window a problem goes on at random, for as many columns as problems just
        brought windows.
        """
        table, tail = self.lister.table, TAIL
        for begin in range(0, len(missing), BATCH):
            batch = np.array(missing[begin : begin + BATCH], np.int32)
            batch, before = batch[table.find(batch) < 0], len(table)
            if time.thread_time() > self.until:
                raise UnprovableError("it takes too long")
            problems = list[Operands | None]()
            for row in map(tuple, batch.tolist()):
                end = swept.words.random_end(swept.behind[row], tail, self.rng)
                word = [*swept.missing[row], *end]
                problems.append(self._problem(key, word[::-1] if down else word))
            if self.lister.program.draw is None:
                self.lister.add(sorted({one for one in problems if one is not None}))
            tail = (len(table) - before) // max(1, len(batch)) - 1
            still = zip(batch.tolist(), problems, table.find(batch) < 0, strict=True)
            self.open |= {tuple(row): problem for row, problem, missed in still if missed}

    def _problem(self, key: Key, word: list[int]) -> Operands | None:
        """The problem whose paper looks like this before a sweep."""
        waiting, tried = [(key, word)], set[tuple[Key, tuple[int, ...]]]()
        while waiting and len(tried) < 100:
            key, word = waiting.pop()
            if (key, tuple(word)) in tried:
                continue
            tried.add((key, tuple(word)))
            for origin, papers in self.origins[key]:
                if origin is None and len(self.origins[key]) == 1:
                    return self.prompts.operands(self.paper, word)
                before = papers.source_of([BLANK, *word, BLANK])
                if before is not None and origin is None:
                    return self.prompts.operands(self.paper, before)
                if before is not None and origin is not None:
                    waiting.append((origin, before))
        return None

    def _move(self, key: Key, token: int, papers: Words) -> tuple[Key, Words]:
        """What a token does that ends a sweep: which sweep comes next, and over which papers."""
        machine, letters = self.machine, self.paper.letters
        role, (home, offset) = int(machine.role[token]), machine.moves
        live = self.live[role]
        seen = [cell for of, cell in self.paper.cell.items() if of in live]
        rows = np.full_like(letters.rows, -1)
        rows[:, [MARK, PEN, *seen]] = letters.rows[:, [MARK, PEN, *seen]]
        if home[token, self.axis]:
            mark = self.paper.marks.index(int(offset[token, self.axis]))
            rows[:, PEN] = np.where(rows[:, MARK] == mark, token, -1)
        moved = papers.rewrite(letters.number(rows))
        if not home[token, self.axis]:
            moved = moved.move_pen(int(offset[token, self.axis]), token, letters)
        everywhere = dict(key[1])
        if machine.broadcast_mask[role, self.axis]:
            everywhere[role] = token
        known = tuple(sorted((of, t) for of, t in everywhere.items() if of in live))
        return (self._alike(token), known), moved

    def _arrive(self, origin: Key | None, key: Key, papers: Words) -> bool:
        """Enter papers that a sweep begins with; return whether any were not known before."""
        self.origins[key].append((origin, papers))
        language, before = papers.trim().language(), self.languages.get(key)
        assert not language.empty
        if before is not None:
            if before.contains(language):
                return False
            language = Words.union([before, language]).language()
        self.languages[key] = language
        return True
