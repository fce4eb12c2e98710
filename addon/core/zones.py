"""Where on the ground a camera reaches which class of a pixel-density scale.

One definition holds everywhere in Limen: the pixel density at a point is that of a plane across
the optical axis through it, ``focal_px / depth`` with the depth measured along the axis
(:func:`~limen.addon.core.optics.density_at`). Off the axis and for a tilted camera it is what a
ruler across the axis shows there.

Points of equal depth lie on a plane, which cuts the flat ground (z = 0) in a straight line, and so
do the four sides of the picture: the zone of a class is a convex polygon, given here exactly, and
so is its image.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .optics import Camera, CameraPose, density_at, distance_for, project
from .standards import Scale, class_of

__all__ = [
    "Zone",
    "class_distances_m",
    "class_seen_at",
    "clip_convex",
    "ground_zones",
    "height_in_pixels",
    "image_polygon",
    "lens_for",
    "point_density",
    "zone_at",
]

FloatArray = NDArray[np.float64]
HalfPlane = tuple[float, float, float]  # (a, b, c): where a x + b y + c >= 0
Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Zone:
    """The ground on which a camera sees a class.

    Attributes:
        name: The class.
        level: Its place in the scale, from 0 at the lowest.
        px_per_m: (where the class begins, where the next one does); the highest ends at infinity.
        depth_m: (nearest, farthest) along the optical axis.
        ground_m: (N, 2) corners on z = 0, convex, counter-clockwise seen from above.
    """

    name: str
    level: int
    px_per_m: tuple[float, float]
    depth_m: tuple[float, float]
    ground_m: FloatArray


def point_density(camera: Camera, pose: CameraPose, point_m: ArrayLike) -> float | None:
    """Return the pixel density in px/m at a world point (3,), None behind the camera."""
    depth_m = float(pose.R[2] @ np.asarray(point_m, float) + pose.t[2])
    return density_at(camera, depth_m) if depth_m > 0 else None


def class_seen_at(camera: Camera, pose: CameraPose, scale: Scale, point_m: ArrayLike) -> str | None:
    """Return the class in which a camera sees a world point (3,).

    None outside the picture, behind the camera and below the lowest class.
    """
    density = point_density(camera, pose, point_m)
    if density is None:
        return None
    width, height = camera.image_px
    x, y = project(point_m, camera.K, pose.R, pose.t)
    inside = -0.5 <= x <= width - 0.5 and -0.5 <= y <= height - 0.5
    return class_of(density, scale) if inside else None


def ground_zones(camera: Camera, pose: CameraPose, scale: Scale) -> tuple[Zone, ...]:
    """Return the zones of the classes that a camera sees on the ground, the highest class first.

    Classes that it sees nowhere are left out; a camera at or below the ground sees none.
    """
    if pose.position_m[2] <= 0:
        return ()
    width, height = camera.image_px
    tan_x, tan_y = width / 2 / camera.focal_px, height / 2 / camera.focal_px
    sides = [_on_ground(pose, side) for side in _picture_sides(tan_x, tan_y)]
    zones = []
    begins = [item.px_per_m for item in scale.classes]
    for level in reversed(range(len(begins))):
        ends = begins[level + 1] if level + 1 < len(begins) else math.inf
        near_m, far_m = distance_for(camera, ends), distance_for(camera, begins[level])
        # No point of the picture is farther away than its corner at the largest depth.
        reach_m = far_m * math.sqrt(1 + tan_x**2 + tan_y**2)
        depths = [
            _on_ground(pose, (0.0, 0.0, 1.0), -near_m),
            _on_ground(pose, (0.0, 0.0, -1.0), far_m),
        ]
        corners = clip_convex(_square(pose, reach_m), [*depths, *sides])
        if corners:
            name = scale.classes[level].name
            zones.append(
                Zone(name, level, (begins[level], ends), (near_m, far_m), np.array(corners))
            )
    return tuple(zones)


def zone_at(zones: tuple[Zone, ...], x_m: float, y_m: float) -> Zone | None:
    """Return the zone that a ground point lies in, None outside all of them."""
    for zone in zones:
        edges = np.roll(zone.ground_m, -1, axis=0) - zone.ground_m
        to_point = np.array([x_m, y_m]) - zone.ground_m
        if np.all(edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0):
            return zone
    return None


def image_polygon(zone: Zone, camera: Camera, pose: CameraPose) -> FloatArray:
    """Return a zone's corners (N, 2) in the camera's picture, in pixels."""
    ground = np.column_stack([zone.ground_m, np.zeros(len(zone.ground_m))])
    return project(ground, camera.K, pose.R, pose.t)


def height_in_pixels(
    camera: Camera, pose: CameraPose, foot_m: ArrayLike, height_m: float
) -> float | None:
    """Return how many pixels long an upright of a height above a foot point (3,) is in the image.

    None where an end of it lies behind the camera. Parts outside the picture count.
    """
    foot = np.asarray(foot_m, float)
    ends = project([foot, foot + np.array([0.0, 0.0, height_m])], camera.K, pose.R, pose.t)
    length_px = float(np.hypot(*(ends[1] - ends[0])))
    return None if math.isnan(length_px) else length_px


def class_distances_m(camera: Camera, scale: Scale) -> dict[str, float]:
    """Return class -> distance along the optical axis up to which it is reached, lowest first."""
    return {item.name: distance_for(camera, item.px_per_m) for item in scale.classes}


def lens_for(camera: Camera, density_px_per_m: float, distance_m: float) -> float:
    """Return the focal length in mm at which a camera's sensor has a density at a distance.

    Raises:
        ValueError: The density or the distance is not greater than 0.
    """
    for value, what in ((density_px_per_m, "density in px/m"), (distance_m, "distance in m")):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"a lens for a {what} of {value:g}: it is greater than 0")
    return density_px_per_m * distance_m * camera.pixel_pitch_um / 1000


def clip_convex(corners: list[Point], half_planes: list[HalfPlane]) -> list[Point]:
    """Return the part of a convex polygon that lies in all of the half-planes, [] for none.

    Its corners keep their sense. (Sutherland and Hodgman 1974.)
    """
    for a, b, c in half_planes:
        inside: list[Point] = []
        values = [a * x + b * y + c for x, y in corners]
        for i, (point, value) in enumerate(zip(corners, values, strict=True)):
            before, value_before = corners[i - 1], values[i - 1]
            if (value_before < 0) != (value < 0):
                share = value_before / (value_before - value)
                inside.append(
                    (
                        before[0] + share * (point[0] - before[0]),
                        before[1] + share * (point[1] - before[1]),
                    )
                )
            if value >= 0:
                inside.append(point)
        corners = inside
        if len(corners) < 3:
            return []
    return corners


def _picture_sides(tan_x: float, tan_y: float) -> list[tuple[float, float, float]]:
    """Return the inward normals, in camera axes, of the planes through the picture's sides."""
    return [(1, 0, tan_x), (-1, 0, tan_x), (0, 1, tan_y), (0, -1, tan_y)]


def _on_ground(
    pose: CameraPose, normal: tuple[float, float, float], offset_m: float = 0.0
) -> HalfPlane:
    """Return where on z = 0 ``normal . x_cam + offset_m >= 0``."""
    in_world = np.asarray(normal) @ pose.R
    c = float(np.dot(normal, pose.t)) + offset_m
    return float(in_world[0]), float(in_world[1]), c


def _square(pose: CameraPose, half_m: float) -> list[Point]:
    x, y = float(pose.position_m[0]), float(pose.position_m[1])
    signs: list[Any] = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return [(x + sx * half_m, y + sy * half_m) for sx, sy in signs]
