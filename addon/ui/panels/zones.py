"""Zones: what the viewport shows of the cameras, and the test person."""

import bpy

from ...preferences import in_feet
from ...properties.words import marked, translated
from ...scene.test_person import find_test_person
from ..readout import (
    class_title,
    density_text,
    distance_text,
    read_camera,
    subject_lines,
    test_person_seen,
)
from .base import StudyPanel, fact

__all__ = ["CLASSES"]


class LIMEN_PT_zones(StudyPanel, bpy.types.Panel):
    """What the viewport shows."""

    bl_label = "Zones"
    limen_icon = "zones"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the switches."""
        layout, settings = self.layout, context.scene.limen
        overlay = settings.overlay
        if not settings.rig_placed:
            layout.label(text="Place the rig to see them", icon="INFO")
        grid = layout.grid_flow(row_major=True, columns=2, even_columns=True)
        for name in ("zones", "rig", "labels", "legend", "hud", "chip"):
            grid.prop(overlay, name)
        row = layout.row()
        row.active = overlay.zones
        row.prop(overlay, "opacity")


class LIMEN_PT_shown_camera(StudyPanel, bpy.types.Panel):
    """What the shown camera makes of the subject."""

    bl_label = "At the Subject"
    bl_parent_id = "LIMEN_PT_zones"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the readout."""
        reading = read_camera(context.scene)
        if reading is None:
            self.layout.label(text="No rig is placed")
            return
        _table(self.layout, subject_lines(context, reading))


class LIMEN_PT_test_person(StudyPanel, bpy.types.Panel):
    """A figure to drag about."""

    bl_label = "Test Person"
    bl_parent_id = "LIMEN_PT_zones"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the buttons, and how the camera sees the test person."""
        layout, scene = self.layout, context.scene
        there = find_test_person(scene) is not None
        row = layout.row(align=True)
        row.operator(
            "limen.add_test_person",
            text=marked("Bring Back") if there else marked("Add"),
            icon="OUTLINER_OB_ARMATURE",
        )
        if there:
            row.operator("limen.remove_test_person", text="", icon="X")
        row = layout.row()
        row.use_property_split = True
        row.use_property_decorate = False
        row.prop(scene.limen.overlay, "test_height_m", text="Height (m)")
        reading = read_camera(scene)
        if not there or reading is None:
            return
        seen, feet = test_person_seen(scene, reading), in_feet(context)
        if seen is None:
            layout.label(text="Behind the camera")
            return
        _table(
            layout,
            [
                (translated("Class"), class_title(seen.class_name)),
                (translated("Density"), density_text(seen.density_px_per_m, feet)),
                (translated("Distance"), distance_text(seen.distance_m, feet)),
                (translated("Height"), f"{seen.height_px:.0f} px"),
            ],
        )


def _table(layout: bpy.types.UILayout, lines: list[tuple[str, str]]) -> None:
    column = layout.box().column(align=True)
    for name, value in lines:
        fact(column, name, value)


CLASSES = (LIMEN_PT_zones, LIMEN_PT_shown_camera, LIMEN_PT_test_person)
