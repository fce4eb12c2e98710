"""Edit the rig: spread its cameras, fit the lens, keep a dragged camera; a test person."""

import math
from typing import Any

import bpy
import numpy as np

from ..core.optics import density_at, viewpoint_of
from ..core.standards import load_scales
from ..core.study import StudyError
from ..core.zones import lens_for
from ..properties import live
from ..properties.convert import add_level, camera_of
from ..properties.exact import put_exact
from ..properties.words import translated
from ..scene import stage
from ..scene.camera_rig import camera_pose, is_moved, set_optics
from ..scene.test_person import (
    add_test_person,
    find_test_person,
    remove_test_person,
    set_test_height,
)
from .errors import reporting
from .study import StudyOperator, scene_study
from .view import (
    camera_count,
    camera_number,
    check_camera_number,
    rig_pose,
    set_camera_number,
    show_cell,
)

__all__ = ["CLASSES", "follow_study"]

_SAME_DISTANCE = 0.005  # relative; a dragged camera nearer to a level than this stands at it
_SAME_DEG = 0.25
_BESIDE_M = 1.0


def follow_study(scene: bpy.types.Scene) -> None:
    """Give the shown camera and the test person what was edited in the study.

    A camera that was dragged keeps its place.
    """
    settings, study = scene.limen, live.state().study
    person = find_test_person(scene)
    if person is not None and not math.isclose(
        person.scale[2], settings.overlay.test_height_m, rel_tol=1e-6
    ):
        set_test_height(person, settings.overlay.test_height_m)
    if study is None or not settings.rig_placed or not stage.is_whole():
        return
    optics = study.camera.optics()
    if is_moved(scene.camera):
        for shown in (stage.stage_scene(), stage.bare_scene()):
            set_optics(shown, optics)
    else:
        stage.set_camera(optics, rig_pose(scene.limen.cell, study))


class RigOperator(StudyOperator):
    """What operators share that need a camera in the scene."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the rig is placed."""
        if not super().poll(context):
            return False
        if context.scene.limen.rig_placed and context.scene.camera is not None:
            return True
        cls.poll_message_set("Place the rig first")
        return False


class MovedOperator(RigOperator):
    """What operators share that need a camera that was dragged."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the camera was dragged away from the rig."""
        if not super().poll(context):
            return False
        if is_moved(context.scene.camera):
            return True
        cls.poll_message_set("The camera stands where the study has it")
        return False


