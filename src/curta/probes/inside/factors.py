"""Explained variance of a value that depends on a window alone.

A factor sorts windows into groups: by the symbol of a cell, by the next token, by a carry. It
explains the share of a value's variance that remains when each window has the mean of its group;
1 if the value is a function of the factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.probes.inside.interventions import ITSELF
from curta.programs.machine.drawing import NONE
from curta.programs.machine.machine import neighbour_name

if TYPE_CHECKING:
    from curta.layouts.program import ProgramLayout

Codes = Int[np.ndarray, " windows"]
NeuronValues = Float[np.ndarray, " windows"]


class WindowFactor(NamedTuple):
    """The number of each window's group, the names of the groups, and each window's digit."""

    name: str
    codes: Codes
    labels: list[str]
    digits: Codes | None = None
    """An empty cell counts as 0; None if some symbols are signs."""

    @classmethod
    def of(cls, name: str, values: Codes) -> WindowFactor:
        """Return the factor of whole numbers.

        >>> WindowFactor.of("sum", np.array([7, 3, 7]))[1:3]
        (array([1, 0, 1]), ['3', '7'])
        """
        every, codes = np.unique(values, return_inverse=True)
        return cls(name, codes, [str(value) for value in every.tolist()], values)


def together(*factors: WindowFactor) -> WindowFactor:
    """Return the groups in which all factors agree.

    >>> x, y = WindowFactor.of("a", np.array([0, 0, 1])), WindowFactor.of("b", np.array([5, 6, 6]))
    >>> together(x, y).codes.tolist()
    [0, 1, 2]
    """
    codes = np.stack([factor.codes for factor in factors])
    _, both = np.unique(codes, axis=1, return_inverse=True)
    name = ", ".join(factor.name for factor in factors)
    labels = [str(number) for number in range(int(both.max(initial=-1)) + 1)]
    return WindowFactor(name, both, labels)


def explained(values: NeuronValues, factor: WindowFactor) -> float:
    """Return the share of the variance between groups; 0 for a constant value.

    1, 1, 3, 7 in two groups of two have means 1 and 5, and a variance of 4 out of 6 between them.

    >>> half = WindowFactor.of("half", np.array([0, 0, 1, 1]))
    >>> round(explained(np.array([1.0, 1, 3, 7]), half), 4)
    0.6667
    """
    counts, means = group_means(values, factor.codes, len(factor.labels))
    return _share(values, means, counts)


def additive(values: NeuronValues, x: WindowFactor, y: WindowFactor) -> float:
    """Return the share explained by a sum of a term for each group of x and one for each of y.

    If all pairs are equally frequent, it is the sum of what each alone explains. The remainder of
    what both explain together is their interaction: none for x + y, all for x * y of -1 and 1.
    """
    size = len(x.labels) * len(y.labels)
    counts, means = group_means(values, x.codes * len(y.labels) + y.codes, size)
    of_x, of_y = np.divmod(np.arange(size), len(y.labels))
    terms = np.concatenate([np.eye(len(x.labels))[of_x], np.eye(len(y.labels))[of_y]], axis=1)
    root = np.sqrt(counts)
    best, *_ = np.linalg.lstsq(terms * root[:, None], means * root, rcond=None)
    return _share(values, terms @ best, counts)


def group_means(values: NeuronValues, codes: Codes, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of windows in each group, and their mean; 0 for an empty group."""
    counts = np.bincount(codes, minlength=size)
    sums = np.bincount(codes, np.float64(values), minlength=size)
    return counts, sums / np.maximum(counts, 1)


def table_of_means(
    values: NeuronValues, x: WindowFactor, y: WindowFactor, windows: np.ndarray
) -> Float[np.ndarray, "x y"]:
    """Return the mean over some windows for each pair of symbols; NaN where there are none."""
    shape = len(x.labels), len(y.labels)
    codes = np.ravel_multi_index((x.codes[windows], y.codes[windows]), shape)
    counts, means = group_means(values[windows], codes, shape[0] * shape[1])
    return np.where(counts > 0, means, np.nan).reshape(shape)


