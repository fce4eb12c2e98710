"""Look through what the library and the assets folder offer: poses, textures and sceneries.

A level that the study lacks can stand in the scene too, for a look: a pose beyond the study's, say.
What stands is read off the scene itself, so that undo cannot make it untrue; the study and its cell
stay as they are until the level is added.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bpy

from ..core.appearance import is_procedural
from ..core.asset_check import images_in
from ..core.factors import ViewSpec, view_of
from ..core.poses import find_pose, is_pose, load_poses, written_name
from ..core.study import SCENERIES, Study, StudyError
from ..preferences import assets_dir
from ..properties import live
from ..properties.words import translated
from ..scene import stage
from ..scene.subject import person_marks
from ..scene.view import person_marks_of, place_person, set_up_view, subject_of, wanted_fraction
from .errors import EXPECTED, reporting
from .study import StudyOperator, folder_of, scene_study
from .view import cell_view, levels_of, note_stand, show_cell

__all__ = [
    "CLASSES",
    "TEXTURES_PICTURED",
    "in_study",
    "licensed_images",
    "offered",
    "refresh_images",
    "register",
    "show_level",
    "shown_view",
    "standing",
]

TEXTURES_PICTURED = 24
"""How many of Limen's textures, which are without end, the gallery offers."""

_FACTORS = ("pose", "texture", "scenery")
_images: tuple[Path | None, dict[str, dict[str, Path]]] = (None, {})


# --- what stands ---------------------------------------------------------------------------------


def standing(factor: str) -> str:
    """Return which pose, texture, scenery or subject stands in the scene, "" for none."""
    if factor == "scenery":
        return stage.scenery_name()
    return person_marks().get(factor, "")


def shown_view(scene: bpy.types.Scene, study: Study) -> ViewSpec:
    """Return the view that stands in a scene: its cell's, with what is there only for a look.

    Args:
        scene: With its rig placed.
        study: Resolved.
    """
    cell = cell_view(scene, study)
    beyond = _beyond(study, cell, {})
    return view_of(study, {**cell.factors, **beyond}) if beyond else cell


def _adopt(scene: bpy.types.Scene, study: Study) -> None:
    """Let the cell name what stands, where the study has it: it may have been added just now."""
    levels = levels_of(scene, study)
    for factor in _FACTORS:
        if standing(factor) in levels[factor] and _is_kept(factor, scene.limen.cell.subject):
            setattr(scene.limen.cell, factor, standing(factor))


