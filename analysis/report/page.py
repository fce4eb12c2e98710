"""What a page of the report shows: its charts, and the warnings that come before all numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics.intervals import FEW_CLUSTERS
from ..metrics.published import load_published
from ..metrics.tables import UNKNOWN
from . import figures, figures_limits, figures_views
from .actions import ActionTable
from .answers import HUMAN, Answerer, Answers
from .limits import AXES, Limits
from .results import USABLE, Results, conditions_shown
from .size import published_groups, size_law, size_points
from .style import looks, plotly_script

__all__ = ["Line", "charts", "warnings_of"]


@dataclass(frozen=True)
class Line:
    """A line of the leaderboard.

    Attributes:
        label: Of the answerer.
        kind: ``model``, ``human`` or ``constant``.
        parameters: As ``3 B``; empty where unknown.
        scores: Truth -> score; None where it was not asked.
        usable: Whether the interval of its accuracy clears 80 %.
        like_best: Whether it cannot be told from the best model, after correction.
        warned: Whether a warning speaks of it.
    """

    label: str
    kind: str
    parameters: str
    scores: Mapping[str, Any]
    usable: bool
    like_best: bool
    warned: bool


def charts(
    answers: Answers,
    people: Sequence[Answerer],
    results: Results,
    limits: Limits,
    actions: Sequence[ActionTable],
) -> dict[str, Any]:
    """All charts as HTML fragments, and the tables that stand beside them."""
    items = answers.items
    drawn = bool(results.models)
    by_density = drawn and bool(items.factors["density_px_per_m"].levels)  # not of photographs
    look = looks(results.labels, results.kinds)
    points = size_points(results, people)
    own_sizes = [p for p in points if p.accuracy is not None]
    return {
        "plotly": plotly_script() if drawn or actions else "",
        "lines": _lines(people, results),
        "metric_chart": figures.metric_chart(results, items, look) if by_density else "",
        "metric_buttons": figures.metric_buttons(results, items) if by_density else [],
        "heat_metric": figures.METRIC_TITLES[figures.heat_metric(results)],
        "band_heatmaps": figures.small_heatmaps(results, items) if by_density else "",
        "light_heatmap": figures.light_heatmap(results, items) if by_density else "",
        "viewpoints": figures_views.viewpoint_chart(results, items) if drawn else "",
        "action_heatmap": figures_views.action_heatmap(results, items) if drawn else "",
        "limit_charts": [
            (axis, figures_limits.limits_chart(limits, axis.factor, look))
            for axis in AXES
            if limits.panels.get(axis.factor)
        ],
        "survival_charts": [
            (axis, figures_limits.survival_chart(limits, axis.factor, look))
            for axis in AXES
            if any(one.axis == axis.factor for one in limits.failures)
        ],
        "action_matrices": [
            [
                (result, figures_views.action_matrix(result, f"matrix-{number}-{place}"))
                for place, result in enumerate(table.results[:8])
            ]
            for number, table in enumerate(actions)
        ],
        "size_chart": figures_limits.size_chart(points, look) if own_sizes else "",
        "size_law": size_law(points),
        "published_groups": published_groups(),
        "published_table": load_published(),
        "conditions": conditions_shown(results.published),
    }


def _lines(people: Sequence[Answerer], results: Results) -> list[Line]:
    of = {one.label: one for one in people}
    main = results.truths[0]
    models = [label for label in results.labels if results.kinds[label] == "model"]
    best = models[0] if models else ""
    alike = {best} | {
        (set(_two(pair)) - {best}).pop()
        for pair in results.pairs
        if best in _two(pair) and (pair.p_holm is None or pair.p_holm >= 0.05)
    }
    lines = []
    for label in results.labels:
        score = results.find(label, main)
        interval = score.estimates["accuracy"].interval if score else None
        size = of[label].parameters_b
        check = results.checks.get(label)
        lines.append(
            Line(
                label,
                results.kinds[label],
                f"{size:.3g} B" if size else "",
                {truth: results.find(label, truth) for truth in results.truths},
                interval is not None and interval[0] > USABLE and results.kinds[label] == "model",
                len(models) > 1 and label in alike and results.kinds[label] == "model",
                check is not None and bool(check.warnings()),
            )
        )
    return lines


def _two(pair: Any) -> tuple[str, str]:
    return pair.first, pair.second


# --- warnings ------------------------------------------------------------------------------------


def warnings_of(
    answers: Answers, people: Sequence[Answerer], results: Results, limits: Limits
) -> list[tuple[str, str]]:
    """(about what, sentence): what a reader must know before any number."""
    if not results.models:
        return []
    found = [*_about_truth(answers), *_about_images(answers, people)]
    if results.few_clusters:
        found.append(
            (
                "Intervals",
                f"are unreliable: the persons are of {results.person_clusters} independent groups "
                f"(subject in a pose), and below {FEW_CLUSTERS} a 95 % interval covers less than "
                "it says (of 3 groups, about 75 %).",
            )
        )
    for label, check in results.checks.items():
        found += [(label, f"{sentence}.") for sentence in check.warnings()]
    found += _about_accuracy(results)
    found += _about_always_yes(results)
    return found


def _about_truth(answers: Answers) -> list[tuple[str, str]]:
    labels = answers.labels
    if labels is None:
        return [
            (
                "Truth",
                "no labels say what a human can see, so answers are scored against whether "
                "somebody is there: who is too dark or too small to be seen counts as missed. "
                "limen annotate and limen discern make labels.",
            )
        ]
    found = []
    truth = answers.items.truths["discernable"]
    unknown = int((truth == UNKNOWN).sum())
    if labels.source != HUMAN:
        found.append(("Truth", f"labels come from {labels.words}, not from people."))
    if unknown:
        found.append(
            (
                "Truth",
                f"{unknown:,} of {len(truth):,} images have no label, and scores against what a "
                f"human sees leave them out. Labels: {labels.words}.",
            )
        )
    return found


def _about_images(answers: Answers, people: Sequence[Answerer]) -> list[tuple[str, str]]:
    asked = [one for one in people if one.kind == "model"]
    found = []
    if len({one.asked.tobytes() for one in asked}) > 1:
        counts = ", ".join(f"{one.label} {int(one.asked.sum()):,}" for one in asked[:8])
        found.append(
            (
                "Images",
                "not every model was asked about the same images, so their scores do not compare; "
                f"the paired comparisons do ({counts}).",
            )
        )
    items, truth = answers.items, answers.items.truths[answers.truth]
    band = items.factors["band"]
    without = [
        name
        for place, name in enumerate(band.levels)
        if not ((truth == 0) & (band.codes == place)).any()
    ]
    if without:
        found.append(
            (
                "Negatives",
                f"no image is to be answered no by {' and '.join(without)}: specificity and "
                "balanced accuracy are undefined there, macro-F1 is 50 at best, and always yes is "
                "never wrong.",
            )
        )
    return found


def _about_accuracy(results: Results) -> list[tuple[str, str]]:
    """Who looks, and has no higher accuracy than who does not."""
    below = [label for label, c in results.checks.items() if c.is_no_better and not c.hardly_looks]
    if not below:
        return []
    check = results.checks[below[0]]
    more = f" and {len(below) - 4} more" if len(below) > 4 else ""
    return [
        (
            "Accuracy",
            f"says little here: answering always {check.answer} scores "
            f"{check.constant_accuracy:.1%}, and {', '.join(below[:4])}{more} no more than that "
            "though they look. Read balanced accuracy or MCC.",
        )
    ]


def _about_always_yes(results: Results) -> list[tuple[str, str]]:
    """How many models the published rule ranks below a constant answer."""
    rows = [row for row in results.published if results.kinds[row.label] == "model"]
    found = []
    for metres, score in results.always_yes.items():
        scores = [row.accuracy[metres]["overall"] for row in rows if metres in row.accuracy]
        below = int(np.sum(np.array(scores) < score))
        if below and score > 0.5:
            found.append(f"{score:.1%} at {metres:g} m (more than {below} of {len(scores)} models)")
    if not found:
        return []
    more = f", and so on at {len(found) - 4} more distances" if len(found) > 4 else ""
    words = f"scores {', '.join(found[:4])}{more} by the published rule, without looking."
    return [("Always yes", words)]
