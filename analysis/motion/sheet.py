"""A picture of poses, each from two sides, drawn without Blender."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core.body import Body, load_body, pose_body, rotation_matrices
from ...addon.core.image_io import write_png
from ...addon.core.poses import Pose

__all__ = ["draw_sheet"]

_CELL = (200, 240)  # width, height of a view in pixels
_SPAN_M = 2.3
_COLUMNS = 4
_BACKGROUND, _INK, _GROUND = 245, (40, 40, 40), (180, 180, 180)
_LIGHT = np.array([-0.4, 0.6, 0.7]) / np.linalg.norm([-0.4, 0.6, 0.7])


def draw_sheet(poses: Sequence[Pose], body_file: Path, path: Path) -> None:
    """Write a PNG with each pose seen from its front left and from its side.

    Raises:
        BodyError: The body file is unusable.
        ImageError: The file cannot be written.
    """
    import cv2

    body = load_body(body_file)
    width, height = _CELL
    label = 22
    rows = -(-len(poses) // _COLUMNS)
    sheet = np.full(
        (rows * (height + label), min(len(poses), _COLUMNS) * 2 * width, 3), _BACKGROUND, np.uint8
    )
    for number, pose in enumerate(poses):
        top, left = number // _COLUMNS * (height + label), number % _COLUMNS * 2 * width
        for view, azimuth_deg in enumerate((30.0, 90.0)):
            cell = _draw(body, pose, azimuth_deg)
            sheet[top : top + height, left + view * width : left + (view + 1) * width] = cell
        at = (left + 6, top + height + 15)
        cv2.putText(sheet, pose.name, at, cv2.FONT_HERSHEY_SIMPLEX, 0.45, _INK, 1, cv2.LINE_AA)
    write_png(path, sheet)


def _draw(body: Body, pose: Pose, azimuth_deg: float) -> NDArray[np.uint8]:
    """Draw triangles from the farthest to the nearest, as bright as they face the light."""
    import cv2

    points = pose_body(body, (), pose.axis_angle_rad).vertices_m
    points = points - [0, points[:, 1].min(), 0]
    angle = np.radians(azimuth_deg)
    turn = rotation_matrices([0, -angle, 0])
    seen = points @ turn.T
    corners = seen[body.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    normals /= np.where(lengths > 0, lengths, 1)[:, None]
    width, height = _CELL
    scale = (height - 30) / _SPAN_M
    pixels = np.empty((len(seen), 2))
    pixels[:, 0] = width / 2 + (seen[:, 0] - (seen[:, 0].min() + seen[:, 0].max()) / 2) * scale
    pixels[:, 1] = height - 15 - seen[:, 1] * scale
    cell: Any = np.full((height, width, 3), _BACKGROUND, np.uint8)
    cv2.line(cell, (10, height - 15), (width - 10, height - 15), _GROUND, 1)
    facing = np.flatnonzero(normals[:, 2] > 0)
    order = facing[np.argsort(corners[facing, :, 2].mean(axis=1))]
    shade = 70 + 160 * np.clip(normals @ _LIGHT, 0, 1)
    fixed = np.round(pixels * 16).astype(np.int32)[body.faces]
    for triangle in order:
        grey = float(shade[triangle])
        cv2.fillConvexPoly(cell, fixed[triangle], (grey, grey, grey), cv2.LINE_8, 4)
    drawn: NDArray[np.uint8] = cell
    return drawn
