"""What a camera sees in the open sky: the light patterns, the discs of sun and moon, stars.

The patterns and discs are the light of the scene, seen; stars are only seen. Together they would
give some 0.0002 lx, below a thousandth of a moonlit night. Pure numpy.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .lighting import (
    SUN_ANGULAR_DIAMETER_DEG,
    Lighting,
    direction,
    layer_weights,
    parse_layer,
    sky_pattern,
)

__all__ = ["STAR_LUX", "seen_sky", "sky_luminance", "star_catalogue"]

FloatArray = NDArray[np.float32]
Floats = NDArray[np.floating[Any]]

STAR_LUX = 2.54e-6
"""Illuminance of a star of visual magnitude 0, outside the atmosphere (Allen, 2000)."""

# Light scattered forwards by the air: its share of sun or moon light is that of a clear day (a
# circumsolar ratio of some percent, as in Buie et al., Solar Energy 74, 2003); the shape is ours.
_AUREOLE_SHARE = 0.02
_AUREOLE_RADIUS = math.radians(14)
_DISC_RADIUS = math.radians(SUN_ANGULAR_DIAMETER_DEG / 2)

# Stars of the whole sky brighter than a magnitude (Allen's tables, rounded).
_MAGNITUDES = (-1.5, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5)
_BRIGHTER = (0.5, 4.0, 15.0, 48.0, 171.0, 513.0, 1602.0, 4800.0, 8400.0)
_STAR_SEED = 20260821  # the stars are drawn, not those of a date and place
_EXTINCTION = 0.25  # magnitudes an air mass, a clear site at sea level
_STAR_SIGMA_PX = 0.55


def sky_luminance(weights: Mapping[str, ArrayLike], directions: FloatArray) -> FloatArray:
    """Return the luminance of the sky patterns, (..., 3) in cd/m2, without discs and stars.

    Directions just below the horizon, past the end of the ground, show the horizon's colour.
    """
    above = directions.copy()
    above[..., 2] = np.maximum(above[..., 2], 0)
    above /= np.linalg.norm(above, axis=-1, keepdims=True)
    sky = np.zeros(directions.shape, np.float32)
    for name, weight in weights.items():
        layer = parse_layer(name)
        if layer.is_sky:
            sky += sky_pattern(layer, above)[..., None] * np.asarray(weight, np.float32)
    return sky


def seen_sky(lighting: Lighting, directions: FloatArray) -> FloatArray:
    """Return all that a camera sees of the open sky, (H, W, 3) in cd/m2.

    Args:
        lighting: What shines.
        directions: (H, W, 3) unit vectors of the pixels of a pinhole camera, world frame.
    """
    weights = layer_weights(lighting)
    sky = sky_luminance(weights, directions)
    for name, weight in weights.items():
        layer = parse_layer(name)
        if layer.kind == "sun":
            towards = direction(layer.azimuth_deg, layer.elevation_deg)
            sky += _disc(towards, directions)[..., None] * np.asarray(weight, np.float32)
    if lighting.stars and min(directions.shape[:2]) > 1:
        _add_stars(sky, directions)
    return sky


def _disc(towards: Floats, directions: FloatArray) -> FloatArray:
    """Return the radiance (H, W) of a disc of normal irradiance 1 and of its aureole."""
    shape = directions.shape[:2]
    # In the small angle limit the chord is the angle, and exact in single precision.
    angle = np.linalg.norm(directions - towards.astype(np.float32), axis=-1)
    radiance = np.zeros(shape, np.float32)
    near = (angle < _AUREOLE_RADIUS) & (directions[..., 2] > 0)
    if not near.any():
        return radiance
    u = np.maximum(angle[near], _DISC_RADIUS) / _AUREOLE_RADIUS
    u0 = _DISC_RADIUS / _AUREOLE_RADIUS
    # The integral of u^-2 (1 - u^2)^2 over 2 pi angle d(angle), flat inside the disc.
    ring = -math.log(u0) - (1 - u0**2) + (1 - u0**4) / 4
    whole = 2 * math.pi * _AUREOLE_RADIUS**2 * (ring + (1 - u0**2) ** 2 / 2)
    light = _AUREOLE_SHARE / whole * u**-2 * (1 - u**2) ** 2
    pixel = math.sqrt(_pixel_solid_angle(directions))
    cover = np.clip((_DISC_RADIUS - angle[near]) / pixel + 0.5, 0, 1)
    radiance[near] = light + cover * (1 - _AUREOLE_SHARE) / (math.pi * _DISC_RADIUS**2)
    return radiance


def _pixel_solid_angle(directions: FloatArray) -> float:
    """Return the solid angle of a pixel in the middle of a picture."""
    y, x = (max(1, side // 2) for side in directions.shape[:2])
    middle = directions[y - 1 : y + 1, x - 1 : x + 1].astype(float)
    if middle.shape[:2] != (2, 2):
        return 1e-6
    return float(np.linalg.norm(np.cross(middle[0, 1] - middle[0, 0], middle[1, 0] - middle[0, 0])))


@lru_cache
def star_catalogue() -> tuple[Floats, Floats, Floats]:
    """Return the stars above the horizon: directions (N, 3), illuminances (N,) in lx, colours.

    As many of each magnitude as there are; places and colours are drawn, the same in every study.
    Extinction by the air is applied.
    """
    count = int(_BRIGHTER[-1] / 2)
    rank = 2 * (np.arange(count) + 0.5)
    magnitude = np.interp(np.log(rank), np.log(_BRIGHTER), _MAGNITUDES)
    drawn = np.random.Generator(np.random.Philox(key=_STAR_SEED)).random((count, 3))
    z, turn, warmth = drawn[:, 0], 2 * np.pi * drawn[:, 1], drawn[:, 2]
    across = np.sqrt(1 - z**2)
    directions = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=-1)
    air_mass = 1 / (z + 0.025 * np.exp(-11 * z))  # Rozenberg (1966)
    lux = STAR_LUX * 10 ** (-0.4 * (magnitude + _EXTINCTION * air_mass))
    colours = np.stack([0.8 + 0.45 * warmth, np.full(count, 0.98), 1.45 - 0.7 * warmth], axis=-1)
    colours /= colours @ np.array([0.2126, 0.7152, 0.0722])[:, None]
    return directions, lux, colours


def _add_stars(sky: FloatArray, directions: FloatArray) -> None:
    """Add each star's light to the pixels about it: a point, as wide as a good lens makes it."""
    height, width = directions.shape[:2]
    towards, lux, colours = star_catalogue()
    projection = _projection(directions)
    homogeneous = towards @ projection.T
    centre = directions[height // 2, width // 2].astype(float)
    front = (towards @ centre > 0) & (homogeneous[:, 2] > 0)
    xy = homogeneous[front, :2] / homogeneous[front, 2:]
    reach = 2
    inside = ((xy > -reach) & (xy < np.array([width, height]) + reach)).all(axis=-1)
    xy, lux, colours = xy[inside], lux[front][inside], colours[front][inside]
    if not len(xy):
        return
    nearest = np.rint(xy).astype(int)
    steps = np.arange(-reach, reach + 1)
    weight = [
        np.exp(-0.5 * ((nearest[:, None, i] + steps - xy[:, None, i]) / _STAR_SIGMA_PX) ** 2)
        for i in (0, 1)
    ]
    weight = [w / w.sum(axis=1, keepdims=True) for w in weight]
    for j, dy in enumerate(steps):
        for i, dx in enumerate(steps):
            x, y = nearest[:, 0] + dx, nearest[:, 1] + dy
            seen = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            share = (lux * weight[0][:, i] * weight[1][:, j])[seen]
            solid = _solid_angles(directions, x[seen], y[seen])
            np.add.at(sky, (y[seen], x[seen]), (share / solid)[:, None] * colours[seen])


def _solid_angles(directions: FloatArray, x: NDArray[np.intp], y: NDArray[np.intp]) -> Floats:
    height, width = directions.shape[:2]
    x0, y0 = np.minimum(x, width - 2), np.minimum(y, height - 2)
    here = directions[y0, x0].astype(float)
    across = directions[y0, x0 + 1] - here
    down = directions[y0 + 1, x0] - here
    solid: Floats = np.linalg.norm(np.cross(across, down), axis=-1)
    return solid


def _projection(directions: FloatArray) -> Floats:
    """Return the matrix (3, 3) that takes a direction to a pinhole's homogeneous pixel.

    The four corners of the picture determine it (direct linear transform).
    """
    height, width = directions.shape[:2]
    rows = []
    for x, y in ((0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)):
        d = directions[y, x].astype(float)
        rows.append([*d, 0, 0, 0, *(-x * d)])
        rows.append([0, 0, 0, *d, *(-y * d)])
    projection: Floats = np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)
    centre = directions[height // 2, width // 2].astype(float)
    if projection[2] @ centre < 0:
        projection = -projection
    return projection
