"""What a lens does to an ideal image: distortion, fall-off of light, motion blur.

Distortion is OpenCV's model (k1, k2, p1, p2, k3) with its conventions: integer pixel coordinates
are pixel centres, and it acts on ``((x - cx) / fx, (y - cy) / fy)``. Images, masks and points go
through one model, so that they stay on each other; the camera matrix K of the ideal image is that
of the distorted one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .presets import read_presets

__all__ = [
    "Distortion",
    "LensError",
    "LensModel",
    "Resampling",
    "distort_image",
    "distort_mask",
    "distort_points",
    "falloff",
    "load_lenses",
    "motion_blur",
    "motion_kernel",
    "resampling",
]

FloatArray = NDArray[np.float64]
_Pixels = TypeVar("_Pixels", bound=np.generic)

_COEFFICIENTS = ("k1", "k2", "p1", "p2", "k3")
_NEWTON_STEPS = 20
_CLOSE_ENOUGH = 1e-10  # of the focal length
_PRESETS = Path(__file__).parent / "lenses.toml"


class LensError(ValueError):
    """A lens that cannot be used; the message says which, where and what is allowed."""


@dataclass(frozen=True)
class Distortion:
    """Lens distortion: radial k1, k2, k3 and tangential p1, p2; barrel has k1 < 0."""

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0

    @property
    def fold_radius(self) -> float:
        """Radius in the ideal image, in focal lengths, at which the radial model turns back.

        What lies beyond has no place in the distorted image. Infinite where it never turns.
        """
        # d/dr (r + k1 r^3 + k2 r^5 + k3 r^7) = 0 in 1 / r^2, whose first coefficient is never tiny
        roots = np.roots([1, 3 * self.k1, 5 * self.k2, 7 * self.k3])
        turns = roots.real[(np.abs(roots.imag) < 1e-12) & (roots.real > 1e-12)]
        return 1 / math.sqrt(turns.max()) if turns.size else math.inf


@dataclass(frozen=True)
class LensModel(Distortion):
    """A lens preset.

    Attributes:
        name: Its key in ``lenses.toml``.
        source: Where the numbers are from.

    Raises:
        LensError: A coefficient is no number that a lens can have.
    """

    name: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for key in _COEFFICIENTS:
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 10:
                raise LensError(f"lens {self.name!r}: {key} is {value!r}: -10 to 10 is allowed")
        if not isinstance(self.name, str) or not self.name:
            raise LensError(f"lens name is {self.name!r}: a lens has a name")

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """In the order of OpenCV: k1, k2, p1, p2, k3."""
        return self.k1, self.k2, self.p1, self.p2, self.k3


def load_lenses(path: Path | None = None) -> dict[str, LensModel]:
    """Return name -> lens from a file (by default the embedded one), in its order.

    Raises:
        LensError: The file cannot be read or holds a wrong or unknown value.
    """
    return dict(_load(path or _PRESETS))


@lru_cache
def _load(path: Path) -> tuple[tuple[str, LensModel], ...]:
    return tuple(read_presets(path, "lens", LensModel, LensError).items())


@dataclass(frozen=True, eq=False)
class Resampling:
    """Where each pixel of a distorted image comes from.

    Attributes:
        x: (H, W) float32 column in the ideal image.
        y: (H, W) float32 row in the ideal image.
        valid: (H, W) whether the ideal image has it.
        ideal_px: (width, height) of the ideal image with its margin.
        missing_px: Pixels that the ideal image lacks on its sides, the most of all four; 0 where
            every pixel is valid.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    valid: NDArray[np.bool_]
    ideal_px: tuple[int, int]
    missing_px: int


def distort_points(points_px: ArrayLike, K: ArrayLike, distortion: Distortion) -> FloatArray:
    """Return where points (..., 2) of the ideal image lie in the distorted one.

    As ``cv2.projectPoints``, save that a point beyond ``fold_radius``, which that would put back
    into the image, has no place: NaN. NaN stays NaN.
    """
    intrinsics = np.asarray(K, float)
    ideal = _normalised(np.asarray(points_px, float), intrinsics)
    with np.errstate(invalid="ignore"):
        beyond = np.hypot(ideal[..., 0], ideal[..., 1]) >= distortion.fold_radius
    bent = _bend(ideal, distortion)
    bent[beyond] = np.nan
    return np.asarray(bent * _focal(intrinsics) + intrinsics[:2, 2])


