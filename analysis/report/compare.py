"""Two runs against each other, question by question."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...addon.core import seeds
from ..metrics.intervals import Comparison, compare_paired, draw_clusters, holm
from ..metrics.tables import UNKNOWN, cells_of
from .answers import HUMAN, Answerer, Answers

__all__ = ["CompareError", "ComparedCell", "compare_runs"]

_FACTORS = ("condition", "density_px_per_m", "band", "variant", "action", "scenery")


class CompareError(ValueError):
    """The two cannot be compared; the message says why."""


@dataclass(frozen=True)
class ComparedCell:
    """Two answerers in one cell.

    Attributes:
        factor: That cuts it out; ``all`` for everything.
        level: Of it.
        first: Share that the first answered right.
        second: Share that the second did.
        comparison: Of the two.
        p_holm: Its p value among those of all cells, after Holm; that of everything stands alone,
            as one question was asked of it. None where there is no p value.
    """

    factor: str
    level: str
    first: float
    second: float
    comparison: Comparison
    p_holm: float | None


def compare_runs(
    answers: Answers, people: Sequence[Answerer], first: str, second: str
) -> tuple[ComparedCell, ...]:
    """Compare two answerers on the questions that both were asked.

    Args:
        answers: The images.
        people: Who was asked.
        first: Label of one.
        second: Label of the other.

    Returns:
        Everything first, then the levels of each factor.

    Raises:
        CompareError: One is not there, they are the same, or they share no question.
    """
    a, b = _named(people, first), _named(people, second)
    if a.label == b.label:
        raise CompareError(f"'{first}' and '{second}' are one: name two")
    # People are judged by what is there: against their own labels they are always right.
    name = "presence" if HUMAN in (a.kind, b.kind) else answers.truth
    items, truth = answers.items, answers.items.truths[name]
    both = a.asked & b.asked & (truth != UNKNOWN)
    if not both.any():
        raise CompareError(f"{a.label} and {b.label} were asked about no image in common")
    times = draw_clusters(items.strata, seeds.generator(0, "report", "compare"))
    found = []
    for by in ((), *((f,) for f in _FACTORS if len(items.factors[f].levels) > 1)):
        for levels, rows in cells_of(items, by):
            rows = rows & both
            if not rows.any():
                continue
            right = [one.outcomes[rows] == truth[rows] for one in (a, b)]
            comparison = compare_paired(
                right[0], right[1], items.clusters[rows], items.strata, times
            )
            level: Any = next(iter(levels.values()), "")
            found.append(
                ComparedCell(
                    by[0] if by else "all",
                    f"{level:g}" if isinstance(level, float) else str(level),
                    float(np.mean(right[0])),
                    float(np.mean(right[1])),
                    comparison,
                    comparison.p_value,
                )
            )
    return (found[0], *_adjusted(found[1:]))


def _adjusted(cells: Sequence[ComparedCell]) -> list[ComparedCell]:
    """Return cells whose p values allow for how many were looked at."""
    tested = [cell for cell in cells if cell.comparison.p_value is not None]
    adjusted = iter(holm([cell.comparison.p_value or 0.0 for cell in tested]))
    return [
        cell if cell.comparison.p_value is None else replace(cell, p_holm=next(adjusted))
        for cell in cells
    ]


def _named(people: Sequence[Answerer], label: str) -> Answerer:
    for one in people:
        if label == one.label or any(label == about["run"] for about in one.runs):
            return one
    known = [one.label for one in people]
    near = difflib.get_close_matches(label, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    raise CompareError(f"no run is called '{label}'{hint} There are: {', '.join(known)}")
