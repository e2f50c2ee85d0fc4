"""How sure a figure is: intervals of shares and of means over seeds, and tests of two models.

All intervals are of 95 %. Whoever asks gets None where there are too few seeds to say anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, lgamma, log, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from curta.evaluation.results import SliceName, SliceResult

LEVEL = 0.95
Z = 1.959963984540054
"""The quantile of the normal distribution beyond which there are 2.5 %."""

DRAWS, KEY = 10_000, 0
"""How often seeds are drawn anew for an interval, and the key of these draws."""

TO_DEVIATE, TO_DRAW = 3, 5
"""The fewest seeds of which a deviation is told, and an interval of their mean.

Of three seeds drawn anew all three are the least one in 1 of 27 draws, so their interval is their
range; with few seeds it is too narrow.
"""

TOGETHER = 1 << 20
"""Numbers that are drawn at once."""


class Interval(NamedTuple):
    """Its ends, as shares or as differences of shares."""

    low: float
    high: float


@dataclass(frozen=True)
class MemberStatistics:
    """One member's exact match on a slice: so many right, and the Wilson interval."""

    seed: int
    right: int
    exact_match: float
    interval: Interval


@dataclass(frozen=True)
class SliceStatistics:
    """Exact match on the problems of one operator, size and slice, of each member and over them.

    `deviation` is that of the seeds (n - 1), `interval` a bootstrap interval of their mean.
    """

    operator: str
    size: str
    digits: int
    slice_name: SliceName
    count: int
    members: list[MemberStatistics]
    median: float
    min: float
    max: float
    mean: float
    deviation: float | None
    interval: Interval | None


def of_slice(row: SliceResult, seeds: Sequence[int]) -> SliceStatistics:
    """What a row of an evaluation says of its seeds."""
    shares = row.exact_match
    return SliceStatistics(
        operator=row.operator,
        size=row.size,
        digits=row.digits,
        slice_name=row.slice_name,
        count=row.count,
        members=[_member(*one, row.count) for one in zip(seeds, shares, strict=True)],
        median=six(median(shares)),
        min=min(shares),
        max=max(shares),
        mean=six(fmean(shares)),
        deviation=deviation(shares),
        interval=of_mean(shares),
    )


def six(share: float) -> float:
    """To six digits, but never to all or to none: 0.9999999 is 0.999999."""
    return min(max(round(share, 6), 1e-6), 1 - 1e-6) if 0 < share < 1 else round(share, 6)


def _member(seed: int, share: float, count: int) -> MemberStatistics:
    """Shares are kept to six digits, which tell how many are right of up to 500,000 problems."""
    right = round(share * count)
    return MemberStatistics(seed, right, share, wilson(right, count))


def wilson(right: int, count: int) -> Interval:
    """The score interval of a share: all shares that a test at 5 % would not reject.

    It lies within 0 and 1, and says something where all is right: 200 of 200 may be 98.1 %.
    Source: E. B. Wilson 1927, Probable inference, the law of succession, and statistical inference;
    without a correction for continuity.

    >>> wilson(200, 200)
    Interval(low=0.981155, high=1.0)
    """
    share, weight = right / count, Z * Z / count
    middle = (share + weight / 2) / (1 + weight)
    half = Z * sqrt(share * (1 - share) / count + weight / count / 4) / (1 + weight)
    low = 0.0 if right == 0 else middle - half
    high = 1.0 if right == count else middle + half
    return _rounded(low, high)


def deviation(values: Sequence[float]) -> float | None:
    """The sample's standard deviation, with n - 1; None of fewer than TO_DEVIATE values."""
    return round(stdev(values), 6) if len(values) >= TO_DEVIATE else None


def of_mean(values: Sequence[float]) -> Interval | None:
    """The percentile bootstrap interval of a mean: seeds are drawn anew, with replacement.

    Only seeds are drawn, not their problems as well: what seeds differ by includes already that
    each was right on its problems by chance, and drawing both would count that twice. None of
    fewer than TO_DRAW seeds, and where all are the same. Source: B. Efron 1979, Bootstrap methods.
    """
    return _percentiles(_means(values, _rng())) if _can_draw(values) else None


def of_difference(first: Sequence[float], second: Sequence[float], paired: bool) -> Interval | None:
    """The percentile bootstrap interval of the mean of `first` less that of `second`.

    Where they are `paired`, seed by seed, pairs are drawn anew, else each side for itself. None
    where `of_mean` has none.
    """
    if paired:
        return of_mean([one - other for one, other in zip(first, second, strict=True)])
    if not (_enough(first) and _enough(second)) or len({*first}) == len({*second}) == 1:
        return None
    rng = _rng()
    return _percentiles(_means(first, rng) - _means(second, rng))


def _can_draw(values: Sequence[float]) -> bool:
    return _enough(values) and len({round(value, 9) for value in values}) > 1


def _enough(values: Sequence[float]) -> bool:
    return len(values) >= TO_DRAW


def _rng() -> np.random.Generator:
    return np.random.default_rng(KEY)


def _means(values: Sequence[float], rng: np.random.Generator) -> Float[np.ndarray, " draws"]:
    """The mean of each draw of as many values: of 0 and 1, a quarter of them 0, a quarter 1."""
    known = np.array(values)
    parts = np.array_split(np.arange(DRAWS), ceil(DRAWS * known.size / TOGETHER))
    drawn = (rng.integers(known.size, size=(part.size, known.size)) for part in parts)
    return np.concatenate([known[numbers].mean(axis=1) for numbers in drawn])


def _percentiles(draws: Float[np.ndarray, " draws"]) -> Interval:
    low, high = np.percentile(draws, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return _rounded(float(low), float(high))


def _rounded(low: float, high: float) -> Interval:
    """To six digits, as all shares."""
    return Interval(round(low, 6), round(high, 6))


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided exact test on problems that only one of two models has right.

    Were both as good, either would be as likely to be the one that is right: a fair coin for each
    such problem. Source: Q. McNemar 1947; the exact form, by the binomial distribution, not
    McNemar's own by chi-squared.

    >>> round(mcnemar(0, 5), 9)  # 5 heads, or 5 tails, of 5: 2/32
    0.0625
    """
    low, count = min(only_first, only_second), only_first + only_second
    largest = exp(lgamma(count + 1) - lgamma(low + 1) - lgamma(count - low + 1) - count * log(2))
    fewer = np.arange(low, 0, -1)
    tail = largest * (1 + float(np.cumprod(fewer / (count - fewer + 1)).sum()))
    return min(1.0, 2 * tail)


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted: the chance of any false one stays below the level.

    Source: S. Holm 1979, A simple sequentially rejective multiple test procedure.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    found, least = [0.0] * len(values), 0.0
    for done, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        least = max(least, min(1.0, (len(values) - done) * values[place]))
        found[place] = least
    return found
