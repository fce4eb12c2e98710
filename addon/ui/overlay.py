"""The viewport's overlay: zones on the ground, the rig's cameras, and a readout of the shown one.

Zones lie on the flat ground z = 0, which is where a study's subject stands and what they are
defined on; the terrain of a scenery may rise through them, and they then shine through it faintly.
Seen through the camera, the same bands are its picture's bands.

Everything here is drawn many times a second: batches and textures are kept until what they show
changes, and pictures are made by a timer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import blf
import bpy
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ..core.chip import person_chip
from ..core.optics import Camera, look_at_pose
from ..core.photometry import srgb_decode
from ..core.study.values import CameraSetup
from ..core.zones import Zone, class_distances_m, clip_convex
from ..operators.rig import follow_study
from ..preferences import Colour, in_feet, zone_colours
from ..properties import live
from ..properties.words import translated
from ..scene.compat import linear_picture_shader
from ..scene.test_person import find_test_person
from .readout import (
    Reading,
    class_title,
    density_text,
    distance_text,
    read_camera,
    shown_optics,
    subject_lines,
    test_person_line,
)

__all__ = ["draw_in_scene", "draw_on_screen", "register", "unregister", "zone_triangles"]

Rgba = tuple[float, float, float, float]

_HIDDEN_SHARE = 0.15  # of the opacity, where something lies over the zone
_DEPTH_BIAS = 2e-5  # towards the eye, in clip space: the ground lies in the same plane
_MARKERS_MOST = 256
_MARKER_SIZE = 0.04  # of a camera's distance
_MARKER: Rgba = (0.95, 0.95, 0.95, 0.75)
_MARKER_FAR: Rgba = (0.95, 0.95, 0.95, 0.15)
_AXIS: Rgba = (1.0, 1.0, 1.0, 0.9)
_TEXT: Rgba = (1.0, 1.0, 1.0, 1.0)
_DIM: Rgba = (0.78, 0.78, 0.78, 1.0)
_WARN: Rgba = (1.0, 0.72, 0.25, 1.0)
_BOX: Rgba = (0.05, 0.05, 0.05, 0.8)
_FONT = 0
_PAD = 8
_LINE = 18
_INFO_LINES = 3  # of Blender's own text in the corner above
_SLIVER_PX = 200  # twice the area of a zone that gets no label
_CHIP_PX = 190
_CHIP_ENLARGED_WIDE = 150
_CHIP_STEP = 1.01  # densities nearer than this share a picture
_CHIP_GREY = 18  # of the picture's background


# --- what is drawn on the ground -----------------------------------------------------------------


def zone_triangles(
    zones: Sequence[Zone], colours: Sequence[Colour], opacity: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the corners (3 T, 3) of the zones' triangles in metres, and their RGBA (3 T, 4)."""
    places, paint = [], []
    for zone in zones:
        corners = np.column_stack([zone.ground_m, np.zeros(len(zone.ground_m))])
        for i in range(1, len(corners) - 1):
            places += [corners[0], corners[i], corners[i + 1]]
        paint += [(*colours[zone.level], opacity)] * (3 * (len(corners) - 2))
    return (
        np.array(places, np.float32).reshape(-1, 3),
        np.array(paint, np.float32).reshape(-1, 4),
    )


def _zone_edges(
    zones: Sequence[Zone], colours: Sequence[Colour]
) -> tuple[list[tuple[float, float, float]], list[Rgba]]:
    places: list[tuple[float, float, float]] = []
    paint: list[Rgba] = []
    for zone in zones:
        corners = [(float(x), float(y), 0.0) for x, y in zone.ground_m]
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            places += [start, end]
        paint += [(*colours[zone.level], 1.0)] * (2 * len(corners))
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


# --- batches, kept until what they show changes --------------------------------------------------

_kept: dict[str, tuple[Any, Any]] = {}


def _once(name: str, key: Any, make: Callable[[], Any]) -> Any:
    """Return what ``make`` made for a key; made again when the key is another one."""
    before = _kept.get(name)
    if before is None or before[0] != key:
        before = _kept[name] = key, make()
    return before[1]


