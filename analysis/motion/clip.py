"""A recorded movement in Limen's own frame, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ...addon.core.body import JOINT_NAMES

__all__ = ["Clip", "MotionError", "facing_forward", "short_axis_angle"]

_Floats = NDArray[np.float64]

_JOINTS = len(JOINT_NAMES)
_FORWARD, _UP = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])


class MotionError(ValueError):
    """A motion file that cannot be used; the message says what was found and what is allowed."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A recorded movement, T frames.

    Attributes:
        name: The file's name without its ending.
        source: The file.
        kind: ``amass-smplx``, ``amass-smplh``, ``bvh`` or ``deepmimic``.
        frames_per_s: Frame rate.
        axis_angle_rad: Rotation of each SMPL-X joint against its parent (T, 55, 3), as
            `core.body.pose_body` takes it; row 0 turns the body in a frame whose Y is up.
        pelvis_m: Path of the pelvis (T, 3), Y up.
    """

    name: str
    source: Path
    kind: str
    frames_per_s: float
    axis_angle_rad: _Floats
    pelvis_m: _Floats

    def __post_init__(self) -> None:
        frames = len(self.axis_angle_rad)
        found = self.axis_angle_rad.shape, self.pelvis_m.shape
        if found != ((frames, _JOINTS, 3), (frames, 3)) or not frames:
            raise MotionError(
                f"{self.source} has rotations of shape {found[0]} and a path of shape {found[1]}: "
                f"needed are (T, {_JOINTS}, 3) and (T, 3)"
            )
        if not 1 <= self.frames_per_s <= 1000:
            raise MotionError(
                f"{self.source} has a frame rate of {self.frames_per_s:g}/s: 1 to 1000 is allowed"
            )
        if not (np.isfinite(self.axis_angle_rad).all() and np.isfinite(self.pelvis_m).all()):
            raise MotionError(f"{self.source} holds values that are no finite numbers")

    @property
    def duration_s(self) -> float:
        """Length of the movement."""
        return len(self.axis_angle_rad) / self.frames_per_s

    def frames(self, start_s: float, end_s: float) -> range:
        """Return the frames of a stretch of time, at least one, cut to the clip."""
        last = len(self.axis_angle_rad) - 1
        first = min(max(int(np.ceil(start_s * self.frames_per_s - 1e-9)), 0), last)
        stop = min(int(np.floor(end_s * self.frames_per_s + 1e-9)), last)
        return range(first, max(stop, first) + 1)


def facing_forward(axis_angle_rad: ArrayLike) -> _Floats:
    """Turn bodies about the vertical so that they face +Z, as poses do.

    The direction of a body is its chest's (the pelvis' Z axis) seen from above; of a body that
    lies, whose chest points up or down, that of its head.

    Args:
        axis_angle_rad: (..., 55, 3), Y up.

    Returns:
        The same shape; only row 0 of each pose differs.
    """
    poses = np.array(axis_angle_rad, float)
    roots = Rotation.from_rotvec(poses[..., 0, :].reshape(-1, 3))
    chest, head = roots.apply(_FORWARD), roots.apply(_UP)
    lying = np.hypot(chest[:, 0], chest[:, 2]) < 0.5
    # Lying on its back a body faces where its feet point to, on its front where its head does.
    along = np.where(chest[:, 1:2] > 0, -head, head)
    seen = np.where(lying[:, None], along, chest)
    heading = np.arctan2(seen[:, 0], seen[:, 2])
    turned = Rotation.from_rotvec(-heading[:, None] * _UP) * roots
    poses[..., 0, :] = turned.as_rotvec().reshape((*poses.shape[:-2], 3))
    return poses


def short_axis_angle(axis_angle_rad: ArrayLike) -> _Floats:
    """Return the same rotations (..., 3) by at most half a turn each."""
    vectors = np.asarray(axis_angle_rad, float)
    short: _Floats = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_rotvec()
    return short.reshape(vectors.shape)
