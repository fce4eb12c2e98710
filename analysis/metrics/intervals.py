"""Intervals and comparisons that know which images belong together.

Images of one person in one pose share their luck; so do images of one background. Whole *clusters*
of them are drawn again, those with persons and those of backgrounds apart (*strata*): how many of
each there are is the study's choice, not chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .scores import PROPORTIONS, Counts, Metric

__all__ = [
    "FEW_CLUSTERS",
    "RESAMPLES",
    "Comparison",
    "Estimate",
    "Interval",
    "clustered_estimates",
    "compare_paired",
    "draw_clusters",
    "holm",
    "mcnemar_exact",
    "paired_difference",
    "percentile_interval",
    "wilson_interval",
]

FEW_CLUSTERS = 20
"""Below so many clusters a 95 % interval covers less than it says, and the report says so."""

RESAMPLES = 2000

Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A score with its 95 % interval.

    Attributes:
        value: None where the score is undefined.
        interval: None where the score is undefined or there is too little to resample.
        n: How many answers the score is over.
        clusters: How many independent groups these are of.
    """

    value: float | None
    interval: Interval | None
    n: int
    clusters: int

    @property
    def reliable(self) -> bool:
        """Whether there are clusters enough for the interval to hold what it says."""
        return self.interval is not None and self.clusters >= FEW_CLUSTERS


@dataclass(frozen=True)
class Comparison:
    """Two answerers on the same questions.

    Attributes:
        difference: First minus second, as an estimate; n are the questions that both answered.
        only_first: Questions that only the first answered right.
        only_second: Questions that only the second answered right.
        p_value: Of no difference, clusters taken into account (t test of cluster sums); None
            where fewer than two clusters decide.
        p_mcnemar: McNemar's exact p, which takes questions as independent.
    """

    difference: Estimate
    only_first: int
    only_second: int
    p_value: float | None
    p_mcnemar: float


# --- resampling ----------------------------------------------------------------------------------


