"""The pinhole camera: sensor presets, pixel density, distances, poses around a subject, projection.

The conventions are OpenCV's: x right, y down, z forward; ``x_cam = R x_world + t``; integer pixel
coordinates are pixel centres and the top left centre is (0, 0). The world is that of
``docs/dataset.md``: metres, Z up, +Y north, the subject at the origin faces -Y.
"""

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Camera",
    "CameraPose",
    "Sensor",
    "density_at",
    "distance_for",
    "load_sensors",
    "look_at_pose",
    "project",
    "viewpoint_of",
]

# Half a pixel at the border of a 1920 pixels wide image; catalogues round sizes to a few microns.
SQUARE_PIXEL_TOLERANCE = 5e-4

_SENSORS = Path(__file__).parent.parent / "data" / "sensors.toml"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sensor:
    """A sensor preset: the imaging area that is read out, and its pixels.

    Attributes:
        name: Its key in ``data/sensors.toml``.
        width_mm: Width of the area read out.
        height_mm: Height of the area read out.
        width_px: Pixels across.
        height_px: Pixels down.
        lens_mm: The focal length that belongs to the preset, None where any lens goes with it.
        fnumber: The f-number that belongs to the preset, None likewise.
        source: Where the numbers are from.
    """

    name: str
    width_mm: float
    height_mm: float
    width_px: int
    height_px: int
    lens_mm: float | None
    fnumber: float | None
    source: str


@dataclass(frozen=True)
class Camera:
    """A pinhole camera with square pixels and, on request, a centre crop of its sensor.

    Attributes:
        sensor_width_mm: Width of the imaging area.
        sensor_height_mm: Height of the imaging area, in the aspect of the pixels to 0.05 %.
        lens_mm: Focal length.
        fnumber: Focal length / aperture; it sets the exposure, the image is sharp everywhere.
        width_px: Pixels across the whole sensor.
        height_px: Pixels down the whole sensor.
        window_px: (width, height) of a centre crop, which keeps pixels per metre; None for none.

    Raises:
        ValueError: A length is not positive, the pixels are not square, or the window does not fit
            or is not centred on whole pixels.
    """

    sensor_width_mm: float
    sensor_height_mm: float
    lens_mm: float
    fnumber: float
    width_px: int
    height_px: int
    window_px: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("sensor_width_mm", "sensor_height_mm", "lens_mm", "fnumber"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"camera {name} is {value}: it must be greater than 0")
        if self.width_px < 1 or self.height_px < 1:
            raise ValueError(
                f"camera resolution is {self.width_px}x{self.height_px}: "
                "each side has at least 1 pixel"
            )
        needed_mm = self.sensor_height_mm * self.width_px / self.height_px
        if abs(self.sensor_width_mm / needed_mm - 1) > SQUARE_PIXEL_TOLERANCE:
            raise ValueError(
                f"a sensor of {self.sensor_width_mm:g} x {self.sensor_height_mm:g} mm with "
                f"{self.width_px}x{self.height_px} pixels has no square pixels: at this height "
                f"and resolution it is {needed_mm:.4f} mm wide"
            )
        if self.window_px is not None:
            for side, full, word in zip(
                self.window_px, (self.width_px, self.height_px), ("wide", "high"), strict=True
            ):
                if not 1 <= side <= full or (full - side) % 2:
                    parity = "odd" if full % 2 else "even"
                    raise ValueError(
                        f"a window {side} pixels {word} is no centre crop of {full}: it is between "
                        f"1 and {full}, and {parity} as {full} is"
                    )

    @property
    def focal_px(self) -> float:
        """Focal length in pixels, the same in x and y."""
        # From the height: 16:9 sensors have whole millimetres there rather than in the width.
        return self.lens_mm * self.height_px / self.sensor_height_mm

    @property
    def pixel_pitch_um(self) -> float:
        """Distance of neighbouring pixel centres on the sensor, in micrometres."""
        return self.sensor_height_mm / self.height_px * 1000

    @property
    def image_px(self) -> tuple[int, int]:
        """(width, height) of the image as stored: the window, or the whole sensor."""
        return self.window_px or (self.width_px, self.height_px)

    @property
    def fov_deg(self) -> tuple[float, float]:
        """(horizontal, vertical) field of view of the whole sensor in degrees."""
        return self._fov_deg(self.width_px), self._fov_deg(self.height_px)

    @property
    def image_fov_deg(self) -> tuple[float, float]:
        """(horizontal, vertical) field of view of the image as stored, in degrees."""
        width, height = self.image_px
        return self._fov_deg(width), self._fov_deg(height)

    @property
    def K(self) -> FloatArray:
        """The (3, 3) intrinsic matrix of the image as stored."""
        width, height = self.image_px
        f = self.focal_px
        return np.array([[f, 0, (width - 1) / 2], [0, f, (height - 1) / 2], [0, 0, 1]], float)

    def _fov_deg(self, side_px: int) -> float:
        return math.degrees(2 * math.atan(side_px / (2 * self.focal_px)))


