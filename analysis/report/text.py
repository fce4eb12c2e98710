"""How quantities are written for people."""

from __future__ import annotations

from ..metrics.intervals import Interval
from ..metrics.psychometric import Threshold

__all__ = [
    "degrees",
    "density",
    "distance",
    "exposure",
    "illuminance",
    "interval",
    "number",
    "percent",
    "threshold",
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


def illuminance(lux: float | None) -> str:
    """Write an illuminance with up to four digits, as ``22 klx`` or ``0.25 lx``."""
    if lux is None:
        return "unknown illuminance"
    return f"{lux / 1000:.4g} klx" if lux >= 1000 else f"{lux:.4g} lx"


def exposure(seconds: float | None) -> str:
    """Write a shutter time as photographers do, with two digits, as ``1/25 s``."""
    if seconds is None:
        return "unknown exposure"
    return f"{seconds:.2g} s" if seconds >= 0.3 else f"1/{float(f'{1 / seconds:.2g}'):,.0f} s"


def density(px_per_m: float | None) -> str:
    """Write a pixel density, as ``93.75 px/m``."""
    return "unknown density" if px_per_m is None else f"{number(px_per_m)} px/m"


def distance(metres: float | None) -> str:
    """Write a distance, as ``10.752 m``."""
    return "unknown distance" if metres is None else f"{number(metres)} m"


def degrees(angle: float | None) -> str:
    """Write an angle, as ``22.5°``."""
    return "unknown" if angle is None else f"{angle:g}°"


def threshold(found: Threshold, unit: str) -> str:
    """Write a threshold with its interval, as ``31.4 px/m (27.9–36)``.

    Beyond what was shown there is only the interval, or the end of it that is known.
    """
    low, high = found.interval
    if found.value is None:
        if low is None and high is not None:
            return f"below {_three(high)} {unit}"
        if high is None and low is not None:
            return f"above {_three(low)} {unit}"
        if low is None or high is None:
            return UNDEFINED
        return f"({_three(low)}–{_three(high)} {unit})"
    ends = f"{_three(low) if low is not None else '?'}–{_three(high) if high is not None else '?'}"
    return f"{_three(found.value)} {unit} ({ends})"


def _three(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
