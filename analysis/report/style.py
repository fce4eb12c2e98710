"""How charts look: colours that colour-blind readers tell apart, one font, one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["HUMAN_COLOUR", "Look", "axis", "html", "layout", "looks", "plotly_script"]

# Okabe and Ito's palette. Constant answers are grey, people black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#8a8f98"
HUMAN_COLOUR = "#22262b"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
DASHES = ("solid", "dash", "dot", "dashdot")
CONSTANT_DASHES = {"always-yes": "dash", "always-no": "dot"}

SEQUENTIAL = [[0, "#f3efe6"], [0.5, "#9cc5c9"], [1, "#1f6f78"]]

FONT = {"family": "Inter, 'Helvetica Neue', 'Segoe UI', Arial, sans-serif", "color": "#22262b"}
CONFIG = {"displaylogo": False, "displayModeBar": False, "responsive": True}


@dataclass(frozen=True)
class Look:
    """How an answerer is drawn, everywhere alike."""

    colour: str
    dash: str
    symbol: str
    width: float


def looks(labels: tuple[str, ...], kinds: Mapping[str, str]) -> dict[str, Look]:
    """Each answerer's look; colours repeat after six, with another dash and symbol."""
    found, number = {}, 0
    for label in labels:
        if kinds[label] == "human":
            found[label] = Look(HUMAN_COLOUR, "solid", "star", 3.2)
        elif kinds[label] == "constant":
            found[label] = Look(GREY, CONSTANT_DASHES.get(label, "dot"), "circle", 1.5)
        else:
            colour = COLOURS[number % len(COLOURS)]
            again = number // len(COLOURS)
            symbol = SYMBOLS[(number + again) % len(SYMBOLS)]
            found[label] = Look(colour, DASHES[again % len(DASHES)], symbol, 2.2)
            number += 1
    return found


def axis() -> dict[str, Any]:
    """An axis with a pale grid."""
    return {
        "gridcolor": "#e8eaed",
        "zeroline": False,
        "showline": True,
        "linecolor": "#c3c8ce",
        "ticks": "outside",
        "tickcolor": "#c3c8ce",
    }


def layout(height: int, **more: Any) -> dict[str, Any]:
    """What all charts share."""
    return {
        "height": height,
        "font": {**FONT, "size": 13},
        "margin": {"l": 60, "r": 16, "t": 40, "b": 60},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "#ffffff",
        "hovermode": "closest",
        **more,
    }


def html(figure: Any, name: str) -> str:
    """A fragment that needs plotly.js in the page."""
    return str(figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=CONFIG))


def plotly_script() -> str:
    """The text of plotly.js, for one script element."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
