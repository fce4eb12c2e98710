"""Render views of the open study into a dataset."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import bpy

from ..core.dataset import PartWriter, init_dataset
from ..core.study import dump_study
from ..preferences import assets_dir
from ..scene import compat
from ..scene.render import RenderError
from ..scene.view import render_view, set_up_view
from .errors import reporting
from .study import open_study
from .view import StudyOperator

__all__ = ["CLASSES", "writing"]

_INTERACTIVE_PART = "sidebar"
_open_writers: dict[Path, PartWriter] = {}


@contextlib.contextmanager
def writing(root: Path, part: str) -> Iterator[None]:
    """Hold a part of a dataset for a batch: what is rendered meanwhile is appended to it.

    Raises:
        DatasetError: The part has another writer, or there is no dataset.
    """
    with PartWriter(root, part) as writer:
        _open_writers[root] = writer
        try:
            yield
        finally:
            del _open_writers[root]


class LIMEN_OT_render_view(StudyOperator, bpy.types.Operator):
    """Render a view of the study under all its lightings into a dataset."""

    bl_idname = "limen.render_view"
    bl_label = "Render View"
    bl_options = {"REGISTER"}

    number: bpy.props.IntProperty(
        name="Number", description="Of the view, from 1", min=1, default=1
    )
    output: bpy.props.StringProperty(name="Dataset", subtype="DIR_PATH")
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the view up, render it, write its files and rows."""
        study, specs = open_study(context.scene.limen.study_path)
        if self.number > len(specs):
            self.report({"ERROR"}, f"view {self.number}: the study has {len(specs)} views")
            return {"CANCELLED"}
        if study.render.denoise == "oidn" and not compat.has_denoiser():
            raise RenderError(
                f'render.denoise is "oidn" and this Blender {compat.blender_version()} was built '
                'without OpenImageDenoise: use denoise = "none" with more samples, or a Blender '
                "from blender.org"
            )
        folder = Path(bpy.path.abspath(self.assets)) if self.assets else assets_dir(context)
        root = Path(bpy.path.abspath(self.output))
        view = set_up_view(study, specs[self.number - 1], folder)
        init_dataset(root, dump_study(study))
        row, index = render_view(view, root)
        if root in _open_writers:
            _open_writers[root].write(row, index)
        else:
            with PartWriter(root, _INTERACTIVE_PART) as writer:
                writer.write(row, index)
        return {"FINISHED"}


CLASSES = (LIMEN_OT_render_view,)
