"""What Limen's panels share."""

import bpy

__all__ = ["LimenPanel", "StudyPanel", "stepper"]


class LimenPanel:
    """A panel of the Limen tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Limen"


class StudyPanel(LimenPanel):
    """A panel that is there once a study is open, closed at first."""

    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it once a study is open."""
        return bool(context.scene.limen.is_open)


def stepper(layout: bpy.types.UILayout, factor: str, label: str) -> None:
    """Draw what is shown of a factor between buttons for the one before and the one after."""
    row = layout.row(align=True)
    for step, icon in ((-1, "TRIA_LEFT"), (1, "TRIA_RIGHT")):
        button = row.operator("limen.step", text="", icon=icon)
        button.factor, button.step = factor, step
        if step < 0:
            row.label(text=label, translate=False)
