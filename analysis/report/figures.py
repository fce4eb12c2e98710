"""Charts of the report, as HTML fragments that share one copy of plotly.js."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..metrics import Estimate
from . import text
from .results import Cell, Results

__all__ = [
    "METRIC_TITLES",
    "band_heatmaps",
    "lighting_heatmaps",
    "metric_buttons",
    "metric_chart",
    "plotly_script",
]

METRIC_TITLES = {
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "macro_f1": "Macro-F1",
}

# Okabe and Ito's palette: distinct for colour-blind readers. Constant answers are grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#8a8f98"
DASHES = {"always-yes": "dash", "always-no": "dot"}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")

FONT = {"family": "Inter, 'Helvetica Neue', 'Segoe UI', Arial, sans-serif", "color": "#22262b"}
CONFIG = {"displaylogo": False, "displayModeBar": False, "responsive": True}


def plotly_script() -> str:
    """The text of plotly.js, for one script element."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def metric_chart(results: Results, densities: Mapping[float, float]) -> str:
    """Scores over pixel density, a panel per light band; :func:`metric_buttons` choose the metric.

    Args:
        results: The scores.
        densities: Distance in m -> px/m.
    """
    from plotly.subplots import make_subplots

    panels = _panels(results)
    figure = make_subplots(
        cols=len(panels),
        shared_yaxes=True,
        horizontal_spacing=0.025,
        subplot_titles=["all light" if band is None else band for band in panels],
    )
    labels = [line.label for line in results.overall.lines]
    for metric in METRIC_TITLES:
        for place, label in enumerate(labels):
            for number, band in enumerate(panels, 1):
                cells = results.by_distance if band is None else results.by_both
                points = _points(cells, band, label, metric, densities)
                figure.add_trace(
                    _trace(points, label, place, metric, in_legend=number == 1), row=1, col=number
                )
    ticks = sorted(densities.values())
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[text.number(tick) for tick in ticks],
        title={"text": "px/m", "font": {"size": 12}, "standoff": 6},
        **_axis(),
    )
    figure.update_yaxes(range=[-3, 103], **_axis())
    figure.update_yaxes(ticksuffix=" %", col=1)
    figure.update_layout(
        height=340,
        font={**FONT, "size": 13},
        margin={"l": 56, "r": 12, "t": 36, "b": 92},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="#ffffff",
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": -0.26, "yanchor": "top"},
    )
    return _html(figure, "metric-chart")


def metric_buttons(results: Results) -> list[tuple[str, list[bool]]]:
    """Metric titles, the one shown at first first, with which traces of the chart each shows."""
    per_metric = len(results.overall.lines) * len(_panels(results))
    return [
        (title, [m == metric for m in METRIC_TITLES for _ in range(per_metric)])
        for metric, title in METRIC_TITLES.items()
    ]


def _panels(results: Results) -> list[str | None]:
    bands = [cell.band for cell in results.by_band]
    return [None, *bands] if len(bands) > 1 else bands


def lighting_heatmaps(results: Results, densities: Mapping[float, float]) -> str:
    """Balanced accuracy over light condition and pixel density, a panel per run (one at least)."""
    lights = {
        cell.title.replace("_", " ").replace(", ", "<br>"): [
            of for of in results.by_lighting_and_distance if of.lighting == cell.lighting
        ]
        for cell in results.by_lighting
    }
    return _heatmaps(results, densities, lights, "lighting-heatmaps")


def band_heatmaps(results: Results, densities: Mapping[float, float]) -> str:
    """The same over light bands."""
    bands = {
        cell.title: [of for of in results.by_both if of.band == cell.band]
        for cell in results.by_band
    }
    return _heatmaps(results, densities, bands, "band-heatmaps")


