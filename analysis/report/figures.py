"""Charts of scores, as HTML fragments that share one copy of plotly.js."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..metrics.intervals import Estimate
from ..metrics.tables import Items
from . import text
from .results import Results, Score
from .style import SEQUENTIAL, Look, axis, html, layout

__all__ = [
    "METRIC_TITLES",
    "SHOWN",
    "cell_text",
    "cell_words",
    "density_ticks",
    "estimate_of",
    "heat_metric",
    "light_heatmap",
    "metric_buttons",
    "metric_chart",
    "small_heatmaps",
]

METRIC_TITLES = {
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "macro_f1": "Macro-F1",
    "mcc": "MCC",
}

SHOWN = 6
"""So many lines are drawn at first; a click on the legend draws the others."""

_COLUMNS = 4


# --- over pixel density --------------------------------------------------------------------------


def metric_chart(results: Results, items: Items, look: Mapping[str, Look]) -> str:
    """Scores over pixel density, a panel per light band; :func:`metric_buttons` choose which."""
    from plotly.subplots import make_subplots

    panels = _panels(items)
    densities = items.factors["density_px_per_m"].levels
    figure = make_subplots(
        cols=len(panels),
        shared_yaxes=True,
        horizontal_spacing=0.025,
        subplot_titles=["all light" if band is None else band for band in panels],
    )
    for metric in _metrics(results):
        for place, label in enumerate(results.labels):
            for number, band in enumerate(panels, 1):
                points = [(d, _at(results, label, d, band)) for d in densities]
                trace = _trace(points, label, look[label], metric, results, place, number == 1)
                figure.add_trace(trace, row=1, col=number)
    figure.update_xaxes(
        type="log",
        title={"text": "px/m", "font": {"size": 12}, "standoff": 6},
        **{**density_ticks(densities), **axis()},
    )
    figure.update_yaxes(range=[-3, 103], **axis())
    figure.update_yaxes(ticksuffix=" %", col=1)
    rows = math.ceil(len(results.labels) / 5)
    figure.update_layout(
        **layout(
            330 + 20 * rows,
            margin={"l": 56, "r": 12, "t": 36, "b": 60 + 24 * rows},
            legend={"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"},
        )
    )
    return html(figure, "metric-chart")


def metric_buttons(results: Results, items: Items) -> list[tuple[str, list[Any]]]:
    """Metric titles, the one shown at first first, with which traces of the chart each shows."""
    panels, metrics = len(_panels(items)), _metrics(results)
    shown = [
        _visible(results, place) for place in range(len(results.labels)) for _ in range(panels)
    ]
    return [
        (METRIC_TITLES[metric], [of if m == metric else False for m in metrics for of in shown])
        for metric in metrics
    ]


def _metrics(results: Results) -> list[str]:
    """The one that is defined everywhere first."""
    first = heat_metric(results)
    return [first, *(metric for metric in METRIC_TITLES if metric != first)]


def density_ticks(densities: Sequence[float]) -> dict[str, Any]:
    """Ticks at a few densities themselves, at round ones for many."""
    if len(densities) > 5:
        return {
            "tickvals": [5, 10, 20, 50, 100, 200, 500],
            "ticktext": ["5", "10", "20", "50", "100", "200", "500"],
        }
    return {"tickvals": list(densities), "ticktext": [text.number(d) for d in densities]}


def _panels(items: Items) -> list[str | None]:
    bands = items.factors["band"].levels
    return [None, *bands] if len(bands) > 1 else [None]


def _at(results: Results, label: str, density: float, band: str | None) -> Score | None:
    main = results.truths[0]
    if band is None:
        return results.find(label, main, ("density_px_per_m",), (density,)) or results.find(
            label, main
        )
    return results.find(label, main, ("density_px_per_m", "band"), (density, band))


def _visible(results: Results, place: int) -> bool | str:
    label = results.labels[place]
    if results.kinds[label] != "model":
        return True
    models = [one for one in results.labels if results.kinds[one] == "model"]
    return True if models.index(label) < SHOWN else "legendonly"


def _trace(
    points: Sequence[tuple[float, Score | None]],
    label: str,
    look: Look,
    metric: str,
    results: Results,
    place: int,
    in_legend: bool,
) -> Any:
    import plotly.graph_objects as go

    found = [estimate_of(score, metric) for _, score in points]
    constant = results.kinds[label] == "constant"
    values = [None if e is None or e.value is None else 100 * e.value for e in found]
    ends = [e.interval if e and e.interval else None for e in found]
    return go.Scatter(
        x=[x for x, _ in points],
        y=values,
        connectgaps=False,
        name=label,
        legendgroup=label,
        showlegend=in_legend,
        visible=_visible(results, place) if metric == heat_metric(results) else False,
        mode="lines+markers",
        line={"color": look.colour, "width": look.width, "dash": look.dash},
        # A baseline's too, however small: a line has none between two gaps.
        marker={"size": 3 if constant else 8, "symbol": look.symbol},
        error_y={
            "type": "data",
            "array": [
                100 * of[1] - v if of and v is not None else 0
                for of, v in zip(ends, values, strict=True)
            ],
            "arrayminus": [
                v - 100 * of[0] if of and v is not None else 0
                for of, v in zip(ends, values, strict=True)
            ],
            "thickness": 1.2,
            "width": 4,
            "visible": not constant,
        },
        customdata=[
            [text.interval(of) or "no interval", e.n if e else 0]
            for e, of in zip(found, ends, strict=True)
        ],
        hovertemplate=(
            f"{METRIC_TITLES[metric]} %{{y:.1f}} %, %{{customdata[0]}}<br>"
            "%{x:.5~g} px/m, n = %{customdata[1]:,}"
        ),
    )


def estimate_of(score: Score | None, metric: str) -> Estimate | None:
    """A metric of a score; None where nobody was asked."""
    if score is None:
        return None
    return score.estimates.get(metric)


# --- heat maps -----------------------------------------------------------------------------------


def heat_metric(results: Results) -> str:
    """Balanced accuracy; where no image is without a person (or none is unseen), sensitivity."""
    main = results.truths[0]
    scores = [results.find(label, main) for label in results.labels]
    return "balanced_accuracy" if any(s and s.negatives for s in scores) else "sensitivity"


def small_heatmaps(results: Results, items: Items) -> str:
    """Light band by pixel density, a small panel per model and people."""
    labels = _scored(results)
    bands = items.factors["band"].levels
    return _heatmaps(results, items, labels, "band", bands, "band-heatmaps")


def light_heatmap(results: Results, items: Items) -> str:
    """Light condition by pixel density, one answerer at a time: a menu chooses."""
    labels = _scored(results)
    lightings = items.factors["lighting"].levels
    if len(lightings) == len(items.factors["band"].levels):
        return ""
    return _heatmaps(results, items, labels, "lighting", lightings, "lighting-heatmap", menu=True)


def _scored(results: Results) -> list[str]:
    """Models, and people where the truth is not their own labels."""
    return [label for label in results.models if results.find(label, results.truths[0])]


def _heatmaps(
    results: Results,
    items: Items,
    labels: Sequence[str],
    rows: str,
    levels: Sequence[Any],
    name: str,
    menu: bool = False,
) -> str:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    metric, main = heat_metric(results), results.truths[0]
    densities = items.factors["density_px_per_m"].levels
    columns = 1 if menu else min(len(labels), _COLUMNS)
    lines = 1 if menu else math.ceil(len(labels) / columns)
    wide = len(densities) * columns <= 14
    panel, gap = (34 if wide else 26) * max(len(levels), 2), 96
    figure = make_subplots(
        rows=lines,
        cols=columns,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=gap / (lines * panel + (lines - 1) * gap) if lines > 1 else 0,
        subplot_titles=None if menu else labels,
    )
    for number, label in enumerate(labels):
        grid = [
            [_cell(results, label, main, rows, d, level) for d in densities] for level in levels
        ]
        found = [[estimate_of(score, metric) for score in line] for line in grid]
        figure.add_trace(
            go.Heatmap(
                z=[[e.value if e else None for e in line] for line in found],
                x=[f"{d:.3g}" if len(densities) > 5 else text.number(d) for d in densities],
                y=[str(level).replace("_", " ") for level in levels],
                text=[[cell_text(e, wide or menu) for e in line] for line in found],
                customdata=[[cell_words(e) for e in line] for line in found],
                texttemplate="%{text}",
                textfont={"size": 12 if wide or menu else 9},
                hovertemplate="%{y}, %{x} px/m: %{customdata}<extra></extra>",
                zmin=0.5 if metric == "balanced_accuracy" else 0,
                zmax=1,
                colorscale=SEQUENTIAL,
                showscale=False,
                xgap=2,
                ygap=2,
                visible=not menu or number == 0,
            ),
            row=1 if menu else number // columns + 1,
            col=1 if menu else number % columns + 1,
        )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False, type="category", tickfont={"size": 11})
    figure.update_xaxes(title={"text": "px/m", "standoff": 4, "font": {"size": 12}}, row=lines)
    height = 40 + 76 + lines * panel + (lines - 1) * gap
    extra: dict[str, Any] = {"margin": {"l": 110, "r": 12, "t": 40, "b": 76}}
    if menu:
        extra["updatemenus"] = [_menu(labels)] if len(labels) > 1 else []
        extra["margin"] = {"l": 130, "r": 12, "t": 56, "b": 60}
        if len(labels) == 1:
            extra["title"] = {"text": labels[0], "x": 0.5, "font": {"size": 15}}
    figure.update_layout(**layout(height, **{**extra, "plot_bgcolor": "#eef0f2"}))
    return html(figure, name)


def _menu(labels: Sequence[str], per_label: int = 1) -> dict[str, Any]:
    buttons = [
        {
            "label": label,
            "method": "update",
            "args": [{"visible": [other == label for other in labels for _ in range(per_label)]}],
        }
        for label in labels
    ]
    return {
        "buttons": buttons,
        "x": 0,
        "xanchor": "left",
        "y": 1.02,
        "yanchor": "bottom",
        "showactive": True,
    }


def _cell(
    results: Results, label: str, truth: str, rows: str, density: float, level: Any
) -> Score | None:
    factors = {"density_px_per_m": density, rows: level}
    for by in (("density_px_per_m", rows), (rows, "density_px_per_m")):
        found = results.find(label, truth, by, tuple(factors[name] for name in by))
        if found is not None:
            return found
    # With one level of the other factor there is no pair.
    for name in (rows, "density_px_per_m"):
        found = results.find(label, truth, (name,), (factors[name],))
        if found is not None:
            return found
    return results.find(label, truth)


def cell_text(estimate: Estimate | None, with_n: bool) -> str:
    """What stands in a cell of a heat map."""
    if estimate is None:
        return ""
    if not with_n:
        return text.UNDEFINED if estimate.value is None else f"{100 * estimate.value:.0f}"
    return f"{text.percent(estimate.value)}<br>n = {estimate.n:,}"


def cell_words(estimate: Estimate | None) -> str:
    """What is said when the pointer rests on it."""
    if estimate is None:
        return "not asked"
    ends = text.interval(estimate.interval)
    return f"{text.percent(estimate.value)} %{f' ({ends})' if ends else ''}, n = {estimate.n:,}"
