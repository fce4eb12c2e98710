"""AMASS motion files: SMPL-X ``*_stageii.npz`` and SMPL-H ``*_poses.npz``.

AMASS (Mahmood et al. 2019) stores whole bodies in a world whose Z is up; both spellings of the
frame rate occur. Nothing is ever unpickled.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...addon.core.body import JOINT_NAMES
from .clip import Clip, MotionError, short_axis_angle

__all__ = ["is_motion", "read_amass"]

RATE_KEYS = ("mocap_frame_rate", "mocap_framerate")
_DAMAGED = (EOFError, MemoryError, NotImplementedError, OSError, RuntimeError, zipfile.BadZipFile)
_BYTES_MOST = 4 << 30
_MOST = 1e6  # radians and metres
# Columns of a frame -> joints of SMPL-X: SMPL-H has neither jaw nor eyes.
_BODY = slice(0, 22)
_LAYOUTS = {165: ("amass-smplx", slice(0, 55)), 156: ("amass-smplh", None)}
_Z_UP_TO_Y_UP = Rotation.from_euler("x", -90, degrees=True)


def is_motion(path: Path) -> bool:
    """Whether a file's name is that of a motion: stage I files and shapes lie beside them."""
    return path.name.endswith(("_stageii.npz", "_poses.npz"))


def read_amass(path: Path) -> Clip:
    """Read an AMASS motion, or one written in its format.

    Raises:
        MotionError: The file is damaged or holds something else.
    """
    arrays = _read_arrays(path)
    poses, path_m = arrays["poses"], arrays["trans"]
    if poses.ndim != 2 or poses.shape[1] not in _LAYOUTS or not len(poses):
        raise MotionError(
            f"{path}: poses has shape {poses.shape}; a motion has (T, 165) for SMPL-X or (T, 156) "
            "for SMPL-H"
        )
    if path_m.shape != (len(poses), 3):
        raise MotionError(f"{path}: trans has shape {path_m.shape}, needed is ({len(poses)}, 3)")
    kind, joints = _LAYOUTS[poses.shape[1]]
    frames = poses.reshape(len(poses), -1, 3)
    axis_angle = np.zeros((len(poses), len(JOINT_NAMES), 3))
    if joints is not None:
        axis_angle[:, joints] = frames
    else:
        axis_angle[:, _BODY] = frames[:, _BODY]
        axis_angle[:, 25:] = frames[:, 22:]
    for key, values in (("poses", axis_angle), ("trans", path_m)):
        if not (np.abs(values) <= _MOST).all():
            raise MotionError(f"{path}: {key} holds values that are no finite numbers to {_MOST:g}")
    axis_angle = short_axis_angle(axis_angle)
    root = _Z_UP_TO_Y_UP * Rotation.from_rotvec(axis_angle[:, 0])
    axis_angle[:, 0] = root.as_rotvec()
    return Clip(
        name=path.stem,
        source=path,
        kind=kind,
        frames_per_s=_rate(arrays, path),
        axis_angle_rad=axis_angle,
        pelvis_m=_Z_UP_TO_Y_UP.apply(path_m),
    )


def _rate(arrays: dict[str, NDArray[np.float64]], path: Path) -> float:
    found = next((arrays[key] for key in RATE_KEYS if key in arrays), None)
    if found is None:
        raise MotionError(f"{path} names no frame rate: one of {', '.join(RATE_KEYS)} is needed")
    if found.size != 1 or not np.isfinite(found).all():
        raise MotionError(f"{path}: the frame rate is {found!r}, a number is needed")
    return float(found.reshape(()))


def _read_arrays(path: Path) -> dict[str, NDArray[np.float64]]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _BYTES_MOST:
            raise MotionError(f"{path} unpacks to {size / 1e9:.1f} GB: it is no motion file")
        with np.load(path, allow_pickle=False) as data:
            missing = [key for key in ("poses", "trans") if key not in data]
            if missing:
                raise MotionError(
                    f"{path} lacks {' and '.join(missing)}: it is no motion (stage I and shape "
                    "files of AMASS are none)"
                )
            wanted = [key for key in ("poses", "trans", *RATE_KEYS) if key in data]
            return {key: _numbers(data, key, path) for key in wanted}
    except (*_DAMAGED, zlib.error) as error:
        raise MotionError(f"{path} is damaged ({error}): get it anew") from error


def _numbers(data: Any, key: str, path: Path) -> NDArray[np.float64]:
    try:
        array = np.asarray(data[key])
    except ValueError as error:
        raise MotionError(f"{path}: {key} is unreadable ({error})") from error
    if array.dtype.kind not in "iuf":
        raise MotionError(f"{path}: {key} holds values of type {array.dtype}, needed are numbers")
    return array.astype(float)