def _shader(name: str) -> gpu.types.GPUShader:
    return _once(f"shader {name}", name, lambda: gpu.shader.from_builtin(name))


def _lines_batch(places: Sequence[Any], paint: Sequence[Rgba]) -> gpu.types.GPUBatch | None:
    if not len(places):
        return None
    content = {"pos": places, "color": paint}
    return batch_for_shader(_shader("POLYLINE_FLAT_COLOR"), "LINES", content)


def _draw_lines(batch: gpu.types.GPUBatch | None, width_px: float) -> None:
    if batch is None:
        return
    shader = _shader("POLYLINE_FLAT_COLOR")
    shader.bind()
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", width_px)
    batch.draw(shader)


def _wanted(context: bpy.types.Context) -> bool:
    space = context.space_data
    return space is not None and space.type == "VIEW_3D" and space.overlay.show_overlays


def draw_in_scene() -> None:
    """Draw the zones and the cameras; Blender calls it for each 3D viewport."""
    context = bpy.context
    if not _wanted(context):
        return
    scene, overlay = context.scene, context.scene.limen.overlay
    reading = read_camera(scene)
    if reading is None or not (overlay.zones or overlay.rig):
        return
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_mask_set(False)
    gpu.matrix.push_projection()
    towards_the_eye = Matrix.Translation((0.0, 0.0, -_DEPTH_BIAS))
    gpu.matrix.load_projection_matrix(towards_the_eye @ gpu.matrix.get_projection_matrix())
    try:
        if overlay.zones and reading.zones:
            _draw_zones(context, reading, overlay.opacity)
        if overlay.rig and context.region_data.view_perspective != "CAMERA":
            _draw_rig(context, reading)
    finally:
        gpu.matrix.pop_projection()
        gpu.state.depth_test_set("NONE")
        gpu.state.depth_mask_set(True)
        gpu.state.blend_set("NONE")


def _draw_zones(context: bpy.types.Context, reading: Reading, opacity: float) -> None:
    colours = zone_colours(context, len(reading.scale.classes))
    flat = _shader("FLAT_COLOR")

    def batch(alpha: float) -> gpu.types.GPUBatch:
        places, paint = zone_triangles(reading.zones, colours, alpha)
        return batch_for_shader(flat, "TRIS", {"pos": places, "color": paint})

    key = (reading, colours, opacity)
    seen, hidden, edges = _once(
        "zones",
        key,
        lambda: (
            batch(opacity),
            batch(_HIDDEN_SHARE * opacity),
            _lines_batch(*_zone_edges(reading.zones, colours)),
        ),
    )
    flat.bind()
    gpu.state.depth_test_set("GREATER")
    hidden.draw(flat)
    gpu.state.depth_test_set("LESS_EQUAL")
    seen.draw(flat)
    _draw_lines(edges, 1.5 * context.preferences.system.ui_scale)


def _draw_rig(context: bpy.types.Context, reading: Reading) -> None:
    gpu.state.depth_test_set("LESS_EQUAL")
    scale = context.preferences.system.ui_scale
    study = live.state().study
    if study is not None:
        setup = study.camera
        shown = min(context.scene.limen.cell.distance, len(setup.distances_m) - 1)
        markers = _once(
            "markers",
            (setup, reading.camera, shown),
            lambda: _lines_batch(*_marker_lines(setup, reading.camera, shown)),
        )
        _draw_lines(markers, 1.2 * scale)
    axis = _once(
        "axis",
        reading,
        lambda: _lines_batch(
            [reading.pose.position_m.tolist(), _axis_end(reading)],
            [_WARN if reading.moved else _AXIS] * 2,
        ),
    )
    _draw_lines(axis, 2.0 * scale)


def _axis_end(reading: Reading) -> list[float]:
    """Return where the optical axis passes the subject."""
    forward = reading.pose.R[2]
    along = max(0.5, float(forward @ (np.array(reading.subject_m) - reading.pose.position_m)))
    return (reading.pose.position_m + along * forward).tolist()


