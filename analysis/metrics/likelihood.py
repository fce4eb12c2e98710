"""The likelihood of psychometric functions: many climbs at once, and profiles.

What :mod:`.psychometric` computes with. Parameters are rows theta (B, 4): log10 of the threshold at
the share whose log odds are ``shift``, ln slope, guess, lapse. All rows climb together, so that a
profile is one call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BEYOND",
    "EPS",
    "GRID",
    "SLOPES",
    "AnswerTable",
    "bounds_of",
    "curve",
    "fit",
    "log10",
    "log_likelihood",
    "parts",
    "profile",
]

SLOPES = (0.5, 500.0)
"""Least and greatest: from flat over four decades to a step between neighbouring levels."""

BEYOND = 1.0
"""Decades around the levels in which a threshold is looked for."""

GRID = 45
EPS = 1e-9

_MAX_LEVELS = 64
_MAX_RATE = 0.5  # of lapses, and of guesses where no blank says what they are

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answers by level: log10 of the stimulus (K,), -inf for blanks; seen and all (K,).

    ``by_cluster`` is (2, C, K), seen and all; one cluster a row of answers is never made: None.
    """

    x: Floats
    seen: Floats
    n: Floats
    by_cluster: Floats | None

    @classmethod
    def of(cls, stimulus: Floats, seen: Floats, group: NDArray[np.int64] | None) -> AnswerTable:
        """Count answers (N,) at stimuli (N,), 0 for a blank, of clusters (N,) numbered from 0."""
        x = log10(stimulus)
        shown = np.isfinite(x)
        levels, which = np.unique(np.round(x[shown], 9), return_inverse=True)
        if len(levels) > _MAX_LEVELS:
            edges = np.linspace(levels[0], levels[-1], _MAX_LEVELS + 1)[1:-1]
            which = np.unique(np.searchsorted(edges, x[shown]), return_inverse=True)[1]
            levels = np.bincount(which, x[shown]) / np.bincount(which)
        blanks = not shown.all()
        place = np.zeros(len(x), np.int64)
        place[shown] = which + blanks
        k = len(levels) + blanks
        by_cluster = None
        if group is not None:
            by_cluster = np.zeros((2, int(group.max()) + 1, k))
            np.add.at(by_cluster[0], (group, place), seen)
            np.add.at(by_cluster[1], (group, place), 1.0)
        return cls(
            np.concatenate([[-np.inf], levels]) if blanks else levels,
            np.bincount(place, seen, minlength=k).astype(float),
            np.bincount(place, minlength=k).astype(float),
            by_cluster,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest level, as log10."""
        shown = self.x[np.isfinite(self.x)]
        return float(shown[0]), float(shown[-1])

    def only(self, rows: NDArray[np.bool_]) -> AnswerTable:
        """Some levels of it, without clusters."""
        return replace(self, x=self.x[rows], seen=self.seen[rows], n=self.n[rows], by_cluster=None)

    @property
    def has_blanks(self) -> bool:
        """Whether the first row is of blanks."""
        return bool(np.isneginf(self.x[0]))

    @property
    def clusters(self) -> int:
        """How many; 0 where none were given."""
        return 0 if self.by_cluster is None else self.by_cluster.shape[1]


def log10(stimulus: Floats) -> Floats:
    """The logarithm; of a blank, -inf."""
    return np.log10(stimulus, out=np.full(stimulus.shape, -np.inf), where=stimulus > 0)


# --- the curve and its likelihood ----------------------------------------------------------------


def curve(theta: Floats, x: Floats, shift: float) -> Floats:
    """Shares of "seen" (B, K)."""
    return np.asarray(parts(theta, x, shift)[0])


def parts(theta: Floats, x: Floats, shift: float) -> tuple[Floats, Floats, Floats]:
    """Shares (B, K), the logistic (B, K) and the curve's derivatives (B, K, 4)."""
    t, b, guess, lapse = theta[:, 0, None], np.exp(theta[:, 1, None]), theta[:, 2], theta[:, 3]
    shown = np.isfinite(x)
    away = np.where(shown, x, 0.0)[None] - t
    logistic = np.where(shown, 0.5 * (1 + np.tanh(0.5 * (b * away + shift))), 0.0)
    span = (1 - guess - lapse)[:, None]
    change = span * logistic * (1 - logistic) * b
    slopes = np.stack([-change, change * away, 1 - logistic, -logistic], axis=-1)
    return guess[:, None] + span * logistic, logistic, slopes


def log_likelihood(share: Floats, table: AnswerTable) -> Floats:
    """Of shares (B, K) of "seen": (B,)."""
    p = np.clip(share, EPS, 1 - EPS)
    return np.asarray((table.seen * np.log(p) + (table.n - table.seen) * np.log1p(-p)).sum(axis=-1))


def bounds_of(table: AnswerTable, guess: float | None, lapse: float | None) -> Floats:
    """(2, 4): the least and the greatest of each parameter."""
    low, high = table.ends
    guesses = (0.0, 0.999 - (lapse or 0) if table.has_blanks else _MAX_RATE)
    lapses = (0.0, min(_MAX_RATE, 0.999 - (guess or 0)))
    return np.array(
        [
            (low - 2 * BEYOND, high + 2 * BEYOND),
            (math.log(SLOPES[0]), math.log(SLOPES[1])),
            guesses if guess is None else (guess, guess),
            lapses if lapse is None else (lapse, lapse),
        ]
    ).T


def climb(
    table: AnswerTable, theta: Floats, bounds: Floats, shift: float, held: int | None = None
) -> tuple[Floats, Floats]:
    """Climb the likelihood from each row: Fisher scoring, damped, inside the bounds."""
    theta = np.clip(theta, *bounds)
    movable = bounds[1] > bounds[0]
    if held is not None:
        movable = movable & (np.arange(4) != held)
    damping = np.full(len(theta), 1e-2)
    share, _, slopes = parts(theta, table.x, shift)
    value = log_likelihood(share, table)
    for _ in range(60):
        p = np.clip(share, EPS, 1 - EPS)
        residual = (table.seen - table.n * p) / (p * (1 - p))
        gradient = (residual[:, None] @ slopes)[:, 0]
        weighted = slopes * (table.n / (p * (1 - p)))[..., None]
        information = weighted.transpose(0, 2, 1) @ slopes
        leaving = ((theta <= bounds[0]) & (gradient < 0)) | ((theta >= bounds[1]) & (gradient > 0))
        free = movable & ~leaving
        gradient = np.where(free, gradient, 0.0)
        information *= free[:, :, None] * free[:, None, :]
        diagonal = np.einsum("bii->bi", information)
        diagonal += damping[:, None] * diagonal + 1e-6 + ~free
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        tried = np.clip(theta + np.clip(step, -1.0, 1.0), *bounds)
        tried[:, 3] = np.minimum(tried[:, 3], np.maximum(0.999 - tried[:, 2], bounds[0, 3]))
        new_share, _, new_slopes = parts(tried, table.x, shift)
        new_value = log_likelihood(new_share, table)
        better = new_value >= value
        gain = np.where(better, new_value - value, 0.0)
        theta = np.where(better[:, None], tried, theta)
        share = np.where(better[:, None], new_share, share)
        slopes = np.where(better[:, None, None], new_slopes, slopes)
        value = np.where(better, new_value, value)
        damping = np.clip(np.where(better, damping / 4, damping * 6), 1e-9, 1e9)
        if ((better & (gain < 1e-8)) | (damping >= 1e8)).all():
            break
    return theta, value


def fit(table: AnswerTable, bounds: Floats) -> tuple[Floats, float]:
    """The parameters (4,) of the highest likelihood within bounds (2, 4), and its logarithm."""
    low, high = table.ends
    starts = np.array(
        [
            (t, math.log(b), guess, lapse)
            for t in np.linspace(low - 0.3, high + 0.3, 9)
            for b in (2.0, 8.0, 30.0)
            for guess, lapse in ((0.02, 0.02), (0.3, 0.02), (0.02, 0.3))
        ]
    )
    theta, value = climb(table, starts, bounds, 0.0)
    best = int(value.argmax())
    return theta[best], float(value[best])


def profile(
    table: AnswerTable,
    bounds: Floats,
    theta: Floats,
    best: float,
    held: int,
    grid: Floats,
    shift: float,
    quantile: float,
) -> tuple[float | None, float | None]:
    """The interval of one parameter: where the profile stays within the quantile of the best."""

    def loss(values: Floats) -> Floats:
        # Far from the best fit the climb may end on a lower hill: three ways up each.
        rows = np.repeat(theta[None], 3 * len(values), axis=0)
        rows[:, held] = np.repeat(values, 3)
        rows[:, 1 - held] += np.tile(
            [0.0, -1.0, 1.0] if held == 0 else [0.0, -0.3, 0.3], len(values)
        )
        wide = bounds.copy()
        wide[0, held], wide[1, held] = -np.inf, np.inf
        _, value = climb(table, rows, wide, shift, held)
        return np.asarray(2 * (best - value.reshape(-1, 3).max(axis=1)) - quantile)

    losses = loss(grid)
    centre = theta[held]
    ends: list[float | None] = []
    for side in (grid[grid < centre][::-1], grid[grid > centre]):
        values = dict(zip(grid, losses, strict=True))
        inner = centre
        outer = next((g for g in side if values[g] > 0), None)
        if outer is None:
            ends.append(None)
            continue
        inside = [g for g in side if abs(g - centre) < abs(outer - centre)]
        inner = inside[-1] if inside else inner
        fine = np.linspace(inner, outer, 9)
        fine_loss = np.maximum.accumulate(loss(fine))
        after = int(np.argmax(fine_loss > 0))
        if after == 0:
            ends.append(float(fine[0]))
            continue
        a, b = fine_loss[after - 1], fine_loss[after]
        ends.append(float(fine[after - 1] + (fine[after] - fine[after - 1]) * (-a / (b - a))))
    return ends[0], ends[1]
