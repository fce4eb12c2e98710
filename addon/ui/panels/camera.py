"""Camera: the rig and the camera that is shown, sensor and lens, the calculator, the viewpoints."""

from typing import Any

import bpy

from ...core.standards import load_scales
from ...core.zones import class_distances_m
from ...operators.view import camera_count, camera_number
from ...preferences import in_feet
from ...properties import live
from ...properties.words import marked, translated
from ...scene.camera_rig import is_moved
from ..readout import class_title, density_text, distance_text, shown_optics
from .base import StudyPanel, stepper

__all__ = ["CLASSES"]

_LEVELS_SHOWN = 36  # more are edited in the table of factors


class LIMEN_PT_camera(StudyPanel, bpy.types.Panel):
    """The rig, and the camera of it that is shown."""

    bl_label = "Camera"
    bl_options = set()
    limen_icon = "rig"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.prop(settings.study.camera, "scale", text="")
        layout.operator("limen.place_rig", icon="OUTLINER_OB_CAMERA")
        study = live.state().study
        if not settings.rig_placed or study is None:
            return
        number = camera_number(settings.cell, study)
        row = layout.row(align=True)
        stepper(row, "camera", translated("Camera {} of {}", number, camera_count(study)))
        row.operator("limen.go_to_camera", text="", icon="VIEWZOOM")
        if context.scene.camera is not None and is_moved(context.scene.camera):
            box = layout.box()
            box.label(text="Moved off the rig", icon="ERROR")
            row = box.row(align=True)
            row.operator("limen.keep_camera", text="Keep Here", icon="CHECKMARK")
            row.operator("limen.return_camera", text="Go Back", icon="LOOP_BACK")


class LIMEN_PT_sensor(StudyPanel, bpy.types.Panel):
    """Sensor and lens."""

    bl_label = "Sensor and Lens"
    bl_parent_id = "LIMEN_PT_camera"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, camera = self.layout, context.scene.limen.study.camera
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(camera, "sensor")
        if camera.sensor == "own":
            layout.prop(camera, "sensor_label")
        column = layout.column(align=True)
        column.prop(camera, "sensor_width_mm", text="Width (mm)")
        column.prop(camera, "sensor_height_mm", text="Height (mm)")
        column = layout.column(align=True)
        column.prop(camera, "resolution", index=0, text="Pixels Across")
        column.prop(camera, "resolution", index=1, text="Down")
        layout.prop(camera, "lens_mm", text="Lens (mm)")
        layout.prop(camera, "fnumber")
        layout.prop(camera, "shutter_limit_s", text="Shutter Limit (s)")
        layout.prop(camera, "iso")
        layout.prop(camera, "use_window", text="Centre Crop")
        if camera.use_window:
            column = layout.column(align=True)
            column.prop(camera, "window", index=0, text="Crop Across")
            column.prop(camera, "window", index=1, text="Down")


class LIMEN_PT_lens(StudyPanel, bpy.types.Panel):
    """How far the lens reaches, and which lens reaches so far."""

    bl_label = "Lens Calculator"
    bl_parent_id = "LIMEN_PT_camera"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the table of classes, and the question the other way round."""
        layout, settings = self.layout, context.scene.limen
        optics, feet = shown_optics(context.scene), in_feet(context)
        if optics is None:
            layout.label(text="No camera has these numbers", icon="ERROR")
            return
        scale = load_scales()[settings.study.camera.scale]
        distances = class_distances_m(optics, scale)
        wide, high = optics.fov_deg
        box = layout.box()
        box.label(text=f"{optics.lens_mm:g} mm: {wide:.1f}° × {high:.1f}°", translate=False)
        columns = box.grid_flow(row_major=True, columns=3, even_columns=False, align=True)
        columns.label(text="Class")
        columns.label(text="From")
        columns.label(text="Up to")
        for item in reversed(scale.classes):
            columns.label(text=class_title(item.name), translate=False)
            columns.label(text=density_text(item.px_per_m, feet), translate=False)
            columns.label(text=distance_text(distances[item.name], feet), translate=False)
        overlay = settings.overlay
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        column.prop(overlay, "fit_class", text="Reach")
        column.prop(overlay, "fit_distance_m", text="Along axis (m)")
        fit = layout.operator("limen.fit_lens", icon="CON_FOLLOWTRACK")
        fit.class_name, fit.distance_m = overlay.fit_class, overlay.fit_distance_m


class LIMEN_PT_rig(StudyPanel, bpy.types.Panel):
    """Where the cameras stand."""

    bl_label = "Viewpoints"
    bl_parent_id = "LIMEN_PT_camera"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, camera = self.layout, context.scene.limen.study.camera
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(camera, "look_at_height_m", text="Look-at (m)")
        layout.prop(camera, "distance_by")
        if camera.distance_by == "bands":
            column = layout.column(align=True, heading="Middle of")
            for band in camera.bands:
                column.prop(band, "used", text=class_title(band.name), translate=False)
        else:
            by_density = camera.distance_by == "densities_px_per_m"
            title = marked("Densities (px/m)") if by_density else marked("Distances (m)")
            _numbers(layout, "distance", title, getattr(camera, camera.distance_by))
        _numbers(layout, "azimuth", marked("Azimuths (°)"), camera.azimuths_deg)
        _numbers(layout, "elevation", marked("Elevations (°)"), camera.elevations_deg)


def _numbers(layout: bpy.types.UILayout, factor: str, title: str, levels: Any) -> None:
    """Draw the numbers of a factor, each with a switch, and what adds and removes them."""
    column = layout.column(align=True)
    column.use_property_split = False
    row = column.row(align=True)
    row.label(text=title)
    if factor != "distance":
        spread = row.operator("limen.spread_levels", text="", icon="PARTICLE_DATA")
        spread.factor = factor
    row.operator("limen.add_level", text="", icon="ADD").factor = factor
    if len(levels) > _LEVELS_SHOWN:
        column.label(text=translated("{}: see Factors", len(levels)), translate=False)
        return
    grid = column.grid_flow(row_major=True, columns=2, even_columns=True, align=True)
    for i, level in enumerate(levels):
        row = grid.row(align=True)
        row.prop(level, "used", text="")
        field = row.row(align=True)
        field.active = level.used
        field.prop(level, "value", text="")
        remove = row.operator("limen.remove_level", text="", icon="X")
        remove.factor, remove.index = factor, i


CLASSES = (LIMEN_PT_camera, LIMEN_PT_sensor, LIMEN_PT_lens, LIMEN_PT_rig)
