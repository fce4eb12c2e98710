"""Charts of limits: psychometric curves, survival, size. The headline of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...addon.core.standards import load_scales
from ..metrics.published import load_published
from . import text
from .figures import SHOWN, density_ticks
from .limits import AXES, Axis, Curve, Limits
from .size import SizePoint
from .style import Look, axis, html, layout

__all__ = ["limits_chart", "size_chart", "survival_chart"]

_COLUMNS = 3
_BAND_COLOURS = ("#ffffff", "#f1f5f5", "#e5eeee", "#d7e5e6", "#c8dcde")


def limits_chart(limits: Limits, axis_factor: str, look: Mapping[str, Look]) -> str:
    """Share of persons seen along an axis, a panel per what is held, with fits and thresholds.

    Dots are the answers at a level, lines the fits, and the bar on a line its 50 % threshold with
    the 95 % interval.
    """
    from plotly.subplots import make_subplots

    of = next(one for one in AXES if one.factor == axis_factor)
    panels = limits.panels.get(axis_factor, ())
    if not panels:
        return ""
    columns = min(len(panels), _COLUMNS)
    rows = math.ceil(len(panels) / columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=min(0.4 / rows, 0.16),
        subplot_titles=panels,
    )
    ends = _ends(limits, axis_factor)
    seen: set[str] = set()
    order = [label for label in look if any(c.label == label for c in limits.curves)]
    for number, panel in enumerate(panels):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        if axis_factor == "density_px_per_m":
            _add_classes(figure, ends, place, labelled=True)
        curves = {curve.label: curve for curve in limits.of(axis_factor, panel)}
        for label in order:
            if label in curves:
                for trace in _curve_traces(
                    curves[label],
                    look[label],
                    ends,
                    of,
                    label not in seen,
                    _shown(label, curves, order),
                ):
                    figure.add_trace(trace, **place)
                seen.add(label)
    figure.update_xaxes(type="log", range=[math.log10(ends[0]), math.log10(ends[1])], **axis())
    levels = _levels(limits, axis_factor)
    if len(levels) <= 5:
        figure.update_xaxes(**density_ticks(levels), tickfont={"size": 11})
    else:
        wide = ends[1] / ends[0] > 1e3
        figure.update_xaxes(dtick=1 if wide else "D2", tickfont={"size": 11})
    figure.update_xaxes(title={"text": of.unit, "standoff": 4, "font": {"size": 12}}, row=rows)
    figure.update_yaxes(range=[-3, 103], **axis())
    figure.update_yaxes(title={"text": "persons seen, %", "font": {"size": 12}}, col=1)
    legend_rows = math.ceil(len(order) / 5)
    height = 80 + 320 * rows + 26 * legend_rows
    figure.update_layout(
        **layout(
            height,
            margin={"l": 60, "r": 12, "t": 44, "b": 70 + 26 * legend_rows},
            legend={"orientation": "h", "x": 0, "y": -70 / (320 * rows), "yanchor": "top"},
        )
    )
    return html(figure, f"limits-{of.unit.replace('/', '-')}")


def _shown(label: str, curves: Mapping[str, Curve], order: Sequence[str]) -> bool | str:
    models = [one for one in order if one not in curves or curves[one].kind == "model"]
    return "legendonly" if label in models and models.index(label) >= SHOWN else True


def _levels(limits: Limits, axis_factor: str) -> list[float]:
    fits = [curve.fit for curve in limits.curves if curve.axis == axis_factor and curve.fit]
    return sorted({round(of.stimulus, 6) for fit in fits for of in fit.levels if of.stimulus > 0})


def _ends(limits: Limits, axis_factor: str) -> tuple[float, float]:
    levels = _levels(limits, axis_factor)
    return (levels[0] / 1.25, levels[-1] * 1.25) if levels else (1.0, 100.0)


def _add_classes(
    figure: Any, ends: tuple[float, float], place: dict[str, int], labelled: bool
) -> None:
    """The classes of the 2014 scale as bands behind the curves."""
    classes = load_scales()["dori-2014"].classes
    starts = [0.0, *(c.px_per_m for c in classes), math.inf]
    names = ["", *(c.name for c in classes)]
    for name, low, high, colour in zip(names, starts, starts[1:], _BAND_COLOURS, strict=False):
        low, high = max(low, ends[0]), min(high, ends[1])
        if low < high:
            figure.add_vrect(
                x0=low, x1=high, fillcolor=colour, line_width=0, layer="below", **place
            )
            if labelled and name and math.log10(high / low) > 0.08 * math.log10(ends[1] / ends[0]):
                figure.add_annotation(
                    x=(math.log10(low) + math.log10(high)) / 2,
                    y=-1,
                    yanchor="bottom",
                    text=name,
                    showarrow=False,
                    font={"size": 9, "color": "#7a858c"},
                    **place,
                )


def _curve_traces(
    curve: Curve,
    look: Look,
    ends: tuple[float, float],
    of: Axis,
    in_legend: bool,
    shown: bool | str,
) -> list[Any]:
    import plotly.graph_objects as go

    fit = curve.fit
    if fit is None:
        return []
    levels = [level for level in fit.levels if level.stimulus > 0]
    common = {"name": curve.label, "legendgroup": curve.label, "visible": shown}
    xs = np.geomspace(levels[0].stimulus, levels[-1].stimulus, 120)
    traces = [
        go.Scatter(
            x=xs,
            y=100 * fit.probability(xs),
            mode="lines",
            line={"color": look.colour, "width": look.width, "dash": look.dash},
            hoverinfo="skip",
            showlegend=in_legend,
            **common,
        ),
        go.Scatter(
            x=[level.stimulus for level in levels],
            y=[100 * level.seen / level.n for level in levels],
            mode="markers",
            marker={"color": look.colour, "size": 6, "symbol": look.symbol, "opacity": 0.75},
            customdata=[[level.n, round(level.seen)] for level in levels],
            hovertemplate=(
                f"%{{x:.4~g}} {of.unit}: %{{y:.1f}} % seen (%{{customdata[1]:,}} of "
                "%{customdata[0]:,})"
            ),
            showlegend=False,
            **common,
        ),
    ]
    half = fit.threshold(0.5)
    if half.value is not None:
        low = half.interval[0] if half.interval[0] is not None else ends[0]
        high = half.interval[1] if half.interval[1] is not None else ends[1]
        at = 100 * (fit.guess + 0.5 * (1 - fit.guess - fit.lapse))
        traces.append(
            go.Scatter(
                x=[half.value],
                y=[at],
                mode="markers",
                marker={
                    "color": "#ffffff",
                    "size": 9,
                    "symbol": look.symbol,
                    "line": {"color": look.colour, "width": 2},
                },
                error_x={
                    "type": "data",
                    "array": [high - half.value],
                    "arrayminus": [half.value - low],
                    "color": look.colour,
                    "thickness": 2.4,
                    "width": 6,
                },
                hovertemplate=f"50 % threshold {text.threshold(half, of.unit)}",
                showlegend=False,
                **common,
            )
        )
    return traces


def survival_chart(limits: Limits, axis_factor: str, look: Mapping[str, Look]) -> str:
    """Share of trajectories that have not failed yet, from easy to hard."""
    import plotly.graph_objects as go

    of = next(one for one in AXES if one.factor == axis_factor)
    found = {one.label: one for one in limits.failures if one.axis == axis_factor}
    if not found:
        return ""
    figure = go.Figure()
    order = [label for label in look if label in found]
    models = [label for label in order if found[label].kind == "model"]
    for label in order:
        curve, style = found[label].curve, look[label]
        figure.add_trace(
            go.Scatter(
                x=curve.levels,
                y=[100 * share for share in curve.surviving],
                mode="lines+markers",
                name=label,
                visible="legendonly" if label in models and models.index(label) >= SHOWN else True,
                line={
                    "color": style.colour,
                    "dash": style.dash,
                    "width": style.width,
                    "shape": "hv",
                },
                marker={"size": 6, "symbol": style.symbol},
                error_y={
                    "type": "data",
                    "array": [
                        100 * (h - s) for h, s in zip(curve.high, curve.surviving, strict=True)
                    ],
                    "arrayminus": [
                        100 * (s - low) for low, s in zip(curve.low, curve.surviving, strict=True)
                    ],
                    "thickness": 1,
                    "width": 3,
                },
                customdata=list(zip(curve.failed, curve.at_risk, strict=True)),
                hovertemplate=(
                    f"%{{x:.4~g}} {of.unit}: %{{y:.1f}} % still seen; here %{{customdata[0]}} of "
                    "%{customdata[1]} fail"
                ),
            )
        )
    figure.update_xaxes(type="log", autorange="reversed", **axis())
    wide = max(c.curve.levels[0] / c.curve.levels[-1] for c in found.values()) > 1e3
    figure.update_xaxes(dtick=1 if wide else "D2", tickfont={"size": 11})
    figure.update_xaxes(
        title={"text": f"{of.unit}, from easy to hard", "standoff": 6, "font": {"size": 12}}
    )
    figure.update_yaxes(
        range=[-3, 103], title={"text": "not failed yet, %", "font": {"size": 12}}, **axis()
    )
    rows = math.ceil(len(order) / 5)
    figure.update_layout(
        **layout(
            360 + 24 * rows,
            margin={"l": 60, "r": 12, "t": 16, "b": 66 + 24 * rows},
            legend={"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"},
        )
    )
    return html(figure, f"survival-{of.unit.replace('/', '-')}")


# --- size ----------------------------------------------------------------------------------------


def size_chart(points: Sequence[SizePoint], look: Mapping[str, Look]) -> str:
    """Accuracy against parameters: ours with intervals, the published ones hollow beside them."""
    import plotly.graph_objects as go

    if not points:
        return ""
    figure = go.Figure()
    table = load_published()
    published = [point for point in points if point.published is not None]
    hollow = {"color": "rgba(255,255,255,0)", "size": 9, "line": {"color": "#8a8f98", "width": 1.5}}
    figure.add_trace(
        go.Scatter(
            x=[p.parameters_b for p in published],
            y=[p.published for p in published],
            mode="markers",
            marker=hollow,
            name=f"published, {table.densities_px_per_m[0]:g} px/m: other images",
            text=[p.name for p in published],
            hovertemplate="%{text}, other images: %{y:.2f} % at %{x:g} B<extra></extra>",
        )
    )
    for name, dash in (("small", "dot"), ("medium", "dash")):
        sizes = [p.parameters_b for p in published if p.model_class == name]
        if sizes:
            figure.add_trace(
                go.Scatter(
                    x=[min(sizes) * 0.9, max(sizes) * 1.1],
                    y=[table.groups[name][0]] * 2,
                    mode="lines",
                    line={"color": "#8a8f98", "dash": dash, "width": 1.5},
                    name=f"published mean of {name} models, {table.groups[name][0]:.2f} %",
                    hoverinfo="skip",
                )
            )
    for point in points:
        if point.accuracy is None or point.accuracy.value is None:
            continue
        estimate, style = point.accuracy, look.get(point.name)
        value = 100 * point.accuracy.value
        low, high = estimate.interval or (point.accuracy.value,) * 2
        colour = style.colour if style else "#0072b2"
        figure.add_trace(
            go.Scatter(
                x=[point.parameters_b],
                y=[value],
                mode="markers",
                name=point.name,
                marker={"color": colour, "size": 10, "symbol": style.symbol if style else "circle"},
                error_y={
                    "type": "data",
                    "array": [100 * high - value],
                    "arrayminus": [value - 100 * low],
                    "thickness": 1.4,
                    "width": 4,
                },
                hovertemplate=(
                    f"{point.name}: %{{y:.1f}} % ({text.interval(estimate.interval)}), "
                    f"n = {estimate.n:,}, %{{x:g}} B parameters<extra></extra>"
                ),
            )
        )
    figure.add_hline(y=80, line={"color": "#b9c0c7", "width": 1}, annotation_text="80 %")
    ticks = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 72]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{t:g} B" for t in ticks], **axis())
    figure.update_xaxes(title={"text": "parameters", "standoff": 6, "font": {"size": 12}})
    figure.update_yaxes(range=[-3, 103], ticksuffix=" %", **axis())
    figure.update_layout(
        **layout(
            430,
            margin={"l": 60, "r": 12, "t": 16, "b": 110},
            legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
        )
    )
    return html(figure, "size-chart")
