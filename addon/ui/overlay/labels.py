"""What is written where it belongs in the scene: names on the zones, and over the test person."""

from collections.abc import Sequence

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from ...core.zones import Zone, clip_convex
from ...preferences import in_feet
from ...scene.test_person import find_test_person
from ..readout import Reading, class_title, distance_text
from .kept import once
from .sheet import BOX, DIM, LINE, TEXT, Free, Sheet

__all__ = ["label_test_person", "label_zones"]

_SLIVER_PX = 200  # twice the area of a zone that gets no label
_OVER_HEAD = 1.08  # of the height


def label_zones(context: bpy.types.Context, sheet: Sheet, free: Free, reading: Reading) -> None:
    """Name the zones in the middle of what is seen of them."""
    region, view = context.region, context.region_data
    matrix = tuple(tuple(row) for row in view.perspective_matrix)
    window = (free.left, free.bottom, free.right, free.top, region.width, region.height)
    places = once(
        "labels",
        (reading, matrix, window),
        lambda: [(zone, _across_on_screen(zone, matrix, window)) for zone in reading.zones],
    )
    feet = in_feet(context)
    line, pad = LINE * sheet.scale, 4 * sheet.scale
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
        sheet.boxes.append((*box, BOX))
        y = box[1] + 5 * sheet.scale
        sheet.texts.append((box[0] + pad, y, name, TEXT))
        sheet.texts.append((box[0] + pad + sheet.width(f"{name}  "), y, span, DIM))


def label_test_person(context: bpy.types.Context, sheet: Sheet, text: str) -> None:
    """Write a text over the test person's head, where there is one and it is in sight."""
    item = find_test_person(context.scene)
    if item is None:
        return
    head = item.matrix_world @ Vector((0.0, 0.0, _OVER_HEAD))
    place = location_3d_to_region_2d(context.region, context.region_data, head)
    if place is None:
        return
    width, line, pad = sheet.width(text), LINE * sheet.scale, 4 * sheet.scale
    x, y = place.x - width / 2, place.y
    sheet.boxes.append((x - pad, y, width + 2 * pad, line, BOX))
    sheet.texts.append((x, y + 5 * sheet.scale, text, TEXT))


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
