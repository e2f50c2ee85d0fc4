"""The algorithm that a model has learned, read back from its windows as Python.

The next token of a certified model is a finite table with a row per window. `read_back` turns that
table into one short function per role, in two steps. First rows are divided into classes with one
formula each: a kind of token (its role, symbol and move), and its digit and carry in the digits of
the window. Formulas are of a small family:

    sum of terms                  the visible digits, times -1, 1 or 2; products of two digits
    (sum) % base, (sum) // base   with a constant
    (sum + (sum > c)) % base      with a carry that is a comparison

The shortest formula that fits all rows is taken; where none fits, the rows become a dictionary.
Then classes are distinguished, one `if` after another, by the fewest tests of the form "this square
is empty", "this digit is odd" and "a + b > digit".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.evaluation.results import CertifiedWindows
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.paper import HOME
from curta.training.windows import WindowRows, WindowTargets

TERMS = 4
"""Most terms of a sum."""

SAMPLE = 128
"""Rows on which a formula is tried before all rows."""

RowValues = Int[np.ndarray, " rows"]
RowMask = Bool[np.ndarray, " rows"]
Terms = dict[str, int]
"""A sum: factors by the names of columns."""


class Condition(NamedTuple):
    """A test of a window as Python, and the rows on which it holds."""

    text: str
    holds: RowMask
    compares: bool = False
    """Whether it compares digits of two cells."""


@dataclass(frozen=True)
class RoleRule:
    """What follows the tokens of one role, as the source of a Python function."""

    role: str
    source: str
    windows: int


HEADER = """# {title}
#
# After a token of each role: the one that is written next, and how the pen moves then.
# `last` is the digit or sign under the pen, `a` the digit of role a on its square, `a_1` one
# square on, `a_m1` one square back, `a_0_1` on the next row. Squares in `empty` count as 0, and
# so do those of `signs`, which has what stands there, where digits may stand too.
# Each function is equal to the model on every listed window of its role."""


def algorithm(machine: Machine, windows: Windows, certified: CertifiedWindows, member: int) -> str:
    """Return what a member of a certified run has learned as one Python text."""
    tokens = certified.token[member]
    wrong = int((tokens != certified.targets).sum())
    verdict = f"wrong on {wrong:,}" if wrong else "right on all"
    title = f"Member {member}, {verdict} of {len(tokens):,} windows"
    rules = read_back(machine, windows, certified.rows, tokens)
    texts = [f"# {rule.windows:,} windows\n{rule.source}" for rule in rules]
    return "\n\n\n".join([HEADER.format(title=title), *texts]) + "\n"


def read_back(
    machine: Machine, windows: Windows, rows: WindowRows, tokens: WindowTargets
) -> list[RoleRule]:
    """Return a function for each role that gives the `tokens` that follow the windows `rows`."""
    roles = machine.role[rows[:, 0]]
    return [
        _RoleTable(machine, windows, rows[roles == role], tokens[roles == role]).rule()
        for role in np.unique(roles).tolist()
    ]


