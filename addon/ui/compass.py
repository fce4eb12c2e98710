"""A small picture of the sky with the sun in it: where the light comes from, and how high.

The rim is the horizon, the middle the zenith, north up. Drawn with numpy into a preview: no file,
no draw handler.
"""

from functools import lru_cache

import bpy
import bpy.utils.previews
import numpy as np
from numpy.typing import NDArray

from ..properties.words import marked, translated

__all__ = ["bearing_name", "compass_icon_id", "register", "unregister"]

_SIDE_PX = 128
_BEARINGS = (
    marked("north"),
    marked("north-east"),
    marked("east"),
    marked("south-east"),
    marked("south"),
    marked("south-west"),
    marked("west"),
    marked("north-west"),
)
_SUN, _MOON, _GLOW = (1.0, 0.85, 0.35), (0.85, 0.92, 1.0), (1.0, 0.5, 0.2)
_RIM, _SKY, _CAMERA = (0.75, 0.75, 0.75), (0.22, 0.27, 0.34), (0.45, 0.75, 1.0)
_pictures: bpy.utils.previews.ImagePreviewCollection | None = None


def bearing_name(azimuth_deg: float) -> str:
    """Return the nearest of eight names of compass bearings, translated; 0 is north, 90 east."""
    return translated(_BEARINGS[round(azimuth_deg / 45) % 8])


def compass_icon_id(
    kind: str, azimuth_deg: float, elevation_deg: float, camera_deg: float | None
) -> int:
    """Return the icon of a compass.

    Args:
        kind: ``sun``, ``moon``, ``glow`` (a side of the horizon) or ``sky`` (no direction).
        azimuth_deg: Compass bearing of the light.
        elevation_deg: Above the horizon.
        camera_deg: Compass bearing of the camera, seen from the subject; None: none is shown.
    """
    if _pictures is None:  # not registered: nothing is drawn
        return 0
    camera = -1 if camera_deg is None else round(camera_deg % 360)
    key = f"{kind} {azimuth_deg:.0f} {elevation_deg:.0f} {camera}"
    if key not in _pictures:
        picture = _pictures.new(key)
        rgba = _drawn(kind, round(azimuth_deg), round(elevation_deg), camera)
        picture.image_size = (_SIDE_PX, _SIDE_PX)
        picture.image_pixels_float.foreach_set(rgba.ravel())
    return int(_pictures[key].icon_id)


@lru_cache(maxsize=64)
def _drawn(kind: str, azimuth_deg: int, elevation_deg: int, camera_deg: int) -> NDArray[np.float32]:
    """Return the picture (H, W, 4), rows from below as Blender has them."""
    side = np.linspace(-1.15, 1.15, _SIDE_PX, dtype=np.float32)
    x, y = np.meshgrid(side, side)
    distance, soft = np.hypot(x, y), 2.3 / _SIDE_PX
    picture = np.zeros((_SIDE_PX, _SIDE_PX, 4), np.float32)

    def paint(colour: tuple[float, float, float], cover: NDArray[np.float32]) -> None:
        cover = np.clip(cover, 0, 1)[..., None]
        picture[...] = picture * (1 - cover) + np.append(colour, 1).astype(np.float32) * cover

    def disc(radius: float) -> NDArray[np.float32]:
        return (radius - distance) / soft + 0.5

    def spot(centre: NDArray[np.floating], radius: float) -> NDArray[np.float32]:
        return (radius - np.hypot(x - centre[0], y - centre[1])) / soft + 0.5

    def towards(bearing_deg: float) -> NDArray[np.floating]:
        angle = np.radians(bearing_deg)
        return np.array([np.sin(angle), np.cos(angle)])

    paint(_RIM, disc(1.0))
    paint(_SKY, disc(0.95))
    for ring_deg in (30, 60):
        line = 1 - ring_deg / 90
        paint(tuple(1.3 * c for c in _SKY), 1.0 - np.abs(distance - line) / soft)
    for bearing_deg in range(0, 360, 45):
        along = x * towards(bearing_deg)[0] + y * towards(bearing_deg)[1]
        across = np.abs(x * towards(bearing_deg)[1] - y * towards(bearing_deg)[0])
        long = 0.78 if bearing_deg % 90 == 0 else 0.87
        inside = np.minimum((along - long) / soft, (0.95 - along) / soft)
        paint(_RIM, np.minimum(inside, 1.2 - across / soft))
    # North: a wedge that points outwards.
    wedge = np.minimum((1.13 - y) / soft, (y - 0.86) / soft)
    paint((0.95, 0.3, 0.25), np.minimum(wedge, ((1.13 - y) * 0.5 - np.abs(x)) / soft))
    # The camera: a ring at its bearing, on the horizon.
    if camera_deg >= 0:
        eye = 0.83 * towards(camera_deg)
        paint(_CAMERA, spot(eye, 0.13))
        paint(_SKY, spot(eye, 0.07))
    if kind == "glow":
        angle = np.degrees(np.arctan2(x, y)) - azimuth_deg
        off = np.abs((angle + 180) % 360 - 180)
        strength = np.clip(1 - off / 60, 0, 1) * np.clip((distance - 0.45) / 0.5, 0, 1)
        paint(_GLOW, np.where(distance < 0.95, strength, 0))
    elif kind in ("sun", "moon"):
        place = (1 - elevation_deg / 90) * 0.95 * towards(azimuth_deg)
        colour = _SUN if kind == "sun" else _MOON
        paint(colour, 0.35 * np.clip(spot(place, 0.24), 0, 1))
        paint(colour, spot(place, 0.15))
    return picture


def register() -> None:
    """Make the collection."""
    global _pictures
    _pictures = bpy.utils.previews.new()


def unregister() -> None:
    """Remove it with all its pictures."""
    global _pictures
    if _pictures is not None:
        bpy.utils.previews.remove(_pictures)
        _pictures = None
