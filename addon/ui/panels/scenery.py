"""Scenery: the places of the study, the one that is shown, and places of the user's own."""

import bpy

from ...operators.library import standing
from ...properties.words import translated
from ..galleries import draw_gallery, draw_membership
from .base import IN_BOX, StudyPanel, wrapped

__all__ = ["CLASSES"]

_SHORT_HASH = 12


class LIMEN_UL_sceneries(bpy.types.UIList):
    """The sceneries of the study."""

    def draw_item(
        self, _context, layout, _data, item, _icon, _active, _property, _index=0, _flag=0
    ) -> None:
        """Draw a scenery: whether it is used, its name, and whether it is the one shown."""
        row = layout.row(align=True)
        row.prop(item, "used", text="")
        row.label(text=item.name, translate=False, icon="FILE_BLEND" if item.own else "NONE")
        if standing("scenery") == item.name:
            row.label(text="", icon="HIDE_OFF")


class LIMEN_PT_scenery(StudyPanel, bpy.types.Panel):
    """The gallery of sceneries, and the list of the study's."""

    bl_label = "Scenery"
    limen_icon = "scenery"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the gallery, whether the study has what is shown, and the list."""
        layout, settings = self.layout, context.scene.limen
        study = settings.study
        draw_gallery(layout, context, "scenery")
        shown = standing("scenery")
        if settings.rig_placed and shown:
            layout.label(text=shown, translate=False)
            index = study.sceneries.find(shown)
            is_in = index >= 0 and study.sceneries[index].used
            add, remove = draw_membership(layout, is_in, "limen.use_scenery", "limen.remove_level")
            if add is not None:
                add.scenery = shown
            if remove is not None:
                remove.factor, remove.index = "scenery", index
        row = layout.row()
        row.template_list(
            "LIMEN_UL_sceneries", "", study, "sceneries", settings, "scenery_index", rows=3
        )
        buttons = row.column(align=True)
        buttons.operator("limen.add_level", text="", icon="ADD").factor = "scenery"
        remove = buttons.operator("limen.remove_level", text="", icon="REMOVE")
        remove.factor, remove.index = "scenery", settings.scenery_index
        layout.operator("limen.add_own_scenery", text="Own .blend File", icon="FILE_BLEND")
        if settings.scenery_index < len(study.sceneries):
            chosen = study.sceneries[settings.scenery_index]
            if chosen.own:
                _draw_own(layout, context, chosen)


def _draw_own(
    layout: bpy.types.UILayout, context: bpy.types.Context, scenery: bpy.types.PropertyGroup
) -> None:
    """Draw what is taken from a file, and which file it must be."""
    box = layout.box()
    box.use_property_split = True
    box.use_property_decorate = False
    box.prop(scenery, "collection")
    box.prop(scenery, "anchor")
    text = translated("{}.blend, beside the study or in the assets", scenery.name)
    for line in wrapped(text, context, IN_BOX):
        box.label(text=line, translate=False)
    if scenery.blend_sha256:
        box.label(text=f"sha256 {scenery.blend_sha256[:_SHORT_HASH]}...", translate=False)


CLASSES = (LIMEN_UL_sceneries, LIMEN_PT_scenery)
