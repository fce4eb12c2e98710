"""Add a scenery of the user's own: a .blend file in the assets folder or beside the study."""

from pathlib import Path

import bpy
from bpy_extras.io_utils import ImportHelper

from ..core.assets import AssetError, file_sha256
from ..core.study import SCENERIES, OwnScenery, StudyError
from ..preferences import assets_dir
from ..properties import live
from ..properties.convert import add_scenery
from ..properties.words import translated
from ..scene.scenery import names_in
from .errors import reporting
from .factors import use_named
from .library import standing
from .study import StudyOperator

__all__ = ["CLASSES"]

_DEFAULT = OwnScenery("")


class LIMEN_OT_use_scenery(StudyOperator, bpy.types.Operator):
    """Add the scenery that is shown to the study."""

    bl_idname = "limen.use_scenery"
    bl_label = "Use Scenery"
    bl_options = {"REGISTER", "UNDO"}

    scenery: bpy.props.StringProperty(
        name="Scenery", description="Its name; empty: the one that is shown", options={"SKIP_SAVE"}
    )

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it, or switch it on."""
        use_named(context.scene.limen, "scenery", self.scenery or standing("scenery"))
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_add_own_scenery(StudyOperator, bpy.types.Operator, ImportHelper):
    """Add a collection of a .blend file that lies beside the study or in your assets folder."""

    bl_idname = "limen.add_own_scenery"
    bl_label = "Add Own Scenery"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".blend"
    filter_glob: bpy.props.StringProperty(default="*.blend", options={"HIDDEN"})
    collection: bpy.props.StringProperty(
        name="Collection",
        description="What is taken from the file",
        default=_DEFAULT.collection,
    )
    anchor: bpy.props.StringProperty(
        name="Anchor",
        description="An empty in the file, at the subject's place; its Y axis is north",
        default=_DEFAULT.anchor,
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is a folder that the file can lie in."""
        if not super().poll(context):
            return False
        if not _folders(context):
            cls.poll_message_set(
                "The file lies beside the study or in the assets folder: save the study first, or "
                "choose that folder in Limen's preferences"
            )
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Begin in the folder where the files lie."""
        self.filepath = f"{_folders(context)[0]}/"
        return super().invoke(context, event)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Look into the file and add it, with its hash."""
        path = Path(bpy.path.abspath(self.filepath))
        folders = _folders(context)
        if path.parent.resolve() not in [folder.resolve() for folder in folders]:
            raise AssetError(
                f"{path.name} lies in {path.parent}, where no other machine would look: put it "
                f"into {' or '.join(str(folder) for folder in folders)}"
            )
        study = context.scene.limen.study
        name = path.stem
        if name in SCENERIES or name in study.sceneries:
            raise StudyError([f"The study has, or Limen itself is, a scenery '{name}': rename it"])
        _check_names(path, self.collection, self.anchor)
        scenery = OwnScenery(name, self.collection, self.anchor, file_sha256(path))
        add_scenery(study, scenery)
        live.touch()
        self.report({"INFO"}, translated("Added the scenery {}", name))
        return {"FINISHED"}


def _folders(context: bpy.types.Context) -> list[Path]:
    """Return where the files of own sceneries may lie."""
    assets, study = assets_dir(context), context.scene.limen.study_path
    beside = Path(bpy.path.abspath(study)).parent if study else None
    return [folder for folder in (beside, assets) if folder is not None]


def _check_names(path: Path, collection: str, anchor: str) -> None:
    collections, objects = names_in(path)
    for what, name, there in (
        ("collection", collection, collections),
        ("object", anchor, objects),
    ):
        if name not in there:
            listed = ", ".join(sorted(there)[:12]) or "none"
            raise AssetError(f"{path.name} has no {what} '{name}': it has {listed}")


CLASSES = (LIMEN_OT_use_scenery, LIMEN_OT_add_own_scenery)
