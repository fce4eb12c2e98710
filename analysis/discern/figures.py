"""Charts of the discernibility report, as HTML fragments that share one copy of plotly.js."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..report.style import axis
from .limits import Curve, Grid

__all__ = ["calibration_chart", "curves_chart", "grid_chart", "importance_chart"]

# Okabe and Ito's palette: distinct for colour-blind readers.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_FONT = {"family": "Inter, 'Helvetica Neue', 'Segoe UI', Arial, sans-serif", "color": "#22262b"}
_CONFIG = {"displaylogo": False, "displayModeBar": False, "responsive": True}
_IMAGES = {"raw": "raw image", "nv": "night vision"}
_TOPICS = {
    "area_share": "visible area",
    "ks_lightness": "lightness (K–S)",
    "sw_chroma": "hue and saturation",
    "edge_iou": "edges (IoU)",
    "shown_nv": "which image is shown",
}


def curves_chart(curves: Sequence[Curve], unit: str, title: str, name: str) -> str:
    """Fitted curves with the shares they were fitted to, a panel per image; "" without a fit."""
    from plotly.subplots import make_subplots

    images = [image for image in _IMAGES if any(c.image == image and c.fit for c in curves)]
    if not images:
        return ""
    figure = make_subplots(
        cols=len(images),
        shared_yaxes=True,
        horizontal_spacing=0.04,
        subplot_titles=[_IMAGES[image] for image in images],
    )
    slices = list(dict.fromkeys(curve.slice for curve in curves))
    named: set[str] = set()
    for curve in curves:
        if curve.fit is None:
            continue
        colour = _COLOURS[slices.index(curve.slice) % len(_COLOURS)]
        column = images.index(curve.image) + 1
        for trace in _traces(curve, colour, unit, in_legend=curve.slice not in named):
            figure.add_trace(trace, row=1, col=column)
        named.add(curve.slice)
    figure.update_xaxes(type="log", title={"text": title, "font": {"size": 12}}, **axis())
    # Decades only: plotly's own ticks between them are bare digits.
    figure.update_xaxes(dtick=1, exponentformat="none")
    figure.update_yaxes(range=[-3, 103], **axis())
    figure.update_yaxes(ticksuffix=" %", title={"text": "seen", "font": {"size": 12}}, col=1)
    return _html(figure, name, 380)


def grid_chart(found: Sequence[Grid], name: str = "grid") -> str:
    """Where both limits run out: share of "seen" over density and lux, a panel per image."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    if not found:
        return ""
    figure = make_subplots(
        cols=len(found),
        horizontal_spacing=0.1,
        subplot_titles=[_IMAGES[grid.image] for grid in found],
    )
    for column, grid in enumerate(found, 1):
        shares = 100 * np.array(grid.seen)
        figure.add_trace(
            go.Heatmap(
                z=[[None if np.isnan(v) else v for v in row] for row in shares],
                x=[_plain(value) for value in grid.px_per_m],
                y=[_plain(value) for value in grid.lux],
                text=[["" if np.isnan(v) else f"{v:.0f}" for v in row] for row in shares],
                texttemplate="%{text}",
                zmin=0,
                zmax=100,
                colorscale=[[0, "#1b2a3a"], [0.5, "#7aa6a1"], [1, "#fbe9c6"]],
                showscale=False,
                xgap=2,
                ygap=2,
                hovertemplate="%{x} px/m, %{y} lx: %{z:.0f} %<extra></extra>",
            ),
            row=1,
            col=column,
        )
    figure.update_xaxes(type="category", title={"text": "px/m", "font": {"size": 12}})
    figure.update_yaxes(type="category", title={"text": "lx", "font": {"size": 12}})
    rows = max(len(grid.lux) for grid in found)
    return _html(figure, name, 150 + 26 * rows)


