"""Lighting presets, and the unit light layers that every lighting is a weighted sum of.

A lighting is data (``data/lightings.toml``): a horizontal illuminance in lux and, for each light
layer, its share of that illuminance and a colour. Layers are rendered once, under white light of
unit strength; ``layer_weights`` says how much of each layer a lighting needs. Lamps of the scenery
and an illuminator at the camera are layers too, with a power of their own in lumens and candela.

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
    "GLOW_AZIMUTH_EXPONENT",
    "GLOW_HEIGHT_EXPONENT",
    "HORIZON_EXPONENT",
    "ILLUMINATOR",
    "LAMPS",
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
    "load_more_lightings",
    "make_lighting",
    "parse_layer",
    "read_lightings",
    "sky_pattern",
]

BANDS = ("day", "evening", "night")
ALPHA = "alpha"
LAMPS = "lamps"
"""The layer of a scenery's lamps; its unit is 1 lm from each."""
ILLUMINATOR = "illuminator"
"""The layer of a lamp at the camera; its unit is 1 cd along the optical axis."""
HORIZON_EXPONENT = 3
GLOW_AZIMUTH_EXPONENT = 4
GLOW_HEIGHT_EXPONENT = 5
SUN_ANGULAR_DIAMETER_DEG = 0.53  # sun and moon alike, seen from the earth
LUMINANCE_REC709 = (0.2126, 0.7152, 0.0722)

_ANGLE = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{0,2}[1-9])?")

_PRESETS = Path(__file__).parent.parent / "data" / "lightings.toml"
_MORE_PRESETS = Path(__file__).parent.parent / "data" / "lightings_more.toml"
_LAMPS_MOST_LM = 1e7
_ILLUMINATOR_MOST_CD = 1e7

FloatArray = NDArray[np.floating[Any]]


class LightingError(ValueError):
    """A lighting that cannot be used; the message says which, where and what is allowed."""


@dataclass(frozen=True)
class Layer:
    """One unit light.

    Attributes:
        name: As in ``docs/dataset.md``.
        kind: ``sun`` (a distant disc), a sky pattern (``uniform``, ``horizon`` or ``glow``),
            ``lamps`` or ``illuminator``.
        azimuth_deg: Where a sun or glow stands, compass bearing.
        elevation_deg: Of a sun.
    """

    name: str
    kind: str
    azimuth_deg: float = 0.0
    elevation_deg: float = 90.0

    @property
    def is_sky(self) -> bool:
        """Whether it is a pattern of the sky."""
        return self.kind in ("uniform", "horizon", "glow")


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
        illuminance_lx: Of sun and sky, unobstructed, on a horizontal plate.
        components: What makes it up; the shares sum to 1.
        stars: Whether stars are seen where the sky is open. They light nothing.
        lamps_lm: Luminous flux of each of the scenery's lamps.
        lamps_colour: Linear Rec. 709 of luminance 1 (normalised on loading).
        illuminator_cd: Luminous intensity, along the optical axis, of a lamp at the camera.
        monochrome: Whether the camera sees in shades of grey, in the red channel's reflectances:
            of the three they are nearest to those in infrared light.
    """

    name: str
    band: str
    illuminance_lx: float
    components: tuple[Component, ...]
    stars: bool = False
    lamps_lm: float = 0.0
    lamps_colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    illuminator_cd: float = 0.0
    monochrome: bool = False


def parse_layer(name: str) -> Layer:
    """Return the layer that a name stands for.

    Args:
        name: ``dome-uniform``, ``dome-horizon``, ``glow-AZ`` or ``sun-AZ-EL`` (degrees),
            ``lamps`` or ``illuminator``.

    Raises:
        LightingError: It is none of these.
    """
    if name in (LAMPS, ILLUMINATOR):
        return Layer(name, name)
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
        lobe = np.maximum(towards, 0) ** GLOW_AZIMUTH_EXPONENT
        return np.where(up, lobe * (1 - np.minimum(z, 1)) ** GLOW_HEIGHT_EXPONENT, 0)
    raise LightingError(f"{layer.name} is not part of the sky: it has no radiance to show")


def horizontal_irradiance(layer: Layer) -> float:
    """Return what a layer of unit strength gives to an unobstructed horizontal plate.

    The integrals over the upper hemisphere of pattern times z: pi for 1; 2 pi / ((n+1)(n+2)) for
    (1-z)^n; pi / 132 for the glow (d.g)^4 (1-z)^5: 3 pi / 8 for the azimuth (cos^4 over a half
    turn) times 2 / 99 for the height (z (1+z)^2 (1-z)^7 from 0 to 1, a sum of Beta functions).

    Raises:
        LightingError: The layer is a lamp's: what it gives depends on the place.
    """
    if layer.kind == "uniform":
        return math.pi
    if layer.kind == "horizon":
        return 2 * math.pi / ((HORIZON_EXPONENT + 1) * (HORIZON_EXPONENT + 2))
    if layer.kind == "glow":
        return math.pi / 132
    if layer.kind == "sun":
        return math.sin(math.radians(layer.elevation_deg))
    raise LightingError(f"{layer.name} has no irradiance of its own: it depends on the place")


def layer_weights(lighting: Lighting) -> dict[str, FloatArray]:
    """Return layer name -> weight (3,), linear Rec. 709.

    ``weight = illuminance x share x colour / horizontal irradiance of the unit layer``, so that the
    weighted layers of sun and sky together light a horizontal plate with ``illuminance_lx`` and a
    composed image is in cd/m2. The weight of lamps is their flux in lm, that of an illuminator its
    intensity in cd, times their colours.
    """
    weights: dict[str, FloatArray] = {}
    for part in lighting.components:
        unit = horizontal_irradiance(parse_layer(part.layer))
        weight = lighting.illuminance_lx * part.share / unit * np.asarray(part.colour)
        weights[part.layer] = weights.get(part.layer, 0) + weight
    if lighting.lamps_lm:
        weights[LAMPS] = lighting.lamps_lm * np.asarray(lighting.lamps_colour)
    if lighting.illuminator_cd:
        weights[ILLUMINATOR] = np.full(3, lighting.illuminator_cd)
    return weights


def layers_of(lightings: Iterable[Lighting]) -> tuple[Layer, ...]:
    """Return the distinct layers that some lightings need, sorted by name."""
    names = {name for lighting in lightings for name in layer_weights(lighting)}
    return tuple(parse_layer(name) for name in sorted(names))


@lru_cache
def all_layers() -> tuple[Layer, ...]:
    """Return the layers of every preset."""
    return layers_of(load_lightings().values())


def make_lighting(table: Mapping[str, object], where: str) -> Lighting:
    """Build a lighting from its table in a TOML file.

    Args:
        table: ``name``, ``band``, ``illuminance_lx`` and ``components``; also what else a
            :class:`Lighting` has.
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
    where = f"{where}: {name}"
    return Lighting(
        name,
        str(band),
        illuminance,
        parts,
        _flag(table, "stars", where),
        _power(table, "lamps_lm", _LAMPS_MOST_LM, where),
        _colour(table.get("lamps_colour", (1.0, 1.0, 1.0)), f"{where}.lamps_colour"),
        _power(table, "illuminator_cd", _ILLUMINATOR_MOST_CD, where),
        _flag(table, "monochrome", where),
    )


