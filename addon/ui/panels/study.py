"""Study: new, open, save; what it amounts to; what is wrong with it."""

import bpy

from ...properties import live
from .base import LimenPanel

__all__ = ["CLASSES"]

_PROBLEMS_SHOWN = 5
_LETTERS_PER_PX = 0.145  # of the sidebar's width, at interface scale 1


class LIMEN_PT_study(LimenPanel, bpy.types.Panel):
    """The study that is open."""

    bl_label = "Study"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.use_property_split = True
        layout.use_property_decorate = False
        row = layout.row(align=True)
        row.operator("limen.new_study", text="New", icon="FILE_NEW")
        row.operator("limen.open_study", text="Open", icon="FILE_FOLDER")
        if not settings.is_open:
            return
        row.operator("limen.save_study", text="Save", icon="FILE_TICK")
        row.operator("limen.save_study_as", text="", icon="DUPLICATE")
        state = live.state()
        name = bpy.path.basename(settings.study_path) or "Not saved yet"
        changed = bool(state.text) and state.text != settings.saved_text
        layout.label(text=f"{name} *" if changed else name, icon="TEXT")
        column = layout.column()
        column.prop(settings.study, "name")
        column.prop(settings.study, "family")
        column.prop(settings.study, "seed")
        _summary(layout, state)


def _summary(layout: bpy.types.UILayout, state: live.State) -> None:
    if state.study is None:
        return
    lightings = len(state.study.lightings)
    box = layout.box().column(align=True)
    box.label(text=f"{len(state.views)} views × {lightings} lightings", icon="IMAGE_DATA")
    box.label(text=f"{len(state.views) * lightings} images", icon="BLANK1")


class LIMEN_PT_problems(LimenPanel, bpy.types.Panel):
    """What is wrong with the study."""

    bl_label = "To Mend"
    bl_parent_id = "LIMEN_PT_study"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it while something is wrong."""
        return context.scene.limen.is_open and bool(live.state().problems)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw each fault as lines that fit, with a button that goes where it is mended."""
        scale = context.preferences.system.ui_scale
        letters = max(20, int(context.region.width / scale * _LETTERS_PER_PX))
        for problem in live.state().problems[:_PROBLEMS_SHOWN]:
            column = self.layout.box().column(align=True)
            for i, line in enumerate(_wrapped(problem.text, letters)):
                column.label(text=line, icon="ERROR" if i == 0 else "BLANK1", translate=False)


def _wrapped(text: str, letters: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, letters)


CLASSES = (LIMEN_PT_study, LIMEN_PT_problems)
