"""Scores of yes/no answers. Pure functions of counts.

*Counts* are an integer array (..., 2, 5) whose axes are the truth (0, 1) and the outcome: answered
0, answered 1, and the three ways of giving no usable answer (unparsed, refused, error). A missing
answer is neither label, so it is wrong in every metric. Where a metric has nothing to be computed
over (specificity without a negative) it is nan, never a number that looks like a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ERROR",
    "METRICS",
    "OUTCOMES",
    "PROPORTIONS",
    "REFUSED",
    "UNPARSED",
    "Counts",
    "Metric",
    "accuracy",
    "balanced_accuracy",
    "confusion",
    "constant_accuracy",
    "error_rate",
    "macro_f1",
    "mcc",
    "outcome_code",
    "refusal_rate",
    "sensitivity",
    "specificity",
    "unparsable_rate",
    "yes_rate",
]

OUTCOMES = ("0", "1", "unparsed", "refused", "error")
"""The outcomes of a question, in the order of the counts' last axis."""

UNPARSED, REFUSED, ERROR = 2, 3, 4

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def outcome_code(outcome: str, prediction: int | None) -> int:
    """Return the place in ``OUTCOMES`` of an answer's row.

    Args:
        outcome: ``ok``, ``unparsed``, ``refused`` or ``error``.
        prediction: 0 or 1 where the outcome is ``ok``.
    """
    return int(prediction or 0) if outcome == "ok" else OUTCOMES.index(outcome)


def confusion(truths: ArrayLike, outcomes: ArrayLike, cells: ArrayLike = 0, n: int = 1) -> Counts:
    """Count answers by truth and outcome within cells.

    Args:
        truths: (N,) of 0 and 1.
        outcomes: (N,) places in ``OUTCOMES``.
        cells: (N,) numbers from 0 to ``n`` - 1, as of clusters.
        n: How many cells.

    Returns:
        (n, 2, 5).

    Raises:
        ValueError: The lengths differ, or a number is out of range.
    """
    truth, outcome = np.asarray(truths, np.int64), np.asarray(outcomes, np.int64)
    if truth.shape != outcome.shape:
        raise ValueError(f"{truth.size} truths and {outcome.size} outcomes")
    cell = np.broadcast_to(np.asarray(cells, np.int64), truth.shape)
    place = np.ravel_multi_index((cell, truth, outcome), (n, 2, len(OUTCOMES)))
    counts = np.bincount(place, minlength=n * 2 * len(OUTCOMES))
    return counts.reshape(n, 2, len(OUTCOMES)).astype(np.int64)


# --- shares of questions -------------------------------------------------------------------------


def _of_truth(counts: Counts, label: int) -> Counts:
    """Questions of a truth. Written out: a sum over a short last axis is slow."""
    row = counts[..., label, :]
    return np.asarray(row[..., 0] + row[..., 1] + row[..., 2] + row[..., 3] + row[..., 4])


def _said(counts: Counts, outcome: int) -> Counts:
    return np.asarray(counts[..., 0, outcome] + counts[..., 1, outcome])


def _all(counts: Counts) -> Counts:
    return _of_truth(counts, 0) + _of_truth(counts, 1)


Share = Callable[[Counts], tuple[Counts, Counts]]

PROPORTIONS: dict[str, Share] = {
    "accuracy": lambda c: (c[..., 0, 0] + c[..., 1, 1], _all(c)),
    "sensitivity": lambda c: (c[..., 1, 1], _of_truth(c, 1)),
    "specificity": lambda c: (c[..., 0, 0], _of_truth(c, 0)),
    "yes_rate": lambda c: (_said(c, 1), _all(c)),
    "unparsable_rate": lambda c: (_said(c, UNPARSED), _all(c)),
    "refusal_rate": lambda c: (_said(c, REFUSED), _all(c)),
    "error_rate": lambda c: (_said(c, ERROR), _all(c)),
}
"""Metrics that are a share of questions: name -> (hits, of how many)."""