def _flag(table: Mapping[str, object], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise LightingError(f"{where}.{key} is {value!r}: true or false is needed")
    return value


def _power(table: Mapping[str, object], key: str, most: float, where: str) -> float:
    value = _number(table.get(key, 0.0), f"{where}.{key}")
    if not 0 <= value <= most:
        raise LightingError(f"{where}.{key} is {value:g}: between 0 and {most:g} is allowed")
    return value


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
    if layer.kind in (LAMPS, ILLUMINATOR):
        raise LightingError(
            f"{where}.layer is '{layer.name}', which has no share of the illuminance: give "
            "lamps_lm or illuminator_cd beside the components"
        )
    share = _number(value.get("share"), f"{where}.share")
    if not 0 <= share <= 1:
        raise LightingError(f"{where}.share is {share:g}: a share is between 0 and 1")
    colour = _colour(value.get("colour", (1.0, 1.0, 1.0)), f"{where}.colour")
    return Component(layer.name, share, colour)


def _colour(raw: object, where: str) -> tuple[float, float, float]:
    if not isinstance(raw, list | tuple) or len(raw) != 3:
        raise LightingError(f"{where} is {raw!r}: three numbers [r, g, b] are needed")
    rgb = [_number(channel, where) for channel in raw]
    level = sum(c * w for c, w in zip(rgb, LUMINANCE_REC709, strict=True))
    if min(rgb) < 0 or level <= 0:
        raise LightingError(f"{where} is {raw!r}: no channel below 0, not all 0")
    # Rounded, and left alone once it is normalised, so that a frozen study reads back to the same
    # numbers and ids.
    if abs(level - 1) > 1e-6:
        rgb = [round(c / level, 6) for c in rgb]
    red, green, blue = rgb
    return red, green, blue


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


def load_more_lightings() -> dict[str, Lighting]:
    """Return name -> lighting of the embedded presets beyond the 13 published labels."""
    return load_lightings(_MORE_PRESETS)


@lru_cache
def _load(path: Path) -> tuple[tuple[str, Lighting], ...]:
    return tuple(read_lightings(path).items())


def read_lightings(path: Path) -> dict[str, Lighting]:
    """Return name -> lighting from a presets file that may have changed, read anew.

    Raises:
        LightingError: The file cannot be read or holds a wrong value.
    """
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
    return dict(zip(names, lightings, strict=True))