# --- what is written over it ---------------------------------------------------------------------


@lru_cache(maxsize=512)
def _width(text: str, _scale: float) -> float:
    """Return the width of a text in the size that is set, which the scale tells."""
    return float(blf.dimensions(_FONT, text)[0])


@dataclass
class _Sheet:
    """Boxes and texts of one drawing, in pixels of the region from its lower left."""

    scale: float
    boxes: list[tuple[float, float, float, float, Rgba]] = field(default_factory=list)
    texts: list[tuple[float, float, str, Rgba]] = field(default_factory=list)

    def width(self, text: str) -> float:
        return _width(text, self.scale)

    def draw(self) -> None:
        if self.boxes:
            flat = _shader("FLAT_COLOR")
            batch = _once("boxes", tuple(self.boxes), lambda: _boxes_batch(flat, self.boxes))
            gpu.state.blend_set("ALPHA")
            flat.bind()
            batch.draw(flat)
            gpu.state.blend_set("NONE")
        for x, y, text, colour in self.texts:
            blf.color(_FONT, *colour)
            blf.position(_FONT, x, y, 0)
            blf.draw(_FONT, text)


def _boxes_batch(
    flat: gpu.types.GPUShader, boxes: Sequence[tuple[float, float, float, float, Rgba]]
) -> gpu.types.GPUBatch:
    places, paint = [], []
    for x, y, width, height, colour in boxes:
        a, b, c, d = (x, y), (x + width, y), (x + width, y + height), (x, y + height)
        places += [a, b, c, a, c, d]
        paint += [colour] * 6
    return batch_for_shader(flat, "TRIS", {"pos": places, "color": paint})


@dataclass(frozen=True)
class _Free:
    """The part of the region over which no other region lies: left, bottom, right, top."""

    left: float
    bottom: float
    right: float
    top: float


def _free_part(context: bpy.types.Context) -> _Free:
    region = context.region
    left, right, top = 0.0, float(region.width), float(region.height)
    for other in context.area.regions:
        if other.width <= 1 or other.height <= 1:
            continue
        x, y = other.x - region.x, other.y - region.y
        if other.type == "TOOLS":
            left = max(left, x + other.width)
        elif other.type == "UI":
            right = min(right, x)
        elif other.type in ("HEADER", "TOOL_HEADER") and y > region.height / 2:
            top = min(top, y)
    return _Free(left, 0.0, right, top)


def draw_on_screen() -> None:
    """Draw labels, legend, readout and chip; Blender calls it for each 3D viewport."""
    context = bpy.context
    if not _wanted(context):
        return
    scene, overlay = context.scene, context.scene.limen.overlay
    if not (scene.limen.is_open and scene.limen.rig_placed):
        return
    scale = context.preferences.system.ui_scale
    sheet, free = _Sheet(scale), _free_part(context)
    blf.size(_FONT, 12 * scale)
    blf.disable(_FONT, blf.SHADOW)
    reading = read_camera(scene)
    if reading is None:
        if overlay.hud and shown_optics(scene) is None:
            _write_block(sheet, free, [], translated("No camera has these numbers: see Study"))
        sheet.draw()
        return
    chip_left = free.right
    if overlay.chip:
        chip_left = _draw_chip(context, sheet, free, reading)
    if overlay.legend and overlay.zones:
        _legend(context, sheet, free, reading, chip_left)
    if overlay.hud:
        warning = ""
        if reading.moved:
            warning = translated("Moved off the rig: keep it or go back in the Camera panel")
        lines = subject_lines(context, reading)
        said = test_person_line(context, reading)
        if said:
            lines.append((translated("Test person"), said))
        _write_block(sheet, free, lines, warning, context)
    _test_person_label(context, sheet, reading)
    if overlay.labels and overlay.zones:
        _labels(context, sheet, free, reading)
    sheet.draw()
    _draw_picture()