def resampling(
    K: ArrayLike,
    distortion: Distortion,
    size_px: tuple[int, int],
    *,
    margin_px: int = 0,
) -> Resampling:
    """Return where the pixels of a distorted image come from.

    A barrel-shaped image shows more of the scene than the ideal image of the same size: render the
    ideal image with a margin on every side.

    Args:
        K: (3, 3) of the distorted image, and of the ideal image without its margin.
        distortion: The lens.
        size_px: (width, height) of the distorted image.
        margin_px: Pixels by which the ideal image is larger on every side.

    Raises:
        ValueError: The model reaches its fold within the image.
    """
    width, height = size_px
    intrinsics = np.asarray(K, float)
    grid = np.stack(np.meshgrid(np.arange(width, dtype=float), np.arange(height)), axis=-1)
    ideal = _straighten(_normalised(grid, intrinsics), distortion)
    if not np.isfinite(ideal).all():
        numbers = ", ".join(f"{key} {getattr(distortion, key):g}" for key in _COEFFICIENTS)
        raise ValueError(
            f"a distortion of {numbers} turns back within an image of "
            f"{width}x{height} pixels at a focal length "
            f"of {intrinsics[0, 0]:g}: distortion this strong needs another model or a longer lens"
        )
    source = ideal * _focal(intrinsics) + intrinsics[:2, 2] + margin_px
    last = np.array([width, height]) + 2 * margin_px - 1
    # A hundredth of a pixel beyond the last centre is rounding, and is cut back.
    overhang = np.maximum(-source, source - last).max(axis=-1)
    source = np.clip(source, 0, last, where=(overhang < 0.01)[..., None], out=source)
    return Resampling(
        source[..., 0].astype(np.float32),
        source[..., 1].astype(np.float32),
        overhang < 0.01,
        (width + 2 * margin_px, height + 2 * margin_px),
        max(0, math.ceil(overhang.max() - 0.01)),
    )


def distort_image(
    image: NDArray[np.float32], sampled: Resampling, *, fill: float | None = None
) -> NDArray[np.float32]:
    """Return a distorted image (H, W) or (H, W, C), bilinear between pixels.

    Args:
        image: The ideal image with its margin; scene-linear, for light to be averaged rightly.
        sampled: See ``resampling``.
        fill: What pixels show that the ideal image does not have.

    Raises:
        ValueError: The image has another size, or there are such pixels and no ``fill``.
    """
    _check(image, sampled, fill)
    bent = cv2.remap(image, sampled.x, sampled.y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return _filled(np.asarray(bent, np.float32), sampled, fill)


def distort_mask(
    mask: NDArray[_Pixels], sampled: Resampling, *, fill: float | None = None
) -> NDArray[_Pixels]:
    """Return a distorted mask (H, W): the nearest pixel's value, no new ones.

    Args:
        mask: Of the ideal image with its margin.
        sampled: See ``resampling``.
        fill: What pixels show that the ideal image does not have.

    Raises:
        ValueError: The image has another size, or there are such pixels and no ``fill``.
    """
    _check(mask, sampled, fill)
    rows = np.clip(np.rint(sampled.y), 0, mask.shape[0] - 1).astype(np.intp)
    columns = np.clip(np.rint(sampled.x), 0, mask.shape[1] - 1).astype(np.intp)
    return _filled(mask[rows, columns], sampled, fill)


def falloff(
    width_px: int, height_px: int, focal_px: float, *, power: float = 4.0
) -> NDArray[np.float32]:
    """Return the (H, W) light that reaches each pixel, as a share of that on the axis.

    cos^power of the angle off the axis, which is the middle of the image. 4 is the natural law of
    a simple lens; wide-angle lenses are built to lose less, about the 3rd power.
    """
    x = (np.arange(width_px, dtype=np.float32) - (width_px - 1) / 2) / focal_px
    y = (np.arange(height_px, dtype=np.float32) - (height_px - 1) / 2) / focal_px
    # cos = (1 + tan^2)^(-1/2)
    return np.asarray((1 + x**2 + y[:, None] ** 2) ** np.float32(-power / 2), np.float32)


def motion_kernel(exposure_s: float, velocity_px_s: tuple[float, float]) -> FloatArray:
    """Return the (n, n) blur of a motion at even speed while the shutter is open; its sum is 1.

    The path is centred on the pixel: the image shows the place at half the exposure.

    Args:
        exposure_s: Shutter time, from 0.
        velocity_px_s: (right, down) speed in the image.
    """
    path = np.array(velocity_px_s, float) * exposure_s
    radius = math.ceil(np.abs(path).max() / 2 + 1e-9) if path.any() else 0
    side = 2 * radius + 1
    kernel = np.zeros((side, side))
    # Places along the path, each shared by the four pixels around it.
    steps = 16 * side
    places = radius + ((np.arange(steps) + 0.5) / steps - 0.5)[:, None] * path
    corner = np.floor(places).astype(int)
    share = places - corner
    for right in (0, 1):
        for down in (0, 1):
            # A share is 0 where its pixel would lie outside.
            column, row = np.minimum(corner + np.array([right, down]), side - 1).T
            weight = np.abs(1 - right - share[:, 0]) * np.abs(1 - down - share[:, 1])
            np.add.at(kernel, (row, column), weight / steps)
    return kernel


def motion_blur(
    image: NDArray[np.float32], exposure_s: float, velocity_px_s: tuple[float, float]
) -> NDArray[np.float32]:
    """Return a scene-linear image (H, W) or (H, W, C) blurred by a motion of the whole image.

    Args:
        image: Light, before the sensor.
        exposure_s: Shutter time.
        velocity_px_s: (right, down) speed in the image, as of a camera that turns.
    """
    kernel = motion_kernel(exposure_s, velocity_px_s)
    blurred = cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REPLICATE)
    # OpenCV filters by Fourier transform: beside a lamp rounding leaves less than no light.
    return np.maximum(np.asarray(blurred, np.float32), 0)


