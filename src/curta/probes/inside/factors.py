"""What a value that depends on a window alone can be explained by, and how much of it.

A factor sorts windows into groups: by the symbol of a cell, by what is to be written next, by a
carry. It explains the share of a value's variance that is left when each window has the mean of
its group; 1 if the value is a function of the factor.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.layouts.program import ProgramLayout
from curta.probes.inside.selection import ITSELF
from curta.programs.machine.machine import neighbour_name

ABSENT = "none"
"""The symbol of a cell on which no token stands."""

Codes = Int[np.ndarray, " windows"]
Values = Float[np.ndarray, " windows"]


class Factor(NamedTuple):
    """A group for each window, as a number; what groups are called, and each window's digit."""

    name: str
    codes: Codes
    labels: list[str]
    digits: Codes | None = None
    """An absent one counts as 0; None where some symbols are signs."""

    @classmethod
    def of(cls, name: str, values: Codes) -> "Factor":
        """From whole numbers.

        >>> Factor.of("sum", np.array([7, 3, 7]))[1:3]
        (array([1, 0, 1]), ['3', '7'])
        """
        every, codes = np.unique(values, return_inverse=True)
        return cls(name, codes, [str(value) for value in every.tolist()], values)


def together(*factors: Factor) -> Factor:
    """The groups in which all of them agree.

    >>> one, other = Factor.of("a", np.array([0, 0, 1])), Factor.of("b", np.array([5, 6, 6]))
    >>> together(one, other).codes.tolist()
    [0, 1, 2]
    """
    codes = np.stack([factor.codes for factor in factors])
    _, both = np.unique(codes, axis=1, return_inverse=True)
    name = ", ".join(factor.name for factor in factors)
    return Factor(name, both, [str(number) for number in range(int(both.max(initial=-1)) + 1)])


def explained(values: Values, factor: Factor) -> float:
    """The share of the variance that lies between groups; 0 of a value that never changes.

    Of 1, 1, 3, 7 in two groups of two: means 1 and 5, variance 4 of 6.

    >>> round(explained(np.array([1.0, 1, 3, 7]), Factor.of("half", np.array([0, 0, 1, 1]))), 4)
    0.6667
    """
    counts, means = _means(values, factor.codes)
    return _share(values, means, counts)


def additive(values: Values, x: Factor, y: Factor) -> float:
    """The share that is explained by a term for each group of x and one for each of y, added.

    Where all pairs are equally frequent, it is the sum of what each alone explains. The rest of
    what both together explain is their interaction: nothing of x + y, all of x * y for -1 and 1.
    """
    both = x.codes * len(y.labels) + y.codes
    counts, means = _means(values, both)
    pairs = np.arange(len(x.labels) * len(y.labels))[: len(counts)]
    of_x, of_y = np.divmod(pairs, len(y.labels))
    terms = np.concatenate([np.eye(len(x.labels))[of_x], np.eye(len(y.labels))[of_y]], axis=1)
    root = np.sqrt(counts)
    best, *_ = np.linalg.lstsq(terms * root[:, None], means * root, rcond=None)
    return _share(values, terms @ best, counts)


