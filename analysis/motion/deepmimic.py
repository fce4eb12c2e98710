"""The clips of DeepMimic (Peng et al. 2018), as the pybullet package brings them.

A frame is a row of numbers: its duration, the root's place and then a rotation for each joint:
a quaternion (w, x, y, z), or an angle about the joint's Z axis for knees and elbows. X is forward,
Y up, Z to the right; arms hang down at rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...addon.core.body import JOINT_NAMES
from .clip import Clip, MotionError

__all__ = ["read_deepmimic"]

# Numbers of each joint in a frame, from the fifth on.
_JOINTS = {
    "root": 4,
    "chest": 4,
    "neck": 4,
    "right_hip": 4,
    "right_knee": 1,
    "right_ankle": 4,
    "right_shoulder": 4,
    "right_elbow": 1,
    "left_hip": 4,
    "left_knee": 1,
    "left_ankle": 4,
    "left_shoulder": 4,
    "left_elbow": 1,
}
_COLUMNS = 4 + sum(_JOINTS.values())
# One joint there is several here, each with its share of the rotation.
_SHARES = {"chest": ("spine1", "spine2", "spine3"), "neck": ("neck", "head")}
# Theirs (X forward, Z right) to SMPL-X (Z forward, X left).
_AXES = Rotation.from_matrix([[0, 0, -1], [0, 1, 0], [1, 0, 0]])
_ARM_DOWN = {
    "left": Rotation.from_euler("z", -90, degrees=True),
    "right": Rotation.from_euler("z", 90, degrees=True),
}


def read_deepmimic(path: Path) -> Clip:
    """Read a clip ``humanoid3d_*.txt``.

    Raises:
        MotionError: The file is no such clip.
    """
    frames = _read_frames(path)
    local = _local_rotations(frames)
    axis_angle = np.zeros((len(frames), len(JOINT_NAMES), 3))
    for name, rotation in local.items():
        axis_angle[:, JOINT_NAMES.index(name)] = rotation.as_rotvec()
    steps = frames[:-1, 0] if len(frames) > 1 else frames[:, 0]
    return Clip(
        name=path.stem,
        source=path,
        kind="deepmimic",
        frames_per_s=1 / float(np.median(steps)),
        axis_angle_rad=axis_angle,
        pelvis_m=_AXES.apply(frames[:, 1:4]),
    )


def _local_rotations(frames: NDArray[np.float64]) -> dict[str, Rotation]:
    local: dict[str, Rotation] = {}
    at = 4
    for joint, count in _JOINTS.items():
        numbers = frames[:, at : at + count]
        at += count
        if count == 4:
            rotation = Rotation.from_quat(numbers[:, [1, 2, 3, 0]])
        else:
            rotation = Rotation.from_rotvec(numbers * np.array([0.0, 0.0, 1.0]))
        rotation = _AXES * rotation * _AXES.inv()
        side, _, part = joint.partition("_")
        if part == "shoulder":
            rotation = rotation * _ARM_DOWN[side]
        elif part == "elbow":
            rotation = _ARM_DOWN[side].inv() * rotation * _ARM_DOWN[side]
        names = _SHARES.get(joint, ("pelvis" if joint == "root" else joint,))
        for name in names:
            local[name] = Rotation.from_rotvec(rotation.as_rotvec() / len(names))
    return local


def _read_frames(path: Path) -> NDArray[np.float64]:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        frames = np.asarray(data["Frames"], float)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MotionError(f"{path} is no DeepMimic clip: {error}") from error
    if frames.ndim != 2 or frames.shape[1] != _COLUMNS or not len(frames):
        raise MotionError(
            f"{path}: Frames has shape {frames.shape}; a humanoid's clip has (T, {_COLUMNS})"
        )
    quaternions = frames[:, 4:8]
    if not np.isfinite(frames).all() or (np.linalg.norm(quaternions, axis=1) < 0.5).any():
        raise MotionError(f"{path}: a frame holds numbers that are no rotation")
    if not (frames[:, 0] > 0).any():
        raise MotionError(f"{path}: its frames last no time")
    return frames