def draw_clusters(
    strata: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Floats:
    """Draw clusters with replacement, within each stratum as many as it has.

    Args:
        strata: (C,) the stratum of each cluster.
        rng: The only source of chance.
        resamples: How many draws.

    Returns:
        (resamples, C): how often each cluster was drawn.
    """
    strata = np.asarray(strata)
    times = np.zeros((resamples, len(strata)))  # floats: their products are fast
    for stratum in np.unique(strata):
        members = np.nonzero(strata == stratum)[0]
        even = np.full(len(members), 1 / len(members))
        times[:, members] = rng.multinomial(len(members), even, resamples)
    return times


def percentile_interval(values: ArrayLike, clusters: int) -> Interval | None:
    """95 % interval from resampled values, widened for few clusters.

    Percentiles of a bootstrap over n clusters are too narrow, as a standard deviation divided by n
    is, and take the normal for the t distribution. Both are made good by taking wider percentiles,
    those at which the normal is ``t(n - 1, 97.5 %) * sqrt(n / (n - 1))``. Source: Hesterberg, The
    American Statistician 69 (2015) 371, section 3.3 ("expanded percentile").

    Args:
        values: (R,), nan where a resample left the metric undefined.
        clusters: n, at least 2; None is returned below.
    """
    low, high = _percentiles(np.asarray(values, float)[:, None], np.array([clusters]))
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def _percentiles(values: Floats, clusters: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Ends (K,) for columns of values (R, K) of so many clusters (K,); nan where there are none."""
    ordered = np.sort(values, axis=0)  # nan last
    there = np.isfinite(ordered).sum(axis=0)
    tail = np.array([_tail(max(int(n), 2)) for n in clusters], float)
    usable = (there > 0) & (clusters >= 2)
    last = np.maximum(there - 1, 0)
    columns = np.arange(values.shape[1])

    def at(share: Floats) -> Floats:
        place = np.asarray(share * last, float)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, last)
        step = ordered[above, columns] - ordered[below, columns]
        return np.where(usable, ordered[below, columns] + (place - below) * step, math.nan)

    return at(tail), at(np.subtract(1.0, tail))


@cache
def _tail(clusters: int) -> float:
    from scipy import stats

    wide = stats.t.ppf(0.975, clusters - 1) * math.sqrt(clusters / (clusters - 1))
    return float(stats.norm.cdf(-wide))


def clustered_estimates(
    metrics: Mapping[str, Metric], counts: Counts, strata: ArrayLike, times: Floats
) -> list[dict[str, Estimate]]:
    """Compute metrics with their intervals, for many cells at once, from the counts of clusters.

    A proportion that is the same in every resample (all right, or right of one kind and wrong of
    the other) would have an interval without width: it has Wilson's with each cluster as one trial,
    the least that the clusters can tell. There is no interval where only one cluster of a kind
    occurs: one says nothing of how much they differ.

    Args:
        metrics: Name -> metric, as ``METRICS``.
        counts: (K, C, 2, 5): cell, cluster, truth, outcome; see :func:`..scores.confusion`.
        strata: (C,).
        times: (R, C), see :func:`draw_clusters`.

    Returns:
        For each cell, name -> estimate.
    """
    strata, total = np.asarray(strata), counts.sum(axis=1)
    cells, size = counts.shape[:2]
    by_cluster = np.moveaxis(counts, 1, 0).reshape(size, -1).astype(float)
    drawn = (times @ by_cluster).reshape(len(times), *total.shape)
    found: list[dict[str, Estimate]] = [{} for _ in range(cells)]
    for name, metric in metrics.items():
        values = np.asarray(metric(total), float)
        over = PROPORTIONS.get(name)
        number = total.sum(axis=(1, 2)) if over is None else over(total)[1]
        relevant = counts.sum(axis=(2, 3)) if over is None else over(counts)[1]
        used = relevant > 0
        clusters = used.sum(axis=1)
        kinds = np.stack([(used & (strata == k)).sum(axis=1) for k in np.unique(strata)])
        low, high = _percentiles(np.asarray(metric(drawn), float), clusters)
        low[(kinds == 1).any(axis=0)] = math.nan
        for cell in range(cells):
            value, n, groups = float(values[cell]), int(number[cell]), int(clusters[cell])
            ends: Interval | None = None
            if math.isnan(value):
                found[cell][name] = Estimate(None, None, n, 0)
                continue
            if not math.isnan(low[cell]) and low[cell] < high[cell]:
                ends = float(low[cell]), float(high[cell])
            elif over is not None and groups > 1 and (value in (0.0, 1.0) or low[cell] == value):
                ends = wilson_interval(value * groups, groups)
            elif not math.isnan(low[cell]):
                ends = float(low[cell]), float(high[cell])
            found[cell][name] = Estimate(value, ends, n, groups)
    return found


def wilson_interval(hits: float, n: int, z: float = 1.959964) -> Interval | None:
    """Wilson's score interval of a proportion.

    Args:
        hits: 0 to ``n``, whole or not.
        n: Trials, taken as independent; None is returned for 0.
        z: Normal quantile; the default gives 95 %.

    Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209; as method 3 of Newcombe, Stat. Med. 17
    (1998) 857.
    """
    if n == 0:
        return None
    p = hits / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The exact ends at 0 and n hits, which rounding would miss.
    low = 0.0 if hits == 0 else (centre - half) / scale
    high = 1.0 if hits == n else (centre + half) / scale
    return low, high


# --- comparisons ---------------------------------------------------------------------------------


def paired_difference(
    difference: ArrayLike, clusters: ArrayLike, strata: ArrayLike, times: Floats
) -> Estimate:
    """The mean of paired differences, with its interval by resampled clusters.

    Args:
        difference: (N,), as right now minus right before, -1 to 1.
        clusters: (N,) numbers below C.
        strata: (C,).
        times: (R, C), see :func:`draw_clusters`.
    """
    difference, clusters = np.asarray(difference, float), np.asarray(clusters, np.int64)
    strata = np.asarray(strata)
    size = len(strata)
    sums = np.bincount(clusters, difference, minlength=size)
    counts = np.bincount(clusters, minlength=size)
    used = counts > 0
    if not used.any():
        return Estimate(None, None, 0, 0)
    value, n = float(difference.mean()), len(difference)
    kinds = [int((used & (strata == stratum)).sum()) for stratum in np.unique(strata[used])]
    if 1 in kinds:
        return Estimate(value, None, n, int(used.sum()))
    below = times[:, used] @ counts[used]
    means = (times[:, used] @ sums[used]) / np.where(below > 0, below, np.nan)
    return Estimate(value, percentile_interval(means, int(used.sum())), n, int(used.sum()))


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike,
    times: Floats,
) -> Comparison:
    """Compare two answerers on the same questions.

    Args:
        first: (N,) whether the first was right.
        second: (N,) whether the second was.
        clusters: (N,) numbers below C.
        strata: (C,).
        times: (R, C), see :func:`draw_clusters`.
    """
    from scipy import stats

    a, b = np.asarray(first, bool), np.asarray(second, bool)
    difference = a.astype(float) - b
    estimate = paired_difference(difference, clusters, strata, times)
    only_first, only_second = int((a & ~b).sum()), int((b & ~a).sum())
    p_value = None
    if estimate.n and estimate.clusters > 1:
        residuals = np.bincount(np.asarray(clusters), difference - difference.mean())
        n = estimate.clusters
        error = math.sqrt(n / (n - 1) * float((residuals**2).sum())) / estimate.n
        mean = float(difference.mean())
        if error > 0:
            p_value = float(2 * stats.t.sf(abs(mean) / error, n - 1))
        elif mean == 0:
            p_value = 1.0
    return Comparison(
        estimate, only_first, only_second, p_value, mcnemar_exact(only_first, only_second)
    )


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """McNemar's exact two-sided p of equal marginals, from the discordant pairs."""
    from scipy import stats

    n = only_first + only_second
    return min(1.0, float(2 * stats.binom.cdf(min(only_first, only_second), n, 0.5))) if n else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values of many comparisons so that the chance of any false one stays below alpha.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65.
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