def _beyond(study: Study, spec: ViewSpec, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return the factors in which what is shown differs from a cell's view, for a look.

    What stands stays, if the study lacks it; what is wanted comes first.
    """
    known: dict[str, tuple[str, ...]] = {"scenery": study.sceneries}
    if spec.target_present:
        subject = subject_of(study, spec)
        known |= {"pose": study.poses, "texture": subject.textures}
    found: dict[str, Any] = {}
    for factor, levels in known.items():
        name = wanted.get(factor, "")
        if not name and _is_kept(factor, spec.factors["subject"]):
            name = standing(factor)
        if name and name not in levels and (factor == "texture" or _exists(factor, name)):
            found[factor] = name
    if "pose" in found:
        found["action"] = find_pose(found["pose"]).action
    return found


def _is_kept(factor: str, subject: str | None) -> bool:
    """Return whether what stands of a factor goes with a subject: textures are of one."""
    return factor != "texture" or standing("subject") == subject


# --- what is offered -----------------------------------------------------------------------------


def offered(scene: bpy.types.Scene, factor: str) -> tuple[str, ...]:
    """Return the names that the gallery of a factor offers; costs little enough for drawing."""
    if factor == "pose":
        return _poses_offered(scene)
    if factor == "scenery":
        return (
            *SCENERIES,
            *(item.name for item in scene.limen.study.sceneries if item.own and item.used),
        )
    own = (f"limen-texture-{i:05d}" for i in range(TEXTURES_PICTURED))
    return (*own, *licensed_images(bpy.context))


def _poses_offered(scene: bpy.types.Scene) -> tuple[str, ...]:
    person, study = scene.limen.person, live.state().study
    searched = person.pose_search.lower().replace(" ", "_")
    library = load_poses()
    mirrored = [name for name in (study.poses if study else ()) if name not in library]
    found = []
    for name in (*library, *mirrored):
        action = library[written_name(name, library)].action
        if person.pose_filter == "STUDY":
            fits = study is not None and in_study(study, action, name)
        else:
            fits = person.pose_filter in ("ALL", action)
        if fits and searched in name:
            found.append(name)
    return tuple(found)


def in_study(study: Study, action: str, pose: str) -> bool:
    """Return whether a study shows a pose of an action."""
    poses = study.poses or load_poses()  # "all of them" means none of the mirror images
    return action in study.actions and pose in poses


def licensed_images(context: bpy.types.Context) -> Mapping[str, Mapping[str, Path]]:
    """Return name -> layout -> file of the textures in the assets folder, as they were last seen.

    The folder is read once, and again by :func:`refresh_images`.
    """
    folder = assets_dir(context)
    if folder != _images[0]:
        refresh_images(context)
    return _images[1]


def refresh_images(context: bpy.types.Context) -> None:
    """Read the assets folder's textures anew."""
    global _images
    folder = assets_dir(context)
    _images = folder, images_in(folder) if folder else {}


# --- operators -----------------------------------------------------------------------------------


def show_level(context: bpy.types.Context, factor: str, name: str, assets: str = "") -> None:
    """Show a pose, texture or scenery on the cell, one that the study lacks only for a look.

    Raises:
        StudyError: The study has faults, or there is no such level.
        AssetError: The texture is not there, or does not fit the body.
        SceneryError: The camera would stand inside the scenery.
    """
    study, _ = scene_study(context.scene, folder_of(assets))
    if name not in levels_of(context.scene, study)[factor] and not _exists(factor, name):
        raise StudyError([f"There is no {factor} '{name}'"])
    cell = context.scene.limen.cell
    _adopt(context.scene, study)
    if factor != "scenery":
        cell.person = True
        _choose_subject(context.scene, study)
    if name in levels_of(context.scene, study)[factor]:
        setattr(cell, factor, name)
    beyond = _beyond(study, cell_view(context.scene, study), {factor: name})
    show_cell(context, assets, beyond)


def _exists(factor: str, name: str) -> bool:
    if factor == "texture":
        return is_procedural(name) or name in licensed_images(bpy.context)
    return is_pose(name) if factor == "pose" else name in SCENERIES


def _choose_subject(scene: bpy.types.Scene, study: Study) -> None:
    """Show the subject that is chosen in the list, where it is used."""
    settings = scene.limen
    subjects = settings.study.subjects
    if settings.subject_index < len(subjects):
        name = subjects[settings.subject_index].name
        if name in [subject.name for subject in study.subjects]:
            settings.cell.subject = name


class LIMEN_OT_show_level(StudyOperator, bpy.types.Operator):
    """Show a pose, a texture or a scenery; what the study lacks is shown for a look."""

    bl_idname = "limen.show_level"
    bl_label = "Show Level"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(
        name="Factor", items=[(name, name.capitalize(), "") for name in _FACTORS]
    )
    level: bpy.props.StringProperty(name="Level", description="Its name", options={"SKIP_SAVE"})
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show it."""
        show_level(context, self.factor, self.level, self.assets)
        return {"FINISHED"}


class LIMEN_OT_step_gallery(StudyOperator, bpy.types.Operator):
    """Show the next or the previous of what a gallery offers, round the ends."""

    bl_idname = "limen.step_gallery"
    bl_label = "Step Gallery"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(
        name="Factor", items=[(name, name.capitalize(), "") for name in _FACTORS]
    )
    step: bpy.props.IntProperty(name="Step", default=1)

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: Any) -> str:
        """Say which way and of what."""
        if properties.step > 0:
            return translated("Show the next one of the gallery")
        return translated("Show the previous one of the gallery")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show it; from one that is not offered, the first or the last."""
        names = offered(context.scene, self.factor)
        if not names:
            raise StudyError([f"The gallery offers no {self.factor}: change the filter"])
        shown = standing(self.factor)
        if shown not in names and self.factor == "pose":  # a mirror image stands by its pose
            shown = written_name(shown, names)
        before = names.index(shown) if shown in names else (-1 if self.step > 0 else 0)
        show_level(context, self.factor, names[(before + self.step) % len(names)])
        return {"FINISHED"}


# --- following edits -----------------------------------------------------------------------------


def _follow(scene: bpy.types.Scene) -> None:
    """Rebuild the person when an edit concerns it: its subject, and which one is chosen."""
    settings = scene.limen
    marks = person_marks()
    if not marks or not settings.rig_placed or live.state().study is None or _is_playing():
        return
    try:
        study, _ = scene_study(scene)
        _choose_subject(scene, study)
        _adopt(scene, study)
        cell, spec = cell_view(scene, study), shown_view(scene, study)
        if spec.target_present and _marks(study, spec) != marks:
            if wanted_fraction(study, spec) < 1:  # what hides a part of it stands by its shape
                person = set_up_view(study, spec, assets_dir(bpy.context)).person
            else:
                person = place_person(study, spec, assets_dir(bpy.context))
            note_stand(scene, person)
            settings.cell.texture = cell.factors["texture"]
            settings.cell.pose = cell.factors["pose"]
    except EXPECTED as error:
        settings.person.problem = str(error)
        return
    settings.view_id = cell.view_id if cell.factors == spec.factors else ""


def _marks(study: Study, spec: ViewSpec) -> dict[str, str]:
    factors = spec.factors
    return person_marks_of(subject_of(study, spec), factors["pose"], factors["texture"])


def _is_playing() -> bool:
    windows = bpy.context.window_manager.windows
    return any(window.screen.is_animation_playing for window in windows)


def register() -> None:
    """Follow edits of the study."""
    live.on_edit(_follow)


CLASSES = (LIMEN_OT_show_level, LIMEN_OT_step_gallery)