class LIMEN_OT_keep_camera(MovedOperator, bpy.types.Operator):
    """Take the place of the dragged camera into the study: distance, azimuth and elevation."""

    bl_idname = "limen.keep_camera"
    bl_label = "Keep Camera Here"
    bl_options = {"REGISTER", "UNDO"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add the levels that the study lacks, and show the camera that has them."""
        scene = context.scene
        study, _ = scene_study(scene)
        azimuth, elevation, distance, past = viewpoint_of(
            camera_pose(scene.camera), study.camera.look_at_height_m
        )
        cameras = camera_count(study)
        shown = scene.limen.study.camera
        if shown.distance_by == "bands":
            shown.distance_by = "distances_m"  # classes have their middles only
        optics = study.camera.optics()
        given = distance
        if shown.distance_by == "densities_px_per_m":
            given = density_at(optics, distance)
        near = _SAME_DISTANCE * given
        levels: list[tuple[Any, float, float]] = [
            (getattr(shown, shown.distance_by), float(f"{given:.4g}"), near),
            (shown.azimuths_deg, round(azimuth, 1) % 360, _SAME_DEG),
            (shown.elevations_deg, round(elevation, 1), _SAME_DEG),
        ]
        added = [_add_unless_there(*level) for level in levels]
        study, _ = scene_study(scene)
        cell, setup = scene.limen.cell, study.camera
        cell.distance = _nearest(setup.distances_m, distance)
        cell.azimuth = _nearest(setup.azimuths_deg, azimuth, around=360)
        cell.elevation = _nearest(setup.elevations_deg, elevation)
        show_cell(context)
        counts = sum(added), camera_count(study), cameras
        said = translated("{} new levels: the rig has {} cameras, not {}", *counts)
        if past > _SAME_DEG:
            said += "; " + translated("turned by {:.1f}° to look at the subject", past)
        self.report({"INFO"}, said)
        return {"FINISHED"}


def _add_unless_there(levels: Any, value: float, near: float) -> bool:
    """Add a level, or switch on the one that is so near; returns whether one was added."""
    for level in levels:
        if abs(level.value - value) <= near:
            level.used = True
            return False
    add_level(levels, value)
    return True


def _nearest(levels: tuple[float, ...], value: float, around: float = math.inf) -> int:
    """Return the place of the level nearest to a value, on a circle of so much around."""
    apart = [abs(level - value) for level in levels]
    return int(np.argmin([min(gap, around - gap) for gap in apart]))


class LIMEN_OT_return_camera(MovedOperator, bpy.types.Operator):
    """Put the dragged camera back where the study has it."""

    bl_idname = "limen.return_camera"
    bl_label = "Return Camera"
    bl_options = {"REGISTER", "UNDO"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show the cell again."""
        show_cell(context)
        return {"FINISHED"}


class LIMEN_OT_go_to_camera(StudyOperator, bpy.types.Operator):
    """Look through a camera of the rig by its number."""

    bl_idname = "limen.go_to_camera"
    bl_label = "Go to Camera"
    bl_options = {"REGISTER", "UNDO"}

    number: bpy.props.IntProperty(
        name="Camera",
        description="From 1, through distances, azimuths and elevations",
        min=1,
        default=1,
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask for the number, unless it was given."""
        if self.properties.is_property_set("number"):
            return self.execute(context)
        study = live.state().study
        if study is not None:
            self.number = camera_number(context.scene.limen.cell, study)
        return context.window_manager.invoke_props_dialog(self)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show it."""
        study, _ = scene_study(context.scene)
        check_camera_number(study, self.number)
        set_camera_number(context.scene.limen.cell, study, self.number)
        show_cell(context)
        return {"FINISHED"}


class LIMEN_OT_spread_levels(StudyOperator, bpy.types.Operator):
    """Replace azimuths or elevations by a number of them, evenly spread."""

    bl_idname = "limen.spread_levels"
    bl_label = "Spread Evenly"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(
        name="Factor",
        items=[
            ("azimuth", "Azimuth", "All around, from 0"),
            ("elevation", "Elevation", "From the lowest to the highest"),
        ],
    )
    count: bpy.props.IntProperty(name="Number", min=1, max=3600, soft_max=36, default=8)
    lowest_deg: bpy.props.FloatProperty(
        name="Lowest", description="Elevation in degrees", min=-90, max=90, default=0
    )
    highest_deg: bpy.props.FloatProperty(
        name="Highest", description="Elevation in degrees", min=-90, max=90, default=67.5
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask how many."""
        camera = context.scene.limen.study.camera
        self.count = max(1, len(getattr(camera, f"{self.factor}s_deg")))
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the question."""
        self.layout.use_property_split = True
        self.layout.prop(self, "count")
        if self.factor == "elevation":
            self.layout.prop(self, "lowest_deg")
            if self.count > 1:
                self.layout.prop(self, "highest_deg")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Replace them."""
        levels = getattr(context.scene.limen.study.camera, f"{self.factor}s_deg")
        if self.factor == "azimuth":
            values = np.arange(self.count) * 360 / self.count
        elif self.lowest_deg > self.highest_deg:
            raise StudyError(
                [f"the lowest elevation {self.lowest_deg:g} is above the highest: swap them"]
            )
        else:
            values = np.linspace(self.lowest_deg, self.highest_deg, self.count)
        levels.clear()
        for value in values:
            add_level(levels, round(float(value), 4))
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_fit_lens(StudyOperator, bpy.types.Operator):
    """Set the focal length so that a class is just reached at a distance."""

    bl_idname = "limen.fit_lens"
    bl_label = "Fit Lens"
    bl_options = {"REGISTER", "UNDO"}

    class_name: bpy.props.StringProperty(name="Class", description="Of the study's scale")
    distance_m: bpy.props.FloatProperty(
        name="Distance",
        description="Along the optical axis, in metres",
        min=0.1,
        max=10_000,
        default=10,
    )

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set it, rounded up to the next 0.01 mm."""
        shown = context.scene.limen.study.camera
        classes = {item.name: item.px_per_m for item in load_scales()[shown.scale].classes}
        if self.class_name not in classes:
            raise StudyError([f"class '{self.class_name}': the scale has {', '.join(classes)}"])
        try:
            optics = camera_of(shown).optics()
        except ValueError as error:
            raise StudyError([str(error)]) from error
        lens_mm = lens_for(optics, classes[self.class_name], self.distance_m)
        # A hundredth of a millimetre that single precision added is no reason for another one.
        rounded_mm = math.ceil(round(lens_mm * 100, 4)) / 100
        put_exact(shown, {"lens_mm": rounded_mm})
        live.touch()
        wide, high = camera_of(shown).optics().fov_deg
        reached = translated(self.class_name.capitalize()), self.distance_m
        said = translated(
            "{:g} mm: {} up to {:.4g} m, field of view {:.1f}° × {:.1f}°",
            *(rounded_mm, *reached, wide, high),
        )
        self.report({"INFO"}, said)
        return {"FINISHED"}


class LIMEN_OT_add_test_person(RigOperator, bpy.types.Operator):
    """Put a figure on the ground beside the subject, to be dragged about; no render shows it."""

    bl_idname = "limen.add_test_person"
    bl_label = "Add Test Person"
    bl_options = {"REGISTER", "UNDO"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it to the right of the subject, and select it."""
        scene = context.scene
        right = camera_pose(scene.camera).R[0]
        place_m = (float(right[0]) * _BESIDE_M, float(right[1]) * _BESIDE_M)
        item = add_test_person(scene, scene.limen.overlay.test_height_m, place_m)
        for other in context.selected_objects:
            other.select_set(False)
        item.select_set(True)
        context.view_layer.objects.active = item
        return {"FINISHED"}


class LIMEN_OT_remove_test_person(bpy.types.Operator):
    """Remove the test person."""

    bl_idname = "limen.remove_test_person"
    bl_label = "Remove Test Person"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is one."""
        if find_test_person(context.scene) is not None:
            return True
        cls.poll_message_set("There is no test person")
        return False

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Remove it."""
        remove_test_person(context.scene)
        return {"FINISHED"}


CLASSES = (
    LIMEN_OT_keep_camera,
    LIMEN_OT_return_camera,
    LIMEN_OT_go_to_camera,
    LIMEN_OT_spread_levels,
    LIMEN_OT_fit_lens,
    LIMEN_OT_add_test_person,
    LIMEN_OT_remove_test_person,
)
