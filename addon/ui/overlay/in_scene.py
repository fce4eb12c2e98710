"""What lies in the scene: the zones on the ground, the rig's cameras, and the shown one's axis."""

from collections.abc import Sequence

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from numpy.typing import NDArray

from ...core.optics import Camera, look_at_pose
from ...core.study.values import CameraSetup
from ...core.zones import Zone
from ...preferences import Colour, zone_colours
from ...properties import live
from ..readout import Reading
from .kept import Rgba, draw_lines, lines_batch, once, shader

__all__ = ["draw_rig", "draw_zones", "zone_triangles"]

_HIDDEN_SHARE = 0.15  # of the opacity, where something lies over the zone
_MARKERS_MOST = 256
_MARKER_SIZE = 0.04  # of a camera's distance
_MARKER: Rgba = (0.95, 0.95, 0.95, 0.75)
_MARKER_FAR: Rgba = (0.95, 0.95, 0.95, 0.15)
_AXIS: Rgba = (1.0, 1.0, 1.0, 0.9)
_AXIS_MOVED: Rgba = (1.0, 0.72, 0.25, 1.0)


def zone_triangles(
    zones: Sequence[Zone], colours: Sequence[Colour], opacity: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the corners (3 T, 3) of the zones' triangles in metres, and their RGBA (3 T, 4)."""
    fans = []
    for zone in zones:
        after = np.arange(1, len(zone.ground_m) - 1)
        fans.append(np.column_stack([np.zeros_like(after), after, after + 1]).ravel())
    return _painted(zones, fans, colours, opacity)


def _zone_edges(
    zones: Sequence[Zone], colours: Sequence[Colour]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rings = []
    for zone in zones:
        corners = np.arange(len(zone.ground_m))
        rings.append(np.column_stack([corners, np.roll(corners, -1)]).ravel())
    return _painted(zones, rings, colours, 1.0)


def _painted(
    zones: Sequence[Zone],
    corners: Sequence[NDArray[np.intp]],
    colours: Sequence[Colour],
    opacity: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the places (N, 3) of these corners of each zone, and their RGBA (N, 4)."""
    count = sum(map(len, corners))
    places, paint = np.zeros((count, 3), np.float32), np.empty((count, 4), np.float32)
    start = 0
    for zone, chosen in zip(zones, corners, strict=True):
        end = start + len(chosen)
        places[start:end, :2] = zone.ground_m[chosen]
        paint[start:end] = (*colours[zone.level], opacity)
        start = end
    return places, paint


def _marker_lines(
    setup: CameraSetup, camera: Camera, shown: int
) -> tuple[list[list[float]], list[Rgba]]:
    """Return line ends and colours of a pyramid for each camera, those at one distance brighter."""
    half_x, half_y = (side / 2 / camera.focal_px for side in camera.image_px)
    corners = [(sx * half_x, sy * half_y, 1.0) for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    places: list[list[float]] = []
    paint: list[Rgba] = []
    distances = sorted(setup.distances_m, key=lambda d: d != setup.distances_m[shown])
    poses = (
        (distance, look_at_pose(azimuth, elevation, distance, setup.look_at_height_m))
        for distance in distances
        for azimuth in setup.azimuths_deg
        for elevation in setup.elevations_deg
    )
    for (distance, pose), _ in zip(poses, range(_MARKERS_MOST), strict=False):
        base = pose.position_m + _MARKER_SIZE * distance * (np.array(corners) @ pose.R)
        apex, ends = pose.position_m.tolist(), base.tolist()
        for i in range(4):
            places += [apex, ends[i], ends[i], ends[(i + 1) % 4]]
        colour = _MARKER if distance == setup.distances_m[shown] else _MARKER_FAR
        paint += [colour] * 16
    return places, paint


def draw_zones(context: bpy.types.Context, reading: Reading, opacity: float) -> None:
    """Draw the zones, and faintly what of them lies behind other things."""
    colours = zone_colours(context, len(reading.scale.classes))
    flat = shader("FLAT_COLOR")
    seen, hidden, edges = once(
        "zones", (reading, colours, opacity), lambda: _zone_batches(reading.zones, colours, opacity)
    )
    flat.bind()
    gpu.state.depth_test_set("GREATER")
    hidden.draw(flat)
    gpu.state.depth_test_set("LESS_EQUAL")
    seen.draw(flat)
    draw_lines(edges, 1.5 * context.preferences.system.ui_scale)


def _zone_batches(
    zones: Sequence[Zone], colours: Sequence[Colour], opacity: float
) -> tuple[gpu.types.GPUBatch | None, ...]:
    """Return the zones, what shines through other things, and the outlines."""
    places, paint = zone_triangles(zones, colours, opacity)
    faint = paint * np.array([1, 1, 1, _HIDDEN_SHARE], np.float32)
    flat = shader("FLAT_COLOR")
    seen, hidden = (
        batch_for_shader(flat, "TRIS", {"pos": places, "color": each}) for each in (paint, faint)
    )
    return seen, hidden, lines_batch(*_zone_edges(zones, colours))


def draw_rig(context: bpy.types.Context, reading: Reading) -> None:
    """Draw the cameras of the rig, and the axis of the shown one."""
    gpu.state.depth_test_set("LESS_EQUAL")
    scale = context.preferences.system.ui_scale
    study = live.state().study
    if study is not None:
        setup = study.camera
        shown = min(context.scene.limen.cell.distance, len(setup.distances_m) - 1)
        markers = once(
            "markers",
            (setup, reading.camera, shown),
            lambda: lines_batch(*_marker_lines(setup, reading.camera, shown)),
        )
        draw_lines(markers, 1.2 * scale)
    axis = once(
        "axis",
        reading,
        lambda: lines_batch(
            [reading.pose.position_m.tolist(), _axis_end(reading)],
            [_AXIS_MOVED if reading.moved else _AXIS] * 2,
        ),
    )
    draw_lines(axis, 2.0 * scale)


def _axis_end(reading: Reading) -> list[float]:
    """Return where the optical axis passes the subject."""
    forward = reading.pose.R[2]
    along = max(0.5, float(forward @ (np.array(reading.subject_m) - reading.pose.position_m)))
    return (reading.pose.position_m + along * forward).tolist()