class _RoleTable:
    """The windows of one role, their digits as columns, and the tokens that follow."""

    def __init__(self, machine: Machine, windows: Windows, rows: Any, tokens: Any) -> None:
        self.machine, self.role = machine, machine.tokens[rows[0, 0]].role
        near = windows.get(self.role, ())
        self.names = ["last", *neighbour_names(near)]
        self.roles = [self.role, *(role for role, _ in near)]
        self.rows = rows[:, : len(self.names)]
        values = [max(0, t.value or 0) for t in machine.tokens]
        columns = dict(zip(self.names, np.array([*values, 0])[self.rows].T, strict=True))
        carries = np.array([t.carry for t in machine.tokens])[rows[:, 0]]
        columns = {"last_carry": carries} | columns
        self.columns = {n: column for n, column in columns.items() if len(np.unique(column)) > 1}
        self.extra = {f"{name} % 2": column % 2 for name, column in self.columns.items()}
        for a, b in combinations(self.columns, 2):
            self.extra[f"{a} * {b}"] = self.columns[a] * self.columns[b]
        self.terms = self.columns | self.extra
        self.next_tokens = [machine.tokens[token] for token in tokens.tolist()]
        self.value = np.array([t.value or 0 for t in self.next_tokens])
        self.carry = np.array([t.carry for t in self.next_tokens])

    def rule(self) -> RoleRule:
        """Return the function of this role."""
        kinds = [
            (t.role, "" if t.value is not None else t.symbol, *t.move) for t in self.next_tokens
        ]
        classes = dict[str, RowMask]()
        for kind in dict.fromkeys(kinds):
            for source, rows in self._classes(np.array([other == kind for other in kinds])):
                classes[source] = classes.get(source, False) | rows
        body = list[str]()
        while len(classes) > 1:
            # the class that the fewest tests tell from all others, else the smallest one
            left = np.any([*classes.values()], axis=0)
            order = sorted(classes, key=lambda source: classes[source].sum())
            whole = {
                source: [tests]
                for source in order
                if (tests := self._tests_of(classes[source], left & ~classes[source])) is not None
            }
            source = min(whole or order[:1], key=lambda source: len(whole.get(source, [[]])[0]))
            ways, rows, alike = whole.get(source, []), classes[source], None
            todo = rows & (not ways)
            while todo.any() and alike is None:
                first = np.arange(len(rows)) == np.flatnonzero(todo)[0]
                tests = self._tests_of(rows, left & ~rows, first)
                if tests is None:
                    alike = left & _all([t for t in self.tests if t.holds[first].all()], len(rows))
                else:
                    ways.append(tests)
                    todo = todo & ~_all(tests, len(rows))
            if alike is not None:  # no test tells these apart
                classes = {source: rows & ~alike for source, rows in classes.items()}
                classes = {source: rows for source, rows in classes.items() if rows.any()}
                classes[self._tabulated(alike)] = alike
            else:
                body.append(f"    if {_any(ways)}:\n        return {source}")
                del classes[source]
        (source,) = classes
        text = "\n".join([*body, f"    return {source}"])
        words = set(re.findall(r"\w+", text))
        every = ("last", "last_carry", *self.names[1:], "empty", "signs")
        names = ", ".join(name for name in every if name in words)
        head = f"def after_{_identifier(self.role)}({names}):"
        return RoleRule(self.role, f"{head}\n{text}", len(self.rows))

    @cached_property
    def cell_tests(self) -> list[Condition]:
        """Tests of one cell: is it empty, and which symbol or carry does it have."""
        tests = [
            Condition(f"last_carry == {value}", self.columns["last_carry"] == value)
            for value in np.unique(self.columns.get("last_carry", [])).tolist()
        ]
        tokens = self.machine.tokens
        for name, role, cells in zip(self.names, self.roles, self.rows.T, strict=True):
            empty = cells == len(tokens)
            if empty.any() and not empty.all():
                tests += [Condition(f"{name!r} in empty", empty)]
                tests += [Condition(f"{name!r} not in empty", ~empty)]
            symbols = {tokens[cell].symbol for cell in set(cells[~empty].tolist())}
            symbols &= {token.symbol for token in tokens if token.value is None}
            alone = all(token.value is None for token in tokens if token.role == role)
            sign = name if alone else f"signs.get({name!r})"
            for symbol in sorted(symbols):
                same = [token.value is None and token.symbol == symbol for token in tokens]
                holds = np.array([*same, False])[cells]
                if not holds.all():
                    tests += [Condition(f"{sign} == {symbol!r}", holds)]
                    tests += [Condition(f"{sign} != {symbol!r}", ~holds)]
        return tests

    @cached_property
    def tests(self) -> list[Condition]:
        """All tests, simple ones first: of a cell, of odd digits, of two digits."""
        odd = [
            Condition(f"{name} % 2 == {value}", column % 2 == value)
            for name, column in self.columns.items()
            for value in (1, 0)
        ]
        pairs = [
            Condition(f"{a} {sign} {b}", compare(self.columns[a], self.columns[b]), True)
            for a, b in combinations(self.columns, 2)
            for sign, compare in (
                ("==", np.equal), ("!=", np.not_equal), (">", np.greater), ("<", np.less),
                (">=", np.greater_equal), ("<=", np.less_equal),
            )
        ]  # fmt: skip
        return [*self.cell_tests, *odd, *pairs]

    def _tests_of(
        self, mine: RowMask, others: RowMask, seed: RowMask | None = None
    ) -> list[Condition] | None:
        """Return few tests that hold together on all of `seed` and on none of `others`.

        The seed is `mine` by default, else a part, and as many of `mine` as possible are covered.
        None where no tests are enough.
        """
        tests = [test for test in self.tests if test.holds[mine if seed is None else seed].all()]
        chosen, left, covered = list[Condition](), others, mine
        while left.any():
            gain = [(left & ~test.holds).sum() * (covered & test.holds).sum() for test in tests]
            best = tests[int(np.argmax(gain))] if max(gain, default=0) else None
            # one comparison of sums says more than several of two digits
            if best is None or (best.compares and (left & best.holds).any()):
                best = self._comparison(covered, left) or best
            if best is None:
                return None
            chosen.append(best)
            left, covered = left & best.holds, covered & best.holds
        for test in list(chosen):
            fewer = [other for other in chosen if other is not test]
            if not (others & _all(fewer, len(mine))).any():
                chosen = fewer
        return chosen

    def _classes(self, mine: RowMask) -> list[tuple[str, RowMask]]:
        """Divide rows, all followed by one kind of token, into parts with one formula each.

        Two at most, told apart by a test of one cell; where that is not enough, one is a table.
        """
        if (source := self._written(mine)) is not None:
            return [(source, mine)]
        best: tuple[str, RowMask] | None = None
        for test in self.cell_tests:
            part, others = mine & test.holds, mine & ~test.holds
            if part.any() and others.any() and (source := self._written(part)) is not None:
                if (fallback := self._written(others)) is not None:
                    return [(source, part), (fallback, others)]
                if best is None or part.sum() > best[1].sum():
                    best = source, part
        others = mine if best is None else mine & ~best[1]
        return [*([best] if best else []), (self._tabulated(others), others)]

    def _written(self, mine: RowMask) -> str | None:
        """Return the token on these rows, all of one kind, as a formula; None if none fits."""
        token = self.next_tokens[np.flatnonzero(mine)[0]]
        same = [other for other in self.machine.tokens if other.role == token.role]
        bases = [max(other.value or 1 for other in of) + 1 for of in (self.machine.tokens, same)]
        value: str | None = repr(token.symbol)
        if token.value is not None:
            value = self._fit(self.value, mine, bases)
        carry = value and self._fit(self.carry, mine, [2])
        if carry is None:
            return None
        carries = "" if carry == "0" else f", carry={carry}"
        return f"write({token.role!r}, {self._steps(token.move)!r}, {value}{carries})"

    def _steps(self, move: Sequence[int]) -> str:
        """Return the move as `place+1`, or `place=-1` for a square counted from home."""
        return " ".join(
            f"{axis}={step - HOME}" if step > HOME // 2 else f"{axis}{step:+d}"
            for axis, step in zip(self.machine.axes, move, strict=True)
            if step
        )

    def _tabulated(self, mine: RowMask) -> str:
        """Return these rows as a dictionary from everything visible to the next token."""
        keys = [*self.columns.items()]
        keys += [
            (test.text, test.holds) for test in self.cell_tests if len(set(test.holds[mine])) > 1
        ]
        table = {}
        for row in np.flatnonzero(mine).tolist():
            token = self.next_tokens[row]
            value = token.symbol if token.value is None else token.value
            key = tuple(int(values[row]) for _, values in keys)
            table[key] = token.role, self._steps(token.move), value, token.carry
        return f"write(*{table}[{', '.join(text for text, _ in keys)},])"

    # Formulas: a sum of terms, and what can be made of it

    def _sums(self, most: int, extra: Sequence[str] = (), base: int = 0) -> Iterator[Terms]:
        """Yield sums of at most so many digits, short ones first; with one of `extra`, if any.

        A remainder may be times the base.
        """
        factors = [1, -1] if base == 2 else [1, -1, 2]
        for count in range(not extra, most + 1):
            for digits, added in product(combinations(self.columns, count), extra or [""]):
                names = [name for name in (*digits, added) if name]
                each = [[*factors, base] if "%" in name else factors for name in names]
                for signs in product(*each):
                    if signs.count(2) < 2:
                        yield dict(zip(names, signs, strict=True))

    def _total(self, terms: Terms, rows: Any = ...) -> RowValues:
        """Return a sum of terms on these rows, by default on all."""
        return sum((f * self.terms[name][rows] for name, f in terms.items()), np.array(0))

    def _fit(self, target: RowValues, mine: RowMask, bases: Sequence[int]) -> str | None:
        """Return the shortest formula for the target on these rows; None if there is none."""
        goal = target[mine]
        if (goal == goal[0]).all():
            return str(int(goal[0]))
        picked = np.flatnonzero(mine)
        sample = np.random.default_rng(0).choice(picked, min(SAMPLE, len(picked)), replace=False)
        for name, column in self.columns.items():
            if np.array_equal(column[mine], goal):
                return name
        if set(goal.tolist()) == {0, 1}:
            flag = self._comparison(mine & (target == 1), mine & (target == 0))
            if flag is not None:
                return f"int({flag.text})"
        for base in dict.fromkeys(bases):
            for most, extra in ((TERMS, ()), (2, (*self.extra,))):
                for terms in self._sums(most, extra, base):
                    formula = None
                    for rows in (sample, mine):
                        formula = _fitted(terms, self._total(terms, rows), target[rows], base)
                        if formula is None:
                            break
                    if formula is not None:
                        return formula
                if not extra and (formula := self._fit_carry(target, mine, sample, base)):
                    return formula
        return None

    def _fit_carry(self, target: RowValues, mine: RowMask, sample: Any, base: int) -> str | None:
        """Return `(sum + (comparison)) % base` for the target on these rows; None if none fits."""
        for terms in self._sums(TERMS, base=base):
            if len(np.unique((target[sample] - self._total(terms, sample)) % base)) != 2:
                continue
            remainder = (target - self._total(terms)) % base
            levels = np.unique(remainder[mine])
            if len(levels) != 2 or (levels[1] - levels[0]) % base not in (1, base - 1):
                continue
            low = levels[0] if levels[1] - levels[0] == 1 else levels[1]
            comparison = self._comparison(mine & (remainder != low), mine & (remainder == low))
            if comparison is not None:
                return f"({_sum(terms, int(low))} + ({comparison.text})) % {base}"
        return None

    def _comparison(self, high: RowMask, low: RowMask) -> Condition | None:
        """Return the shortest comparison that holds on all `high` rows and on no `low` ones."""
        few, many = (np.flatnonzero(side)[:: 1 + int(side.sum()) // 100] for side in (low, high))
        for terms in self._sums(3):
            if self._total(terms, few).max() < self._total(terms, many).min():
                total = self._total(terms)
                most, least = total[low].max(), total[high].min()
                if most < least:
                    limit = int(np.clip(0, most, least - 1))
                    return Condition(_compared(terms, limit), total > limit)
        return None


def _all(way: Sequence[Condition], count: int) -> RowMask:
    """Return the rows, of `count`, on which all conditions hold."""
    return np.all([np.ones(count, bool), *(test.holds for test in way)], axis=0)


def _any(ways: Sequence[Sequence[Condition]]) -> str:
    """Return `(a and b) or c`."""
    texts = [" and ".join(test.text for test in way) for way in ways]
    return " or ".join(f"({t})" if len(ways) > 1 and " and " in t else t for t in texts)


def _fitted(terms: Terms, total: RowValues, goal: RowValues, base: int) -> str | None:
    """Return the total plus a constant, plain, modulo the base or divided by it, if it fits."""
    left = goal - total
    if (left == left[0]).all():
        return _sum(terms, int(left[0]))
    if base > 1 and ((left - left[0]) % base == 0).all():
        return f"{_bracketed(_sum(terms, int(left[0]) % base))} % {base}"
    for divisor in dict.fromkeys((base, 2)):
        low = int((divisor * goal - total).max())
        high = int((divisor * goal + divisor - 1 - total).min())
        if low <= high:
            constant = min((0, low, high), key=lambda c: (not low <= c <= high, abs(c)))
            return f"{_bracketed(_sum(terms, constant))} // {divisor}"
    return None


def _bracketed(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def _sum(terms: Terms, constant: int = 0) -> str:
    """Return `a + b - digit + 9`."""
    pieces = list[tuple[bool, str]]()
    for name, factor in terms.items():
        times = f"{abs(factor)} * " if abs(factor) > 1 else ""
        pieces.append(
            (factor < 0, times + (f"({name})" if " % " in name and factor != 1 else name))
        )
    if constant:
        pieces.append((constant < 0, f"{abs(constant)}"))
    pieces.sort(key=lambda piece: piece[0])
    text = " ".join(f"{'-' if minus else '+'} {piece}" for minus, piece in pieces)
    return re.sub("^- ", "-", text.removeprefix("+ ")) or "0"


def _compared(terms: Terms, most: int) -> str:
    """Return `a + b > digit`: the sum is more than `most`, with terms where they are positive."""
    left = {name: factor for name, factor in terms.items() if factor > 0}
    right = {name: -factor for name, factor in terms.items() if factor < 0}
    if not left:
        return f"{_sum(right)} < {-most}"
    if most == -1:
        return f"{_sum(left)} >= {_sum(right)}"
    return f"{_sum(left, max(0, -most))} > {_sum(right, max(0, most))}"


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)


def neighbour_names(near: Sequence[tuple[str, Sequence[int]]]) -> list[str]:
    """Name neighbours as arguments: `a` on the same square, `a_1` one square on, `sum_1_m1`."""
    names = []
    for role, moved in near:
        steps = list(moved)
        while steps and not steps[-1]:
            steps.pop()
        names.append("_".join([_identifier(role), *(f"{s}".replace("-", "m") for s in steps)]))
    return names
