"""The algorithm that a model has learned, read back from its windows as Python.

The next token of a certified model is a finite table with a row per window. `read_back` turns that
table into one short function per role, and checks each function against every row. A function
first decides which kind of token follows (its role, symbol and move), by tests of the form "this
square is empty" and "a + b > digit". Digits and carries are formulas of a small family:

    sum of terms                  the visible digits, times -1, 1 or 2; products of two digits
    (sum) % base, (sum) // base   with a constant
    (sum + (sum > c)) % base      with a carry that is a comparison

The shortest formula that fits all rows is taken; where none fits, the rows become a dictionary.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.paper import HOME

TERMS = 4
"""Most terms of a sum."""

SAMPLE = 128
"""Rows on which a formula is tried before all rows."""

DEPTH = 8
"""Most tests on the way to a kind of token."""

RowValues = Int[np.ndarray, " rows"]
RowMask = Bool[np.ndarray, " rows"]


class TokenKind(NamedTuple):
    """The traits of a token other than digit and carry; `symbol` is None for digits."""

    role: str
    symbol: str | None
    move: tuple[int, ...]


class Condition(NamedTuple):
    """A test of a window as Python, and the rows on which it holds."""

    text: str
    holds: RowMask


@dataclass(frozen=True)
class RoleRule:
    """What follows the tokens of one role, as the source of a Python function."""

    role: str
    source: str
    windows: int
    tabulated: int
    """Windows that no formula covers, so that a dictionary lists them."""


HEADER = """# {title}
#
# After a token of each role: the one that is written next, and how the pen moves then.
# `last` is the digit or sign under the pen, `a` the digit of role a on its square, `a_1` one
# square on, `a_m1` one square back, `a_0_1` on the next row. Squares in `empty` count as 0, and
# so do those of `signs`, which has what stands there, where digits may stand too.
# Each function is equal to the model on every listed window of its role."""


def algorithm(title: str, rules: Sequence["RoleRule"]) -> str:
    """Return the functions of all roles as one Python text."""
    texts = [f"# {rule.windows:,} windows\n{rule.source}" for rule in rules]
    return "\n\n\n".join([HEADER.format(title=title), *texts]) + "\n"


