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

**Rows.** A program may move forward along other axes. Then a column is what stands there on the
pen's own line and on those that windows can still see, by its distance from the pen, and a move to
the next line shifts it. An operand along such an axis comes into sight a digit a line: any digit
that may follow. There is no end of rows, so papers that come to a key again are widened
(`Words.widen`) until nothing changes. Papers may be in a language then that no program writes: a
window that is met on them alone is recorded in no problem and stays open, and nothing is proved.
So a list that closes holds all windows that occur, and no others, as each was recorded.

**Any number of operands.** An operand on a line of its own, along the axis of the sweeps, is joined
to the papers when its line comes into sight: any number, if the sign before it, such as `+`, was
seen. So the papers of `12+39+50=` hold one operand at a time, beside the sum so far.

**Reading operands again.** In `sorting` the pen goes home to the first operand's line, once for
each number that it writes. Any operands may stand on the lines then, which allows more than occurs:
those of the pass before are forgotten. Where zeros fill up operands, all are equally long, and so
is a number that was copied from one: `in_step` holds the cells whose numbers, where there are any,
stand on the same squares as an operand or another such number. An operand that comes into sight is
as long as they are. Windows show the least number so far, the one sorted last and an operand; there
are 1,718 of them.

**Numbers beside operands.** In long division a remainder is less than the divisor: else a digit
of the quotient would exceed nine. Widening would forget it, so a number that stands beside an
operand, lowest digit first, is compared with it. If it was less than k times the operand on all
papers so far, for some k up to the base, widened papers on which it is not are dropped
(`Words.where`); if the relation fails later, it is forgotten then. Division: 11,663 windows.

**Multiplication.** Behind each `|` the paper is one of a few kinds of lines of pairs, a digit of
`a` and one of the last sum: twenty sweeps, by the digit of `b` that is next, meet 3,617 windows.

**Numbers that stay in place.** `gcd` and `isqrt` move no number: each row copies what stays, and
writes from the right to the left how two of them compare. What is borrowed follows from these
signs, so windows see digits of two rows and one sign: 18,434 and 4,806 windows.

