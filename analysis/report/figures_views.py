"""Charts by viewpoint and by action."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..metrics.intervals import Estimate
from ..metrics.tables import Items
from .actions import ActionResult
from .figures import cell_text, cell_words, estimate_of
from .results import Results
from .style import SEQUENTIAL, html, layout

__all__ = ["action_heatmap", "action_matrix", "viewpoint_chart"]

_COLUMNS = 4


# --- viewpoints ----------------------------------------------------------------------------------


def viewpoint_chart(results: Results, items: Items) -> str:
    """Share of persons seen by camera azimuth and elevation, a dial per model and people."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    azimuths = items.factors["azimuth_deg"].levels
    elevations = items.factors["elevation_deg"].levels
    labels = (results.models or results.labels)[:8]
    if len(azimuths) < 2:
        return ""
    rings = sorted(elevations, reverse=True)  # from above is in the middle
    columns = min(len(labels), _COLUMNS)
    lines = math.ceil(len(labels) / columns)
    figure = make_subplots(
        rows=lines,
        cols=columns,
        specs=[[{"type": "polar"}] * columns for _ in range(lines)],
        subplot_titles=labels,
        vertical_spacing=0.18 if lines > 1 else 0,
    )
    width = 0.96 * 360 / max(len(azimuths), round(360 / _least_step(azimuths)))
    for number, label in enumerate(labels):
        for ring, elevation in enumerate(rings):
            found = {a: _viewed(results, label, a, elevation) for a in azimuths}
            seen = {a: e for a, e in found.items() if e is not None and e.value is not None}
            figure.add_trace(
                go.Barpolar(
                    theta=list(seen),
                    r=[1] * len(seen),
                    base=[ring + 0.35] * len(seen),
                    width=[width] * len(seen),
                    marker={
                        "color": [e.value for e in seen.values()],
                        "cmin": 0,
                        "cmax": 1,
                        "colorscale": SEQUENTIAL,
                        "line": {"color": "#ffffff", "width": 1.5},
                        "showscale": number == 0 and ring == 0,
                        "colorbar": {
                            "title": {"text": "seen"},
                            "tickformat": ".0%",
                            "thickness": 12,
                            "len": 0.8,
                        },
                    },
                    text=[
                        f"azimuth {a:g}°, elevation {elevation:g}°: {cell_words(e)}"
                        for a, e in seen.items()
                    ],
                    hovertemplate="%{text}<extra></extra>",
                    showlegend=False,
                ),
                row=number // columns + 1,
                col=number % columns + 1,
            )
    figure.update_polars(
        angularaxis={
            "direction": "counterclockwise",
            "rotation": -90,
            "tickvals": list(azimuths)[:: max(1, len(azimuths) // 8)],
            "ticktext": [f"{a:g}°" for a in azimuths[:: max(1, len(azimuths) // 8)]],
            "tickfont": {"size": 10},
            "gridcolor": "#e8eaed",
        },
        radialaxis={
            "range": [0, len(rings) + 0.4],
            "tickvals": [ring + 0.85 for ring in range(len(rings))],
            "ticktext": [f"{elevation:g}°" for elevation in rings],
            "tickfont": {"size": 9},
            "angle": -67.5,
            "tickangle": 0,
            "showline": False,
            "gridcolor": "rgba(0,0,0,0)",
        },
        bgcolor="#fbfbfa",
    )
    figure.update_annotations(yshift=18, font={"size": 13})
    figure.update_layout(**layout(80 + 290 * lines, margin={"l": 40, "r": 40, "t": 70, "b": 30}))
    return html(figure, "viewpoint-chart")


def _least_step(azimuths: Sequence[float]) -> float:
    ordered = sorted({a % 360 for a in azimuths})
    steps = [b - a for a, b in zip(ordered, [*ordered[1:], ordered[0] + 360], strict=True)]
    return max(min(steps), 5.0)


def _viewed(results: Results, label: str, azimuth: float, elevation: float) -> Estimate | None:
    score = results.find(
        label, "presence", ("azimuth_deg", "elevation_deg"), (azimuth, elevation)
    ) or results.find(label, "presence", ("azimuth_deg",), (azimuth,))
    return estimate_of(score, "sensitivity")


# --- actions -------------------------------------------------------------------------------------


def action_heatmap(results: Results, items: Items) -> str:
    """Share of persons seen by what they do, a row per model and people."""
    actions = items.factors["action"].levels
    if len(actions) < 2:
        return ""
    labels = results.models or results.labels
    found = [
        [
            estimate_of(results.find(label, "presence", ("action",), (a,)), "sensitivity")
            for a in actions
        ]
        for label in labels
    ]
    return _matrix(
        [[e.value if e else None for e in line] for line in found],
        [[cell_text(e, with_n=False) for e in line] for line in found],
        [[cell_words(e) for e in line] for line in found],
        [str(a).replace("_", " ") for a in actions],
        labels,
        "action-heatmap",
    )


def action_matrix(result: ActionResult, name: str) -> str:
    """Which action is taken for which: a row per right action, in percent of its answers."""
    counts = result.matrix
    totals = counts.sum(axis=1, keepdims=True)
    shares = [
        [float(c) / t if t else None for c in line]
        for line, (t,) in zip(counts, totals, strict=True)
    ]
    return _matrix(
        shares,
        [["" if not s else f"{100 * s:.0f}" for s in line] for line in shares],
        [
            [f"{c:,} of {t:,} answers" for c in line]
            for line, (t,) in zip(counts, totals, strict=True)
        ],
        [column.replace("_", " ") for column in result.columns],
        [
            f"{action.replace('_', ' ')} (n = {t:,})"
            for action, (t,) in zip(result.actions, totals, strict=True)
        ],
        name,
    )


def _matrix(
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    words: Sequence[Sequence[str]],
    columns: Sequence[str],
    rows: Sequence[str],
    name: str,
) -> str:
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=[_wrapped(column) for column in columns],
            y=list(rows),
            text=texts,
            customdata=words,
            texttemplate="%{text}",
            hovertemplate="%{y}: %{x}: %{customdata}<extra></extra>",
            zmin=0,
            zmax=1,
            colorscale=SEQUENTIAL,
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    longest = max(len(row) for row in rows)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False, side="top", tickfont={"size": 11})
    figure.update_layout(
        **layout(
            90 + 30 * len(rows),
            margin={"l": 20 + 7 * longest, "r": 12, "t": 76, "b": 12},
            plot_bgcolor="#eef0f2",
        )
    )
    return html(figure, name)


def _wrapped(words: str) -> str:
    lines, line = [], ""
    for word in words.split():
        if line and len(line) + len(word) > 11:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "<br>".join([*lines, line])
