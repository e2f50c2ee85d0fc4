"""Confidence intervals of shares and of means over seeds, and tests of two models.

All intervals have a confidence of 95 %, and are None with too few seeds. SciPy takes a second to
import, so it is imported on first use.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from curta.evaluation.results import ProblemSlice, SliceResult

DRAWS = 10_000
"""Resamples of the seeds for a bootstrap interval."""

TO_DEVIATE, TO_DRAW = 3, 5
"""The fewest seeds with a standard deviation, and with an interval of their mean.

With three seeds, one resample in 27 is three times the smallest, so the interval is the range;
with few seeds it is too narrow.
"""


class Range(NamedTuple):
    """Median, minimum and maximum over members."""

    median: float
    min: float
    max: float


def range_of(values: Iterable[float]) -> Range:
    """Return median, minimum and maximum."""
    every = list(values)
    return Range(median(every), min(every), max(every))


class Interval(NamedTuple):
    """A confidence interval of a share, or of a difference of shares."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


@dataclass(frozen=True)
class MemberStatistics:
    """The exact match of one member on a slice."""

    seed: int
    """The seed of the member."""
    right: int
    """The number of correct problems."""
    exact_match: float
    """The share of correct problems."""
    interval: Interval
    """The Wilson interval of this share, at 95 %."""


@dataclass(frozen=True)
class SliceStatistics(ProblemSlice):
    """The exact match on one slice: of each member, and over the members."""

    members: list[MemberStatistics]
    """The results of each member."""
    median: float
    """The median over the members."""
    min: float
    """The worst member."""
    max: float
    """The best member."""
    mean: float
    """The mean over the members."""
    deviation: float | None
    """The sample standard deviation (n - 1); None with fewer than three members."""
    interval: Interval | None
    """The bootstrap interval of the mean, at 95 %; None with fewer than five members, or if all are
    equal."""


def of_slice(row: SliceResult, seeds: Sequence[int]) -> SliceStatistics:
    """Return the statistics of a row of an evaluation.

    Shares have six digits, which distinguish up to 500,000 problems.
    """
    shares = row.exact_match
    right = [round(share * row.count) for share in shares]
    return SliceStatistics(
        **row.slice_fields,
        members=[
            MemberStatistics(seed, correct, share, wilson(correct, row.count))
            for seed, correct, share in zip(seeds, right, shares, strict=True)
        ],
        median=round_share(median(shares)),
        min=min(shares),
        max=max(shares),
        mean=round_share(fmean(shares)),
        deviation=deviation(shares),
        interval=of_mean(shares),
    )


def round_share(share: float) -> float:
    """Round to six decimals, but never to 0 or 1: 0.9999999 becomes 0.999999."""
    return min(max(round(share, 6), 1e-6), 1 - 1e-6) if 0 < share < 1 else round(share, 6)


def wilson(right: int, count: int) -> Interval:
    """Return the score interval of a share: all shares that a test at 5 % would not reject.

    It lies within 0 and 1, and is informative if all are right: 200 of 200 may be 98.1 %.
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
    """Return the sample standard deviation, with n - 1; None for too few values."""
    return round(stdev(values), 6) if len(values) >= TO_DEVIATE else None


def of_mean(values: Sequence[float]) -> Interval | None:
    """Return the percentile bootstrap interval of a mean over seeds.

    Only seeds are resampled, not problems: the differences between seeds already include the chance
    in their problems, and resampling both would count it twice. None for too few seeds, or if all
    are equal. Source: B. Efron 1979.
    """
    same = len({round(value, 9) for value in values}) == 1
    if same or len(values) < TO_DRAW:
        return None
    return _bootstrap((values,), np.mean)


def of_difference(first: Sequence[float], second: Sequence[float], paired: bool) -> Interval | None:
    """Return the percentile bootstrap interval of the mean of `first` minus that of `second`.

    `paired` samples are resampled in pairs, seed by seed, else each side separately. None where
    `of_mean` has none.
    """
    if paired:
        return of_mean([a - b for a, b in zip(first, second, strict=True)])
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

    Under the null hypothesis either model is equally likely to be the right one: a fair coin for
    each such problem. Source: Q. McNemar 1947; the exact binomial form, not McNemar's chi-squared.

    >>> round(mcnemar(0, 5), 9)  # 5 heads, or 5 tails, of 5: 2/32
    0.0625
    """
    from scipy.stats import binomtest

    count = only_first + only_second
    return float(binomtest(only_first, count).pvalue) if count else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests for the chance of any false positive.

    Source: S. Holm 1979, A simple sequentially rejective multiple test procedure.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    adjusted, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = least
    return adjusted
