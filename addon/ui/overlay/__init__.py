"""The viewport's overlay: zones on the ground, the rig's cameras, and a readout of the shown one.

Zones lie on the flat ground z = 0, which is where a study's subject stands and what they are
defined on; the terrain of a scenery may rise through them, and they then shine through it faintly.
Seen through the camera, the same bands are its picture's bands.

Everything here is drawn many times a second: batches and textures are kept until what they show
changes, and pictures are made by a timer.

Each file is a part of it: ``in_scene`` draws with depth; ``blocks``, ``labels`` and ``chip`` lay
themselves out on a ``sheet`` of boxes and texts; ``kept`` is what stays from redraw to redraw.
"""

from typing import Any

import bpy
import gpu
from mathutils import Matrix

from ...operators.rig import follow_study
from ...properties import live
from ...properties.words import translated
from ..readout import Reading, read_camera, shown_optics, subject_lines, test_person_line
from . import chip, kept
from .blocks import write_block, write_legend
from .in_scene import draw_rig, draw_zones
from .labels import label_test_person, label_zones
from .sheet import Free, Sheet, forget_widths, free_part

__all__ = ["draw_in_scene", "draw_on_screen", "register", "unregister"]

_DEPTH_BIAS = 2e-5  # towards the eye, in clip space: the ground lies in the same plane


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
            draw_zones(context, reading, overlay.opacity)
        if overlay.rig and context.region_data.view_perspective != "CAMERA":
            draw_rig(context, reading)
    finally:
        gpu.matrix.pop_projection()
        gpu.state.depth_test_set("NONE")
        gpu.state.depth_mask_set(True)
        gpu.state.blend_set("NONE")


def draw_on_screen() -> None:
    """Draw labels, legend, readout and chip; Blender calls it for each 3D viewport."""
    context = bpy.context
    if not _wanted(context):
        return
    scene, overlay = context.scene, context.scene.limen.overlay
    if not (scene.limen.is_open and scene.limen.rig_placed):
        return
    sheet, free = Sheet(context.preferences.system.ui_scale), free_part(context)
    reading = read_camera(scene)
    if reading is None:
        if overlay.hud and shown_optics(scene) is None:
            write_block(sheet, free, [], translated("No camera has these numbers: see Study"))
        sheet.draw()
        return
    chip_left = free.right
    if overlay.chip:
        chip_left = chip.lay_out(context, sheet, free, reading)
    if overlay.legend and overlay.zones:
        write_legend(context, sheet, free, reading, chip_left)
    person = ""
    if overlay.hud or overlay.labels:
        person = test_person_line(context, reading)
    if overlay.hud:
        _write_readout(context, sheet, free, reading, person)
    if person:
        label_test_person(context, sheet, person)
    if overlay.labels and overlay.zones:
        label_zones(context, sheet, free, reading)
    sheet.draw()
    if overlay.chip:
        chip.draw_picture()


def _write_readout(
    context: bpy.types.Context, sheet: Sheet, free: Free, reading: Reading, person: str
) -> None:
    warning = ""
    if reading.moved:
        warning = translated("Moved off the rig: keep it or go back in the Camera panel")
    lines = subject_lines(context, reading)
    if person:
        lines.append((translated("Test person"), person))
    write_block(sheet, free, lines, warning, context)


_handles: list[Any] = []


def register() -> None:
    """Have Blender draw the overlay in its 3D viewports."""
    live.on_edit(follow_study)
    for function, when in ((draw_in_scene, "POST_VIEW"), (draw_on_screen, "POST_PIXEL")):
        _handles.append(bpy.types.SpaceView3D.draw_handler_add(function, (), "WINDOW", when))


def unregister() -> None:
    """Draw it no more, and let go of batches, textures and the timer."""
    for handle in _handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
    chip.forget()
    forget_widths()
    kept.forget()
