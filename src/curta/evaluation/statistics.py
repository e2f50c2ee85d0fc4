"""How sure a figure is: intervals of shares and of means over seeds, and tests of two models.

All intervals are of 95 %, and None where there are too few seeds to say anything. SciPy resamples
and tests; it is imported when it is needed, since that takes a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from curta.evaluation.results import SliceName, SliceResult

DRAWS = 10_000
"""Resamples of the seeds for a bootstrap interval."""

TO_DEVIATE, TO_DRAW = 3, 5
"""The fewest seeds with a standard deviation, and with an interval of their mean.

Of three seeds, one resample in 27 is the least one three times, so their interval is their range;
with few seeds it is too narrow.
"""


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
    """Return what a row of an evaluation says of its seeds.

    Shares are kept to six digits, which tell how many are right of up to 500,000 problems.
    """
    shares = row.exact_match
    right = [round(share * row.count) for share in shares]
    return SliceStatistics(
        operator=row.operator,
        size=row.size,
        digits=row.digits,
        slice_name=row.slice_name,
        count=row.count,
        members=[
            MemberStatistics(seed, correct, share, wilson(correct, row.count))
            for seed, correct, share in zip(seeds, right, shares, strict=True)
        ],
        median=six(median(shares)),
        min=min(shares),
        max=max(shares),
        mean=six(fmean(shares)),
        deviation=deviation(shares),
        interval=of_mean(shares),
    )


def six(share: float) -> float:
    """Round to six digits, but never to all or to none: 0.9999999 is 0.999999."""
    return min(max(round(share, 6), 1e-6), 1 - 1e-6) if 0 < share < 1 else round(share, 6)


def wilson(right: int, count: int) -> Interval:
    """Return the score interval of a share: all shares that a test at 5 % would not reject.

    It lies within 0 and 1, and says something where all is right: 200 of 200 may be 98.1 %.
    Source: E. B. Wilson 1927, without a correction for continuity.

    >>> wilson(200, 200)
    Interval(low=0.981155, high=1.0)
    """
    z2 = NormalDist().inv_cdf(0.975) ** 2
    centre = (right + z2 / 2) / (count + z2)
    half = sqrt(z2 * (right * (count - right) / count + z2 / 4)) / (count + z2)
    # at 0 and at 1 the interval ends there, which rounding may miss
    return Interval(round(max(0.0, centre - half), 6), round(min(1.0, centre + half), 6))


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample's standard deviation, with n - 1; None of too few values."""
    return round(stdev(values), 6) if len(values) >= TO_DEVIATE else None


def of_mean(values: Sequence[float]) -> Interval | None:
    """Return the percentile bootstrap interval of a mean over seeds.

    Only seeds are resampled, not their problems as well: the differences between seeds include
    already that each was right on its problems by chance, and resampling both would count that
    twice. None of too few seeds, and where all are the same. Source: B. Efron 1979.
    """
    same = len({round(value, 9) for value in values}) == 1
    if same or len(values) < TO_DRAW:
        return None
    return _bootstrap((values,), np.mean)


def of_difference(first: Sequence[float], second: Sequence[float], paired: bool) -> Interval | None:
    """Return the percentile bootstrap interval of the mean of `first` less that of `second`.

    Where they are `paired`, seed by seed, pairs are resampled, else each side by itself. None
    where `of_mean` has none.
    """
    if paired:
        return of_mean([one - other for one, other in zip(first, second, strict=True)])
    same = len({*first}) == len({*second}) == 1
    if same or min(len(first), len(second)) < TO_DRAW:
        return None
    return _bootstrap((first, second), lambda a, b, axis: a.mean(axis) - b.mean(axis))


def _bootstrap(samples: Any, statistic: Any) -> Interval:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(0)
    batch = max(1, (1 << 20) // max(map(len, samples)))
    resampled = bootstrap(
        samples, statistic, n_resamples=DRAWS, batch=batch, method="percentile", rng=rng
    )
    ends = resampled.confidence_interval
    return Interval(round(float(ends.low), 6), round(float(ends.high), 6))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the p-value of the two-sided exact test on problems that one of two models has right.

    Were both as good, either would be as likely to be the one that is right: a fair coin for each
    such problem. Source: Q. McNemar 1947; the exact form, by the binomial distribution, not
    McNemar's own by chi-squared.

    >>> round(mcnemar(0, 5), 9)  # 5 heads, or 5 tails, of 5: 2/32
    0.0625
    """
    from scipy.stats import binomtest

    count = only_first + only_second
    return float(binomtest(only_first, count).pvalue) if count else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests: the chance of any false one stays below the level.

    Source: S. Holm 1979, A simple sequentially rejective multiple test procedure.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    adjusted, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = least
    return adjusted
