"""What size buys: score or threshold against the number of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["SizeLaw", "fit_size_law", "rank_correlation"]


@dataclass(frozen=True)
class SizeLaw:
    """A straight line of a score over log10 of the parameters.

    Attributes:
        per_decade: Change of the score for ten times the parameters.
        at_1b: The score at a thousand million parameters.
        interval: 95 % of ``per_decade``; None with fewer than three models.
        rank_correlation: Spearman's, of size and score.
        n: Models.
    """

    per_decade: float
    at_1b: float
    interval: tuple[float, float] | None
    rank_correlation: float
    n: int


def fit_size_law(parameters_b: Sequence[float], scores: Sequence[float]) -> SizeLaw | None:
    """Fit a line by least squares; models are the independent units.

    Args:
        parameters_b: Thousand million parameters of each model.
        scores: Of each model, as an accuracy or log10 of a threshold.

    Returns:
        None with fewer than two sizes.
    """
    from scipy import stats

    x, y = np.log10(np.asarray(parameters_b, float)), np.asarray(scores, float)
    if len(np.unique(x)) < 2:
        return None
    slope, at_1b = np.polyfit(x, y, 1)
    interval = None
    if len(x) > 2:
        residual = y - (at_1b + slope * x)
        error = math.sqrt(float((residual**2).sum()) / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
        width = float(stats.t.ppf(0.975, len(x) - 2)) * error
        interval = (float(slope) - width, float(slope) + width)
    return SizeLaw(
        float(slope), float(at_1b), interval, rank_correlation(x.tolist(), y.tolist()), len(x)
    )


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, ties at their mean rank; nan where one side is constant."""
    from scipy import stats

    a, b = stats.rankdata(x), stats.rankdata(y)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])