def _write_block(
    sheet: _Sheet,
    free: _Free,
    lines: Sequence[tuple[str, str]],
    warning: str,
    context: bpy.types.Context | None = None,
) -> None:
    """Write the readout in the upper left, below Blender's own text."""
    pad, line = _PAD * sheet.scale, _LINE * sheet.scale
    above = _INFO_LINES * line
    if context is not None and context.space_data.overlay.show_stats:
        above += 6 * line
    names = max((sheet.width(name) for name, _ in lines), default=0.0)
    gap = 2 * pad if lines else 0.0
    values = max((sheet.width(value) for _, value in lines), default=0.0)
    width = max(names + gap + values, sheet.width(warning)) + 2 * pad
    rows = len(lines) + bool(warning)
    x, top = free.left + pad, free.top - above
    height = rows * line + pad
    sheet.boxes.append((x, top - height, width, height, _BOX))
    y = top - line
    if warning:
        sheet.texts.append((x + pad, y, warning, _WARN))
        y -= line
    for name, value in lines:
        sheet.texts.append((x + pad, y, name, _DIM))
        sheet.texts.append((x + pad + names + gap, y, value, _TEXT))
        y -= line


def _legend(
    context: bpy.types.Context, sheet: _Sheet, free: _Free, reading: Reading, right: float
) -> None:
    pad, line = _PAD * sheet.scale, _LINE * sheet.scale
    feet = in_feet(context)
    colours = zone_colours(context, len(reading.scale.classes))
    distances = class_distances_m(reading.camera, reading.scale)
    rows = [
        (
            class_title(item.name),
            f"≥ {density_text(item.px_per_m, feet)}",
            f"≤ {distance_text(distances[item.name], feet)}",
            colour,
        )
        for item, colour in zip(reading.scale.classes, colours, strict=True)
    ][::-1]
    swatch = line * 0.7
    columns = [max(sheet.width(row[i]) for row in rows) for i in range(3)]
    width = swatch + sum(columns) + 5 * pad
    height = len(rows) * line + pad
    x, y = right - pad - width, free.bottom + pad
    if x < free.left:  # a narrow viewport has no room for it
        return
    sheet.boxes.append((x, y, width, height, _BOX))
    y += height - line
    for name, density, distance, colour in rows:
        sheet.boxes.append((x + pad, y - 2 * sheet.scale, swatch, swatch, (*colour, 1.0)))
        at = x + 2 * pad + swatch
        for text, column, paint in zip(
            (name, density, distance), columns, (_TEXT, _DIM, _DIM), strict=True
        ):
            sheet.texts.append((at, y, text, paint))
            at += column + pad
        y -= line


def _labels(context: bpy.types.Context, sheet: _Sheet, free: _Free, reading: Reading) -> None:
    """Name the zones in the middle of what is seen of them."""
    region, view = context.region, context.region_data
    matrix = tuple(tuple(row) for row in view.perspective_matrix)
    window = (free.left, free.bottom, free.right, free.top, region.width, region.height)
    places = _once(
        "labels",
        (reading, matrix, window),
        lambda: [(zone, _across_on_screen(zone, matrix, window)) for zone in reading.zones],
    )
    feet = in_feet(context)
    line, pad = _LINE * sheet.scale, 4 * sheet.scale
    taken = [box[:4] for box in sheet.boxes]
    for zone, place in places:
        if place is None:
            continue
        near, far = (distance_text(depth, feet) for depth in zone.depth_m)
        span = f"≤ {far}" if zone.depth_m[0] == 0 else f"{near} – {far}"
        name = class_title(zone.name)
        width = sheet.width(f"{name}  {span}") + 2 * pad
        left, right, y = place
        # At the left end of what is seen, off the subject; where that is taken, at the right.
        for x in (left + pad, right - pad - width, (left + right - width) / 2):
            box = (x, y - line / 2, width, line)
            if not any(_overlap(box, other) for other in taken):
                break
        else:
            continue
        taken.append(box)
        sheet.boxes.append((*box, _BOX))
        y = box[1] + 5 * sheet.scale
        sheet.texts.append((box[0] + pad, y, name, _TEXT))
        sheet.texts.append((box[0] + pad + sheet.width(f"{name}  "), y, span, _DIM))


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def _across_on_screen(
    zone: Zone, matrix: Sequence[Sequence[float]], window: Sequence[float]
) -> tuple[float, float, float] | None:
    """Return left and right end and height, in pixels, of the middle of what is seen of a zone."""
    left, bottom, right, top, width, height = window
    # Where on the ground clip space lies inside the window: x_clip >= low * w_clip, and so on.
    (xx, xy, _, xc), (yx, yy, _, yc), _, (wx, wy, _, wc) = matrix
    sides = [(wx, wy, wc - 1e-3)]
    for (a, b, c), low, high, size in (
        ((xx, xy, xc), left, right, width),
        ((yx, yy, yc), bottom, top, height),
    ):
        low, high = 2 * low / size - 1, 2 * high / size - 1
        sides.append((a - low * wx, b - low * wy, c - low * wc))
        sides.append((high * wx - a, high * wy - b, high * wc - c))
    corners = clip_convex([(float(x), float(y)) for x, y in zone.ground_m], sides)
    if not corners:
        return None
    on_screen = []
    for x, y in corners:
        w = wx * x + wy * y + wc
        on_screen.append(
            (
                (1 + (xx * x + xy * y + xc) / w) * width / 2,
                (1 + (yx * x + yy * y + yc) / w) * height / 2,
            )
        )
    return _chord(on_screen)


