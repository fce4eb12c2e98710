"""How good probabilities of labels are, and whether one model is really better than another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import (
    RESAMPLES,
    Estimate,
    compare_paired,
    draw_clusters,
    holm,
    percentile_interval,
)
from ..metrics.scores import accuracy, balanced_accuracy, confusion, macro_f1

__all__ = [
    "BETTER",
    "METRICS",
    "NO_DIFFERENCE",
    "TOO_FEW",
    "CalibrationBin",
    "PairedTest",
    "Scores",
    "calibration_curve",
    "compare_models",
    "score_model",
]

METRICS = ("accuracy", "macro_f1", "balanced_accuracy", "auc", "brier")

ALPHA = 0.05
BETTER = "{} is better"
NO_DIFFERENCE = "no real difference"
TOO_FEW = "too few groups to tell"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Scores = dict[str, Estimate]


@dataclass(frozen=True)
class PairedTest:
    """Two models on the same images.

    Attributes:
        first: Name of a model.
        second: Name of the other.
        difference: Accuracy of the first minus that of the second, with its interval by groups.
        only_first: Images that only the first has right.
        only_second: Images that only the second has right.
        p_value: Of no difference, by groups; None where fewer than two groups differ.
        p_holm: The same, adjusted for all pairs tested.
        p_mcnemar: McNemar's exact p, which takes images as independent.
        verdict: ``NAME is better``, ``no real difference`` or ``too few groups to tell``.
    """

    first: str
    second: str
    difference: Estimate
    only_first: int
    only_second: int
    p_value: float | None
    p_holm: float | None
    p_mcnemar: float
    verdict: str


@dataclass(frozen=True)
class CalibrationBin:
    """Images of similar probability: mean probability, share of label 1, how many."""

    probability: float
    share: float
    n: int


def score_model(
    labels: Ints, probability: Floats, groups: Ints, *, threshold: float, rng: np.random.Generator
) -> Scores:
    """Score probabilities of label 1, each with a 95 % interval by groups drawn again.

    Args:
        labels: (N,) of 0 and 1.
        probability: (N,).
        groups: (N,) numbers from 0 of what belongs together.
        threshold: Where label 1 begins.
        rng: Of the bootstrap.

    Returns:
        Name of :data:`METRICS` -> estimate; AUC is undefined where one label does not occur.
    """
    size = int(groups.max()) + 1
    times = draw_clusters(np.zeros(size, int), rng)
    clusters = len(np.unique(groups))
    counts = confusion(labels, (probability >= threshold).astype(int), groups, size)
    drawn = (times @ counts.reshape(size, -1)).reshape(len(times), 2, -1)
    found: Scores = {}
    rates = {"accuracy": accuracy, "macro_f1": macro_f1, "balanced_accuracy": balanced_accuracy}
    for name, metric in rates.items():
        found[name] = _estimate(float(metric(counts.sum(axis=0))), metric(drawn), labels, clusters)

    concordant = _concordant(labels, probability, groups, size)
    above = np.einsum("rc,cd,rd->r", times, concordant, times)
    of_label = [np.bincount(groups, labels == label, minlength=size) for label in (0, 1)]
    pairs = (times @ of_label[0]) * (times @ of_label[1])
    all_pairs = float(of_label[0].sum() * of_label[1].sum())
    auc = float(concordant.sum()) / all_pairs if all_pairs else np.nan
    drawn_auc = np.divide(above, pairs, out=np.full(len(times), np.nan), where=pairs > 0)
    found["auc"] = _estimate(auc, drawn_auc, labels, clusters)

    loss = (probability - labels) ** 2
    sums = np.bincount(groups, loss, minlength=size)
    n = np.bincount(groups, minlength=size)
    found["brier"] = _estimate(float(loss.mean()), (times @ sums) / (times @ n), labels, clusters)
    return found


def compare_models(
    labels: Ints,
    probabilities: Mapping[str, Floats],
    groups: Ints,
    *,
    threshold: float,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
) -> list[PairedTest]:
    """Test every pair of models on the same images, by groups, adjusted for how many are tested.

    A difference is called real where its adjusted p is below 5 % and its interval leaves out 0.

    Args:
        labels: (N,) of 0 and 1.
        probabilities: Name -> (N,) probability of label 1.
        groups: (N,) numbers from 0.
        threshold: Where label 1 begins.
        rng: Of the bootstrap.
        names: Of the models; None takes all.
    """
    size = int(groups.max()) + 1
    strata = np.zeros(size, int)
    times = draw_clusters(strata, rng, RESAMPLES)
    right = {name: (probabilities[name] >= threshold) == labels for name in names or probabilities}
    pairs = list(combinations(right, 2))
    tests = [compare_paired(right[a], right[b], groups, strata, times) for a, b in pairs]
    adjusted = holm([1.0 if test.p_value is None else test.p_value for test in tests])
    return [
        PairedTest(
            a,
            b,
            test.difference,
            test.only_first,
            test.only_second,
            test.p_value,
            None if test.p_value is None else p_holm,
            test.p_mcnemar,
            _verdict(a, b, test.difference, None if test.p_value is None else p_holm),
        )
        for (a, b), test, p_holm in zip(pairs, tests, adjusted, strict=True)
    ]


def calibration_curve(labels: Ints, probability: Floats, bins: int = 8) -> list[CalibrationBin]:
    """Share of label 1 against probability, in bins of about as many images."""
    order = np.argsort(probability, kind="stable")
    return [
        CalibrationBin(float(probability[part].mean()), float(labels[part].mean()), len(part))
        for part in np.array_split(order, min(bins, len(order)))
        if len(part)
    ]


def _verdict(first: str, second: str, difference: Estimate, p_holm: float | None) -> str:
    if p_holm is None or difference.value is None or difference.interval is None:
        return TOO_FEW
    low, high = difference.interval
    if p_holm < ALPHA and not low <= 0 <= high:
        return BETTER.format(first if difference.value > 0 else second)
    return NO_DIFFERENCE


def _estimate(value: float, drawn: Floats, labels: Ints, clusters: int) -> Estimate:
    if np.isnan(value):
        return Estimate(None, None, len(labels), clusters)
    return Estimate(value, percentile_interval(drawn, clusters), len(labels), clusters)


def _concordant(labels: Ints, probability: Floats, groups: Ints, size: int) -> Floats:
    """(C, C): pairs of a 1 in the one group and a 0 in the other with the 1 higher; ties a half."""
    ones, zeros = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    table = np.zeros((size, size))
    for one in ones:
        against = probability[one] - probability[zeros]
        wins = (against > 0) + 0.5 * (against == 0)
        table[groups[one]] += np.bincount(groups[zeros], wins, minlength=size)
    return table