@dataclass(frozen=True, eq=False)
class CameraPose:
    """Where a camera stands and looks: ``x_cam = R x_world + t``.

    Attributes:
        R: (3, 3) rotation, world to camera.
        t: (3,) translation in metres.
        position_m: (3,) centre of projection in the world.
    """

    R: FloatArray
    t: FloatArray
    position_m: FloatArray


def density_at(camera: Camera, distance_m: float) -> float:
    """Return the pixel density in px/m of a plane across the optical axis at a distance."""
    return camera.focal_px / distance_m


def distance_for(camera: Camera, density_px_per_m: float) -> float:
    """Return the distance in metres along the optical axis at which a pixel density is reached."""
    return camera.focal_px / density_px_per_m


def look_at_pose(
    azimuth_deg: float, elevation_deg: float, distance_m: float, look_at_height_m: float
) -> CameraPose:
    """Return the pose of a camera on a sphere around a point above the origin.

    Azimuth 0 stands in front of the subject (on the -Y side) and grows counter-clockwise seen from
    above; elevation is measured at the look-at point from the horizontal. The image's x axis is
    always horizontal, so that straight above (elevation 90) the top of the image points away from
    where the azimuth stands.

    Args:
        azimuth_deg: Any angle.
        elevation_deg: -90 to 90.
        distance_m: Camera to look-at point, greater than 0.
        look_at_height_m: Height of the look-at point (0, 0, h).
    """
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    sin_a, cos_a = math.sin(azimuth), math.cos(azimuth)
    sin_e, cos_e = math.sin(elevation), math.cos(elevation)
    right = (cos_a, sin_a, 0.0)
    down = (sin_a * sin_e, -cos_a * sin_e, -cos_e)
    forward = (-sin_a * cos_e, cos_a * cos_e, -sin_e)
    rotation = np.array([right, down, forward])
    look_at = np.array([0.0, 0.0, look_at_height_m])
    position = look_at - distance_m * rotation[2]
    return CameraPose(rotation, -rotation @ position, position)


def viewpoint_of(pose: CameraPose, look_at_height_m: float) -> tuple[float, float, float, float]:
    """Return where a camera stands around a point above the origin, and how far it looks past it.

    The inverse of :func:`look_at_pose`, for a camera that may look anywhere.

    Returns:
        Azimuth (0 to 360) and elevation in degrees, distance in metres, and the angle in degrees
        between the optical axis and the direction to the point. A camera straight above or below
        has azimuth 0.
    """
    away = np.asarray(pose.position_m) - [0.0, 0.0, look_at_height_m]
    distance_m = float(np.linalg.norm(away))
    if distance_m == 0:
        return 0.0, 0.0, 0.0, 0.0
    across_m = math.hypot(away[0], away[1])
    upright = across_m < 1e-9 * distance_m
    azimuth_deg = 0.0 if upright else math.degrees(math.atan2(away[0], -away[1])) % 360
    elevation_deg = math.degrees(math.atan2(away[2], across_m))
    along = float(-pose.R[2] @ away) / distance_m
    return azimuth_deg, elevation_deg, distance_m, math.degrees(math.acos(max(-1, min(along, 1))))


def project(points_m: ArrayLike, K: ArrayLike, R: ArrayLike, t: ArrayLike) -> FloatArray:
    """Return the pixel coordinates (..., 2) of world points (..., 3).

    A point in or behind the camera's plane (z <= 0) has no image: its coordinates are NaN.
    """
    in_camera = np.asarray(points_m, float) @ np.asarray(R, float).T + np.asarray(t, float)
    z = in_camera[..., 2:]
    on_plane = in_camera[..., :2] / np.where(z > 0, z, np.nan)
    intrinsics = np.asarray(K, float)
    return np.asarray(on_plane @ intrinsics[:2, :2].T + intrinsics[:2, 2])


@lru_cache
def load_sensors() -> dict[str, Sensor]:
    """Return name -> sensor preset, in the order of ``data/sensors.toml``."""
    tables = tomllib.loads(_SENSORS.read_text(encoding="utf-8"))["sensor"]
    return {
        table["name"]: Sensor(
            table["name"],
            table["width_mm"],
            table["height_mm"],
            table["width_px"],
            table["height_px"],
            table.get("lens_mm"),
            table.get("fnumber"),
            table["source"],
        )
        for table in tables
    }
