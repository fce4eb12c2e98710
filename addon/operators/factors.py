"""Add levels to the factors of the study, remove them, and order them.

``FACTORS`` says where each factor's levels lie and what can be added: the sidebar's table, its
menus and these operators all go by it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy

from ..core.appearance import is_procedural, looks
from ..core.assets import file_sha256
from ..core.poses import load_poses, mirrored_name
from ..core.study import SCENERIES, StudyError, Subject
from ..properties import live
from ..properties.convert import (
    add_level,
    add_lighting,
    add_scenery,
    add_subject,
    add_texture,
    level_value,
)
from ..properties.groups import FACTOR_ITEMS, LimenSettings, LimenSubject
from .errors import reporting
from .library import licensed_images
from .lighting import all_presets
from .study import StudyOperator

__all__ = ["CLASSES", "FACTORS", "Factor", "levels_of_factor", "unit_of", "use_named"]

_TEXTURES_OFFERED = 100  # of Limen's, which are without end
_NEW_SUBJECT = "subject-{}"


@dataclass(frozen=True)
class Factor:
    """A factor of the study, as the sidebar edits it.

    Attributes:
        key: Its name in operators and in ``LimenSettings.factor``.
        choices: Returns the names that can be added; None where levels are numbers, or made.
        least: The least number that is proposed,
        most: and the greatest.
        step: How far apart the proposed numbers are.
    """

    key: str
    choices: Callable[[], Sequence[str]] | None = None
    least: float = 0.0
    most: float = 0.0
    step: float = 1.0


_DISTANCE_UNITS = {"distances_m": "m", "densities_px_per_m": "px/m", "bands": ""}


def unit_of(settings: LimenSettings, key: str) -> str:
    """Return the unit of a factor's numbers, "" where its levels are names or shares."""
    if key == "distance":
        return _DISTANCE_UNITS[settings.study.camera.distance_by]
    return "°" if key in ("azimuth", "elevation") else ""


def _textures() -> tuple[str, ...]:
    own = (f"limen-texture-{i:05d}" for i in range(_TEXTURES_OFFERED))
    return (*looks(), *own, *licensed_images(bpy.context))


def _poses() -> tuple[str, ...]:
    return tuple(pose for name in load_poses() for pose in (name, mirrored_name(name)))


FACTORS = {
    factor.key: factor
    for factor in (
        Factor("lighting", lambda: tuple(all_presets())),
        Factor("scenery", lambda: SCENERIES),
        Factor("distance", None, 10.0, 1000.0, 10.0),
        Factor("azimuth", None, 0.0, 315.0, 45.0),
        Factor("elevation", None, 0.0, 90.0, 22.5),
        Factor("action", lambda: tuple({pose.action: 0 for pose in load_poses().values()})),
        Factor("pose", _poses),
        Factor("subject"),
        Factor("texture", _textures),
        Factor("unoccluded", None, 0.25, 1.0, 0.25),
    )
}


def levels_of_factor(settings: LimenSettings, key: str) -> Any:
    """Return the collection that a factor's levels lie in, None for textures without a subject."""
    study = settings.study
    if key == "texture":
        index = settings.subject_index
        return study.subjects[index].textures if index < len(study.subjects) else None
    if key == "distance":
        return getattr(study.camera, study.camera.distance_by)
    return {
        "lighting": study.lightings,
        "scenery": study.sceneries,
        "azimuth": study.camera.azimuths_deg,
        "elevation": study.camera.elevations_deg,
        "action": study.actions,
        "pose": study.poses,
        "subject": study.subjects,
        "unoccluded": study.unoccluded_fractions,
    }[key]


def _choices(settings: LimenSettings, key: str) -> tuple[str, ...]:
    """Return the names that can be added to a factor and are not there yet."""
    factor = FACTORS[key]
    levels = levels_of_factor(settings, key)
    if factor.choices is None or levels is None:
        return ()
    return tuple(name for name in factor.choices() if name not in levels)


def _choice_items(operator: Any, context: bpy.types.Context) -> list[tuple[str, str, str]]:
    names = _choices(context.scene.limen, operator.factor)
    _choice_items.kept = [(name, name.replace("_", " "), "") for name in names]
    return _choice_items.kept or [("NONE", "Nothing is left to add", "")]


def use_named(settings: LimenSettings, key: str, name: str) -> None:
    """Have a level with a name in a factor, and switched on.

    Raises:
        StudyError: There is no such level.
    """
    levels = levels_of_factor(settings, key)
    if name in levels:
        levels[name].used = True
    else:
        _add_named(settings, key, name)


def _add_named(settings: LimenSettings, key: str, name: str) -> None:
    """Add a level to a factor whose levels have names.

    Raises:
        StudyError: There is no such level, or the study has it.
    """
    if not _can_be_added(settings, key, name):
        raise StudyError([f"'{name}' cannot be added: it is unknown, or there already"])
    study = settings.study
    if key == "lighting":
        add_lighting(study, all_presets()[name])
    elif key == "scenery":
        add_scenery(study, name)
    elif key == "texture":
        _add_texture(study.subjects[settings.subject_index], name)
    else:
        add_level(levels_of_factor(settings, key), name)


