"""Make, open and save the study of a scene."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import bpy
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..core.factors import ViewSpec, poses_by_action, sample_views
from ..core.study import (
    Study,
    StudyError,
    brief_text,
    load_study,
    parse_study,
    resolve,
    save_study,
)
from ..core.study.reading import library_poses
from ..preferences import assets_dir
from ..properties import live
from ..properties.convert import show_study, study_of
from ..properties.words import translated
from ..scene import compat, stage
from ..scene.scenery import declare_own
from ..scene.view import find_parts
from .errors import reporting

__all__ = [
    "CLASSES",
    "StudyOperator",
    "check_file",
    "check_parts",
    "folder_of",
    "open_study",
    "save_scene_study",
    "scene_study",
]

_NEW_STUDY = Path(__file__).parent.parent / "data" / "new_study.toml"
_DEVICES = [("cpu", "CPU", "Render with the processor"), ("gpu", "GPU", "Render with the GPU")]


def open_study(path: str, assets: Path | None = None) -> tuple[Study, tuple[ViewSpec, ...]]:
    """Return a study file's resolved study and its views, read again when the file has changed.

    Args:
        path: The study file.
        assets: Where its own sceneries lie, by default where the preferences say; also beside it.

    Raises:
        StudyError: The file has faults, or cannot be read.
        AssetError: The file of a scenery of its own is not there.
    """
    file = Path(bpy.path.abspath(path))
    study, specs = _load(file, file.stat().st_mtime_ns if file.exists() else 0)
    return _with_own_sceneries(study, assets, file), specs


def scene_study(
    scene: bpy.types.Scene, assets: Path | None = None
) -> tuple[Study, tuple[ViewSpec, ...]]:
    """Return the resolved study that is open in a scene, as it is edited now, and its views.

    Raises:
        StudyError: It has faults.
        AssetError: The file of a scenery of its own is not there.
    """
    now = live.current_state(scene)
    if now.study is None:
        raise StudyError([problem.text for problem in now.problems])
    return _with_own_sceneries(_resolved(now.study), assets, _file_of(scene)), now.views


def _file_of(scene: bpy.types.Scene) -> Path | None:
    """Return where a scene's study lies, None where it was never saved."""
    path = scene.limen.study_path
    return Path(bpy.path.abspath(path)) if path else None


def _with_own_sceneries(study: Study, assets: Path | None, file: Path | None) -> Study:
    if not study.own_sceneries:
        return study
    folder = assets or assets_dir(bpy.context)
    folders = [*([folder] if folder else []), *([file.parent] if file else [])]
    return _once(declare_own(study, folders))


@lru_cache(maxsize=4)
def _once(study: Study) -> Study:
    """Return the same object for equal studies: a batch tells by it that nothing has changed."""
    return study


@lru_cache(maxsize=4)
def _resolved(study: Study) -> Study:
    return _once(resolve(study))


@lru_cache(maxsize=4)
def _load(file: Path, _changed_ns: int) -> tuple[Study, tuple[ViewSpec, ...]]:
    study = _resolved(load_study(file))
    return study, sample_views(study, poses_by_action(study, library_poses()))


def check_parts(study: Study, assets: Path | None) -> None:
    """Check that all that a study needs is there before a long run.

    Raises:
        AssetError: A body is missing, in ``assets`` or, without them, where the preferences say.
        SceneryError: A scenery cannot be built.
        RenderError: This Blender lacks the denoiser.
    """
    find_parts(study, assets or assets_dir(bpy.context))


def folder_of(path: str) -> Path | None:
    """Return the folder that a path of Blender's means, None where it is empty."""
    return Path(bpy.path.abspath(path)) if path else None


class StudyOperator:
    """What operators share that need an open study."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a study is open."""
        if not context.scene.limen.is_open:
            cls.poll_message_set("Open a study or make a new one first")
            return False
        if not stage.shows_study(context.scene):
            name = stage.stage_scene().name
            cls.poll_message_set(
                translated("This scene is a copy: the study is edited in the scene {}", name)
            )
            return False
        return True


