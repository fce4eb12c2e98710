"""Factors: the table of factors and levels, how views are drawn, and what each factor adds."""

from functools import lru_cache
from typing import Any

import bpy

from ...core.factors import count_views, factor_effects, largest_sample, poses_by_action
from ...core.study.reading import library_poses
from ...operators.factors import FACTORS, levels_of_factor, unit_of
from ...operators.subject import chosen_subject
from ...properties import live
from ...properties.groups import FACTOR_ITEMS, LimenSettings
from ...properties.words import translated
from .base import StudyPanel

__all__ = ["CLASSES"]

_NAMES_IN_CORE = {
    "distance": "distance_m",
    "azimuth": "azimuth_deg",
    "elevation": "elevation_deg",
}


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
        if factor.key == "subject":
            row.prop(item, "name", text="", emboss=False)
        elif item.name:
            row.label(text=item.name.replace("_", " "), translate=False)
        else:
            row.prop(item, "value", text="", emboss=False)
            if unit := unit_of(settings, factor.key):
                row.label(text=unit, translate=False)


class LIMEN_PT_factors(StudyPanel, bpy.types.Panel):
    """Factors and their levels."""

    bl_label = "Factors"
    limen_icon = "factors"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the table of factors and the levels of the chosen one."""
        layout, settings = self.layout, context.scene.limen
        _draw_table(layout, settings)
        factor = settings.factor
        levels = levels_of_factor(settings, factor)
        if levels is None:
            layout.label(text="Add a subject first", icon="INFO")
            return
        if factor == "texture":
            name = chosen_subject(settings).name
            layout.label(text=translated("Textures of {}", name), translate=False)
        if factor == "pose":
            layout.prop(settings.study, "all_poses", text="All poses of the actions")
            if settings.study.all_poses:
                return
        owner, name = _owner(settings, factor)
        row = layout.row()
        row.template_list("LIMEN_UL_levels", factor, owner, name, settings, "level_index", rows=5)
        is_scale = factor == "distance" and settings.study.camera.distance_by == "bands"
        buttons = row.column(align=True)
        if not is_scale:  # a scale has its classes: they are switched on and off
            buttons.operator("limen.add_level", text="", icon="ADD").factor = factor
            buttons.operator("limen.remove_level", text="", icon="REMOVE").factor = factor
        for step, icon in ((-1, "TRIA_UP"), (1, "TRIA_DOWN")):
            move = buttons.operator("limen.move_level", text="", icon=icon)
            move.factor, move.step = factor, step


def _draw_table(layout: bpy.types.UILayout, settings: LimenSettings) -> None:
    """Draw each factor with the number of its levels, and what it multiplies."""
    state = live.state()
    effects = _effects(state.text) if state.study is not None else {}
    head = layout.split(factor=0.6)
    head.label(text="Factor")
    head.label(text="Levels")
    head.label(text="Times")
    table = layout.column(align=True)
    for key, title, _ in FACTOR_ITEMS:
        row = table.split(factor=0.6, align=True)
        row.prop_enum(settings, "factor", key, text=title)
        effect = effects.get(_NAMES_IN_CORE.get(key, key))
        levels = effect.levels if effect else _used(settings, key)
        row.label(text=f"  {levels}", translate=False)
        row.label(text=f"× {effect.times:.3g}" if effect else "", translate=False)
    if state.study is not None:
        cross, _ = _counts(state.text)
        lightings = len(state.study.lightings)
        column = layout.column(align=True)
        for text in (
            translated("Full cross: {:,} views of a person", cross),
            translated("In {} lightings: {:,} images", lightings, cross * lightings),
        ):
            column.label(text=text, translate=False)


def _used(settings: LimenSettings, key: str) -> int:
    """Return how many levels are switched on, for a study that cannot be counted yet."""
    levels = levels_of_factor(settings, key)
    return 0 if levels is None else sum(level.used for level in levels)


# A state's text stands for its study: the counts are worked out once after each edit.
@lru_cache(maxsize=1)
def _effects(_text: str) -> Any:
    study = live.state().study
    return factor_effects(study, poses_by_action(study, library_poses()))


@lru_cache(maxsize=1)
def _counts(_text: str) -> tuple[int, int]:
    """Return the views of the full cross, and of the largest even sample."""
    study = live.state().study
    poses = poses_by_action(study, library_poses())
    return count_views(study, poses), largest_sample(study, poses)


def _owner(settings: LimenSettings, factor: str) -> tuple[Any, str]:
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
        """Draw how many views are drawn, and what is possible."""
        layout, study = self.layout, context.scene.limen.study
        layout.use_property_split = True
        layout.use_property_decorate = False
        state = live.state()
        layout.prop(study, "all_views")
        if not study.all_views:
            layout.prop(study, "views")
            if state.study is not None:
                cross, most = _counts(state.text)
                column = layout.column(align=True)
                for text in (
                    translated("Largest even sample: {:,}", most),
                    translated("All: {:,}", cross),
                ):
                    column.label(text=text, translate=False)
        layout.prop(study, "all_backgrounds")
        if not study.all_backgrounds:
            layout.prop(study, "person_free")
        if state.study is not None:
            persons = sum(view.target_present for view in state.views)
            free = len(state.views) - persons
            text = translated("{:,} with a person, {:,} without", persons, free)
            layout.label(text=text, translate=False)


CLASSES = (LIMEN_UL_levels, LIMEN_PT_factors, LIMEN_PT_sampling)