def _means(values: Values, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """How many windows each group has, and their mean."""
    counts = np.bincount(codes)
    return counts, np.bincount(codes, np.float64(values)) / np.maximum(counts, 1)


def _share(values: Values, means: np.ndarray, counts: np.ndarray) -> float:
    whole = float(np.var(values, dtype=np.float64))
    if whole < 1e-12:
        return 0.0
    between = counts @ (means - np.mean(values, dtype=np.float64)) ** 2
    return float(between / counts.sum()) / whole


def cells(layout: ProgramLayout, role: str, rows: Int[np.ndarray, "windows cells"]) -> list[Factor]:
    """The symbols of each cell of a role's window: the query's own token, then its neighbours."""
    names = [neighbour_name(layout.axes, near) for near in layout.windows.get(role, ())]
    return [_cell(layout, name, rows[:, cell]) for cell, name in enumerate([ITSELF, *names])]


def _cell(layout: ProgramLayout, name: str, tokens: Codes) -> Factor:
    values = {token: layout.value(token) for token in range(len(layout.characters))}
    symbols = dict(enumerate([*layout.characters, ABSENT]))
    present = sorted(np.unique(tokens).tolist(), key=lambda token: _order(layout, values, token))
    labels = list(dict.fromkeys(symbols[token] for token in present))
    codes = np.full(len(symbols), -1)
    codes[present] = [labels.index(symbols[token]) for token in present]
    signs = any(token in values and values[token] is None for token in present)
    digits = np.array([values.get(token) or 0 for token in symbols])
    return Factor(name, codes[tokens], labels, None if signs else digits[tokens])


def _order(
    layout: ProgramLayout, values: dict[int, int | None], token: int
) -> tuple[int, int, int]:
    """Digits by their value, then signs, then none."""
    if token not in values:
        return 2, 0, token
    value = values[token]
    return (1, 0, token) if value is None else (0, value, layout.machine.tokens[token].carry)


def carried(x: Factor, y: Factor, written: Codes) -> Factor | None:
    """The carry, if the digit to be written is x + y or one more: 0 or 1 in every window.

    The borrow, if it is x - y or one less. None if it is neither, and in base 2, where any digit is
    one or the other.

    >>> x, y = Factor.of("x", np.array([5, 9, 5])), Factor.of("y", np.array([7, 9, 3]))
    >>> carry = carried(x, y, np.array([3, 8, 8]))
    >>> carry.name, carry.digits.tolist()
    ('carry', [1, 0, 0])
    """
    if x.digits is None or y.digits is None:
        return None
    base = base_of(x, y, Factor.of("written", written))
    if base == 2:
        return None
    for name, over in (
        ("carry", written - x.digits - y.digits),
        ("borrow", x.digits - y.digits - written),
    ):
        if set(np.unique(over % base).tolist()) == {0, 1}:
            return Factor.of(name, over % base)
    return None


def functions(x: Factor, y: Factor, carry: Factor | None) -> Iterator[Factor]:
    """What a sum or a difference of two digits goes through, as functions of them and the carry."""
    if x.digits is None or y.digits is None:
        return
    if carry is None or carry.name == "carry":
        yield Factor.of("x + y", x.digits + y.digits)
    if carry is None or carry.name == "borrow":
        yield Factor.of("x - y", x.digits - y.digits)
    if carry is None:
        yield Factor.of("x < y", (x.digits < y.digits).astype(int))
    elif carry.name == "carry" and carry.digits is not None:
        base, total = base_of(x, y), x.digits + y.digits + carry.digits
        yield carry
        yield Factor.of("x + y + carry", total)
        yield Factor.of(f"x + y + carry >= {base}", (total >= base).astype(int))
    elif carry.digits is not None:
        total = x.digits - y.digits - carry.digits
        yield carry
        yield Factor.of("x - y - borrow", total)
        yield Factor.of("x - y - borrow < 0", (total < 0).astype(int))


def base_of(*factors: Factor) -> int:
    """That in which the largest digit of all is the last one."""
    return 1 + max(int(one.digits.max()) for one in factors if one.digits is not None)


def means(
    values: Values, down: Factor, across: Factor, mine: Sequence[int] | np.ndarray
) -> list[list[float | None]]:
    """The mean over some of the windows with each pair of symbols; None where there is none."""
    size = len(down.labels) * len(across.labels)
    both = down.codes[mine] * len(across.labels) + across.codes[mine]
    counts = np.bincount(both, minlength=size)
    sums = np.bincount(both, np.float64(values[mine]), minlength=size)
    every = [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
    wide = len(across.labels)
    return [every[start : start + wide] for start in range(0, size, wide)]