def _show(context: bpy.types.Context, study: Study, path: str, device: str) -> None:
    """Go to Limen's scene and fill its properties with a study."""
    stage.setup_stage(device)
    scene = stage.stage_scene()
    if context.window is not None:
        context.window.scene = scene
    settings = scene.limen
    show_study(settings.study, study)
    settings.study_path = path
    settings.saved_text = brief_text(study) if path else ""
    settings.is_open = True
    settings.rig_placed = False
    settings.view_id = ""
    if study_of(settings.study) != study:  # a label longer than a property holds
        settings.is_open = False
        raise StudyError(["Study cannot be shown in the sidebar: render it with the batch runner"])


class LIMEN_OT_new_study(bpy.types.Operator):
    """Begin a study: a person in the desert, near and far, by day, in the evening and at night."""

    bl_idname = "limen.new_study"
    bl_label = "New Study"
    bl_options = {"REGISTER", "UNDO"}

    device: bpy.props.EnumProperty(name="Device", items=_DEVICES)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show the study that a new one starts from."""
        study = parse_study(_NEW_STUDY.read_text(encoding="utf-8"), _NEW_STUDY.name)
        if not compat.has_denoiser():
            study = replace(study, render=replace(study.render, denoise="none"))
        _show(context, study, "", self.device)
        return {"FINISHED"}


class LIMEN_OT_open_study(bpy.types.Operator, ImportHelper):
    """Open a study file and go to Limen's scene."""

    bl_idname = "limen.open_study"
    bl_label = "Open Study"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".toml"
    filter_glob: bpy.props.StringProperty(default="*.toml", options={"HIDDEN"})
    device: bpy.props.EnumProperty(name="Device", items=_DEVICES)
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Load the study and make the stage."""
        open_study(self.filepath, folder_of(self.assets))  # tells what is wrong with it
        study = load_study(Path(bpy.path.abspath(self.filepath)))
        _show(context, study, self.filepath, self.device)
        return {"FINISHED"}


class LIMEN_OT_save_study(StudyOperator, bpy.types.Operator):
    """Save the study to its file; comments and layout of the file stay."""

    bl_idname = "limen.save_study"
    bl_label = "Save Study"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask where to, if the study has no file yet."""
        if not context.scene.limen.study_path:
            return bpy.ops.limen.save_study_as("INVOKE_DEFAULT")
        return self.execute(context)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Save it."""
        if not context.scene.limen.study_path:
            raise StudyError(["Study has no file yet: save it as one first"])
        check_file(context.scene)
        save_scene_study(context.scene, context.scene.limen.study_path)
        name = bpy.path.basename(context.scene.limen.study_path)
        self.report({"INFO"}, translated("Saved {}", name))
        return {"FINISHED"}


class LIMEN_OT_save_study_as(StudyOperator, bpy.types.Operator, ExportHelper):
    """Save the study to a file of your choice."""

    bl_idname = "limen.save_study_as"
    bl_label = "Save Study As"

    filename_ext = ".toml"
    filter_glob: bpy.props.StringProperty(default="*.toml", options={"HIDDEN"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Propose the study's name."""
        if not self.filepath:
            settings = context.scene.limen
            self.filepath = settings.study_path or f"{settings.study.name}.toml"
        return super().invoke(context, event)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Save it, and go on with that file."""
        save_scene_study(context.scene, self.filepath)
        context.scene.limen.study_path = self.filepath
        self.report({"INFO"}, translated("Saved {}", bpy.path.basename(self.filepath)))
        return {"FINISHED"}


def check_file(scene: bpy.types.Scene) -> None:
    """Check that a scene's study file still says what was opened from it or saved to it.

    A file that is not there any more is no fault: saving makes it anew.

    Raises:
        StudyError: Somebody changed it meanwhile, or it cannot be read.
    """
    path = Path(bpy.path.abspath(scene.limen.study_path))
    if path.is_file() and brief_text(load_study(path)) != scene.limen.saved_text:
        raise StudyError(
            [
                f"{path} was changed since it was opened or saved here: open it again, or save "
                "the study under another name"
            ]
        )


def save_scene_study(scene: bpy.types.Scene, path: str) -> None:
    """Save the study that is open in a scene to a file.

    Raises:
        StudyError: It has faults.
    """
    now = live.current_state(scene)
    if now.study is None:
        raise StudyError([problem.text for problem in now.problems])
    save_study(now.study, Path(bpy.path.abspath(path)))
    scene.limen.saved_text = now.text


CLASSES = (
    LIMEN_OT_new_study,
    LIMEN_OT_open_study,
    LIMEN_OT_save_study,
    LIMEN_OT_save_study_as,
)
