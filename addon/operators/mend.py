"""Go to where a fault of the study is mended: its properties in a dialog, its factor chosen."""

import re
import textwrap
from typing import Any

import bpy

from ..properties import live
from ..properties.groups import LimenSettings
from ..properties.words import translated
from .factors import FACTORS, levels_of_factor
from .study import StudyOperator

__all__ = ["CLASSES", "factor_of", "properties_of", "sentence"]

_DIALOG_PX = 440
_DIALOG_LETTERS = 64
_LEVELS_SHOWN = 16
_PLACE = re.compile(r" \(study:\d+\)$")

# The key of a study file -> the factor whose levels it lists.
_FACTOR_OF = {
    "lightings": "lighting",
    "lighting": "lighting",
    "sceneries": "scenery",
    "scenery": "scenery",
    "actions": "action",
    "poses": "pose",
    "subject": "subject",
    "unoccluded_fractions": "unoccluded",
    "azimuths_deg": "azimuth",
    "elevations_deg": "elevation",
    "bands": "distance",
    "densities_px_per_m": "distance",
    "distances_m": "distance",
}
# Keys whose value two properties say, or another one than theirs.
_PROPERTIES_OF = {
    "window": ("use_window", "window"),
    "views": ("all_views", "views"),
    "person_free": ("all_backgrounds", "person_free"),
    "betas": ("random_betas", "betas"),
    "sensor": ("sensor", "sensor_label"),
}
_OF_CAMERA = ("sensor_width_mm", "sensor_height_mm", "resolution", "lens_mm", "fnumber", "window")


def sentence(text: str) -> str:
    """Return a fault as the sidebar says it: a study that is edited has no lines."""
    text = _PLACE.sub("", text).removeprefix("Study ")
    return text[:1].upper() + text[1:]


def factor_of(path: tuple[str | int, ...]) -> str:
    """Return the factor that a key of the study file belongs to, "" where it belongs to none."""
    if path[:1] == ("subject",):
        return "texture" if "textures" in path else "" if len(path) > 2 else "subject"
    keys = path[1:] if path[:1] == ("camera",) else path
    return _FACTOR_OF.get(str(keys[0]), "") if keys else ""


def properties_of(settings: LimenSettings, path: tuple[str | int, ...]) -> list[tuple[Any, str]]:
    """Return the properties that say a key of the study file: whose they are, and their names."""
    study = settings.study
    if not path:
        return []
    owner: Any = study
    names = [str(path[-1])]
    if path[0] == "camera":
        owner, names = study.camera, [str(path[1])] if len(path) > 1 else list(_OF_CAMERA)
    elif path[0] == "subject" and len(path) > 1:
        used = [subject for subject in study.subjects if subject.used]
        owner = used[int(path[1])] if int(path[1]) < len(used) else None
        names = [str(path[2])] if len(path) > 2 else ["name"]
    names = [part for name in names for part in _PROPERTIES_OF.get(name, (name,))]
    return [(owner, name) for name in names if owner is not None and hasattr(owner, name)]


def _choose_level(settings: LimenSettings, factor: str, path: tuple[str | int, ...]) -> None:
    """Choose a factor in the table, and the level that is wrong."""
    if path[0] == "subject" and len(path) > 1:
        settings.subject_index = _nth_used(settings.study.subjects, int(path[1]))
    settings.factor = factor
    levels = levels_of_factor(settings, factor)
    if levels is not None and isinstance(path[-1], int):
        settings.level_index = _nth_used(levels, path[-1])


def _nth_used(levels: Any, number: int) -> int:
    used = [i for i, level in enumerate(levels) if level.used]
    return used[number] if number < len(used) else 0


class LIMEN_OT_mend_problem(StudyOperator, bpy.types.Operator):
    """Edit what is wrong here, and choose its factor in the table of factors."""

    bl_idname = "limen.mend_problem"
    bl_label = "Mend"
    bl_options = {"REGISTER", "UNDO"}

    index: bpy.props.IntProperty(name="Fault", description="From 0", min=0, options={"SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask for what is right in a dialog."""
        if self._go(context):
            return context.window_manager.invoke_props_dialog(self, width=_DIALOG_PX)
        return {"CANCELLED"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Choose the factor; the dialog's properties are the study's own, and edited already."""
        if not hasattr(self, "_problem") and not self._go(context):
            return {"CANCELLED"}
        live.touch()
        return {"FINISHED"}

    def _go(self, context: bpy.types.Context) -> bool:
        problems = live.current_state(context.scene).problems
        if self.index >= len(problems):
            self.report({"INFO"}, translated("This is mended already"))
            return False
        self._problem = problems[self.index]
        if factor := factor_of(self._problem.path):
            _choose_level(context.scene.limen, factor, self._problem.path)
        return True

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the fault and what it is about."""
        layout, settings = self.layout, context.scene.limen
        column = layout.column(align=True)
        lines = textwrap.wrap(sentence(self._problem.text), _DIALOG_LETTERS)
        for i, line in enumerate(lines):
            column.label(text=line, icon="ERROR" if i == 0 else "BLANK1", translate=False)
        factor = factor_of(self._problem.path)
        if factor:
            _draw_levels(layout, settings, factor)
            return
        column = layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        for owner, name in properties_of(settings, self._problem.path):
            column.prop(owner, name)


def _draw_levels(layout: bpy.types.UILayout, settings: LimenSettings, factor: str) -> None:
    """Draw the levels of a factor, the wrong one marked."""
    levels = levels_of_factor(settings, factor)
    if levels is None:
        return
    named = FACTORS[factor].choices is not None or factor == "subject"
    column = layout.column(align=True)
    first = max(0, min(settings.level_index - _LEVELS_SHOWN // 2, len(levels) - _LEVELS_SHOWN))
    for i, level in list(enumerate(levels))[first : first + _LEVELS_SHOWN]:
        row = column.row(align=True)
        row.prop(level, "used", text="")
        if factor == "subject":
            row.prop(level, "name", text="")
        elif named or level.name:
            row.label(text=level.name.replace("_", " "), translate=False)
        else:
            row.prop(level, "value", text="")
        row.label(text="", icon="TRIA_LEFT" if i == settings.level_index else "BLANK1")
    add = layout.operator("limen.add_level", text="Add", icon="ADD")
    add.factor = factor


CLASSES = (LIMEN_OT_mend_problem,)