**What it rests on.** A program writes after a window what it wrote after the same window in the
recorded problems, at every size: that no two recorded texts disagree is checked. Prompts are those
of the format, with operands of any length; a problem that has no answer (`refuse`) counts as well.
What the method does not model is given up with its reason (`CURES`): moves back along a second
axis, or home along it where more than operands is seen, windows that reach further than one
column, marks of home among the operands, any number of operands that are found from everywhere. A
listed window that no sweep met would be an error of this argument or of its code; then nothing is
proved.
"""

import json
import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import NamedTuple

import numpy as np

from curta.problems.numerals import to_digits
from curta.problems.sizes import Sizes
from curta.programs.machine.prompt import Given
from curta.programs.proof.listing import Lister, Operands, SearchSummary, list_windows
from curta.programs.proof.prompts import Cell, ColumnPaper, PromptLanguage, State, cell_at
from curta.programs.proof.sweep import ENDS, Sweep, Sweeper
from curta.programs.proof.words import BLANK, MARK, PEN, Mask, Rows, UnprovableError, Words

BATCH = 200
"""Problems that are recorded before looking which windows are still missing."""

ROUNDS, PROBLEMS, LINES = 10, 400, 20
"""Limits on the search for problems with missing windows: rounds of recording, problems in each
round, and the most digits of rare problems or of operands along other axes."""

FIRST = 60_000
"""The number of tokens of the list with which a proof begins."""

SECONDS, ROWS = 30.0, 300.0
"""Seconds of the thread for a proof; and if the program writes rows and the list is long."""

CURES = {
    "a second axis": "write on the next line again what is read later, and move on: the last"
    " sum of `multiplication` is copied",
    "among the operands": "go home to square 0 or before it, and walk from there",
    "further than one square": "carry what is needed along, a square at a time, as `addition`"
    " carries in the sum's digits",
    "any number of operands": "write each on its own line, without a gap, and see the sign"
    " before it from its own square alone, as `sums` does",
    "found from everywhere on": "show the operand everywhere on that axis, as `b` of"
    " `multiplication` is",
    "written twice": "move before writing a role again, or use another role",
    "different next tokens": "write what decides between them on a square that is seen",
    "open": "write down beside each other what two lines have to do with each other, such as which"
    " is greater: papers that never occur are then told from those that do",
    "too": "let windows see fewer digits at once, as by one more mark between them",
}
"""Remedies for the reasons for which proofs are given up, by a part of the reason."""

Row = tuple[int, ...]


class Key(NamedTuple):
    """Everything by which sweeps differ."""

    token: int
    """The token that the pen holds; the first one of those that move alike."""
    everywhere: tuple[tuple[Cell, int], ...]
    """Tokens that are found from every square of the axis, by cell."""
    feeds: tuple[frozenset[State], ...]
    """How far operands along other axes have come into sight, where they are still seen."""
    lines: "LinesSeen"


class LinesSeen(NamedTuple):
    """The operands on lines that have come into sight; there may be any number of them."""

    fresh: tuple[tuple[str, int], ...] = ()
    """Kind and line, counted from the pen's, of all that has come into sight before this sweep: the
    `first` operand, a further `operand`, the `sign` of one."""
    ahead: int = 0
    """The number of operands whose signs are in sight, but not they themselves."""
    ended: bool = True
    """Whether a line without a sign is in sight, so that no others follow."""


@dataclass(frozen=True)
class Closure:
    """The result of a proof."""

    open: set[Row]
    """Windows that were met and are not in the list."""
    reasons: list[str]
    """Why the proof was given up, where it was."""
    states: int
    """States of all sweeps."""
    seconds: float
    rows: bool
    """Whether the program writes rows, so that its papers were widened."""
    evidence: dict[str, np.ndarray]
    """Arrays that show the list to be complete; none without a proof."""

    @property
    def closed(self) -> bool:
        return not self.open and not self.reasons

    @property
    def obstacle(self) -> str:
        """What keeps the list from being proved complete, and how others cured it."""
        if self.closed:
            return ""
        reason = "; ".join(self.reasons) or f"{len(self.open):,} windows stay open"
        cure = next((cure for part, cure in CURES.items() if part in reason), "")
        return f"{reason} ({cure})" if cure else reason


def list_and_prove(
    lister: Lister, sizes: Sizes, budget: int = 1_000_000
) -> tuple[SearchSummary, Closure]:
    """List the windows of problems, and try to prove that there are no others.

    A proof completes a short list by itself; where there is none, the list is made long, of
    `budget` tokens. Programs that write rows are tried then: what was not recorded may be a window
    that never occurs.
    """
    listing = list_windows(lister, sizes, budget=min(FIRST, budget))
    closure = prove(lister, SECONDS, rows=budget <= FIRST)
    if not closure.closed and budget > FIRST:
        listing = list_windows(lister, sizes, seed=1, budget=lister.tokens + budget)
        if closure.rows:
            closure = prove(lister, ROWS)
    return listing, closure


def prove(lister: Lister, seconds: float = SECONDS, rows: bool = True) -> Closure:
    """Prove that a list is complete, and complete it where it is not.

    Programs that write rows are given up unless `rows`: their list should be long. What is not
    proved in so many seconds of the thread is given up. A program that draws its own problems might
    never draw those that are spelled here, so its list is not completed.
    """
    begin, reason, fine = time.thread_time(), "", False
    while True:
        proof = Proof(lister, begin + seconds, fine, rows)
        try:
            proof.run()
        except UnprovableError as error:
            reason = str(error)
            break
        if proof.steps != _steps(lister):
            # a step that no text showed before changes what a sweep must keep
            continue
        # what was met on papers that were widened too much may never occur
        if not (proof.open and proof.widens and not fine):
            break
        fine = True
    if not reason and lister.table.conflicts:
        reason = "a window with two different next tokens"
    elif not reason and not proof.open and not proof.met.all():
        reason = "a listed window was not met"
    return Closure(
        open=proof.open,
        reasons=[f"{lister.program.operator}: {reason}"] if reason else [],
        states=proof.states,
        seconds=time.thread_time() - begin,
        rows=proof.widens,
        evidence={} if proof.open or reason else proof.evidence(),
    )


def _steps(lister: Lister) -> frozenset[tuple[int, int]]:
    """Return the pairs of a role and a token that follows it in a recorded text."""
    table = lister.table
    roles = lister.machine.role[table.rows[:, 0]]
    pairs = np.unique(np.stack([roles, table.targets], axis=1), axis=0)
    return frozenset(map(tuple, pairs.tolist()))


class Proof:
    """One attempt, from the prompts to the last sweep."""

    def __init__(self, lister: Lister, until: float, fine: bool, rows: bool) -> None:
        self.lister, self.machine, self.until, self.fine = lister, lister.machine, until, fine
        self.rows = rows
        self.rng = Random(0)
        self.steps = _steps(lister)
        self.lacking: dict[Key, list[Row]] = {}
        """Windows that were not in the list when a sweep met them."""
        self.papers: dict[Row, list[int]] = {}
        """A paper on which each of these was met."""
        self.met = np.zeros(0, bool)
        self.states = 0
        self.widens = False
        """Whether papers have rows, so that languages are widened."""
        self.returns = False
        """Whether the pen goes back to the first operand's line, to read all of them again."""
        self.bare: dict[Key, Words] = {}
        """Papers without the operands on lines that come into sight before the sweep."""
        self.languages: dict[Key, Words] = {}
        self.in_step: dict[Key, frozenset[Cell]] = {}
        """Cells whose numbers, where there are any, are as long as operands that zeros fill up."""
        self.origins: dict[Key, list[tuple[Key | None, Words]]] = defaultdict(list)
        """From which languages each came, with the papers as they were there."""

    def run(self) -> None:
        """Follow all languages; raises UnprovableError."""
        machine, (form,) = self.machine, self.lister.formats.values()
        # Sweeps go along the axis on which the pen goes back and forth, else the first operand's.
        tokens = sorted({token for _, token in self.steps})
        home, offset = (part[tokens] for part in machine.moves)
        back = offset.any(axis=0) & (home.any(axis=0) | (offset < 0).any(axis=0))
        along = machine.axes.index(form.givens[0].along)
        self.axis = int(np.flatnonzero(back)[0]) if back.any() else along
        self.prompts = prompts = PromptLanguage(machine, form, self.axis)
        self._check()
        self.live = self._live()
        home, offset = (part[:, self.axis] for part in machine.moves)
        marks = {int(offset[token]) for _, token in self.steps if home[token]}
        # papers are widened by what stands where: the first square must not be taken for another
        marks |= {0} if self.widens else set()
        marks |= {-1, 0} if prompts.lines else set()
        standing = {
            cell
            for cell in set().union(*self.live.values())
            if not machine.broadcast_mask[cell[0], self.axis]
        }
        self.paper = ColumnPaper(machine, self.axis, sorted(standing), sorted(marks))
        sweeper = Sweeper(self.paper, self.lister.windows, self.lister.table, self.until)

        waiting = list[Key]()
        words = prompts.words(self.paper)
        numbers = self._numbers(()) if self.filled else None
        steady = {
            cell for cell, n in self.paper.cell.items() if self._is_in_step(words, n, numbers)
        }
        waiting += self._arrive(None, self._begin(), words, steady)
        while waiting:
            key = waiting.pop(0)
            sweep = self._sweep(sweeper, key)
            if self.steps != _steps(self.lister):
                return
            self.met = np.append(self.met, np.zeros(len(self.lister.table) - len(self.met), bool))
            self.met |= sweep.met
            self.states += len(sweep.states)
            for token, papers in sweep.events():
                moved, keys, in_step = self._move(key, token, papers)
                if not (moved := moved.trim()).empty:
                    fresh = self._arrive(key, keys, moved, in_step)
                    waiting += [to for to in fresh if to not in waiting]
            if not waiting:
                # windows may be recorded by now that were missing in an earlier sweep
                self._seek()
                waiting += [key for key, rows in self.lacking.items() if self._listed(rows).any()]

    def _live(self) -> dict[int, set[Cell]]:
        """Return, by role, the cells seen by it or by a later role, relative to the pen."""
        machine, prompts = self.machine, self.prompts
        near = machine.neighbours(self.lister.windows)
        every = {prompts.role, *(role for role, _ in self.steps)}
        every |= {int(machine.role[token]) for _, token in self.steps}
        live = {
            role: {cell_at(machine, self.axis, other, moved) for other, moved in near[role]}
            for role in every
        }
        cells = set().union(*live.values())
        in_sight = lambda role, axis: max((by[axis] for r, by in cells if r == role), default=0)
        self.sight = [in_sight(feed.role, feed.axis) for feed in prompts.feeds]
        """How far ahead an operand along another axis is seen."""
        if lines := prompts.lines:
            operand = in_sight(lines.link.cell[0], lines.axis)
            self.line_sight = operand, max(operand, in_sight(lines.sign[0], lines.axis))
        # Nothing stands ahead of the pen on another axis but signs and operands of the prompt.
        standing = [link.cell for chain in prompts.chains for link in chain]
        standing += [*prompts.everywhere, *(c for cells in prompts.before.values() for c in cells)]
        standing += [feed.cell(by) for feed, by in zip(prompts.feeds, self.sight, strict=True)]
        if lines:
            operand, sign = self.line_sight
            standing += [lines.cell(operand), lines.sign_cell(sign)]
        highest = np.array([moved for _, moved in standing]).max(axis=0, initial=0)
        # Roles that are seen now or later, wherever: operands that are still to come into sight.
        self.later = {role: {other for other, _ in near[role]} for role in every}
        while True:
            size = sum(map(len, live.values())) + sum(map(len, self.later.values()))
            for role, token in self.steps:
                self.later[role] |= self.later[int(machine.role[token])]
                for other, moved in list(live[int(machine.role[token])]):
                    cell = self._shift((other, moved), token, -1)
                    if (np.array(cell[1]) <= highest).all():
                        live[role].add(cell)
            if size == sum(map(len, live.values())) + sum(map(len, self.later.values())):
                return live

    def _shift(self, cell: Cell, token: int, sign: int = 1) -> Cell:
        """Return where a cell is when the pen has moved with a token; with -1, where it was."""
        role, moved = cell
        offset = self.machine.moves.offset[token]
        return cell_at(self.machine, self.axis, role, (np.array(moved) - sign * offset).tolist())

    def _check(self) -> None:
        """Raise UnprovableError for moves and windows that are not modelled."""
        machine, axis = self.machine, self.axis
        tokens = sorted({token for _, token in self.steps})
        home, offset = (part[tokens] for part in machine.moves)
        roles = {role for role, _ in self.steps}
        near = machine.neighbours(self.lister.windows)
        seen = {other for role in roles for other, _ in near[role]}
        # what a window sees of a line, not of all lines
        aside = [{role for role in seen if not machine.broadcast_mask[role, other]}
                 for other in range(len(machine.axes))]  # fmt: skip
        lines = self.prompts.lines
        operands = {lines.link.cell[0], lines.sign[0]} if lines else set()
        if lines and not lines.sign_placed and lines.sign[0] in seen:
            raise UnprovableError("the prompt has any number of operands")
        for other, name in enumerate(machine.axes):
            if other == axis:
                continue
            moves = bool(offset[:, other].any())
            self.widens |= moves
            if (offset[:, other] < 0).any():
                raise UnprovableError(f"it moves back along {name!r}, a second axis")
            if home[:, other].any() and (moves or self.prompts.line[other]):
                if lines is None or lines.axis != other or not aside[other] <= operands:
                    raise UnprovableError(f"it moves home along {name!r}, a second axis")
                self.returns = True
        if self.widens and not self.rows:
            raise UnprovableError("it writes rows, so its list must be long")
        if (home[:, axis] & (offset[:, axis] > 0)).any():
            raise UnprovableError("it moves home to a square among the operands")
        for role in roles:
            if any(abs(moved[axis]) > 1 for _, moved in near[role]):
                raise UnprovableError("a window reaches further than one square")

    def _alike(self, token: int) -> int:
        """Return the first token of the same role with the same move: they share their sweeps."""
        machine = self.machine
        if machine.broadcast_mask[machine.role[token], self.axis]:
            return token
        same = (machine.role == machine.role[token]) & (
            (machine.moves.home == machine.moves.home[token])
            & (machine.moves.offset == machine.moves.offset[token])
        ).all(axis=1)
        return int(np.argmax(same))

    def _begin(self) -> list[Key]:
        """Return the keys of prompts: by what of other lines is in sight."""
        prompts, keys = self.prompts, [Key(self._alike(self.prompts.pen), (), (), LinesSeen())]
        for number, (feed, sight) in enumerate(zip(prompts.feeds, self.sight, strict=True)):
            line = prompts.line[feed.axis]
            if line + sight < -1:
                raise UnprovableError("an operand along another axis comes into sight late")
            keys = [key._replace(feeds=(*key.feeds, frozenset([(0, False)]))) for key in keys]
            for at in range(-line, sight + 1):
                keys = [new for key in keys for new in self._fed(key, number, at)]
        if prompts.lines is not None:
            first = self._first_lines(prompts.line[prompts.lines.axis])
            keys = [key._replace(lines=lines) for key in keys for lines in first]
        everywhere = tuple(prompts.everywhere.items())
        return list(dict.fromkeys(self._seen(key, everywhere, prompts.role) for key in keys))

    def _first_lines(self, line: int) -> list[LinesSeen]:
        """Return what may be in sight of the first operands from this line."""
        operands, signs = (line + sight + 1 for sight in self.line_sight)
        if operands < 1:
            raise UnprovableError("an operand on another line comes into sight late")
        seen = []
        for count in range(1, signs + 1):
            fresh = [("first", -line)]
            fresh += [("operand", at - line) for at in range(1, min(count, operands))]
            fresh += [("sign", at - line) for at in range(1, count)]
            seen.append(LinesSeen(tuple(fresh), max(0, count - operands), count < signs))
        return seen

    def _next_line(self, lines: LinesSeen, behind: int) -> Iterator[LinesSeen]:
        """Yield what is known when another line has come into sight, so many lines ago."""
        operand, sign = (sight - behind for sight in self.line_sight)
        for further in (False,) if lines.ended else (False, True):
            count = lines.ahead + further
            fresh = lines.fresh + (("operand", operand),) * (count > 0)
            yield LinesSeen(fresh + (("sign", sign),) * further, max(0, count - 1), not further)

    def _fed(self, key: Key, number: int, at: int) -> list[Key]:
        """Return keys with the next digit of an operand, so many lines from the pen's."""
        feed = self.prompts.feeds[number]
        return [
            Key(
                key.token,
                key.everywhere + (((feed.cell(at), token),) if token >= 0 else ()),
                (*key.feeds[:number], after, *key.feeds[number + 1 :]),
                key.lines,
            )
            for token, after in self.prompts.following(feed, key.feeds[number]).items()
        ]

    def _seen(self, key: Key, more: Sequence[tuple[Cell, int]], role: int) -> Key:
        """Return a key with further tokens, without what a role and its followers do not see."""
        live = self.live[role]
        everywhere = sorted((cell, t) for cell, t in (*key.everywhere, *more) if cell in live)
        if len(dict(everywhere)) < len(everywhere):
            raise UnprovableError("a role is written twice on one square")
        feeds = (
            states if feed.role in self.later[role] else frozenset[State]()
            for feed, states in zip(self.prompts.feeds, key.feeds, strict=True)
        )
        return Key(key.token, tuple(everywhere), tuple(feeds), key.lines)

    def _sweep(self, sweeper: Sweeper, key: Key) -> Sweep:
        """Sweep over a language; again as long as missing windows can be recorded."""
        home, offset = (part[key.token, self.axis] for part in self.machine.moves)
        delta = -1 if offset < 0 and not home else 1
        roles = sweeper.roles(self.steps, key.token, delta)
        keep = np.zeros(self.paper.letters.rows.shape[1], bool)
        keep[[MARK, PEN]] = True
        if self.filled:
            keep[self._number_columns(self.in_step[key])] = True
        for role, token in self.steps:
            if role in roles and sweeper.kind[delta][token] == ENDS:
                for cell in self.live[int(self.machine.role[token])]:
                    keep[self.paper.cell.get(self._shift(cell, token, -1), PEN)] = True
        while True:
            everywhere = dict(key.everywhere)
            sweep = Sweep(sweeper, self.languages[key], delta, everywhere, roles, keep)
            sweep.run()
            self.lacking[key] = missing = list(sweep.missing)
            before = len(self.lister.table)
            self._record(key, sweep, [row for row in missing if row not in self.papers])
            if len(self.lister.table) == before:
                return sweep

    @property
    def open(self) -> set[Row]:
        """Windows that were met and are not in the list."""
        rows = list(set(chain.from_iterable(self.lacking.values())))
        return {row for row, listed in zip(rows, self._listed(rows), strict=True) if not listed}

    def _listed(self, rows: Sequence[Row]) -> np.ndarray:
        """Return which windows are in the list."""
        width = self.lister.table.rows.shape[1]
        return self.lister.table.find(np.array(rows, np.int32).reshape(-1, width)) >= 0

    def _record(self, key: Key, sweep: Sweep, missing: Sequence[Row]) -> None:
        """Record problems for missing windows, until each was recorded or cannot be."""
        for begin in range(0, len(missing), BATCH):
            batch = missing[begin : begin + BATCH]
            if time.thread_time() > self.until:
                raise UnprovableError("it takes too long")
            problems = set[Operands]()
            for row, listed in zip(batch, self._listed(batch), strict=True):
                word, state = sweep.missing[row]
                word = [*word, *sweep.words.shortest_end(state)]
                self.papers[row] = word[::-1] if sweep.delta < 0 else word
                # lines that the pen reads again are not traced back; `_seek` finds the problems
                skipped = listed or self.returns
                problem = None if skipped else self._problem(key, self.papers[row])
                problems |= set() if problem is None else {problem}
            if self.lister.program.draw is None:
                self.lister.add(sorted(problems))

    def _seek(self) -> None:
        """Record problems that are like the papers of missing windows, or the program's rare ones.

        A paper shows an operand along another axis only in part. Papers that were widened coarsely
        show windows that never occur, for which no rare problems are sought.
        """
        program, rng = self.lister.program, self.rng
        rare = bool(program.cases) and (self.fine or not self.widens)
        like = self._like if self.prompts.feeds else self._with_numbers_of
        spelled = bool(self.prompts.feeds or (self.prompts.lines and not self.prompts.chains))
        if program.draw is not None or not (spelled or rare):
            return
        for _ in range(ROUNDS):
            if not (missing := sorted(self.open)):
                return
            if time.thread_time() > self.until:
                raise UnprovableError("it takes too long")
            if spelled:
                papers = [self.papers[row] for row in missing]
                count = max(10, PROBLEMS // len(papers))
                problems = [like(paper) for paper in papers for _ in range(count)]
            else:
                # of at most LINES digits in the operand's base; cases count decimal ones
                most = [1 + int(LINES * math.log10(part.base)) for part in self.prompts.form.givens]
                cases = rng.choices([*program.cases.values()], k=PROBLEMS)
                problems = [case(rng, *(rng.randint(1, n) for n in most)) for case in cases]
            self.lister.add(problems)

    def _like(self, word: list[int]) -> Operands:
        """Return the operands that a paper shows, one digit changed, up to three more at the end.

        Those along other axes are any of many lines.
        """
        feeds, rng = self.prompts.feeds, self.rng
        numbers = self.prompts.operands(self.paper, word, [[]] * len(feeds), [])
        fed, operands = {feed.part.role for feed in feeds}, list[int]()
        for part, number in zip(self.prompts.form.givens, numbers, strict=True):
            more, base = part.base ** (LINES if part.role in fed else rng.randrange(4)), part.base
            place = base ** rng.randrange(len(to_digits(number, base)))
            number += (rng.randrange(base) - number // place % base) * place
            operands.append(number * more + rng.randrange(more))
        return tuple(operands)

    def _with_numbers_of(self, word: list[int]) -> Operands:
        """Return all numbers that a paper shows, in any order, as operands on lines."""
        (part,), rows = self.prompts.form.givens, self.paper.letters.rows[word]
        numbers = [
            self.prompts.number(part, rows[:, column])
            for column in self.paper.cell.values()
            if any(t >= 0 and self.machine.tokens[t].value is not None for t in rows[:, column])
        ]
        self.rng.shuffle(numbers)
        return tuple(numbers)

    def _problem(self, key: Key, word: list[int]) -> Operands | None:
        """Return the problem whose paper looks like this before a sweep, None if there is none."""
        waiting: list[tuple[tuple[Key, ...], list[int], list[list[int]]]] = [((key,), word, [])]
        tried = set[tuple[Key, tuple[int, ...]]]()
        while waiting and len(tried) < 100:
            path, word, lines = waiting.pop()
            if (path[0], tuple(word)) in tried:
                continue
            tried.add((path[0], tuple(word)))
            word, operands = self._without_lines(path[0], word)
            lines = operands + lines
            for origin, papers in self.origins[path[0]]:
                before: list[int] | None = word
                if origin is not None or len(self.origins[path[0]]) > 1:
                    before = papers.source_of([BLANK, *word, BLANK])
                if before is None:
                    continue
                if origin is None:
                    if self.prompts.lines is not None:  # any operands on lines not yet in sight
                        digits, ahead = self.prompts.lines.link.others[1:], path[-1].lines.ahead
                        lines += [[self.rng.choice(digits)] for _ in range(ahead)]
                    return self.prompts.operands(self.paper, before, self._digits(path), lines)
                waiting.append(((origin, *path), before, lines))
        return None

    def _without_lines(self, key: Key, word: list[int]) -> tuple[list[int], list[list[int]]]:
        """Return a paper without what of lines has come into sight, and its operands there."""
        if (lines := self.prompts.lines) is None:
            return word, []
        rows, operands = self.paper.letters.rows[word], list[list[int]]()
        for kind, at in key.lines.fresh:
            cell = lines.sign_cell(at) if kind == "sign" else lines.cell(at)
            column = self.paper.cell.get(cell)
            if kind != "sign":
                operands.append([] if column is None else rows[:, column].tolist())
            if column is not None:
                rows[:, column] = -1
        return self.paper.letters.number(rows).tolist(), operands

    def _digits(self, path: Sequence[Key]) -> list[list[int]]:
        """Return the digits of operands along other axes that came into sight along a way."""
        digits = list[list[int]]()
        for number, (feed, sight) in enumerate(zip(self.prompts.feeds, self.sight, strict=True)):
            tokens = list[int]()
            for place, key in enumerate(path):
                fresh = int(self.machine.moves.offset[key.token, feed.axis])
                if place == 0:
                    fresh = self.prompts.line[feed.axis] + sight + 1
                everywhere = dict(key.everywhere)
                tokens += [
                    everywhere.get(feed.cell(at), -1) for at in range(sight - fresh + 1, sight + 1)
                ]
            states = path[-1].feeds[number]
            while states and all(number >= 0 for number, _ in states):
                token, states = self.rng.choice([*self.prompts.following(feed, states).items()])
                tokens.append(token)
            digits.append(tokens)
        return digits

    def _move(
        self, key: Key, token: int, papers: Words
    ) -> tuple[Words, list[Key], frozenset[Cell]]:
        """Return what follows a token that ends a sweep.

        These are the papers and keys of the next sweep, and the cells that are in step in it.
        """
        machine, letters, cell = self.machine, self.paper.letters, self.paper.cell
        role, (home, offset) = int(machine.role[token]), machine.moves
        live = self.live[role]
        rows = np.full_like(letters.rows, -1)
        rows[:, [MARK, PEN]] = letters.rows[:, [MARK, PEN]]
        lines, operand = self.prompts.lines, -1
        if lines is not None:
            operand, returned = lines.link.cell[0], self.returns and home[token, lines.axis]
        numbers = self._numbers(self.in_step[key]) if self.filled else None
        in_step = set[Cell]()
        for to, number in cell.items():
            source = cell.get(self._shift(to, token, -1))
            if to not in live or source is None or (to[0] == operand and returned):
                continue
            rows[:, number] = letters.rows[:, source]
            if self._is_in_step(papers, source, numbers):
                in_step.add(to)
        if home[token, self.axis]:
            mark = self.paper.marks.index(int(offset[token, self.axis]))
            rows[:, PEN] = np.where(rows[:, MARK] == mark, token, -1)
        moved = papers.rewrite(letters.number(rows))
        if not home[token, self.axis]:
            moved = moved.move_pen(int(offset[token, self.axis]), token, letters)

        shifted = tuple((self._shift(at, token), other) for at, other in key.everywhere)
        keys = [Key(self._alike(token), shifted, key.feeds, key.lines)]
        for number, (feed, sight) in enumerate(zip(self.prompts.feeds, self.sight, strict=True)):
            for at in range(sight - int(offset[token, feed.axis]) + 1, sight + 1):
                keys = [new for old in keys for new in self._fed(old, number, at)]
        more = list[tuple[Cell, int]]()
        if machine.broadcast_mask[role, self.axis]:
            more.append((cell_at(machine, self.axis, role, [0] * len(machine.axes)), token))
        if lines is not None:
            line_states = [key.lines._replace(fresh=())]
            if returned:
                line_states = self._first_lines(int(offset[token, lines.axis]))
            elif {lines.link.cell[0], lines.sign[0]} & self.later[role]:
                for behind in reversed(range(int(offset[token, lines.axis]))):
                    line_states = [
                        new for old in line_states for new in self._next_line(old, behind)
                    ]
            keys = [new._replace(lines=seen) for new in keys for seen in line_states]
        keys = list(dict.fromkeys(self._seen(new, more, role) for new in keys))
        return moved, keys, frozenset(in_step)

    def _is_in_step(self, papers: Words, column: int, numbers: Mask | None) -> bool:
        """Whether the digits of a column stand on the squares of `numbers`, in each paper."""
        if numbers is None:
            return False
        return papers.alike(self.paper.letters.rows[:, column] >= 0, numbers, alike=False).empty

    @property
    def filled(self) -> bool:
        """Whether zeros fill up the operands on lines."""
        return self.prompts.lines is not None and self.prompts.lines.filled

    def _number_columns(self, in_step: Collection[Cell]) -> list[int]:
        """Return the columns of a letter with digits of operands on lines or of cells `in_step`."""
        lines, columns = self.prompts.lines, self.paper.cell.items()
        return [
            n for cell, n in columns if cell in in_step or (lines and cell[0] == lines.link.cell[0])
        ]

    def _numbers(self, in_step: Collection[Cell]) -> Mask:
        """Return the letters with such a digit."""
        columns = self._number_columns(in_step)
        return np.any(self.paper.letters.rows[:, columns] >= 0, axis=1)

    def _widened(self, papers: Words, in_step: Collection[Cell]) -> Words:
        """Return a language of papers; where they have rows, of these and others like them.

        Numbers `in_step` with operands that zeros fill up stay as long as each other.

        Widening keeps how numbers compare with an operand beside them: if all are less than k times
        the operand, so are those of the wider language, and likewise if none is less than it.
        """
        if not self.widens:
            return papers.language()
        wide = papers.widen(self.paper.letters, self.fine)
        for base, digits in self._numbers_beside_operands(papers):
            if not papers.where(digits, base, base, less=False).empty:
                continue
            factors = range(1, 1 + base)
            factor = next(f for f in factors if papers.where(digits, f, base, less=False).empty)
            wide = wide.where(digits, factor, base, less=True)
            if papers.where(digits, 1, base, less=True).empty:
                wide = wide.where(digits, 1, base, less=False)
        for cell in in_step if self.filled else ():
            digits = self.paper.letters.rows[:, self.paper.cell[cell]] >= 0
            wide = wide.alike(digits, self._numbers(in_step), alike=True)
        return wide.language()

    def _numbers_beside_operands(self, papers: Words) -> Iterator[tuple[int, Rows]]:
        """Yield the base of an operand, and for each letter a digit of a number and of that."""
        value = np.array([token.value or 0 for token in self.machine.tokens] + [0])
        values = value[self.paper.letters.rows]
        for links in self.prompts.chains:
            operand, part = self.paper.cell.get(links[0].cell), links[0].part
            if operand is None or len(links) > 1 or not isinstance(part, Given) or part.high_first:
                continue
            for column in self.paper.cell.values():
                if column != operand and values[papers.write, column].any():
                    yield part.base, values[:, [column, operand]]

    def _arrive(
        self, origin: Key | None, keys: Sequence[Key], papers: Words, in_step: Collection[Cell]
    ) -> list[Key]:
        """Enter papers that sweeps begin with; return the keys to which these were not known."""
        fresh, exact = list[Key](), papers.language()
        widened: dict[object, Words | None] = {}  # of known languages: many keys share one
        for key in keys:
            self.origins[key].append((origin, papers))
            before, still = self.bare.get(key), self.in_step.get(key, frozenset(in_step))
            both = still & frozenset(in_step)
            case = id(before), both
            if case not in widened:
                more = exact if before is None else Words.union([before, exact])
                is_old = before is not None and both == still and before.contains(exact)
                widened[case] = None if is_old else self._widened(more, both)
            if (language := widened[case]) is not None:
                self.bare[key], self.in_step[key] = language, both
                self.languages[key] = self.prompts.with_lines(
                    language, self.paper, key.lines.fresh, both
                )
                fresh.append(key)
        return fresh

    def evidence(self) -> dict[str, np.ndarray]:
        """Return all languages, which together show that no other window occurs.

        They hold all prompts, and what a sweep makes of a paper in one of them is in another one.

        `letters` has a row for each letter (see `words`), `edges` a row (language, state, letter,
        state) for each edge, `ends` (language, state, 0 for a first and 1 for a last one). `keys`
        is JSON: the axis, the marks, the cells behind mark and pen in a letter, and for each sweep
        its token, its tokens found from everywhere, its operands along other axes and on lines,
        cells in step with these, and its language, to which the lines that have just come into
        sight are to be added.
        """
        # the same language may belong to several keys
        languages = {id(words): words for words in self.bare.values()}
        numbers = {identity: number for number, identity in enumerate(languages)}
        letters = np.unique(np.concatenate([[BLANK], *(w.write for w in languages.values())]))
        edges, ends = list[np.ndarray](), list[tuple[int, int, int]]()
        for number, words in enumerate(languages.values()):
            which, letter = np.full(len(words.write), number), np.searchsorted(letters, words.write)
            edges.append(np.stack([which, words.source, letter, words.target], axis=1))
            for kind, states in enumerate((words.first, words.last)):
                ends += [(number, state, kind) for state in np.flatnonzero(states).tolist()]
        table = {
            "axis": self.axis,
            "marks": self.paper.marks,
            "cells": list(self.paper.cell),
            "keys": [
                {
                    "token": key.token,
                    "everywhere": key.everywhere,
                    "feeds": [sorted(states) for states in key.feeds],
                    "lines": key.lines,
                    "in_step": sorted(self.in_step[key]) if self.filled else [],
                    "language": numbers[id(language)],
                }
                for key, language in self.bare.items()
            ],
        }
        return {
            "letters": self.paper.letters.rows[letters].astype(np.int32),
            "edges": np.concatenate(edges).astype(np.int32),
            "ends": np.array(ends, np.int32),
            "keys": np.frombuffer(json.dumps(table).encode(), np.uint8),
        }
