"""How quantities are written for people."""

from __future__ import annotations

from ..metrics import Interval

__all__ = [
    "degrees",
    "density",
    "distance",
    "exposure",
    "illuminance",
    "interval",
    "number",
    "percent",
]

UNDEFINED = "–"


def percent(share: float | None) -> str:
    """Write a share with one decimal, as ``87.3``; a dash where it is undefined."""
    return UNDEFINED if share is None else f"{100 * share:.1f}"


def interval(ends: Interval | None) -> str:
    """Write an interval of shares in percent, as ``83.0–90.6``; nothing where there is none."""
    return "" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def number(value: float) -> str:
    """Write a number with up to five digits, as ``43.75``."""
    return f"{value:.5g}"


def illuminance(lux: float) -> str:
    """Write an illuminance with up to four digits, as ``22 klx`` or ``0.25 lx``."""
    return f"{lux / 1000:.4g} klx" if lux >= 1000 else f"{lux:.4g} lx"


def exposure(seconds: float) -> str:
    """Write a shutter time as photographers do, with two digits, as ``1/25 s``."""
    return f"{seconds:.2g} s" if seconds >= 0.3 else f"1/{float(f'{1 / seconds:.2g}'):,.0f} s"


def density(px_per_m: float) -> str:
    """Write a pixel density, as ``93.75 px/m``."""
    return f"{number(px_per_m)} px/m"


def distance(metres: float) -> str:
    """Write a distance, as ``10.752 m``."""
    return f"{number(metres)} m"


def degrees(angle: float) -> str:
    """Write an angle, as ``22.5°``."""
    return f"{angle:g}°"
