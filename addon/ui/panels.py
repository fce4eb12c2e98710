"""The Limen tab of the 3D view's sidebar."""

import bpy

__all__ = ["LIMEN_PT_study", "LIMEN_PT_view", "register", "unregister"]


class _LimenPanel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Limen"


class LIMEN_PT_study(_LimenPanel, bpy.types.Panel):
    """The study that is open."""

    bl_label = "Study"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.operator("limen.open_study", icon="FILE_FOLDER")
        if settings.study_path:
            layout.label(text=bpy.path.basename(settings.study_path), icon="TEXT")
            layout.label(text=settings.summary)


class LIMEN_PT_view(_LimenPanel, bpy.types.Panel):
    """The view that is shown, its light, and rendering it."""

    bl_label = "View"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show the panel once a study is open."""
        return bool(context.scene.limen.study_path)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        row = layout.row(align=True)
        row.operator("limen.step_view", text="", icon="TRIA_LEFT").step = -1
        number = f"{settings.view_number} of {settings.view_count}"
        row.label(text=number if settings.view_number else "No view yet")
        row.operator("limen.step_view", text="", icon="TRIA_RIGHT").step = 1
        row = layout.row(align=True)
        row.prop(settings, "lighting", text="")
        row.operator("limen.set_lighting", text="", icon="LIGHT_SUN")
        if settings.view_number:
            render = layout.operator("limen.render_view", icon="RENDER_STILL")
            render.number = settings.view_number
            render.output = "//limen-dataset"
            layout.operator("limen.preview_as_camera", icon="CAMERA_DATA")


_CLASSES = (LIMEN_PT_study, LIMEN_PT_view)


def register() -> None:
    """Add the panels."""
    for item in _CLASSES:
        bpy.utils.register_class(item)


def unregister() -> None:
    """Remove the panels."""
    for item in reversed(_CLASSES):
        bpy.utils.unregister_class(item)
