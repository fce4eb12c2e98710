"""Scores of yes/no answers with their uncertainty. Pure functions of counts.

Everything here works on *counts*: an integer array (..., 2, 3) whose axes are the truth (0, 1) and
the outcome (answered 0, answered 1, no usable answer). A missing answer is an outcome of its own:
it is neither label, so it is wrong in every metric. Where a metric has nothing to be computed over
(specificity without a negative) it is nan, never a number that looks like a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "METRICS",
    "NO_ANSWER",
    "Estimate",
    "Scores",
    "accuracy",
    "balanced_accuracy",
    "cluster_bootstrap",
    "cluster_counts",
    "confusion",
    "macro_f1",
    "score",
    "sensitivity",
    "specificity",
    "unanswered_rate",
    "wilson_interval",
]

NO_ANSWER = 2
RESAMPLES = 2000

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A score with its 95 % interval.

    Attributes:
        value: None where the score is undefined.
        interval: None where the score is undefined or there is too little to resample.
        n: How many answers the score is over.
    """

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Scores:
    """All scores of some answers.

    Attributes:
        counts: (2, 3), see :func:`confusion`.
        clusters: How many independent groups the answers come from.
        estimates: Metric name -> estimate, in the order of ``METRICS``.
    """

    counts: Counts
    clusters: int
    estimates: dict[str, Estimate]


# --- counts --------------------------------------------------------------------------------------


def confusion(truths: Sequence[int], predictions: Sequence[int | None]) -> Counts:
    """Count answers by truth and outcome.

    Args:
        truths: 0 or 1 each.
        predictions: 0, 1, or None for no usable answer.

    Returns:
        (2, 3): ``counts[truth, prediction]``, missing answers in column ``NO_ANSWER``.
    """
    counts = np.zeros((2, 3), np.int64)
    for truth, prediction in zip(truths, predictions, strict=True):
        counts[truth, NO_ANSWER if prediction is None else prediction] += 1
    return counts


def cluster_counts(
    truths: Sequence[int], predictions: Sequence[int | None], clusters: Sequence[str]
) -> Counts:
    """Count as :func:`confusion` does within each cluster.

    Returns:
        (C, 2, 3), clusters in the order of their names.
    """
    rows = {name: row for row, name in enumerate(sorted(set(clusters)))}
    counts = np.zeros((len(rows), 2, 3), np.int64)
    for truth, prediction, name in zip(truths, predictions, clusters, strict=True):
        counts[rows[name], truth, NO_ANSWER if prediction is None else prediction] += 1
    return counts


def _ratio(part: Counts, whole: Counts, undefined: float = math.nan) -> Floats:
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    return np.divide(part, whole, out=np.full(whole.shape, undefined), where=whole > 0)


# --- metrics -------------------------------------------------------------------------------------


def accuracy(counts: Counts) -> Floats:
    """Right answers / all questions."""
    return _ratio(counts[..., 0, 0] + counts[..., 1, 1], counts.sum(axis=(-2, -1)))


def sensitivity(counts: Counts) -> Floats:
    """Answers 1 among the questions whose truth is 1 (true positive rate, recall)."""
    return _ratio(counts[..., 1, 1], counts[..., 1, :].sum(axis=-1))


def specificity(counts: Counts) -> Floats:
    """Answers 0 among the questions whose truth is 0 (true negative rate)."""
    return _ratio(counts[..., 0, 0], counts[..., 0, :].sum(axis=-1))


def balanced_accuracy(counts: Counts) -> Floats:
    """Mean of sensitivity and specificity; 0.5 for any constant answer."""
    return (sensitivity(counts) + specificity(counts)) / 2


def macro_f1(counts: Counts) -> Floats:
    """Mean F1 of the labels 0 and 1, both always, also where one of them never occurs.

    F1 of a label is ``2 hits / (questions of that truth + answers of that label)``, 0 where both
    are 0 (scikit-learn's ``labels=[0, 1], zero_division=0``). So a set without negatives that is
    answered without a fault scores 0.5, not 1.
    """
    per_label = [
        _ratio(
            2 * counts[..., label, label],
            counts[..., label, :].sum(axis=-1) + counts[..., :, label].sum(axis=-1),
            undefined=0.0,
        )
        for label in (0, 1)
    ]
    return np.where(counts.sum(axis=(-2, -1)) > 0, sum(per_label) / 2, math.nan)


def unanswered_rate(counts: Counts) -> Floats:
    """Questions without a usable answer (refused, unparsed or failed) / all questions."""
    return _ratio(counts[..., NO_ANSWER].sum(axis=-1), counts.sum(axis=(-2, -1)))


METRICS: dict[str, Callable[[Counts], Floats]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "sensitivity": sensitivity,
    "specificity": specificity,
    "macro_f1": macro_f1,
    "unanswered_rate": unanswered_rate,
}


# --- intervals -----------------------------------------------------------------------------------


def wilson_interval(hits: int, n: int, z: float = 1.959964) -> Interval | None:
    """Wilson's score interval of a proportion.

    Args:
        hits: 0 to ``n``.
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


def cluster_bootstrap(
    metric: Callable[[Counts], Floats],
    counts: Counts,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """95 % percentile interval of a metric when whole clusters are drawn again with replacement.

    Images of one subject in one pose (or of one background) share their luck, so they are drawn
    together. Clusters with and without positives are drawn apart: their numbers are the study's
    choice, not chance.

    Args:
        metric: One of ``METRICS``.
        counts: (C, 2, 3), see :func:`cluster_counts`.
        rng: The only source of chance.
        resamples: How many draws.

    Returns:
        None where the metric is undefined, or a kind of cluster occurs once: one cluster says
        nothing of how much clusters differ.
    """
    if math.isnan(metric(counts.sum(axis=0))):
        return None
    positive = counts[:, 1].sum(axis=-1) > 0
    drawn = np.zeros((resamples, 2, 3), np.int64)
    for kind in (counts[positive], counts[~positive]):
        if len(kind) == 1:
            return None
        if len(kind):
            times = rng.multinomial(len(kind), np.full(len(kind), 1 / len(kind)), resamples)
            drawn += np.tensordot(times, kind, axes=1)
    values = metric(drawn)
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


# --- all together --------------------------------------------------------------------------------


def score(
    truths: Sequence[int],
    predictions: Sequence[int | None],
    clusters: Sequence[str],
    rng: np.random.Generator,
) -> Scores:
    """Compute every metric with its interval.

    Wilson's interval for the proportions, the cluster bootstrap for balanced accuracy and macro-F1.
    """
    by_cluster = cluster_counts(truths, predictions, clusters)
    counts = by_cluster.sum(axis=0)
    over = {
        "sensitivity": (counts[1, 1], counts[1].sum()),
        "specificity": (counts[0, 0], counts[0].sum()),
        "accuracy": (counts[0, 0] + counts[1, 1], counts.sum()),
        "unanswered_rate": (counts[:, NO_ANSWER].sum(), counts.sum()),
    }
    estimates = {}
    for name, metric in METRICS.items():
        value = float(metric(counts))
        if name in over:
            hits, n = (int(number) for number in over[name])
            interval = wilson_interval(hits, n)
        else:
            n = int(counts.sum())
            interval = cluster_bootstrap(metric, by_cluster, rng)
        estimates[name] = Estimate(None if math.isnan(value) else value, interval, n)
    return Scores(counts, len(by_cluster), estimates)
