"""Pixel-density scales: which class a density in px/m belongs to.

The scales are data (``data/scales.toml``, with their sources). A class begins at its density and
reaches up to the next one's.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["DensityClass", "Scale", "band_midpoint", "class_of", "load_scales"]

_SCALES = Path(__file__).parent.parent / "data" / "scales.toml"


@dataclass(frozen=True)
class DensityClass:
    """A class of a scale and the pixel density in px/m at which it begins."""

    name: str
    px_per_m: float


@dataclass(frozen=True)
class Scale:
    """A scale of pixel densities; its classes ascend."""

    name: str
    title: str
    source: str
    classes: tuple[DensityClass, ...]


@lru_cache
def load_scales() -> dict[str, Scale]:
    """Return name -> scale, in the order of ``data/scales.toml``."""
    tables = tomllib.loads(_SCALES.read_text(encoding="utf-8"))["scale"]
    return {
        table["name"]: Scale(
            table["name"],
            table["title"],
            table["source"],
            tuple(DensityClass(c["name"], c["px_per_m"]) for c in table["classes"]),
        )
        for table in tables
    }


def class_of(density_px_per_m: float, scale: Scale) -> str | None:
    """Return the highest class that a pixel density reaches, None below the lowest."""
    reached = [c.name for c in scale.classes if density_px_per_m >= c.px_per_m]
    return reached[-1] if reached else None


def band_midpoint(scale: Scale, name: str) -> float:
    """Return the density in px/m halfway between where a class and the next one begin.

    Raises:
        ValueError: The scale has no such class, or nothing lies above it.
    """
    names = [c.name for c in scale.classes]
    bands = names[:-1]
    if name not in bands:
        reason = "has nothing above it" if name in names else "is none of its classes"
        raise ValueError(
            f"{scale.name} has no midpoint of '{name}', which {reason}: "
            f"allowed are {', '.join(bands)}"
        )
    index = names.index(name)
    return (scale.classes[index].px_per_m + scale.classes[index + 1].px_per_m) / 2
