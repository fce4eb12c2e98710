"""Failure points: where along a rising difficulty answers turn wrong, and survival curves.

A *trajectory* is the series of one otherwise equal view along one factor, from easy to hard: the
same person, pose, place and camera direction at falling pixel density, or in falling light. Its
failure point is the first level at which the answer is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["SurvivalCurve", "Trajectory", "kaplan_meier", "survival", "trajectories"]


@dataclass(frozen=True)
class Trajectory:
    """One otherwise equal view along a factor.

    Attributes:
        group: What is equal.
        levels: Of the factor, from easy to hard.
        right: Whether the answer was right, at each.
    """

    group: Hashable
    levels: tuple[float, ...]
    right: tuple[bool, ...]

    @property
    def failure(self) -> float | None:
        """The first level at which the answer was wrong, None where it never was."""
        wrong = [level for level, right in zip(self.levels, self.right, strict=True) if not right]
        return wrong[0] if wrong else None

    @property
    def recovers(self) -> bool:
        """Whether a harder level was answered right again."""
        return any(self.right[self.right.index(False) :]) if False in self.right else False


@dataclass(frozen=True)
class SurvivalCurve:
    """The share of trajectories that are still answered right, level by level (Kaplan-Meier).

    Attributes:
        levels: From easy to hard.
        surviving: Share that has not failed up to and with this level.
        low: Lower end of its 95 % interval (log-log).
        high: Upper end.
        at_risk: Trajectories that were shown this level and had not failed before.
        failed: Of these, how many fail here.
        trajectories: How many there are.
        never_failed: How many never fail.
        recovered: How many are right again after they failed.
        median: The easiest level at which no more than half survive; None where more do.
    """

    levels: tuple[float, ...]
    surviving: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_risk: tuple[int, ...]
    failed: tuple[int, ...]
    trajectories: int
    never_failed: int
    recovered: int
    median: float | None


def trajectories(
    groups: Sequence[Hashable],
    levels: ArrayLike,
    right: ArrayLike,
    *,
    easy_is_high: bool = True,
) -> list[Trajectory]:
    """Put answers together into trajectories; those of a single level are left out.

    A level that a trajectory meets more than once counts as right when all its answers are.

    Args:
        groups: (N,) what is otherwise equal.
        levels: (N,) of the factor.
        right: (N,) whether the answer was right.
        easy_is_high: Whether a larger level is easier, as more light is.
    """
    values = np.asarray(levels, float)
    found: dict[Hashable, dict[float, bool]] = {}
    for group, level, hit in zip(groups, values, np.asarray(right, bool), strict=True):
        steps = found.setdefault(group, {})
        steps[float(level)] = steps.get(float(level), True) and bool(hit)
    made = []
    for group, steps in found.items():
        order = sorted(steps, reverse=easy_is_high)
        if len(order) > 1:
            made.append(Trajectory(group, tuple(order), tuple(steps[level] for level in order)))
    return made


def survival(found: Sequence[Trajectory], *, easy_is_high: bool = True) -> SurvivalCurve:
    """The survival curve of trajectories, which may begin and end at different levels."""
    levels = sorted({level for one in found for level in one.levels}, reverse=easy_is_high)
    place = {level: number for number, level in enumerate(levels)}
    entry = np.array([place[one.levels[0]] for one in found], np.int64)
    last = np.array(
        [place[one.failure if one.failure is not None else one.levels[-1]] for one in found]
    )
    event = np.array([one.failure is not None for one in found], bool)
    curve = kaplan_meier(entry, last.astype(np.int64), event, len(levels))
    surviving = curve["surviving"]
    below = [level for level, share in zip(levels, surviving, strict=True) if share <= 0.5]
    return SurvivalCurve(
        levels=tuple(levels),
        surviving=tuple(map(float, surviving)),
        low=tuple(map(float, curve["low"])),
        high=tuple(map(float, curve["high"])),
        at_risk=tuple(map(int, curve["at_risk"])),
        failed=tuple(map(int, curve["failed"])),
        trajectories=len(found),
        never_failed=int((~event).sum()),
        recovered=sum(one.recovers for one in found),
        median=below[0] if below else None,
    )


def kaplan_meier(
    entry: NDArray[np.int64], last: NDArray[np.int64], event: NDArray[np.bool_], steps: int
) -> Mapping[str, NDArray[np.float64]]:
    """Kaplan and Meier's estimate with delayed entry, over numbered steps.

    Args:
        entry: (N,) the first step that each is watched at.
        last: (N,) the step at which it fails, or the last at which it was watched.
        event: (N,) whether it failed.
        steps: How many steps there are.

    Returns:
        ``surviving``, ``low``, ``high`` (95 %, from Greenwood's variance on the log-log scale),
        ``at_risk`` and ``failed``, (steps,) each.

    Source: Kaplan and Meier, J. Am. Stat. Assoc. 53 (1958) 457; interval: Kalbfleisch and Prentice,
    The Statistical Analysis of Failure Time Data (1980), 1.3.
    """
    step = np.arange(steps)[:, None]
    at_risk = ((entry <= step) & (step <= last)).sum(axis=1)
    failed = ((last == step) & event).sum(axis=1)
    ratio = np.divide(failed, at_risk, out=np.zeros(steps), where=at_risk > 0)
    surviving = np.cumprod(1 - ratio)
    below = at_risk * (at_risk - failed)
    greenwood = np.cumsum(np.divide(failed, below, out=np.zeros(steps), where=below > 0))
    low, high = surviving.copy(), surviving.copy()
    inside = (surviving > 0) & (surviving < 1)
    log = np.log(surviving[inside])
    width = 1.959964 * np.sqrt(greenwood[inside]) / np.abs(log)
    low[inside] = surviving[inside] ** np.exp(width)
    high[inside] = surviving[inside] ** np.exp(-width)
    # Nobody failed yet: as if the next one did, or all would.
    whole = (surviving == 1) & (at_risk > 0)
    low[whole] = 0.025 ** (1 / np.maximum(at_risk[whole], 1))
    return {
        "surviving": surviving,
        "low": low,
        "high": high,
        "at_risk": at_risk.astype(float),
        "failed": failed.astype(float),
    }
