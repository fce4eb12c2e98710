"""Factors: the table of factors and levels, how views are drawn, and what each factor adds."""

import bpy

from ...operators.factors import FACTORS, levels_of_factor
from ...properties.groups import FACTOR_ITEMS
from .base import StudyPanel

__all__ = ["CLASSES"]


class LIMEN_UL_levels(bpy.types.UIList):
    """The levels of a factor."""

    def draw_item(
        self, context, layout, _data, item, _icon, _active, _property, _index=0, _flag=0
    ) -> None:
        """Draw a level: whether it is used, and what it is."""
        settings = context.scene.limen
        factor = FACTORS[settings.factor]
        row = layout.row(align=True)
        row.prop(item, "used", text="")
        named = factor.choices is not None or factor.key == "subject" or item.name
        if factor.key == "subject":
            row.prop(item, "name", text="", emboss=False)
        elif named:
            row.label(text=item.name.replace("_", " "), translate=False)
        else:
            row.prop(item, "value", text="", emboss=False)


class LIMEN_PT_factors(StudyPanel, bpy.types.Panel):
    """Factors and their levels."""

    bl_label = "Factors"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the table of factors and the levels of the chosen one."""
        layout, settings = self.layout, context.scene.limen
        table = layout.column(align=True)
        for key, title, _ in FACTOR_ITEMS:
            levels = levels_of_factor(settings, key)
            used = sum(level.used for level in levels) if levels is not None else 0
            row = table.row(align=True)
            row.prop_enum(settings, "factor", key, text=f"{title}  {used}")
        factor = settings.factor
        levels = levels_of_factor(settings, factor)
        if levels is None:
            return
        owner, name = _owner(settings, factor)
        row = layout.row()
        row.template_list("LIMEN_UL_levels", factor, owner, name, settings, "level_index", rows=4)
        buttons = row.column(align=True)
        buttons.operator("limen.add_level", text="", icon="ADD").factor = factor
        buttons.operator("limen.remove_level", text="", icon="REMOVE").factor = factor
        for step, icon in ((-1, "TRIA_UP"), (1, "TRIA_DOWN")):
            move = buttons.operator("limen.move_level", text="", icon=icon)
            move.factor, move.step = factor, step
        if factor == "pose":
            layout.prop(settings.study, "all_poses")


def _owner(settings, factor: str):
    """Return what holds a factor's levels, and by which name, as Blender's lists want it."""
    study = settings.study
    if factor == "texture":
        return study.subjects[settings.subject_index], "textures"
    if factor == "distance":
        return study.camera, study.camera.distance_by
    if factor in ("azimuth", "elevation"):
        return study.camera, f"{factor}s_deg"
    if factor == "unoccluded":
        return study, "unoccluded_fractions"
    return study, {"scenery": "sceneries"}.get(factor, f"{factor}s")


class LIMEN_PT_sampling(StudyPanel, bpy.types.Panel):
    """How views are drawn."""

    bl_label = "Sampling"
    bl_parent_id = "LIMEN_PT_factors"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, study = self.layout, context.scene.limen.study
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(study, "all_views")
        if not study.all_views:
            layout.prop(study, "views")
        layout.prop(study, "all_backgrounds")
        if not study.all_backgrounds:
            layout.prop(study, "person_free")


CLASSES = (LIMEN_UL_levels, LIMEN_PT_factors, LIMEN_PT_sampling)