def _heatmaps(
    results: Results,
    densities: Mapping[float, float],
    rows: Mapping[str, Sequence[Cell]],
    name: str,
) -> str:
    """A panel per run, a row per key, of cells by distance."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    labels = results.labels
    distances = [c.distance_m for c in reversed(results.by_distance) if c.distance_m is not None]
    figure = make_subplots(
        cols=len(labels), shared_yaxes=True, horizontal_spacing=0.06, subplot_titles=labels
    )
    for number, label in enumerate(labels, 1):
        grid = [[_estimate(cells, d, label) for d in distances] for cells in rows.values()]
        figure.add_trace(
            go.Heatmap(
                z=[[e.value if e else None for e in row] for row in grid],
                x=[f"{text.density(densities[d])}<br>{text.distance(d)}" for d in distances],
                y=list(rows),
                text=[[_cell_text(e) for e in row] for row in grid],
                texttemplate="%{text}",
                hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
                zmin=0.5,
                zmax=1,
                colorscale=[[0, "#f3efe6"], [0.5, "#9cc5c9"], [1, "#1f6f78"]],
                showscale=False,
                xgap=3,
                ygap=3,
            ),
            row=1,
            col=number,
        )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False)
    figure.update_layout(
        height=96 + 64 * len(rows),
        font={**FONT, "size": 13},
        margin={"l": 100, "r": 12, "t": 40, "b": 52},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="#eef0f2",
    )
    return _html(figure, name)


def _estimate(
    cells: Sequence[Cell], distance: float, label: str, metric: str = "balanced_accuracy"
) -> Estimate | None:
    for cell in cells:
        if cell.distance_m == distance:
            for line in cell.lines:
                if line.label == label:
                    return line.scores.estimates[metric]
    return None


def _cell_text(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{text.percent(estimate.value)}<br>n = {estimate.n:,}"


def _points(
    cells: Sequence[Cell],
    band: str | None,
    label: str,
    metric: str,
    densities: Mapping[float, float],
) -> list[tuple[float, Estimate]]:
    """(px/m, estimate), by rising density, also where it is undefined: the line breaks there."""
    points = []
    for cell in cells:
        if cell.band == band and cell.distance_m is not None:
            estimate = _estimate([cell], cell.distance_m, label, metric)
            points.append((densities[cell.distance_m], estimate or Estimate(None, None, 0)))
    return sorted(points, key=lambda point: point[0])


def _trace(
    points: Sequence[tuple[float, Estimate]],
    label: str,
    place: int,
    metric: str,
    in_legend: bool,
) -> Any:
    import plotly.graph_objects as go

    baseline = label in DASHES
    colour = GREY if baseline else COLOURS[place % len(COLOURS)]
    ends = [e.interval or (e.value or 0, e.value or 0) for _, e in points]
    bars = {
        "type": "data",
        "array": [
            100 * (high - (e.value or 0)) for (_, e), (_, high) in zip(points, ends, strict=True)
        ],
        "arrayminus": [
            100 * ((e.value or 0) - low) for (_, e), (low, _) in zip(points, ends, strict=True)
        ],
        "thickness": 1.2,
        "width": 4,
        "visible": not baseline,
    }
    return go.Scatter(
        x=[x for x, _ in points],
        y=[None if e.value is None else 100 * e.value for _, e in points],
        connectgaps=False,
        name=label,
        legendgroup=label,
        showlegend=in_legend,
        visible=metric == "balanced_accuracy",
        mode="lines+markers",
        line={
            "color": colour,
            "width": 1.5 if baseline else 2.2,
            "dash": DASHES.get(label, "solid"),
        },
        # A baseline's too, however small: a line has none between two gaps.
        marker={"size": 3 if baseline else 8, "symbol": SYMBOLS[place % len(SYMBOLS)]},
        error_y=bars,
        customdata=[[text.interval(e.interval) or "no interval", e.n] for _, e in points],
        hovertemplate=(
            f"{METRIC_TITLES[metric]} %{{y:.1f}} %, %{{customdata[0]}}<br>"
            "%{x:.5~g} px/m, n = %{customdata[1]:,}"
        ),
    )


def _axis() -> dict[str, Any]:
    return {
        "gridcolor": "#e8eaed",
        "zeroline": False,
        "showline": True,
        "linecolor": "#c3c8ce",
        "ticks": "outside",
        "tickcolor": "#c3c8ce",
    }


def _html(figure: Any, name: str) -> str:
    return str(figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=CONFIG))