def _chord(corners: Sequence[tuple[float, float]]) -> tuple[float, float, float] | None:
    """Return (left, right, y) of a convex polygon at its centre's height, None for a sliver."""
    sides = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    area = moment = 0.0
    for (ax, ay), (bx, by) in sides:
        cross = ax * by - bx * ay
        area += cross
        moment += (ay + by) * cross
    if abs(area) < _SLIVER_PX:
        return None
    y = moment / (3 * area)
    ends = [
        ax + (y - ay) / (by - ay) * (bx - ax)
        for (ax, ay), (bx, by) in sides
        if (ay < y) != (by < y)
    ]
    return (min(ends), max(ends), y) if ends else None


def _test_person_label(context: bpy.types.Context, sheet: _Sheet, reading: Reading) -> None:
    item = find_test_person(context.scene)
    if item is None or not (context.scene.limen.overlay.labels or context.scene.limen.overlay.hud):
        return
    head = item.matrix_world @ Vector((0.0, 0.0, 1.08))
    place = location_3d_to_region_2d(context.region, context.region_data, head)
    if place is None:
        return
    text = test_person_line(context, reading)
    width, line, pad = sheet.width(text), _LINE * sheet.scale, 4 * sheet.scale
    x, y = place.x - width / 2, place.y
    sheet.boxes.append((x - pad, y, width + 2 * pad, line, _BOX))
    sheet.texts.append((x, y + 5 * sheet.scale, text, _TEXT))


# --- the chip: a person in true pixels -----------------------------------------------------------


@dataclass(frozen=True)
class _Chip:
    """What the chip shows: a density, with the height of the person and of the picture."""

    person_px: float
    height_px: int
    scale: float


_chip_wanted: _Chip | None = None
_chip_made: tuple[_Chip, NDArray[np.float32]] | None = None
_chip_place: tuple[float, float] | None = None


def _draw_chip(context: bpy.types.Context, sheet: _Sheet, free: _Free, reading: Reading) -> float:
    """Lay the chip out in the lower right corner; returns its left edge."""
    global _chip_wanted, _chip_place
    _chip_place = None
    density = reading.subject_density
    if density is None:
        return free.right
    height_m = context.scene.limen.overlay.test_height_m
    # One picture for densities that differ by less than 1 %.
    step = round(math.log(max(density * height_m, 1.0)) / math.log(_CHIP_STEP))
    _chip_wanted = _Chip(_CHIP_STEP**step, round(_CHIP_PX * sheet.scale), sheet.scale)
    if _chip_made is None or _chip_made[0] != _chip_wanted:
        if not bpy.app.timers.is_registered(_make_chip):
            bpy.app.timers.register(_make_chip, first_interval=0.02)
        if _chip_made is None:
            return free.right
    height, width = _chip_made[1].shape[:2]
    pad, line = _PAD * sheet.scale, _LINE * sheet.scale
    x, y = round(free.right - pad - width), round(free.bottom + pad)
    enlarged = _enlargement(_chip_made[0])
    title = f"{density_text(density, in_feet(context))}   1:1   {enlarged}:1"
    sheet.boxes.append((x, y, width, height + line + pad / 2, _BOX))
    sheet.texts.append((x + pad, y + height + pad, title, _TEXT))
    _chip_place = x, y
    return x


