"""Motion files in the formats of the real ones, made by the tests."""

import json
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

UPRIGHT = Rotation.from_euler("x", 90, degrees=True)  # SMPL-X standing in a world whose Z is up
JOINTS_SMPLX, JOINTS_SMPLH = 55, 52


def write_amass(
    path: Path,
    local: np.ndarray,
    *,
    heading_deg: float = 0.0,
    pelvis_height_m: float | np.ndarray = 0.92,
    rate: float = 30.0,
    rate_key: str = "mocap_frame_rate",
    gender: object = "neutral",
) -> Path:
    """Write poses (T, 55 or 52, 3) of an upright body; row 0 tilts it in its own axes."""
    poses = np.array(local, float)
    turn = Rotation.from_euler("z", heading_deg, degrees=True) * UPRIGHT
    poses[:, 0] = (turn * Rotation.from_rotvec(poses[:, 0])).as_rotvec()
    path_m = np.zeros((len(poses), 3))
    path_m[:, 2] = pelvis_height_m
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = np.array([{"a": 1}, None], object)  # pickled, as genuine files hold it
    np.savez(
        path,
        poses=poses.reshape(len(poses), -1),
        trans=path_m,
        betas=np.zeros(16),
        gender=np.array(gender),
        labels=labels,
        **{rate_key: np.array(rate)},
    )
    return path


def standing(frames: int, joints: int = JOINTS_SMPLX) -> np.ndarray:
    """Poses (T, joints, 3) that stand with hanging arms."""
    poses = np.zeros((frames, joints, 3))
    poses[:, 16, 2], poses[:, 17, 2] = np.radians(-75), np.radians(75)
    return poses


def write_babel(path: Path, sequences: dict[str, dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sequences))
    return path


def label(text: str, start_s: float | None = None, end_s: float | None = None, **more) -> dict:
    times = {} if start_s is None else {"start_t": start_s, "end_t": end_s}
    found = {"raw_label": text.upper(), "proc_label": text, "seg_id": f"s-{text}-{start_s}"}
    return {**found, "act_cat": [text], **times, **more}