def _check(image: NDArray[Any], sampled: Resampling, fill: float | None) -> None:
    width, height = sampled.ideal_px
    if image.shape[:2] != (height, width):
        raise ValueError(
            f"an image of {image.shape[1]}x{image.shape[0]} pixels is not the ideal image of "
            f"{width}x{height} pixels that this lens was prepared for, margin included"
        )
    if fill is None and not sampled.valid.all():
        raise ValueError(
            f"the distorted image shows more than the ideal one: render {sampled.missing_px} more "
            "pixels on every side and give them as margin_px, or give a fill value"
        )


def _filled(image: NDArray[_Pixels], sampled: Resampling, fill: float | None) -> NDArray[_Pixels]:
    if fill is not None:
        image[~sampled.valid] = fill
    return image


def _focal(K: FloatArray) -> FloatArray:
    return np.array([K[0, 0], K[1, 1]])


def _normalised(points_px: FloatArray, K: FloatArray) -> FloatArray:
    return np.asarray((points_px - K[:2, 2]) / _focal(K))


def _bend(ideal: FloatArray, d: Distortion) -> FloatArray:
    """Return the distorted place of points (..., 2) in focal lengths."""
    x, y = ideal[..., 0], ideal[..., 1]
    r2 = x * x + y * y
    radial = 1 + r2 * (d.k1 + r2 * (d.k2 + r2 * d.k3))
    return np.stack(
        [
            x * radial + 2 * d.p1 * x * y + d.p2 * (r2 + 2 * x * x),
            y * radial + d.p1 * (r2 + 2 * y * y) + 2 * d.p2 * x * y,
        ],
        axis=-1,
    )


def _straighten(bent: FloatArray, d: Distortion) -> FloatArray:
    """Return the ideal place of distorted points by Newton's method; NaN where there is none."""
    ideal = bent.copy()
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON_STEPS):
            missing = bent - _bend(ideal, d)
            if np.abs(missing).max() < _CLOSE_ENOUGH:
                break
            ideal += _solve(_jacobian(ideal, d), missing)
        lost = np.abs(bent - _bend(ideal, d)).max(axis=-1) > 1e-6
        lost |= ~(np.hypot(ideal[..., 0], ideal[..., 1]) < d.fold_radius)
    ideal[lost] = np.nan
    return ideal


def _jacobian(ideal: FloatArray, d: Distortion) -> tuple[Any, Any, Any]:
    """Return du/dx, du/dy = dv/dx, dv/dy of ``_bend``."""
    x, y = ideal[..., 0], ideal[..., 1]
    r2 = x * x + y * y
    radial = 1 + r2 * (d.k1 + r2 * (d.k2 + r2 * d.k3))
    slope = 2 * (d.k1 + r2 * (2 * d.k2 + r2 * 3 * d.k3))
    return (
        radial + slope * x * x + 2 * d.p1 * y + 6 * d.p2 * x,
        slope * x * y + 2 * d.p1 * x + 2 * d.p2 * y,
        radial + slope * y * y + 6 * d.p1 * y + 2 * d.p2 * x,
    )


def _solve(jacobian: tuple[Any, Any, Any], missing: FloatArray) -> FloatArray:
    """Solve the symmetric 2x2 systems."""
    a, b, c = jacobian
    u, v = missing[..., 0], missing[..., 1]
    solved = np.stack([c * u - b * v, a * v - b * u], axis=-1) / (a * c - b * b)[..., None]
    return np.asarray(solved)