def calibration_chart(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], chosen: str, name: str = "calibration"
) -> str:
    """Share of label 1 against the probability given, of every model; the chosen one stands out."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[0, 100],
            y=[0, 100],
            mode="lines",
            line={"color": "#c3c8ce", "dash": "dot"},
            name="perfect",
            hoverinfo="skip",
        )
    )
    others = [model for model in curves if model != chosen]
    for model in [*others, chosen]:
        mine = model == chosen
        figure.add_trace(
            go.Scatter(
                x=[100 * one["probability"] for one in curves[model]],
                y=[100 * one["share"] for one in curves[model]],
                mode="lines+markers",
                name=model,
                line={
                    "color": _COLOURS[0] if mine else "#b6bcc4",
                    "width": 2.4 if mine else 1.2,
                    "dash": "solid" if mine else _DASHES[others.index(model) % len(_DASHES)],
                },
                marker={"size": 8 if mine else 4},
                customdata=[one["n"] for one in curves[model]],
                hovertemplate="said %{x:.0f} %, were %{y:.0f} %, n = %{customdata}",
            )
        )
    figure.update_xaxes(
        title={"text": "probability given", "font": {"size": 12}}, ticksuffix=" %", **axis()
    )
    figure.update_yaxes(title={"text": "seen", "font": {"size": 12}}, ticksuffix=" %", **axis())
    return _html(figure, name, 380)


_DASHES = ("solid", "dash", "dot", "dashdot")


def importance_chart(
    importance: Mapping[str, Mapping[str, float]], name: str = "importance"
) -> str:
    """By how much the Brier score grows when a topic's columns are shuffled."""
    import plotly.graph_objects as go

    rows = sorted(importance.items(), key=lambda item: item[1]["brier_growth"])
    figure = go.Figure(
        go.Bar(
            y=[_TOPICS.get(topic, topic.replace("_", " ")) for topic, _ in rows],
            x=[value["brier_growth"] for _, value in rows],
            error_x={"type": "data", "array": [value["sd"] for _, value in rows], "thickness": 1.2},
            orientation="h",
            marker={"color": _COLOURS[0]},
            hovertemplate="%{x:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(title={"text": "growth of the Brier score", "font": {"size": 12}}, **axis())
    figure.update_yaxes(automargin=True)
    return _html(figure, name, 110 + 34 * len(rows))


def _traces(curve: Curve, colour: str, unit: str, *, in_legend: bool) -> list[Any]:
    import plotly.graph_objects as go

    fit = curve.fit
    if fit is None:
        return []
    levels = [level for level in fit.levels if level.stimulus > 0]
    low, high = levels[0].stimulus, levels[-1].stimulus
    x = np.geomspace(low / 1.5, high * 1.5, 400)
    line = go.Scatter(
        x=x,
        y=100 * fit.probability(x),
        mode="lines",
        name=curve.slice,
        legendgroup=curve.slice,
        showlegend=in_legend,
        # A curve whose rise nothing shows is no result.
        line={"color": colour, "width": 2.2, "dash": "solid" if fit.depends else "dot"},
        hoverinfo="skip",
    )
    shares = go.Scatter(
        x=[level.stimulus for level in levels],
        y=[100 * level.seen / level.n for level in levels],
        mode="markers",
        name=curve.slice,
        legendgroup=curve.slice,
        showlegend=False,
        marker={
            "color": colour,
            "size": [float(np.clip(4 + level.n**0.5 / 2, 5, 14)) for level in levels],
            "line": {"color": "#fff", "width": 1},
        },
        customdata=[level.n for level in levels],
        hovertemplate=f"%{{x:.4~g}} {unit}: %{{y:.0f}} %, n = %{{customdata}}",
    )
    return [line, shares]


def _plain(value: float) -> str:
    """A number with four digits, never as a power of ten."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _html(figure: Any, name: str, height: int) -> str:
    figure.update_layout(
        template="none",
        height=height,
        font=_FONT,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 72, "r": 16, "t": 40, "b": 56},
        legend={"orientation": "h", "y": 1.16, "x": 0, "yanchor": "bottom"},
        hoverlabel={"bgcolor": "#fff"},
    )
    return str(figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG))
