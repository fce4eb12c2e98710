"""Open a study and show what it holds."""

from functools import lru_cache
from pathlib import Path

import bpy
from bpy_extras.io_utils import ImportHelper

from ..core.factors import ViewSpec, poses_by_action, sample_views
from ..core.poses import load_poses
from ..core.study import Study, load_study, resolve
from ..preferences import assets_dir
from ..scene import stage
from ..scene.scenery import declare_own
from ..scene.view import find_parts
from .errors import reporting

__all__ = ["CLASSES", "check_parts", "folder_of", "open_study"]


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
    if study.own_sceneries:
        folder = assets or assets_dir(bpy.context)
        study = _once(declare_own(study, [*([folder] if folder else []), file.parent]))
    return study, specs


@lru_cache(maxsize=4)
def _once(study: Study) -> Study:
    """Return the same object for equal studies: a batch tells by it that nothing has changed."""
    return study


@lru_cache(maxsize=4)
def _load(file: Path, _changed_ns: int) -> tuple[Study, tuple[ViewSpec, ...]]:
    study = resolve(load_study(file))
    poses = {name: pose.action for name, pose in load_poses().items()}
    return study, sample_views(study, poses_by_action(study, poses))


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


class LIMEN_OT_open_study(bpy.types.Operator, ImportHelper):
    """Open a study file and go to Limen's scene."""

    bl_idname = "limen.open_study"
    bl_label = "Open Study"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".toml"
    filter_glob: bpy.props.StringProperty(default="*.toml", options={"HIDDEN"})
    device: bpy.props.EnumProperty(
        name="Device",
        items=[("cpu", "CPU", "Render with the processor"), ("gpu", "GPU", "Render with the GPU")],
    )
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Load the study and make the stage."""
        study, specs = open_study(self.filepath, folder_of(self.assets))
        stage.setup_stage(self.device)
        scene = stage.stage_scene()
        if context.window is not None:
            context.window.scene = scene
        settings = scene.limen
        settings.study_path = self.filepath
        settings.view_count = len(specs)
        settings.view_number = 0
        settings.view_id = ""
        images = len(specs) * len(study.lightings)
        settings.summary = (
            f"{len(specs)} views x {len(study.lightings)} lightings = {images} images"
        )
        return {"FINISHED"}


CLASSES = (LIMEN_OT_open_study,)