def _share(values: NeuronValues, means: np.ndarray, counts: np.ndarray) -> float:
    whole = float(np.var(values, dtype=np.float64))
    if whole < 1e-12:
        return 0.0
    between = counts @ (means - np.mean(values, dtype=np.float64)) ** 2
    return float(between / counts.sum()) / whole


def cell_factors(
    layout: ProgramLayout, role: str, rows: Int[np.ndarray, "windows cells"]
) -> list[WindowFactor]:
    """Return a factor for each cell of a role's window: the query's token, then its neighbours.

    Symbols are in the order digits, signs, none.
    """
    names = [neighbour_name(layout.axes, near) for near in layout.windows.get(role, ())]
    values = [layout.value(token) for token in range(len(layout.characters))]
    symbols, factors = [*layout.characters, NONE], list[WindowFactor]()

    def order(token: int) -> tuple[int, int, int]:
        if token == len(values):
            return 2, 0, token
        value = values[token]
        return (1, 0, token) if value is None else (0, value, layout.machine.tokens[token].carry)

    digits = np.array([value or 0 for value in (*values, None)])
    for name, tokens in zip([ITSELF, *names], rows.T, strict=False):
        present = sorted(np.unique(tokens).tolist(), key=order)
        labels = list(dict.fromkeys(symbols[token] for token in present))
        codes = np.full(len(symbols), -1)
        codes[present] = [labels.index(symbols[token]) for token in present]
        signs = any(order(token)[0] == 1 for token in present)
        factors.append(WindowFactor(name, codes[tokens], labels, None if signs else digits[tokens]))
    return factors


def carried(x: WindowFactor, y: WindowFactor, next_digits: Codes) -> WindowFactor | None:
    """Return the carry if the next digit is x + y or one more: 0 or 1 in every window.

    Returns the borrow if it is x - y or one less. None if it is neither, and in base 2, where any
    digit is one or the other.

    >>> x, y = WindowFactor.of("x", np.array([5, 9, 5])), WindowFactor.of("y", np.array([7, 9, 3]))
    >>> carry = carried(x, y, np.array([3, 8, 8]))
    >>> carry.name, carry.digits.tolist()
    ('carry', [1, 0, 0])
    """
    if x.digits is None or y.digits is None:
        return None
    base = 1 + int(max(x.digits.max(), y.digits.max(), next_digits.max()))
    if base == 2:
        return None
    for name, over in (
        ("carry", next_digits - x.digits - y.digits),
        ("borrow", x.digits - y.digits - next_digits),
    ):
        if set(np.unique(over % base).tolist()) == {0, 1}:
            return WindowFactor.of(name, over % base)
    return None


def functions(x: WindowFactor, y: WindowFactor, carry: WindowFactor | None) -> list[WindowFactor]:
    """Return the steps of adding or subtracting two digits, as functions of them and the carry."""
    if x.digits is None or y.digits is None:
        return []
    plus, minus = x.digits + y.digits, x.digits - y.digits
    if carry is None:
        less = WindowFactor.of("x < y", (minus < 0).astype(int))
        return [WindowFactor.of("x + y", plus), WindowFactor.of("x - y", minus), less]
    base, sign, digit = 1 + int(max(x.digits.max(), y.digits.max())), "+", plus
    total, limit = plus + carry.digits, f">= {base}"
    over = total >= base
    if carry.name == "borrow":
        sign, digit, total, limit = "-", minus, minus - carry.digits, "< 0"
        over = total < 0
    whole = f"x {sign} y {sign} {carry.name}"
    return [
        WindowFactor.of(f"x {sign} y", digit),
        carry,
        WindowFactor.of(whole, total),
        WindowFactor.of(f"{whole} {limit}", over.astype(int)),
    ]
