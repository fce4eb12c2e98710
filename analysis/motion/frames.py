"""Which frame of a movement shows best what is done in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...addon.core.body import JOINT_NAMES, PARENTS, rotation_matrices
from .clip import Clip

__all__ = ["RULES", "FrameRule", "best_frame", "distance_from_rest_deg", "joint_heights_m"]

_Floats = NDArray[np.float64]

RULES = ("peak", "middle")

_BODY = range(1, 22)
# A tilt of the whole body says more of an action than one joint's turn.
_TILT_WEIGHT = 3.0
_REST = np.zeros((len(JOINT_NAMES), 3))
_REST[JOINT_NAMES.index("left_shoulder"), 2] = np.radians(-75)
_REST[JOINT_NAMES.index("right_shoulder"), 2] = np.radians(75)
_FLOOR_QUANTILE = 0.02
# Rest joints of an adult of 1.70 m, from the pelvis, to 1 cm: heights above ground are wanted to a
# few centimetres only, and a clip says nothing of the body it is shown with.
_BONES_M = {
    "left_hip": (0.06, -0.09, 0.0), "right_hip": (-0.06, -0.09, 0.0), "spine1": (0.0, 0.11, 0.0),
    "left_knee": (0.05, -0.38, 0.0), "right_knee": (-0.05, -0.38, 0.0), "spine2": (0.0, 0.14, 0.0),
    "left_ankle": (0.0, -0.40, -0.03), "right_ankle": (0.0, -0.40, -0.03),
    "spine3": (0.0, 0.06, 0.0),
    "left_foot": (0.03, -0.06, 0.12), "right_foot": (-0.03, -0.06, 0.12),
    "neck": (0.0, 0.21, -0.02),
    "left_collar": (0.08, 0.12, 0.0), "right_collar": (-0.08, 0.12, 0.0),
    "head": (0.0, 0.09, 0.04), "left_shoulder": (0.09, 0.03, 0.0),
    "right_shoulder": (-0.09, 0.03, 0.0), "left_elbow": (0.26, 0.0, 0.0),
    "right_elbow": (-0.26, 0.0, 0.0), "left_wrist": (0.25, 0.0, 0.0),
    "right_wrist": (-0.25, 0.0, 0.0),
}  # fmt: skip


@dataclass(frozen=True)
class FrameRule:
    """How a segment's frame is chosen.

    Attributes:
        rule: ``peak``: the frame whose pose is farthest from standing with hanging arms;
            ``middle``: the frame at half time.
        margin: Share of the segment that is left out at either end, where one action turns into
            the next.
        on_ground: Only frames in which the body touches the clip's floor.
        contact_m: How near the floor the lowest joint is then.
    """

    rule: str = "peak"
    margin: float = 0.15
    on_ground: bool = True
    contact_m: float = 0.06


def best_frame(clip: Clip, start_s: float, end_s: float, rule: FrameRule) -> int | None:
    """Return the frame that shows a segment best; None where no frame touches the ground.

    Args:
        clip: The movement.
        start_s: Begin of the segment.
        end_s: Its end.
        rule: How it is chosen.
    """
    margin_s = rule.margin * (end_s - start_s)
    frames = np.array(clip.frames(start_s + margin_s, end_s - margin_s))
    if rule.on_ground:
        lowest = joint_heights_m(clip).min(axis=1)
        floor = np.quantile(lowest, _FLOOR_QUANTILE)
        frames = frames[lowest[frames] <= floor + rule.contact_m]
    if not len(frames):
        return None
    if rule.rule == "middle":
        return int(frames[np.argmin(np.abs(frames - frames.mean()))])
    return int(frames[np.argmax(distance_from_rest_deg(clip.axis_angle_rad[frames]))])


def distance_from_rest_deg(axis_angle_rad: _Floats) -> _Floats:
    """How far poses (T, 55, 3) are from standing with hanging arms, in degrees (T,).

    Mean over the 21 joints of the body of the angle between their rotations, and three times the
    tilt of the whole body out of the upright. Which way it faces does not count.
    """
    turned = rotation_matrices(axis_angle_rad)
    rest = rotation_matrices(_REST)
    relative = np.einsum("jba,tjbc->tjac", rest[_BODY], turned[:, _BODY])
    angles = np.arccos(np.clip((np.trace(relative, axis1=2, axis2=3) - 1) / 2, -1, 1))
    tilt = np.arccos(np.clip(turned[:, 0, 1, 1], -1, 1))
    total = angles.sum(axis=1) + _TILT_WEIGHT * tilt
    mean: _Floats = np.degrees(total) / (len(_BODY) + _TILT_WEIGHT)
    return mean


def joint_heights_m(clip: Clip) -> _Floats:
    """Heights (T, 22) of the body's joints in a clip, of an adult of 1.70 m."""
    turned = rotation_matrices(clip.axis_angle_rad[:, :22])
    places = np.zeros((len(turned), 22, 3))
    places[:, 0] = clip.pelvis_m
    spaces = turned.copy()
    for joint in _BODY:
        parent = int(PARENTS[joint])
        spaces[:, joint] = spaces[:, parent] @ turned[:, joint]
        places[:, joint] = places[:, parent] + spaces[:, parent] @ _BONES_M[JOINT_NAMES[joint]]
    heights: _Floats = places[:, :, 1]
    return heights