def _ratio(part: ArrayLike, whole: ArrayLike, undefined: float = math.nan) -> Floats:
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    return np.divide(part, whole, out=np.full(whole.shape, undefined), where=whole > 0)


# --- metrics -------------------------------------------------------------------------------------


def accuracy(counts: Counts) -> Floats:
    """Right answers / all questions."""
    return _ratio(*PROPORTIONS["accuracy"](counts))


def sensitivity(counts: Counts) -> Floats:
    """Answers 1 among the questions whose truth is 1 (true positive rate, recall)."""
    return _ratio(*PROPORTIONS["sensitivity"](counts))


def specificity(counts: Counts) -> Floats:
    """Answers 0 among the questions whose truth is 0 (true negative rate)."""
    return _ratio(*PROPORTIONS["specificity"](counts))


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
            _of_truth(counts, label) + _said(counts, label),
            undefined=0.0,
        )
        for label in (0, 1)
    ]
    return np.where(_all(counts) > 0, sum(per_label) / 2, math.nan)


def mcc(counts: Counts) -> Floats:
    """Matthews' correlation coefficient; a missing answer is a third label, right for nothing.

    0 for a constant answer; undefined where only one truth occurs. Source: Gorodkin, Computational
    Biology and Chemistry 28 (2004) 367, of which two labels are Matthews' own.
    """
    truth = [np.asarray(_of_truth(counts, label), float) for label in (0, 1)]
    answer = [np.asarray(_said(counts, label), float) for label in (0, 1)]
    n = truth[0] + truth[1]
    missing = n - answer[0] - answer[1]
    hits = counts[..., 0, 0] + counts[..., 1, 1]
    above = hits * n - truth[0] * answer[0] - truth[1] * answer[1]
    spread = n**2 - truth[0] ** 2 - truth[1] ** 2
    of_answers = n**2 - answer[0] ** 2 - answer[1] ** 2 - missing**2
    return np.where(
        spread > 0, _ratio(above, np.sqrt(spread * of_answers), undefined=0.0), math.nan
    )


def yes_rate(counts: Counts) -> Floats:
    """Answers 1 / all questions, whatever the truth."""
    return _ratio(*PROPORTIONS["yes_rate"](counts))


def unparsable_rate(counts: Counts) -> Floats:
    """Answers that say neither 0 nor 1 / all questions."""
    return _ratio(*PROPORTIONS["unparsable_rate"](counts))


def refusal_rate(counts: Counts) -> Floats:
    """Refusals / all questions."""
    return _ratio(*PROPORTIONS["refusal_rate"](counts))


def error_rate(counts: Counts) -> Floats:
    """Questions that failed (no answer came) / all questions."""
    return _ratio(*PROPORTIONS["error_rate"](counts))


def constant_accuracy(counts: Counts) -> Floats:
    """The accuracy of the better constant answer on the same questions: the larger base rate."""
    return _ratio(np.maximum(_of_truth(counts, 0), _of_truth(counts, 1)), _all(counts))


Metric = Callable[[Counts], Floats]

METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "sensitivity": sensitivity,
    "specificity": specificity,
    "macro_f1": macro_f1,
    "mcc": mcc,
    "yes_rate": yes_rate,
    "unparsable_rate": unparsable_rate,
    "refusal_rate": refusal_rate,
    "error_rate": error_rate,
}


def labels_present_macro_f1(counts: Counts) -> float:
    """The published macro-F1: over the labels that occur as truth or answer, missing ones dropped.

    Args:
        counts: (2, 5).
    """
    table = np.asarray(counts)[:, :2]
    scores: Sequence[float] = [
        2 * table[label, label] / (table[label].sum() + table[:, label].sum())
        for label in (0, 1)
        if table[label].sum() + table[:, label].sum() > 0
    ]
    return float(np.mean(scores)) if scores else math.nan
