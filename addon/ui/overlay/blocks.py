"""What stands at the edges of the viewport: the readout, and the legend of the classes."""

from collections.abc import Sequence

import bpy

from ...core.zones import class_distances_m
from ...preferences import in_feet, zone_colours
from ..readout import Reading, class_title, density_text, distance_text
from .sheet import BOX, DIM, LINE, PAD, TEXT, WARN, Free, Sheet

__all__ = ["write_block", "write_legend"]

_INFO_LINES = 3  # of Blender's own text in the corner above


def write_block(
    sheet: Sheet,
    free: Free,
    lines: Sequence[tuple[str, str]],
    warning: str,
    context: bpy.types.Context | None = None,
) -> None:
    """Write lines (what, value) and a warning in the upper left, below Blender's own text."""
    pad, line = PAD * sheet.scale, LINE * sheet.scale
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
    sheet.boxes.append((x, top - height, width, height, BOX))
    y = top - line
    if warning:
        sheet.texts.append((x + pad, y, warning, WARN))
        y -= line
    for name, value in lines:
        sheet.texts.append((x + pad, y, name, DIM))
        sheet.texts.append((x + pad + names + gap, y, value, TEXT))
        y -= line


def write_legend(
    context: bpy.types.Context, sheet: Sheet, free: Free, reading: Reading, right: float
) -> None:
    """Write the classes with their colours, densities and distances, left of an x of the region."""
    pad, line = PAD * sheet.scale, LINE * sheet.scale
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
    sheet.boxes.append((x, y, width, height, BOX))
    y += height - line
    for name, density, distance, colour in rows:
        sheet.boxes.append((x + pad, y - 2 * sheet.scale, swatch, swatch, (*colour, 1.0)))
        at = x + 2 * pad + swatch
        for text, column, paint in zip(
            (name, density, distance), columns, (TEXT, DIM, DIM), strict=True
        ):
            sheet.texts.append((at, y, text, paint))
            at += column + pad
        y -= line
