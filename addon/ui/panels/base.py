"""What Limen's panels share."""

import textwrap

import bpy

from ..thumbnails import panel_icon_id

__all__ = ["LimenPanel", "StudyPanel", "stepper", "wrapped"]

_LETTERS_PER_PX = 0.145  # of the sidebar's width, at interface scale 1
_LETTERS_LEAST = 20


class LimenPanel:
    """A panel of the Limen tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Limen"
    limen_icon = ""

    def draw_header(self, _context: bpy.types.Context) -> None:
        """Draw the panel's own icon, where it has one."""
        if self.limen_icon:
            self.layout.label(text="", icon_value=panel_icon_id(self.limen_icon))


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


def wrapped(text: str, context: bpy.types.Context, less: int = 0) -> list[str]:
    """Return a text's lines, as wide as the sidebar is now, or by some letters less."""
    width = context.region.width / context.preferences.system.ui_scale
    return textwrap.wrap(text, max(_LETTERS_LEAST, int(width * _LETTERS_PER_PX) - less))
