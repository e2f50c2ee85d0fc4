"""Is a list of windows complete? An attempt to prove it, by overlapping them step by step.

A text is made by the list itself: the last token's window is looked up, the token that follows
is written where its move says. The proof finds, for each role, a set of *views*: what may stand
around a token of that role when it has just been written (its window, a few squares more, and how
near the origin it is). If every window in these views is in the list, the list is complete: no
text of any length, from any prompt of the format, meets a window that is not in it.

**Why the views have everything that occurs.** By induction over the tokens of one text. The first
query stands behind the prompt; its views are all that the prompt's rules allow (`rules`), and
nothing is written yet. Say that the views hold what is around every token up to some token. Its
own window is in one of its views and in the list, so what is written next is known, and so is the
move. Around the new token

1. a square that the old view shows holds what it held, for one writing fills one square;
2. a square of the prompt holds anything that the rules allow beside what is known; a role that
   is given and written has the prompt's tokens on the prompt's squares and others elsewhere, and
   a proof in which one is written on such a square is given up;
3. any other square is empty, or holds a token that was written before; both are taken, unless
   moves alone exclude one (`order`), or unless a token that stands near it contradicts: when that
   token was written, its own view was in the set, and squares that were settled by then hold the
   same now. A square that was empty then and is settled now holds what following the token for
   some steps says that it came to hold (`chains`). Where its coordinates are known, some view
   has that token there.

After home it is not known how far the new token is from the old one. So views may have squares
given by a coordinate, near the origin: of these only whether anything stands on them is kept, which
is carried along like any other square, is certain where the token itself or a square that is
known stands there, and says after home whether a square of the new view is empty.

So the view of the new token is among those that are made from the views so far. The sets start
empty and grow until nothing new comes. Rule 3 compares with sets that still grow; a step that
depends on them is made again when they have grown, so at the end each step was made from all.

**A worked example.** In `21+43=46`, lowest digits first, the sign `=` stands before square 0 and
sees the digits 2 and 4 of square 0, which can be any two: 100 views. Each is a window in the list;
it says `6`, one square on. The old view shows 2 and 4 on the new token's own square. The digits
of the next place are fresh: any two, or none, so (6, 2, 4) alone has 121
views of the kind `6 2 4 1 3`. Those are windows, each says a next digit, and so on, until nothing
new comes: 36,399 windows.

**What it rests on.** A program writes after a window what it wrote after the same window in the
recorded problems, at every size; that no two recorded texts disagree is checked, that none ever
will is what *function of its window* means, and cannot be seen from outside. No square is written
twice for one role. Prompts are those of the format, any operands of any length; that a problem has
no answer (`refuse`) is not known here, so its prompt counts as well. Windows that views hold and
the list does not are `open`: some may never occur. A listed window that is in no view would be an
error of this argument or of its code; then nothing is proved.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.prompt import Format, Part, Sign
from curta.programs.machine.table import WindowTable, distinct
from curta.programs.proof.chains import Chains
from curta.programs.proof.order import Order, TooManyError
from curta.programs.proof.overlap import Overlap, Rows
from curta.programs.proof.rules import Grid, Rules, at_home
from curta.programs.proof.spelling import Speller
from curta.programs.proof.views import Coder, Parents, TooWideError, Views, Zones, layouts, shifted


class Care(NamedTuple):
    """How much a proof looks at."""

    steps: int = 0
    """How many tokens are followed to see what became of a square; none: nothing is kept."""
    prompt: bool = False
    """Whether what was seen of the prompt is kept too."""
    home: bool = False
    """Whether squares are given by their coordinates where a token goes home."""
    window: bool = True
    """Whether what the token before saw is kept too, and not only that token."""


CARE = (
    Care(),
    Care(0, home=True),
    Care(0, True),
    Care(1, home=True, window=False),
    Care(1),
    Care(1, home=True),
    Care(1, True),
    Care(2),
    Care(2, home=True),
    Care(4),
)
"""More care where less does not do."""


class Open(NamedTuple):
    """A window that the proof could not exclude and that is not in the list."""

    row: tuple[int, ...]
    operator: str
    operands: tuple[int, ...] | None
    """The problem that the way to it spells out; None if it spells none."""


@dataclass(frozen=True)
class Closure:
    """What came out of an attempt."""

    open: list[Open]
    reasons: list[str]
    """Why the attempt was given up, where it was."""
    views: int
    seconds: float

    @property
    def closed(self) -> bool:
        return not self.open and not self.reasons


def close(
    machine: Machine,
    windows: Windows,
    table: WindowTable,
    formats: dict[str, Format] | None = None,
    fewest: int = 1,
    care: Care = CARE[0],
    proofs: dict[str, "Proof"] | None = None,
    until: float = math.inf,
) -> Closure:
    """Tries to prove that every window that can occur is in the table; see the module.

    `proofs` keeps the views between two attempts with a table that grew; `until` is when it is
    given up. Listed windows do occur: views that lack one that nothing else explains are wrong.
    """
    proofs = {} if proofs is None else proofs
    begin, opened, reasons, views = time.thread_time(), [], [], 0
    reached = np.zeros(len(table), bool)
    for operator, format in (formats or machine.formats).items():
        try:
            proof = proofs.get(operator)
            if proof is None or not proof.holds():
                rules = Rules(machine, format, fewest)
                proof = proofs[operator] = Proof(machine, windows, table, rules, care, until)
            proof.order.until = until
            proof.run()
        except (TooManyError, TooWideError, UnprovableError) as error:
            reasons.append(f"{operator}: {error}")
            continue
        opened += [Open(row, operator, operands) for row, operands in proof.opened()]
        reached |= proof.reached
        views += sum(len(mine.rows) for mine in proof.views.values())
    if not opened and not reasons and formats is not None and not reached.all():
        reasons.append("a listed window is in no view")
    spent = time.thread_time() - begin
    return Closure(opened, reasons, views, spent)


class UnprovableError(RuntimeError):
    """A machine to which the argument does not apply, and why."""


class Proof:
    """All views that may occur in texts of one format, to a fixed point."""

    def __init__(
        self,
        machine: Machine,
        windows: Windows,
        table: WindowTable,
        rules: Rules,
        care: Care = CARE[0],
        until: float = math.inf,
    ) -> None:
        self.machine, self.table, self.rules = machine, table, rules
        far = max((abs(x) for mine in windows.values() for _, d in mine for x in d), default=1)
        box = max(1, far)
        step = int(np.abs(machine.moves.offset).max())
        self._check()
        reach, places = 1 + 2 * box + step, frozenset(rules.places)
        self.order = Order(machine, table, _given(machine, table), reach, places, until)
        sign = rules.format.parts[-1]
        assert isinstance(sign, Sign)
        start = machine.role_numbers[sign.name]
        sign_at = rules.places[start]
        anchor = (start, () if sign_at.behind else sign_at.sign or ())
        filled = [r for r, lies in rules.places.items() if lies.group in rules.filled]
        laid = layouts(machine, windows, self.order, box, care, anchor, min(filled, default=-1))
        zones = _zones(rules, 1 + box + (box + step) * care.home)
        columns = {role: len(mine.cells) + len(machine.axes) for role, mine in laid.items()}
        self.views = {
            role: Views(mine, np.zeros((0, columns[role]), np.int32)) for role, mine in laid.items()
        }
        coder = Coder(machine, zones)
        plain = Overlap(machine, table, rules, self.order, zones, coder, self.views, start)
        self.chains = Chains(plain, care.steps)
        self.step = replace(plain, chains=self.chains) if care.steps else plain
        self._leaning = {
            role: {t for mine, t in self.order.edges if mine == role and self._leans(role, t)}
            for role in laid
        }
        self._reached_first: dict[int, int] = {}
        """Roles, numbered in the order in which they were reached."""
        self.reached = np.zeros(len(table), bool)
        self._numbers = {role: np.zeros(0, np.int64) for role in laid}
        """For each view the number of its window in the table, -1 for one that is not there."""
        self._again = {role: np.zeros(0, np.int64) for role in laid}
        self._done, self._at = dict.fromkeys(laid, 0), dict.fromkeys(laid, -1)

    def _check(self) -> None:
        if not isinstance(self.rules.format.parts[-1], Sign):
            raise UnprovableError("the prompt does not end with a sign")
        named = [name for part in self.rules.format.parts for name in _names(part)]
        if len(set(named)) < len(named):
            raise UnprovableError("two parts of the prompt have one role")
        if self.rules.format.axes != self.machine.axes:
            raise UnprovableError("the format has other axes than the machine")
        if self.rules.unknown:
            raise UnprovableError(f"the prompt has {self.rules.unknown}")
        if self.table.conflicts:
            raise UnprovableError("a window with two different next tokens")

    def holds(self) -> bool:
        """Whether the table has no moves that were not known when this began."""
        now = Order(self.machine, self.table, self.order.given, self.order.reach)
        return now.edges == self.order.edges and not self.table.conflicts

    def run(self) -> None:
        """From the first query on, until nothing new comes."""
        if not self._reached_first:
            self._start()
        self._look_again()
        while True:
            total = sum(len(views.rows) for views in self.views.values())
            fresh = [r for r, v in self.views.items() if self._done[r] < len(v.rows)]
            fresh += [role for role, again in self._again.items() if len(again)]
            leaning = [role for role in self.views if self._leaning[role]]
            old = [role for role in leaning if self._at[role] != total]
            if not fresh and not old:
                return
            role = min(fresh or old, key=lambda r: self._reached_first.get(r, len(self.views)))
            if not fresh:
                self._at[role] = total
            self._advance(role, self._done[role], not fresh)

    def _start(self) -> None:
        """The views of the prompt's last sign: nothing is written yet."""
        role = self.step.start
        token = self.rules.candidates(role)[:1].astype(np.int32)
        lies = self.rules.places[role]
        at = lies.sign or ()
        last = self.step.zones.high if lies.behind else at[lies.along]
        rows = np.tile([*token, *at], (last - at[lies.along] + 1, 1)).astype(np.int32)
        rows[:, len(token) + lies.along] += np.arange(len(rows))
        layout = self.views[role].layout
        begun = Rows(layout.cells[:1], rows, np.zeros(len(rows), np.int64))
        found = self.step.complete(layout, begun, first=True).values
        self._enter(role, found, np.full((len(found), 2), -1))

    def _enter(self, role: int, rows: Grid, parents: Parents) -> None:
        """Adds views of a role; raises UnprovableError for one on a square of the prompt."""
        if len(rows):
            self._reached_first.setdefault(role, len(self._reached_first))
        at = rows[:, -len(self.machine.axes) :]
        if role != self.step.start and self.rules.inside(role, at).any():
            raise UnprovableError("something is written on squares of the prompt")
        codes = self.step.coder.code(rows, self.views[role].layout.cells)
        self.views[role].add(rows, codes, parents)

    def _leans(self, role: int, token: int) -> bool:
        """Whether what is around a token also follows from what was written there before."""
        layout, to = self.views[role].layout, self.views[int(self.machine.role[token])].layout
        if role == self.step.start:
            return False
        for cell in to.cells[1:]:
            earlier = shifted(self.machine, cell, token)
            known = earlier is not None and layout.column(earlier) is not None
            known &= at_home(cell) == at_home(earlier)
            if not known and cell[0] not in self.order.given and self.order.before(to.role, cell):
                return True
        return False

    def _look_again(self) -> None:
        """Windows that were not in the table before and are now go on like new ones."""
        for role, number in self._numbers.items():
            lacking = np.flatnonzero(number < 0)
            shown = self.step.window(role, self.views[role].rows[lacking])
            number[lacking] = self.table.find(shown)
            self._again[role] = lacking[number[lacking] >= 0]
        self.reached = np.zeros(len(self.table), bool)
        for number in self._numbers.values():
            self.reached[number[number >= 0]] = True

    def _advance(self, role: int, first: int, all_: bool) -> None:
        """The views after a role's new views; or, where what is made leans on others, after all."""
        rows = self.views[role].rows
        again, self._again[role] = self._again[role], np.zeros(0, np.int64)
        self._done[role] = len(rows)
        if self.machine.roles[role].name == "end":
            return
        number = self.table.find(self.step.window(role, rows[first:]))
        self._numbers[role] = number = np.concatenate([self._numbers[role], number])
        self.reached[number[number >= 0]] = True
        targets = np.append(self.table.targets, -1)[number]
        new = np.concatenate([again, np.arange(first, len(rows))])
        for token in np.unique(targets[targets >= 0]).tolist():
            chosen = np.arange(len(rows)) if all_ and token in self._leaning[role] else new
            mine = chosen[targets[chosen] == token]
            if len(mine):
                made = self.step.after(role, rows[mine], token)
                before = mine[made.source]
                parents = np.stack([np.full_like(before, role), before], axis=1)
                self._enter(int(self.machine.role[token]), made.values, parents)

    @cached_property
    def _speller(self) -> Speller:
        return Speller(self.rules, {r: views.layout.cells for r, views in self.views.items()})

    def opened(self) -> list[tuple[tuple[int, ...], tuple[int, ...] | None]]:
        """The windows that are not in the list, each once, and the problem that leads to it."""
        found = []
        for role, number in self._numbers.items():
            index = np.flatnonzero(number < 0)
            if len(index):
                shown = self.step.window(role, self.views[role].rows[index])
                first, _ = distinct(shown)
                for row, place in zip(shown[first].tolist(), index[first].tolist(), strict=True):
                    found.append((tuple(row), self.spell(role, place)))
        return found

    def spell(self, role: int, place: int) -> tuple[int, ...] | None:
        """The problem that the views on the way to a view show piece by piece."""
        way = []
        while place >= 0:
            way.append((role, self.views[role].rows[place].tolist()))
            role, place = self.views[role].parents[place].tolist()
        at, shown = np.array(way[-1][1][-len(self.machine.axes) :]), []
        for step, (of, row) in enumerate(reversed(way)):
            at = self.machine.advance(at, np.array(row[0])) if step else at
            shown.append((of, row, at.tolist()))
        return self._speller.operands(shown)


def _given(machine: Machine, table: WindowTable) -> frozenset[int]:
    """The roles that only prompts have."""
    written = set(machine.role[table.targets].tolist())
    return frozenset(
        number
        for number, role in enumerate(machine.roles)
        if any(role.name in _roles(format) for format in machine.formats.values())
        and number not in written
    )


def _zones(rules: Rules, margin: int) -> Zones:
    """Coordinates that count exactly: those of the prompt's signs, and as many more around."""
    signs = [x for lies in rules.places.values() for x in lies.sign or (0,)]
    lines = [rules.fewest for lies in rules.places.values() if lies.line is not None] or [0]
    return Zones(min(signs) - margin, max(*signs, *lines) + margin)


def _roles(format: Format) -> set[str]:
    return {name for part in format.parts for name in _names(part)}


def _names(part: Part) -> tuple[str, ...]:
    """The roles of a part of a prompt."""
    if isinstance(part, Sign):
        return (part.name,)
    return (part.role, *(f"{part.role} {kind}" for kind in ("between", "gap")))
