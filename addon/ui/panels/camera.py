"""Camera: sensor and lens, the scale, where the cameras stand, and stepping through them."""

import bpy

from ...operators.view import camera_count, camera_number
from ...properties import live
from .base import StudyPanel, stepper

__all__ = ["CLASSES"]


class LIMEN_PT_camera(StudyPanel, bpy.types.Panel):
    """The rig, and the camera of it that is shown."""

    bl_label = "Camera"
    bl_options = set()

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.operator("limen.place_rig", icon="OUTLINER_OB_CAMERA")
        study = live.state().study
        if settings.rig_placed and study is not None:
            number = camera_number(settings.cell, study)
            stepper(layout, "camera", f"Camera {number} of {camera_count(study)}")


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
        column.prop(camera, "sensor_width_mm")
        column.prop(camera, "sensor_height_mm")
        layout.column(align=True).prop(camera, "resolution")
        layout.prop(camera, "lens_mm")
        layout.prop(camera, "fnumber")
        layout.prop(camera, "shutter_limit_s")
        layout.prop(camera, "iso")
        layout.prop(camera, "use_window")
        if camera.use_window:
            layout.column(align=True).prop(camera, "window", text="Crop")


class LIMEN_PT_rig(StudyPanel, bpy.types.Panel):
    """Where the cameras stand."""

    bl_label = "Rig"
    bl_parent_id = "LIMEN_PT_camera"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, camera = self.layout, context.scene.limen.study.camera
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(camera, "scale")
        layout.prop(camera, "distance_by")
        layout.prop(camera, "look_at_height_m")


CLASSES = (LIMEN_PT_camera, LIMEN_PT_sensor, LIMEN_PT_rig)
