"""Where a person changes a picture: of each light layer, the box that is rendered again.

It is where the person stands, where its shadow falls, and where it hides the sky from the ground
around it; all of it from geometry, without a render.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.image_io import Box
from ..core.lighting import ALPHA, LAMPS, Layer, direction
from ..core.optics import Camera, CameraPose
from .denoise import on_grid
from .scenery import lamps_of, lowest_level_m, mirrors
from .subject import PlacedSubject

__all__ = ["layer_boxes"]

_PAD_PX = 8
_NEAREST_M = 0.1  # to the camera
_RING_LINES = 33  # each way
_OCCLUSION_RING_M = 2.0  # nearer than this the person takes more than 0.5 % of the sky's light
_GLOW_SHADOW_ELEVATION_DEG = 10.0
_MAX_SHADOW_M = {"sun": 40.0, "glow": 8.0, LAMPS: 40.0}


def layer_boxes(
    person: PlacedSubject,
    scenery: str,
    layers: Sequence[Layer],
    camera: Camera,
    pose: CameraPose,
) -> dict[str, Box]:
    """Return layer name -> the box (x, y, width, height) that the person changes; also ``alpha``.

    A layer's box depends on the scene and the layer alone. Layers whose box lies outside the
    picture are left out. Those larger than the person's lie on the denoiser's grid.
    """
    body = person.vertices_m
    low, high = body.min(axis=0), body.max(axis=0)
    lowest_m = lowest_level_m(scenery)
    ring = _mesh_lines(low - _OCCLUSION_RING_M, high + _OCCLUSION_RING_M, lowest_m)
    spot = (body, body)
    touched: dict[str, list[tuple[NDArray, NDArray]]] = {ALPHA: [spot]}
    for layer in layers:
        lines = [spot]
        if layer.is_sky:
            lines.append(ring)
        if layer.kind == LAMPS:
            for lamp in lamps_of(scenery):
                along = body - lamp.position_m
                along /= np.linalg.norm(along, axis=-1, keepdims=True)
                landing = _landing_points(body, along, lowest_m, _MAX_SHADOW_M[LAMPS])
                lines.append((body, landing))
        elif layer.kind in _MAX_SHADOW_M:
            elevation = layer.elevation_deg if layer.kind == "sun" else _GLOW_SHADOW_ELEVATION_DEG
            along = -direction(layer.azimuth_deg, elevation)
            reach_m = _MAX_SHADOW_M[layer.kind]
            lines.append((body, _landing_points(body, along, lowest_m, reach_m)))
        touched[layer.name] = lines
    boxes = {name: _bounding_box(lines, camera, pose) for name, lines in touched.items()}
    person_box = boxes[ALPHA]
    boxes = {
        name: box if box is None or box == person_box else on_grid(box, camera.image_px)
        for name, box in boxes.items()
    }
    if mirrors(scenery, body, pose.position_m):
        width, height = camera.image_px
        boxes |= {layer.name: (0, 0, width, height) for layer in layers}
    return {name: box for name, box in boxes.items() if box is not None}


def _mesh_lines(low: NDArray, high: NDArray, level_m: float) -> tuple[NDArray, NDArray]:
    """Return lines both ways over a level rectangle: a picture may show its inside alone."""
    xs, ys = (np.linspace(low[i], high[i], _RING_LINES) for i in (0, 1))
    one = np.ones(_RING_LINES)
    start = np.concatenate([np.stack([xs, low[1] * one], -1), np.stack([low[0] * one, ys], -1)])
    end = np.concatenate([np.stack([xs, high[1] * one], -1), np.stack([high[0] * one, ys], -1)])
    level = np.full((2 * _RING_LINES, 1), level_m)
    return np.hstack([start, level]), np.hstack([end, level])


def _landing_points(points: NDArray, along: NDArray, lowest_m: float, reach_m: float) -> NDArray:
    """Return where rays from ``points`` reach the lowest level of the scenery.

    What they meet before, a rise or a rock, lies on the way there, and so within the box of both
    ends: no ray needs to be cast.
    """
    fall = np.maximum(points[:, 2] - lowest_m, 0) / -along[..., 2]
    return points + along * np.minimum(fall, reach_m)[:, None]


def _bounding_box(
    lines: Sequence[tuple[NDArray, NDArray]], camera: Camera, pose: CameraPose
) -> Box | None:
    """Return the box of what is seen of straight lines between points (N, 3), and a margin."""
    width, height = camera.image_px
    start, end = (np.concatenate(ends) @ pose.R.T + pose.t for ends in zip(*lines, strict=True))
    # Inside the picture's cone each of these is above 0: a line is cut where one is 0.
    k, pad = camera.K, _PAD_PX + 1
    left, top = (k[0, 2] + pad) / k[0, 0], (k[1, 2] + pad) / k[1, 1]
    right, bottom = (width - k[0, 2] + pad) / k[0, 0], (height - k[1, 2] + pad) / k[1, 1]
    planes = np.array(
        [[1, 0, left], [-1, 0, right], [0, 1, top], [0, -1, bottom], [0, 0, 1]], float
    ).T
    near = np.array([0, 0, 0, 0, _NEAREST_M])
    a, b = start @ planes - near, end @ planes - near
    out = (a < 0, b < 0)
    if out[0].any() or out[1].any():
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = a / (a - b)
        enter = np.where(out[0] & ~out[1], crossing, 0.0).max(axis=1, keepdims=True)
        leave = np.where(~out[0] & out[1], crossing, 1.0).min(axis=1, keepdims=True)
        seen = (enter <= leave)[:, 0] & ~(out[0] & out[1]).any(axis=1)
        if not seen.any():
            return None
        start, along = start[seen], (end - start)[seen]
        start, end = start + along * enter[seen], start + along * leave[seen]
    points = np.concatenate([start, end])
    pixels = points[:, :2] / points[:, 2:] * k[[0, 1], [0, 1]] + k[:2, 2]
    x0, y0 = np.floor(pixels.min(axis=0)).astype(int) - _PAD_PX
    x1, y1 = np.ceil(pixels.max(axis=0)).astype(int) + _PAD_PX + 1
    x0, x1 = np.clip([x0, x1], 0, width)
    y0, y1 = np.clip([y0, y1], 0, height)
    if x0 >= x1 or y0 >= y1:
        return None
    return (int(x0), int(y0), int(x1 - x0), int(y1 - y0))