def _add_texture(subject: LimenSubject, name: str) -> None:
    """Add a texture, an image of the assets folder with its hash where only one file is meant."""
    files = () if is_procedural(name) else tuple(licensed_images(bpy.context)[name].values())
    sha256 = file_sha256(files[0]) if len(files) == 1 else ""
    add_texture(subject, name, sha256)
    subject.hashes_given = subject.hashes_given or bool(sha256)


def _can_be_added(settings: LimenSettings, key: str, name: str) -> bool:
    """Return whether a name is a new level; of Limen's textures there are more than are offered."""
    if key == "texture" and is_procedural(name):
        return name not in levels_of_factor(settings, key)
    return name in _choices(settings, key)


class LIMEN_OT_add_level(StudyOperator, bpy.types.Operator):
    """Add a level to a factor of the study."""

    bl_idname = "limen.add_level"
    bl_label = "Add Level"
    bl_options = {"REGISTER", "UNDO"}
    bl_property = "choice"

    factor: bpy.props.EnumProperty(name="Factor", items=FACTOR_ITEMS)
    name: bpy.props.StringProperty(
        name="Name", description="Of the level, where levels have names", options={"SKIP_SAVE"}
    )
    value: bpy.props.FloatProperty(
        name="Value",
        description="Of the level, where levels are numbers; 0 with no name given: the next one",
        options={"SKIP_SAVE"},
    )
    choice: bpy.props.EnumProperty(name="Level", items=_choice_items, options={"SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Let a name be searched for; a number is added at once."""
        if FACTORS[self.factor].choices is None or self.name:
            return self.execute(context)
        context.window_manager.invoke_search_popup(self)
        return {"RUNNING_MODAL"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it at the end."""
        settings = context.scene.limen
        factor, levels = FACTORS[self.factor], levels_of_factor(settings, self.factor)
        if levels is None:
            raise StudyError(["Study has no subject: add one first"])
        if factor.key == "subject":
            self._add_subject(settings)
        elif factor.choices is None:
            self._add_number(settings, factor, levels)
        else:
            _add_named(settings, factor.key, self.name or self.choice)
        settings.level_index = len(levels) - 1
        live.touch()
        return {"FINISHED"}

    def _add_subject(self, settings: LimenSettings) -> None:
        subjects = settings.study.subjects
        number = len(subjects) + 1
        while (name := self.name or _NEW_SUBJECT.format(number)) in subjects and not self.name:
            number += 1
        if name in subjects:
            raise StudyError([f"Study already has a subject '{name}'"])
        texture = f"limen-texture-{10 * number % _TEXTURES_OFFERED:05d}"
        add_subject(settings.study, Subject(name, betas="random", textures=(texture,)))
        settings.subject_index = len(subjects) - 1

    def _add_number(self, settings: LimenSettings, factor: Factor, levels: Any) -> None:
        if factor.key == "distance" and settings.study.camera.distance_by == "bands":
            raise StudyError(["Classes are switched on and off: the scale has no others"])
        given = self.properties.is_property_set("value")
        add_level(levels, self.value if given else _next_number(factor, levels))


def _next_number(factor: Factor, levels: Any) -> float:
    """Return the first number above the last one that the factor lacks, else from below.

    Numbers stand a step apart; where all of them are there, half a step, and so on.
    """
    there = [level_value(level) for level in levels]
    step = factor.step
    while True:
        count = int((factor.most - factor.least) / step + 1e-9) + 1
        numbers = [factor.least + i * step for i in range(count)]
        free = [number for number in numbers if number not in there]
        if free:
            return next((number for number in free if there and number > there[-1]), free[0])
        step /= 2


class LIMEN_OT_remove_level(StudyOperator, bpy.types.Operator):
    """Remove the chosen level from its factor."""

    bl_idname = "limen.remove_level"
    bl_label = "Remove Level"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(name="Factor", items=FACTOR_ITEMS)
    index: bpy.props.IntProperty(name="Index", description="From 0; -1: the chosen one", default=-1)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Remove it."""
        settings = context.scene.limen
        levels = levels_of_factor(settings, self.factor)
        index = self.index if self.index >= 0 else settings.level_index
        if levels is None or index >= len(levels):
            raise StudyError([f"{self.factor} has no level {index + 1}"])
        if self.factor == "distance" and settings.study.camera.distance_by == "bands":
            raise StudyError(["A class is switched off, not removed: the scale has it"])
        levels.remove(index)
        settings.level_index = max(0, min(index, len(levels) - 1))
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_move_level(StudyOperator, bpy.types.Operator):
    """Move the chosen level up or down: the order is that of the study and of its tables."""

    bl_idname = "limen.move_level"
    bl_label = "Move Level"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(name="Factor", items=FACTOR_ITEMS)
    step: bpy.props.IntProperty(name="Step", description="-1 up, 1 down", default=1)

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Move it, as far as the list goes."""
        settings = context.scene.limen
        levels = levels_of_factor(settings, self.factor)
        before = settings.level_index
        after = before + self.step
        if levels is None or not (0 <= before < len(levels) and 0 <= after < len(levels)):
            return {"CANCELLED"}
        levels.move(before, after)
        settings.level_index = after
        live.touch()
        return {"FINISHED"}


CLASSES = (LIMEN_OT_add_level, LIMEN_OT_remove_level, LIMEN_OT_move_level)