def _make_chip() -> None:
    """Make the wanted picture, outside of drawing, and have it drawn."""
    global _chip_made
    if _chip_wanted is None:
        return
    _chip_made = _chip_wanted, _chip_picture(_chip_wanted)
    live.redraw("VIEW_3D")


def _chip_picture(chip: _Chip) -> NDArray[np.float32]:
    """Return (h, w, 4), linear, the lowest row first: the person 1:1, and enlarged beside it.

    Where it does not fit, head and shoulders are shown.
    """
    true, times = person_chip(chip.person_px), _enlargement(chip)
    enlarged = true.repeat(times, axis=0).repeat(times, axis=1)
    wide = round(_CHIP_ENLARGED_WIDE * chip.scale)
    parts = [_cropped(true, chip.height_px, wide), _cropped(enlarged, chip.height_px, wide)]
    gap = round(_PAD * chip.scale)
    width = sum(part.shape[1] for part in parts) + 3 * gap
    picture = np.full((chip.height_px, width, 3), _CHIP_GREY, np.uint8)
    x = gap
    for part in parts:
        picture[len(picture) - len(part) :, x : x + part.shape[1]] = part
        x += part.shape[1] + gap
    rgba = np.ones((*picture.shape[:2], 4), np.float32)
    rgba[..., :3] = srgb_decode(picture[::-1] / 255)
    return rgba


def _enlargement(chip: _Chip) -> int:
    """Return how many pixels of the screen one of the enlarged picture takes, at least 2."""
    return max(2, round(chip.height_px / chip.person_px))


def _cropped(picture: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    left = max(0, (picture.shape[1] - width) // 2)
    return picture[:height, left : left + width]


def _draw_picture() -> None:
    if _chip_made is None or _chip_place is None:
        return
    chip, pixels = _chip_made
    height, width = pixels.shape[:2]
    texture = _once(
        "chip",
        (id(pixels), chip),
        lambda: gpu.types.GPUTexture(
            (width, height),
            format="RGBA16F",
            data=gpu.types.Buffer("FLOAT", pixels.size, pixels.ravel()),
        ),
    )
    x, y = _chip_place
    shader = _shader(linear_picture_shader())
    batch = _once(
        "chip corners",
        (x, y, width, height),
        lambda: batch_for_shader(
            shader,
            "TRI_FAN",
            {
                "pos": [(x, y), (x + width, y), (x + width, y + height), (x, y + height)],
                "texCoord": [(0, 0), (1, 0), (1, 1), (0, 1)],
            },
        ),
    )
    shader.bind()
    shader.uniform_sampler("image", texture)
    batch.draw(shader)


_handles: list[Any] = []


def register() -> None:
    """Have Blender draw the overlay in its 3D viewports."""
    live.on_edit(follow_study)
    for function, when in ((draw_in_scene, "POST_VIEW"), (draw_on_screen, "POST_PIXEL")):
        _handles.append(bpy.types.SpaceView3D.draw_handler_add(function, (), "WINDOW", when))


def unregister() -> None:
    """Draw it no more, and let go of batches, textures and the timer."""
    global _chip_wanted, _chip_made, _chip_place
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
    if bpy.app.timers.is_registered(_make_chip):
        bpy.app.timers.unregister(_make_chip)
    _kept.clear()
    _width.cache_clear()
    _chip_wanted = _chip_made = _chip_place = None
