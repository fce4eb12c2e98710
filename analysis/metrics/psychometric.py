"""Psychometric functions: from which pixel density, or which light, on a target is seen.

The share of answers "seen" at a stimulus x > 0 (px/m, lux) is

    p(x) = guess + (1 - guess - lapse) * logistic(slope * (log10 x - location))

``guess`` is the share of "seen" where there is nothing to see, ``lapse`` the share missed however
strong the stimulus is. **A threshold at a share q is the x at which the logistic itself is q**: q
of the way from the guess rate up to the ceiling 1 - lapse, not q of all answers. So thresholds of
observers with different rates of false alarms and of inattention compare.

Source: Wichmann and Hill, Perception & Psychophysics 63 (2001) 1293; Treutwein and Strasburger,
Perception & Psychophysics 61 (1999) 87.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import likelihood

__all__ = [
    "SHARES",
    "Level",
    "PsychometricError",
    "PsychometricFit",
    "Threshold",
    "fit_psychometric",
]

SHARES = (0.5, 0.8)
FEW_CLUSTERS = 20


Floats = NDArray[np.float64]


class PsychometricError(ValueError):
    """The answers cannot be fitted; the message says why."""


@dataclass(frozen=True)
class Threshold:
    """The stimulus at which a share of the way from guess rate to ceiling is reached.

    Attributes:
        share: Which, as 0.5.
        value: In the stimulus's unit; None where it lies beyond the levels that were shown, or the
            answers do not depend on the stimulus.
        interval: 95 %; an end is None where the data set no bound on that side.
    """

    share: float
    value: float | None
    interval: tuple[float | None, float | None]


@dataclass(frozen=True)
class Level:
    """Answers at one stimulus, 0 for blanks: how many, and how many of them "seen"."""

    stimulus: float
    seen: float
    n: int


@dataclass(frozen=True)
class PsychometricFit:
    """A fitted psychometric function, see the top of the module.

    Attributes:
        guess: Share of "seen" with nothing there.
        lapse: Share missed at any strength.
        location: log10 of the stimulus half way up.
        slope: Log odds per decade of stimulus; a quarter to three quarters of the way up takes
            ``2 ln 3 / slope`` decades.
        slope_interval: 95 %; an end is None where the data set no bound.
        thresholds: In the order of the shares asked for.
        levels: What was fitted, ascending; the first is of stimulus 0 where there are blanks.
        n: Answers, blanks included.
        clusters: Independent groups among them; None where none were given.
        design_effect: By how much clusters widen the variance of the threshold, at least 1.
        deviance: Twice the log likelihood that the curve lacks to one share per level.
        p_value: Of the deviance, taking the design effect into account: small says that the curve
            does not describe the answers. None without a degree of freedom left.
        depends: Whether the answers depend on the stimulus at all; if not, slope and location mean
            nothing.
        warnings: What a reader of the numbers must know, a sentence each.
    """

    guess: float
    lapse: float
    location: float
    slope: float
    slope_interval: tuple[float | None, float | None]
    thresholds: tuple[Threshold, ...]
    levels: tuple[Level, ...]
    n: int
    clusters: int | None
    design_effect: float
    deviance: float
    p_value: float | None
    depends: bool
    warnings: tuple[str, ...]

    @property
    def constant(self) -> bool:
        """Whether all answers are alike: the thresholds have a bound, the curve has no shape."""
        shown = [level for level in self.levels if level.stimulus > 0]
        return any(all(level.seen == share * level.n for level in shown) for share in (0, 1))

    def probability(self, stimulus: ArrayLike) -> Floats:
        """The fitted share of "seen" at stimuli of any shape; 0 means a blank."""
        theta = np.array([self.location, math.log(self.slope), self.guess, self.lapse])
        x = likelihood.log10(np.asarray(stimulus, float))
        return np.asarray(likelihood.curve(theta[None], x.ravel(), 0.0)[0].reshape(x.shape), float)

    def threshold(self, share: float) -> Threshold:
        """The threshold at one of the shares asked for.

        Raises:
            KeyError: That share was not asked for.
        """
        for found in self.thresholds:
            if math.isclose(found.share, share):
                return found
        raise KeyError(f"no threshold at {share} was asked for")


def fit_psychometric(
    stimulus: ArrayLike,
    seen: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    guess: float | None = None,
    lapse: float | None = None,
    shares: Sequence[float] = SHARES,
    unit: str = "",
) -> PsychometricFit:
    """Fit a psychometric function by maximum likelihood.

    Intervals are where twice the profile log likelihood falls by less than the 95 % quantile of
    chi squared with one degree of freedom. They need no resampling, hold where answers jump from
    none to all between two levels, and are open on a side that the data do not bound. With clusters
    that quantile is multiplied by the design effect of the threshold (cluster-robust over
    model-based variance) and taken of F(1, clusters - 1), so that images of one person in one pose
    do not count as independent.

    Args:
        stimulus: (N,), at least 0. 0 is a blank: nothing was there, "seen" is a false alarm, and it
            is the guess rate that it tells of. More than 64 different values are binned evenly in
            their logarithm.
        seen: (N,) of 0 or 1, or shares between.
        clusters: (N,) names of what belongs together.
        guess: Hold the guess rate at this (1/4 of four options); None fits it, up to 0.5 where
            there are no blanks.
        lapse: Hold the lapse rate at this; None fits it, up to 0.5.
        shares: Where thresholds are wanted, between 0 and 1.
        unit: Of the stimulus, for the warnings.

    Raises:
        PsychometricError: A value is impossible, lengths differ, or fewer than two levels lie
            above 0.
    """
    x, y, group = _checked(stimulus, seen, clusters, guess, lapse, shares)
    table = likelihood.AnswerTable.of(x, y, group)
    low, high = table.ends
    bounds = likelihood.bounds_of(table, guess, lapse)
    theta, best = likelihood.fit(table, bounds)
    effect, quantile = _widening(table, theta, bounds)
    warnings = _warnings(table, theta, bounds, guess, lapse, unit)
    depends = not any(kind == "flat" for kind, _ in warnings)

    thresholds = []
    for share in shares:
        shift = math.log(share / (1 - share))
        found = theta.copy()
        found[0] += shift / math.exp(theta[1])
        grid = np.linspace(low - likelihood.BEYOND, high + likelihood.BEYOND, likelihood.GRID)
        interval: tuple[float | None, float | None] = (None, None)
        if depends:
            interval = likelihood.profile(table, bounds, found, best, 0, grid, shift, quantile)
        inside = low - 1e-9 <= found[0] <= high + 1e-9
        value = float(10 ** found[0]) if inside and depends else None
        ends = tuple(None if end is None else float(10**end) for end in interval)
        thresholds.append(Threshold(share, value, (ends[0], ends[1])))
        if depends and not inside and not any(kind == "constant" for kind, _ in warnings):
            side, end = ("below", low) if found[0] < low else ("above", high)
            warnings.append(
                (
                    "beyond",
                    f"the {share:.0%} threshold lies {side} what was shown "
                    f"({side} {_amount(10**end, unit)})",
                )
            )
    slopes: tuple[float | None, float | None] = (None, None)
    if depends:
        steps = np.log(np.geomspace(*likelihood.SLOPES, likelihood.GRID))
        slopes = likelihood.profile(table, bounds, theta, best, 1, steps, 0.0, quantile)
    deviance, p_value = _goodness(table, theta, best, effect, guess, lapse)
    if p_value is not None and p_value < 0.01:
        warnings.append(("poor", f"the curve describes the answers poorly (p = {p_value:.2g})"))
    return PsychometricFit(
        guess=float(theta[2]),
        lapse=float(theta[3]),
        location=float(theta[0]),
        slope=float(math.exp(theta[1])),
        slope_interval=(
            None if slopes[0] is None else math.exp(slopes[0]),
            None if slopes[1] is None else math.exp(slopes[1]),
        ),
        thresholds=tuple(thresholds),
        levels=_levels(table),
        n=len(x),
        clusters=None if group is None else table.clusters,
        design_effect=effect,
        deviance=deviance,
        p_value=p_value,
        depends=depends,
        warnings=tuple(text for _, text in warnings),
    )


# --- data ----------------------------------------------------------------------------------------


def _checked(
    stimulus: ArrayLike,
    seen: ArrayLike,
    clusters: Sequence[Hashable] | None,
    guess: float | None,
    lapse: float | None,
    shares: Sequence[float],
) -> tuple[Floats, Floats, NDArray[np.int64] | None]:
    x, y = np.asarray(stimulus, float), np.asarray(seen, float)
    if x.ndim != 1 or x.shape != y.shape or (clusters is not None and len(clusters) != len(x)):
        raise PsychometricError("stimulus, seen and clusters are one-dimensional and equally long")
    if not (np.isfinite(x).all() and (x >= 0).all()):
        raise PsychometricError("a stimulus is a finite number, at least 0")
    if not ((y >= 0) & (y <= 1)).all():
        raise PsychometricError("seen is 0 or 1, or a share between")
    if len(np.unique(x[x > 0])) < 2:
        raise PsychometricError("a curve needs answers at two levels above 0 or more")
    for name, rate in (("guess", guess), ("lapse", lapse)):
        if rate is not None and not 0 <= rate < 1:
            raise PsychometricError(f"{name} is {rate}: a rate is at least 0 and below 1")
    if (guess or 0) + (lapse or 0) >= 1:
        raise PsychometricError("guess and lapse leave no range between them")
    for share in shares:
        if not 0 < share < 1:
            raise PsychometricError(f"a threshold at {share} is not between 0 and 1")
    if clusters is None:
        return x, y, None
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    return x, y, np.array([numbers[name] for name in clusters])


def _levels(table: likelihood.AnswerTable) -> tuple[Level, ...]:
    return tuple(
        Level(0.0 if np.isneginf(x) else float(10**x), float(seen), int(n))
        for x, seen, n in zip(table.x, table.seen, table.n, strict=True)
    )


# --- how far to trust it -------------------------------------------------------------------------


def _widening(table: likelihood.AnswerTable, theta: Floats, bounds: Floats) -> tuple[float, float]:
    """The design effect of the threshold, and what twice the log likelihood may fall by."""
    from scipy import stats

    if table.by_cluster is None or table.clusters < 2:
        return 1.0, float(stats.chi2.ppf(0.95, 1))
    share, _, slopes = (part[0] for part in likelihood.parts(theta[None], table.x, 0.0))
    p = np.clip(share, likelihood.EPS, 1 - likelihood.EPS)
    # A rate at a bound does not move, and neither does what depends on it.
    inside = (theta > bounds[0] + 1e-6) & (theta < bounds[1] - 1e-6)
    effect = 1.0
    if inside[0]:
        slopes = slopes[:, inside]
        information = np.einsum("k,ki,kj->ij", table.n / (p * (1 - p)), slopes, slopes)
        seen, n = table.by_cluster
        scores = ((seen - n * p) / (p * (1 - p))) @ slopes
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        clusters = table.clusters
        robust = inverse @ (scores.T @ scores) @ inverse * clusters / (clusters - 1)
        if inverse[0, 0] > 0 and np.isfinite(robust[0, 0]):
            effect = max(1.0, float(robust[0, 0] / inverse[0, 0]))
    return effect, effect * float(stats.f.ppf(0.95, 1, table.clusters - 1))


def _goodness(
    table: likelihood.AnswerTable,
    theta: Floats,
    best: float,
    effect: float,
    guess: float | None,
    lapse: float | None,
) -> tuple[float, float | None]:
    from scipy import stats

    saturated = float(likelihood.log_likelihood(table.seen / table.n, table))
    deviance = max(0.0, 2 * (saturated - best))
    degrees = len(table.x) - 2 - (guess is None) - (lapse is None)
    if degrees < 1:
        return deviance, None
    return deviance, float(stats.chi2.sf(deviance / effect, degrees))


def _warnings(
    table: likelihood.AnswerTable,
    theta: Floats,
    bounds: Floats,
    guess: float | None,
    lapse: float | None,
    unit: str,
) -> list[tuple[str, str]]:
    """(kind, sentence), most serious first."""
    from scipy import stats

    shown = np.isfinite(table.x)
    seen, n = table.seen[shown], table.n[shown]
    found: list[tuple[str, str]] = []
    share = table.seen[shown].sum() / n.sum()
    constant = float(likelihood.log_likelihood(np.full(len(seen), share), table.only(shown)))
    curve = likelihood.curve(theta[None], table.x[shown], 0.0)[0]
    gain = 2 * (float(likelihood.log_likelihood(curve, table.only(shown))) - constant)
    low, high = (_amount(10**end, unit) for end in table.ends)
    if share in (0.0, 1.0):
        # No evidence of a curve, but of a bound: everything, or nothing, was seen.
        alike = f"all {int(n.sum()):,} answers from {low} to {high} are {'yes' if share else 'no'}"
        found.append(("constant", f"{alike}: no more than a bound is known"))
        if table.has_blanks and share == 1.0 and table.seen[0] > 0.5 * table.n[0]:
            found.append(("flat", "and so are most where nothing is there: no threshold"))
    elif gain < stats.chi2.ppf(0.95, 2) or theta[2] + theta[3] > 0.9:
        found.append(
            (
                "flat",
                f"no dependence on the stimulus can be shown from {low} to {high}: no threshold",
            )
        )
    if found:
        return found
    if len(seen) < 4:
        found.append(("levels", f"only {len(seen)} levels were shown; a curve takes 5 or more"))
    shares = seen / n
    if share not in (0.0, 1.0) and not ((shares > 0.02) & (shares < 0.98)).any():
        found.append(("step", "answers jump between two levels: the slope has no upper bound"))
    if guess is None and not table.has_blanks and theta[2] >= bounds[1, 2] - 1e-6:
        found.append(("guess", f"the guess rate is at its limit of {bounds[1, 2]:.0%}"))
    if lapse is None and theta[3] >= bounds[1, 3] - 1e-6:
        found.append(("lapse", f"the lapse rate is at its limit of {bounds[1, 3]:.0%}"))
    if table.by_cluster is not None and table.clusters < FEW_CLUSTERS:
        found.append(
            ("clusters", f"only {table.clusters} independent groups: intervals are unreliable")
        )
    return found


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}".rstrip() if value >= 1000 else f"{value:.4g} {unit}".rstrip()
