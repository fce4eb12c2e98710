"""Set up a view in the scene: camera, scenery, subject and light."""

import bpy

from ..core.lighting import Lighting
from ..preferences import assets_dir
from ..scene import lighting, stage
from ..scene.view import set_up_view
from .errors import reporting
from .study import folder_of, open_study

__all__ = ["CLASSES"]


class StudyOperator:
    """What operators share that need an open study."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a study is open."""
        if context.scene.limen.study_path:
            return True
        cls.poll_message_set("Open a study first")
        return False


class LIMEN_OT_set_up_view(StudyOperator, bpy.types.Operator):
    """Place scenery, camera and subject as a view of the study has them."""

    bl_idname = "limen.set_up_view"
    bl_label = "Set Up View"
    bl_options = {"REGISTER", "UNDO"}

    number: bpy.props.IntProperty(
        name="Number", description="Of the view, from 1", min=1, default=1
    )
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the view up."""
        settings = context.scene.limen
        study, specs = open_study(settings.study_path, folder_of(self.assets))
        if self.number > len(specs):
            self.report({"ERROR"}, f"view {self.number}: the study has {len(specs)} views")
            return {"CANCELLED"}
        spec = specs[self.number - 1]
        folder = folder_of(self.assets) or assets_dir(context)
        set_up_view(study, spec, folder)
        settings.view_number = self.number
        settings.view_id = spec.view_id
        return {"FINISHED"}


class LIMEN_OT_step_view(StudyOperator, bpy.types.Operator):
    """Go to the next or the previous view of the study."""

    bl_idname = "limen.step_view"
    bl_label = "Step View"
    bl_options = {"REGISTER", "UNDO"}

    step: bpy.props.IntProperty(default=1)

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set up the view a step away, round the ends."""
        settings = context.scene.limen
        number = (settings.view_number - 1 + self.step) % settings.view_count + 1
        return bpy.ops.limen.set_up_view(number=number)


class LIMEN_OT_set_lighting(StudyOperator, bpy.types.Operator):
    """Light the scene with a lighting of the study, for the rendered viewport."""

    bl_idname = "limen.set_lighting"
    bl_label = "Set Lighting"
    bl_options = {"REGISTER", "UNDO"}

    name: bpy.props.StringProperty(name="Lighting")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the light and the exposure that shows it."""
        settings = context.scene.limen
        study, _ = open_study(settings.study_path)
        wanted = self.name or settings.lighting
        named: dict[str, Lighting] = {item.name: item for item in study.lightings}
        if wanted not in named:
            self.report({"ERROR"}, f"lighting '{wanted}': the study has {', '.join(named)}")
            return {"CANCELLED"}
        lighting.light_whole(named[wanted])
        scene = stage.stage_scene()
        scene.render.film_transparent = False
        scene.view_settings.exposure = lighting.VIEWPORT_EXPOSURE
        return {"FINISHED"}


CLASSES = (LIMEN_OT_set_up_view, LIMEN_OT_step_view, LIMEN_OT_set_lighting)
