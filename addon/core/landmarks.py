"""Places on a body at rest that clothes and hair are fitted to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .body import JOINT_NAMES, Body

__all__ = ["Landmarks", "hairline_m", "landmarks"]

_Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Joints and sizes of a mean shape at rest, SMPL-X frame, metres.

    Attributes:
        at: Joint name -> place (3,).
        size: Stature / 1.70 m; lengths that were chosen on one body scale with it.
        hips_y: Height of the hip joints.
        crotch_y: Of where the legs part.
        knees_y: Of the knees.
        ankles_y: Of the ankles.
        shoulders_x: Half the distance of the shoulder joints.
        wrists_x: Half the distance of the wrists, the arms being stretched sideways.
        eyes: Between the eyes.
    """

    at: dict[str, _Floats]
    size: float
    hips_y: float
    crotch_y: float
    knees_y: float
    ankles_y: float
    shoulders_x: float
    wrists_x: float
    eyes: _Floats


def landmarks(body: Body) -> Landmarks:
    """Find the landmarks of a body's mean shape."""
    at = dict(zip(JOINT_NAMES, body.joint_regressor @ body.vertices_m, strict=True))

    def mean_of(part: str, axis: int) -> float:
        sign = -1 if axis == 0 else 1
        return float(at[f"left_{part}"][axis] + sign * at[f"right_{part}"][axis]) / 2

    hips_y = mean_of("hip", 1)
    middle = body.vertices_m[abs(body.vertices_m[:, 0]) < 0.008]
    below = middle[(middle[:, 1] < hips_y) & (middle[:, 1] > mean_of("knee", 1))]
    return Landmarks(
        at=at,
        size=float(np.ptp(body.vertices_m[:, 1])) / 1.70,
        hips_y=hips_y,
        crotch_y=float(below[:, 1].min()) if len(below) else hips_y - 0.09,
        knees_y=mean_of("knee", 1),
        ankles_y=mean_of("ankle", 1),
        shoulders_x=mean_of("shoulder", 0),
        wrists_x=mean_of("wrist", 0),
        eyes=(at["left_eye_smplhf"] + at["right_eye_smplhf"]) / 2,
    )


def hairline_m(marks: Landmarks, vertices_m: _Floats, *, even: bool = False) -> _Floats:
    """How far vertices (N, 3) are above the hairline, about; below it, and off the head, negative.

    The line runs over the forehead, the temple, above and behind the ear, to the nape.

    Args:
        marks: The body's landmarks.
        vertices_m: (N, 3).
        even: Without the waves that hair has there, for the edge of a cap.
    """
    behind = (marks.eyes[2] - vertices_m[:, 2]) / marks.size
    height = marks.eyes[1] + marks.size * np.interp(
        behind,
        [0.00, 0.03, 0.05, 0.065, 0.085, 0.11, 0.125, 0.15],
        [0.062, 0.052, 0.030, 0.012, 0.032, 0.026, -0.03, -0.062],
    )
    # No line of hair is straight, as the edge of a cap is.
    across = vertices_m[:, 0] / marks.size
    waves = 0.0035 * np.cos(across / 0.011) + 0.0015 * np.sin(across / 0.005 + 30 * behind)
    if not even:
        height = height + marks.size * (0.003 + waves) * np.clip(1 - behind / 0.10, 0.3, 1)
    above: _Floats = vertices_m[:, 1] - height
    return np.minimum(above, 0.13 * marks.size - abs(vertices_m[:, 0]))
