"""Lighting presets, and the unit light layers that every lighting is a weighted sum of.

A lighting is data (``data/lightings.toml``): a horizontal illuminance in lux and, for each light
layer, its share of that illuminance and a colour. Layers are rendered once, under white light of
unit strength; ``layer_weights`` says how much of each layer a lighting needs.

Directions are compass bearings: azimuth 0 is north (+Y), 90 east (+X); elevations are above the
horizon.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALPHA",
    "BANDS",
    "GLOW_EXPONENT",
    "HORIZON_EXPONENT",
    "SUN_ANGULAR_DIAMETER_DEG",
    "Component",
    "Layer",
    "Lighting",
    "LightingError",
    "all_layers",
    "direction",
    "horizontal_irradiance",
    "layer_weights",
    "layers_of",
    "load_lightings",
    "make_lighting",
    "parse_layer",
    "sky_pattern",
]

BANDS = ("day", "evening", "night")
ALPHA = "alpha"
HORIZON_EXPONENT = 3
GLOW_EXPONENT = 8
SUN_ANGULAR_DIAMETER_DEG = 0.53  # sun and moon alike, seen from the earth
LUMINANCE_REC709 = (0.2126, 0.7152, 0.0722)

_ANGLE = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{0,2}[1-9])?")

_PRESETS = Path(__file__).parent.parent / "data" / "lightings.toml"

FloatArray = NDArray[np.floating[Any]]


class LightingError(ValueError):
    """A lighting that cannot be used; the message says which, where and what is allowed."""


@dataclass(frozen=True)
class Layer:
    """One unit light.

    Attributes:
        name: As in ``docs/dataset.md``.
        kind: ``sun`` (a distant disc), or a sky pattern: ``uniform``, ``horizon`` or ``glow``.
        azimuth_deg: Where a sun or glow stands, compass bearing.
        elevation_deg: Of a sun.
    """

    name: str
    kind: str
    azimuth_deg: float = 0.0
    elevation_deg: float = 90.0


@dataclass(frozen=True)
class Component:
    """What one layer gives to a lighting.

    Attributes:
        layer: A layer's name, as in ``docs/dataset.md``.
        share: Its part of the horizontal illuminance, 0..1.
        colour: Linear Rec. 709 of luminance 1 (normalised on loading).
    """

    layer: str
    share: float
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Lighting:
    """A light condition.

    Attributes:
        name: Its label in the dataset, as ``noon_south``.
        band: ``day``, ``evening`` or ``night``.
        illuminance_lx: Unobstructed, on a horizontal plate.
        components: What makes it up; the shares sum to 1.
    """

    name: str
    band: str
    illuminance_lx: float
    components: tuple[Component, ...]


def parse_layer(name: str) -> Layer:
    """Return the layer that a name stands for.

    Args:
        name: ``dome-uniform``, ``dome-horizon``, ``glow-AZ`` or ``sun-AZ-EL`` (degrees).

    Raises:
        LightingError: It is none of these.
    """
    kind, _, rest = name.partition("-")
    if name in ("dome-uniform", "dome-horizon"):
        return Layer(name, rest)
    parts = rest.split("-")
    # One way to write an angle: a layer has one name, which is also that of an OpenEXR part.
    angles = [float(part) for part in parts] if all(map(_ANGLE.fullmatch, parts)) else []
    if kind == "glow" and len(angles) == 1 and angles[0] < 360:
        return Layer(name, "glow", angles[0], 0.0)
    if kind == "sun" and len(angles) == 2 and angles[0] < 360 and 0 < angles[1] <= 90:
        return Layer(name, "sun", angles[0], angles[1])
    raise LightingError(
        f"'{name}' is no light layer: allowed are dome-uniform, dome-horizon, glow-AZIMUTH "
        "(below 360) and sun-AZIMUTH-ELEVATION (elevation above 0, up to 90), in degrees without "
        "sign or needless zeros, as in sun-180-60 or glow-22.5"
    )


def direction(azimuth_deg: float, elevation_deg: float) -> FloatArray:
    """Return the unit vector (3,) towards a compass azimuth and elevation, in the world frame."""
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    horizontal = math.cos(elevation)
    return np.array(
        [math.sin(azimuth) * horizontal, math.cos(azimuth) * horizontal, math.sin(elevation)]
    )


def sky_pattern(layer: Layer, directions: FloatArray) -> FloatArray:
    """Return the radiance (...) of a sky layer towards unit ``directions`` (..., 3).

    It is 0 below the horizon.

    Raises:
        LightingError: The layer is a sun.
    """
    z = directions[..., 2]
    up = z >= 0
    if layer.kind == "uniform":
        return up.astype(directions.dtype)
    if layer.kind == "horizon":
        return np.where(up, (1 - z) ** HORIZON_EXPONENT, 0)
    if layer.kind == "glow":
        towards = directions @ direction(layer.azimuth_deg, 0.0).astype(directions.dtype)
        return np.where(up, np.maximum(towards, 0) ** GLOW_EXPONENT, 0)
    raise LightingError(f"{layer.name} is not part of the sky: it has no radiance to show")


def horizontal_irradiance(layer: Layer) -> float:
    """Return what a layer of unit strength gives to an unobstructed horizontal plate.

    The integrals over the upper hemisphere of pattern times z: pi for 1; 2 pi / ((n+1)(n+2)) for
    (1-z)^n; for the half lobe (d.g)^n, half of the quarter sphere's Dirichlet integral
    B = 2 G((n+1)/2) G(1/2) G(1) / G((n+4)/2), G the gamma function, over its four quadrants.
    """
    if layer.kind == "uniform":
        return math.pi
    if layer.kind == "horizon":
        return 2 * math.pi / ((HORIZON_EXPONENT + 1) * (HORIZON_EXPONENT + 2))
    if layer.kind == "glow":
        n = GLOW_EXPONENT
        sphere = 2 * math.gamma((n + 1) / 2) * math.gamma(0.5) / math.gamma((n + 4) / 2)
        return sphere / 4
    return math.sin(math.radians(layer.elevation_deg))


def layer_weights(lighting: Lighting) -> dict[str, FloatArray]:
    """Return layer name -> weight (3,), linear Rec. 709.

    ``weight = illuminance x share x colour / horizontal irradiance of the unit layer``, so that the
    weighted layers together light a horizontal plate with ``illuminance_lx`` and a composed image
    is in cd/m2.
    """
    weights: dict[str, FloatArray] = {}
    for part in lighting.components:
        unit = horizontal_irradiance(parse_layer(part.layer))
        weight = lighting.illuminance_lx * part.share / unit * np.asarray(part.colour)
        weights[part.layer] = weights.get(part.layer, 0) + weight
    return weights


def layers_of(lightings: Iterable[Lighting]) -> tuple[Layer, ...]:
    """Return the distinct layers that some lightings need, sorted by name."""
    names = {part.layer for lighting in lightings for part in lighting.components}
    return tuple(parse_layer(name) for name in sorted(names))


@lru_cache
def all_layers() -> tuple[Layer, ...]:
    """Return the layers of every preset."""
    return layers_of(load_lightings().values())


def make_lighting(table: Mapping[str, object], where: str) -> Lighting:
    """Build a lighting from its table in a TOML file.

    Args:
        table: ``name``, ``band``, ``illuminance_lx`` and ``components``.
        where: The file (and key) to name in errors.

    Raises:
        LightingError: A value is missing or impossible.
    """
    name = table.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise LightingError(
            f"{where}: lighting name is {name!r}: letters, digits and underscores are allowed"
        )
    band = table.get("band")
    if band not in BANDS:
        raise LightingError(f"{where}: {name}.band is {band!r}: allowed are {', '.join(BANDS)}")
    illuminance = _number(table.get("illuminance_lx"), f"{where}: {name}.illuminance_lx")
    if not 1e-6 <= illuminance <= 1e6:
        raise LightingError(
            f"{where}: {name}.illuminance_lx is {illuminance:g}: between 1e-6 and 1e6 is allowed "
            "(overcast night 0.0001, sun 100000)"
        )
    components = table.get("components")
    if not isinstance(components, list | tuple) or not components:
        raise LightingError(
            f"{where}: {name}.components must list at least one "
            "{ layer = ..., share = ..., colour = [r, g, b] }"
        )
    parts = tuple(
        _component(c, f"{where}: {name}.components[{i}]") for i, c in enumerate(components)
    )
    total = sum(part.share for part in parts)
    if not math.isclose(total, 1.0, abs_tol=1e-6):
        raise LightingError(f"{where}: the shares of {name} sum to {total:g}: they must sum to 1")
    return Lighting(name, str(band), illuminance, parts)


def _component(value: object, where: str) -> Component:
    if isinstance(value, Component):
        return value
    if not isinstance(value, Mapping):
        raise LightingError(f"{where} is {value!r}: a table with layer and share is needed")
    unknown = set(value) - {"layer", "share", "colour"}
    if unknown:
        raise LightingError(
            f"{where} has unknown {', '.join(sorted(unknown))}: allowed are layer, share, colour"
        )
    try:
        layer = parse_layer(str(value.get("layer")))
    except LightingError as error:
        raise LightingError(f"{where}.layer: {error}") from None
    share = _number(value.get("share"), f"{where}.share")
    if not 0 <= share <= 1:
        raise LightingError(f"{where}.share is {share:g}: a share is between 0 and 1")
    raw = value.get("colour", (1.0, 1.0, 1.0))
    if not isinstance(raw, list | tuple) or len(raw) != 3:
        raise LightingError(f"{where}.colour is {raw!r}: three numbers [r, g, b] are needed")
    rgb = [_number(channel, f"{where}.colour") for channel in raw]
    level = sum(c * w for c, w in zip(rgb, LUMINANCE_REC709, strict=True))
    if min(rgb) < 0 or level <= 0:
        raise LightingError(f"{where}.colour is {raw!r}: no channel below 0, not all 0")
    # Rounded, and left alone once it is normalised, so that a frozen study reads back to the same
    # numbers and ids.
    if abs(level - 1) > 1e-6:
        rgb = [round(c / level, 6) for c in rgb]
    red, green, blue = rgb
    return Component(layer.name, share, (red, green, blue))


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise LightingError(f"{where} is {value!r}: a finite number is needed")
    return float(value)


def load_lightings(path: Path | None = None) -> dict[str, Lighting]:
    """Return name -> lighting from a presets file (by default the 13 embedded ones), in its order.

    Raises:
        LightingError: The file cannot be read or holds a wrong value.
    """
    return dict(_load(path or _PRESETS))


@lru_cache
def _load(path: Path) -> tuple[tuple[str, Lighting], ...]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("lighting", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LightingError(f"{path}: cannot be read as lighting presets: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise LightingError(f"{path.name}: lighting is no list of tables [[lighting]]")
    lightings = [make_lighting(table, path.name) for table in tables]
    names = [lighting.name for lighting in lightings]
    for name in names:
        if names.count(name) > 1:
            raise LightingError(f"{path.name}: lighting {name} is defined twice")
    return tuple(zip(names, lightings, strict=True))