def read_back(
    machine: Machine,
    windows: Windows,
    rows: Int[np.ndarray, "windows cells"],
    tokens: Int[np.ndarray, " windows"],
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
        self.machine, self.rows, self.tokens = machine, rows, tokens
        self.role = machine.tokens[rows[0, 0]].role
        near = windows.get(self.role, ())
        self.names = ["last", *neighbour_names(near)]
        self.roles = [self.role, *(role for role, _ in near)]
        self.rows = rows[:, : len(self.names)]
        values = [t.value if t.value is not None else -1 for t in machine.tokens]
        value = np.array([*values, -1])[self.rows]
        self.columns = {"last_carry": np.array([t.carry for t in machine.tokens])[self.rows[:, 0]]}
        self.columns |= dict(zip(self.names, np.maximum(value, 0).T, strict=True))
        self.columns = {
            name: column for name, column in self.columns.items() if len(np.unique(column)) > 1
        }
        nexts = [machine.tokens[token] for token in self.tokens.tolist()]
        self.kinds = [
            TokenKind(t.role, t.symbol if t.value is None else None, tuple(t.move)) for t in nexts
        ]
        self.value = np.array([t.value if t.value is not None else 0 for t in nexts])
        self.carry = np.array([t.carry for t in nexts])

    @cached_property
    def tests(self) -> list[Condition]:
        """Tests of one cell: is it empty, and which symbol or carry does it have."""
        tests = [
            Condition(f"last_carry == {value}", self.columns["last_carry"] == value)
            for value in np.unique(self.columns.get("last_carry", [])).tolist()
        ]
        for name, role, cells in zip(self.names, self.roles, self.rows.T, strict=True):
            empty = cells == len(self.machine.tokens)
            if empty.any() and not empty.all():
                tests.append(Condition(f"{name!r} in empty", empty))
                tests.append(Condition(f"{name!r} not in empty", ~empty))
            there = [self.machine.tokens[cell] for cell in set(cells[~empty].tolist())]
            symbols = {token.symbol for token in there if token.value is None}
            alone = all(t.value is None for t in self.machine.tokens if t.role == role)
            sign = name if alone else f"signs.get({name!r})"
            for symbol in sorted(symbols):
                same = [t.value is None and t.symbol == symbol for t in self.machine.tokens]
                holds = np.array([*same, False])[cells]
                if not holds.all():
                    tests.append(Condition(f"{sign} == {symbol!r}", holds))
                    tests.append(Condition(f"{sign} != {symbol!r}", ~holds))
        return tests

    @cached_property
    def remainders(self) -> list[Condition]:
        """Tests for odd digits."""
        return [
            Condition(f"{name} % 2 == {odd}", column % 2 == odd)
            for name, column in self.columns.items()
            if column.max() > 1
            for odd in (1, 0)
        ]

    @cached_property
    def pairs(self) -> list[Condition]:
        """Comparisons of two digits; an empty square counts as 0."""
        return [
            Condition(f"{a} {sign} {b}", compare(self.columns[a], self.columns[b]))
            for a, b in itertools.combinations(self.columns, 2)
            for sign, compare in (("==", np.equal), (">", np.greater), ("<", np.less))
        ]

    def rule(self) -> RoleRule:
        """Return the function of this role."""
        everything = np.ones(len(self.rows), bool)
        ways: dict[TokenKind | None, list[list[Condition]]] = {}
        for kind, tests in self._paths(everything, []):
            ways.setdefault(kind, []).append(tests)
        branches, tabulated = list[tuple[list[list[Condition]], str]](), 0
        for kind, alternatives in ways.items():
            mine = np.array([row_kind == kind for row_kind in self.kinds])
            source = None if kind is None else self._written(kind, mine)
            if source is not None:
                branches.append((alternatives, source))
                continue
            for way in alternatives:
                for tests, source, count in self._split(kind, way):
                    branches.append(([tests], source))
                    tabulated += count
        merged = dict[str, list[list[Condition]]]()
        for alternatives, source in branches:
            merged.setdefault(source, []).extend(alternatives)
        branches = [(alternatives, source) for source, alternatives in merged.items()]
        branches.sort(key=lambda branch: (len(branch[0]), -len(branch[0][0])))
        body, left = list[str](), np.ones(len(self.rows), bool)
        for alternatives, source in branches[:-1]:
            shorter = _simplified(alternatives, left, [*self.tests, *self.pairs])
            body.append(f"    if {_any(shorter)}:\n        return {source}")
            left &= ~np.any([_all(way, len(left)) for way in alternatives], axis=0)
        body.append(f"    return {branches[-1][1]}")
        text = "\n".join(body)
        words = set(re.findall(r"\w+", text))
        names = [
            name
            for name in ("last", "last_carry", *self.names[1:], "empty", "signs")
            if name in words
        ]
        head = f"def after_{_identifier(self.role)}({', '.join(names)}):"
        return RoleRule(self.role, f"{head}\n{text}", len(self.rows), tabulated)

    def _written(self, kind: TokenKind, mine: RowMask) -> str | None:
        """Return the token on these rows, all of one kind, as a formula; None if none fits."""
        same = [token for token in self.machine.tokens if token.role == kind.role]
        bases = [max(token.value or 1 for token in of) + 1 for of in (self.machine.tokens, same)]
        value = repr(kind.symbol) if kind.symbol else self._fit(self.value, mine, bases)
        carry = value and self._fit(self.carry, mine, [2])
        if carry is None:
            return None
        carries = "" if carry == "0" else f", carry={carry}"
        return f"write({kind.role!r}, {self._steps(kind.move)!r}, {value}{carries})"

    def _split(
        self, kind: TokenKind | None, way: list[Condition], depth: int = 2
    ) -> list[tuple[list[Condition], str, int]]:
        """Return formulas for rows that one formula does not fit, told apart by more tests.

        Each has its tests, its source and the number of rows in its dictionary, 0 for a formula.
        """
        mine = _all(way, len(self.rows))
        source = None if kind is None else self._written(kind, mine)
        if source is not None:
            return [(way, source, 0)]
        best = [(way, self._tabulated(mine), int(mine.sum()))]
        if kind is None:
            return best
        for test in self.tests if depth else ():
            if 0 < np.sum(test.holds & mine) < np.sum(mine):
                sides = [
                    leaf
                    for side in (test, _opposite(test))
                    for leaf in self._split(kind, [*way, side], depth - 1)
                ]
                if sum(leaf[2] for leaf in sides) < sum(leaf[2] for leaf in best):
                    best = sides
            if not sum(leaf[2] for leaf in best):
                break
        return best

    def _steps(self, move: Sequence[int]) -> str:
        """Return the move as `place+1`, or `place=-1` for a square counted from home."""
        steps = []
        for axis, step in zip(self.machine.axes, move, strict=True):
            if step > HOME // 2:
                steps.append(f"{axis}={step - HOME}")
            elif step:
                steps.append(f"{axis}{step:+d}")
        return " ".join(steps)

    def _paths(
        self, mine: RowMask, before: list[Condition]
    ) -> Iterator[tuple[TokenKind | None, list[Condition]]]:
        """Yield the kinds of token that follow, each with the tests that lead there.

        None stands for rows of several kinds that no test tells apart.
        """
        kinds = {self.kinds[row] for row in np.flatnonzero(mine).tolist()}
        if len(kinds) == 1:
            yield kinds.pop(), before
            return
        test = self._separating(mine, kinds) if len(before) < DEPTH else None
        if test is None:
            yield None, before
            return
        opposite = _opposite(test)
        yield from self._paths(mine & test.holds, [*before, test])
        yield from self._paths(mine & ~test.holds, [*before, opposite])

    def _separating(self, mine: RowMask, kinds: set[TokenKind]) -> Condition | None:
        """Return the test that separates one kind from all others, else the most informative."""
        number = {kind: n for n, kind in enumerate(sorted(kinds, key=str))}
        kind = np.array([number.get(row_kind, -1) for row_kind in self.kinds])
        pure = [
            test
            for test in [*self.tests, *self.remainders, *self.pairs]
            if any(np.array_equal(test.holds[mine], kind[mine] == n) for n in number.values())
        ]
        if pure:
            return pure[0]
        for n in number.values():
            comparison = self._comparison(kind == n, mine)
            if comparison is not None:
                return comparison
        tests = [*self.tests, *self.remainders, *self.pairs]
        useful = [test for test in tests if 0 < np.sum(test.holds & mine) < np.sum(mine)]
        if not useful:
            return None
        return min(useful, key=lambda test: _entropy(kind, mine, test.holds))

    def _comparison(self, goal: RowMask, mine: RowMask) -> Condition | None:
        """Return the shortest comparison that holds exactly on the `goal` rows of `mine`."""
        low, high = mine & ~goal, mine & goal
        few, many = (np.flatnonzero(side)[:: 1 + int(side.sum()) // 100] for side in (low, high))
        for names, signs in self._sums(3):
            if self._total(names, signs, few).max() >= self._total(names, signs, many).min():
                continue
            total = self._total(names, signs)
            most, least = total[low].max(), total[high].min()
            if most < least:
                limit = int(np.clip(0, most, least - 1))
                return Condition(_compared(names, signs, limit), total > limit)
        return None

    def _sums(
        self, terms: int, derived: str = "", base: int = 0
    ) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the terms of sums with their factors, short ones first.

        `derived` sums have one more kind of term: a product of two digits, or a digit's remainder
        by 2, which may be times the base.
        """
        plain = list(self.columns)
        factors = [1, -1] if base == 2 else [1, -1, 2]
        extra: list[str | None] = [None]
        if derived == "products":
            extra = [f"{a} * {b}" for a, b in itertools.combinations(plain, 2)]
        if derived == "remainders":
            extra = [f"{name} % 2" for name in plain]
        for count in range(bool(not derived), terms + 1):
            for chosen, added in itertools.product(itertools.combinations(plain, count), extra):
                names = [*chosen, *([added] if added else [])]
                each = [[*factors, base] if " % " in name else factors for name in names]
                for signs in itertools.product(*each):
                    if signs.count(2) < 2:
                        yield names, list(signs)

    def _total(self, names: Sequence[str], signs: Sequence[int], rows: Any = ...) -> RowValues:
        """Return a sum of terms on these rows, by default on all."""
        total: Any = 0
        for name, sign in zip(names, signs, strict=True):
            first, _, divisor = name.partition(" % ")
            factors = [self.columns[part][rows] for part in first.split(" * ")]
            term = np.prod(factors, axis=0)
            total = total + sign * (term % int(divisor) if divisor else term)
        return total

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
        flag = self._comparison(target == 1, mine) if set(goal.tolist()) == {0, 1} else None
        if flag is not None:
            return f"int({flag.text})"
        for base, derived in itertools.product(
            dict.fromkeys(bases), ("", "remainders", "products")
        ):
            for names, signs in self._sums(TERMS if not derived else 2, derived, base):
                formula = None
                for rows in (sample, mine):
                    total, goal_rows = self._total(names, signs, rows), target[rows]
                    formula = _fitted(names, signs, total, goal_rows, base)
                    if formula is None:
                        break
                if formula is not None:
                    return formula
            for names, signs in self._sums(TERMS, base=base) if not derived else ():
                left = (target[sample] - self._total(names, signs, sample)) % base
                if len(np.unique(left)) != 2:
                    continue
                left = (target - self._total(names, signs)) % base
                levels = np.unique(left[mine])
                if len(levels) != 2 or (levels[1] - levels[0]) % base not in (1, base - 1):
                    continue
                low = levels[0] if levels[1] - levels[0] == 1 else levels[1]
                comparison = self._comparison(left != low, mine)
                if comparison is not None:
                    terms = [_sum(names, signs, int(low)), f"({comparison.text})"]
                    return f"({' + '.join(terms)}) % {base}"
        return None

    def _tabulated(self, mine: RowMask) -> str:
        """Return these rows as a dictionary from everything visible to the next token."""
        keys = [*self.columns.items()]
        keys += [(test.text, test.holds) for test in self.tests if len(set(test.holds[mine])) > 1]
        table = {}
        for row in np.flatnonzero(mine).tolist():
            kind = self.kinds[row]
            value = int(self.value[row]) if kind.symbol is None else kind.symbol
            next_token = kind.role, self._steps(kind.move), value, int(self.carry[row])
            table[tuple(int(values[row]) for _, values in keys)] = next_token
        return f"write(*{table}[{', '.join(text for text, _ in keys)},])"


def _all(way: Sequence[Condition], count: int) -> RowMask:
    """Return the rows, of `count`, on which all conditions hold."""
    return np.all([np.ones(count, bool), *(test.holds for test in way)], axis=0)


def _simplified(
    ways: Sequence[Sequence[Condition]], left: RowMask, tests: Sequence[Condition]
) -> list[list[Condition]]:
    """Return fewer tests and ways for the same rows among those that are left."""
    goal = left & np.any([_all(way, len(left)) for way in ways], axis=0)
    shorter = []
    for way in ways:
        rows = _all(way, len(left)) & left
        short = list(way)
        for test in way:
            fewer = [other for other in short if other is not test]
            if fewer and not (_all(fewer, len(left)) & left & ~goal).any():
                short = fewer
        same = [test for test in tests if np.array_equal(test.holds & left, rows)]
        shorter.append(same[:1] if same and len(short) > 1 else short)
    for way in sorted(shorter, key=len, reverse=True):
        others = [other for other in shorter if other is not way]
        if others and (np.any([_all(o, len(left)) for o in others], axis=0) >= goal).all():
            shorter = others
    return shorter


def _any(ways: Sequence[Sequence[Condition]]) -> str:
    """Return `(a and b) or c`."""
    texts = [" and ".join(test.text for test in way) or "True" for way in ways]
    several = len(ways) > 1
    return " or ".join(f"({t})" if several and " and " in t else t for t in texts)


def _fitted(
    names: Sequence[str], signs: Sequence[int], total: RowValues, goal: RowValues, base: int
) -> str | None:
    """Return the total plus a constant, plain, modulo the base or divided by it, if it fits."""
    left = goal - total
    if (left == left[0]).all():
        return _sum(names, signs, int(left[0]))
    if base > 1 and ((left - left[0]) % base == 0).all():
        return f"{_bracketed(_sum(names, signs, int(left[0]) % base))} % {base}"
    for divisor in dict.fromkeys((base, 2)):
        low = int((divisor * goal - total).max())
        high = int((divisor * goal + divisor - 1 - total).min())
        if low <= high:
            constant = 0 if low <= 0 <= high else low if abs(low) < abs(high) else high
            text = _sum(names, signs, constant)
            return f"{_bracketed(text)} // {divisor}"
    return None


def _bracketed(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def _sum(names: Sequence[str], signs: Sequence[int], constant: int) -> str:
    """Return `a + b - digit + 9`."""
    pieces = [
        ("-" if sign < 0 else "+", (f"{abs(sign)} * " if abs(sign) > 1 else "") + _term(name, sign))
        for name, sign in zip(names, signs, strict=True)
    ]
    if constant:
        pieces.append(("-" if constant < 0 else "+", f"{abs(constant)}"))
    pieces.sort(key=lambda piece: piece[0] == "-")
    text = " ".join(f"{sign} {piece}" for sign, piece in pieces)
    return re.sub("^- ", "-", text.removeprefix("+ ")) or "0"


def _term(name: str, factor: int) -> str:
    return f"({name})" if " % " in name and factor != 1 else name


def _compared(names: Sequence[str], signs: Sequence[int], most: int) -> str:
    """Return `a + b > digit`, with terms on the side where they are positive."""
    left = [(n, s) for n, s in zip(names, signs, strict=True) if s > 0]
    right = [(n, -s) for n, s in zip(names, signs, strict=True) if s < 0]
    sides = [_sum([n for n, _ in side], [s for _, s in side], 0) for side in (left, right)]
    if not left:
        return f"{sides[1]} < {-most}"
    if most == -1:
        return f"{sides[0]} >= {sides[1]}"
    if most < 0:
        return f"{sides[0]} + {-most} > {sides[1]}"
    if most and right:
        sides[1] = f"{sides[1]} + {most}"
    return f"{sides[0]} > {sides[1] if right else most}"


def _opposite(test: Condition) -> Condition:
    """Return the condition that holds where this one does not."""
    opposites = (
        (" not in ", " in "), (" in ", " not in "), (" == ", " != "), (" != ", " == "),
        (" >= ", " < "), (" <= ", " > "), (" > ", " <= "), (" < ", " >= "),
    )  # fmt: skip
    for symbol, other in opposites:
        if symbol in test.text and " and " not in test.text:
            return Condition(test.text.replace(symbol, other), ~test.holds)
    return Condition(f"not ({test.text})", ~test.holds)


def _entropy(kind: RowValues, mine: RowMask, holds: RowMask) -> float:
    """Return the bits of the kinds that remain, on average, once the test is known."""
    total = 0.0
    for side in (mine & holds, mine & ~holds):
        counts = np.bincount(kind[side] + 1)
        counts = counts[counts > 0]
        total -= float(np.sum(counts * np.log2(counts / counts.sum())))
    return round(total, 6)


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
