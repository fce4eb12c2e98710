"""Render views of the open study into a dataset."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bpy

from ..core.dataset import PartWriter, init_dataset
from ..core.study import Study, dump_study
from ..preferences import assets_dir
from ..scene.view import render_view, require_denoiser, set_up_view
from .errors import reporting
from .study import StudyOperator, folder_of, scene_study

__all__ = ["CLASSES", "writing"]

_INTERACTIVE_PART = "sidebar"


@dataclass
class _Batch:
    """The part that a batch holds, and the study that its dataset was last found to be of."""

    writer: PartWriter
    study: Study | None = None


_batches: dict[Path, _Batch] = {}


@contextlib.contextmanager
def writing(root: Path, part: str) -> Iterator[None]:
    """Hold a part of a dataset for a batch: what is rendered meanwhile is appended to it.

    Raises:
        DatasetError: The part has another writer, or there is no dataset.
    """
    with PartWriter(root, part) as writer:
        _batches[root] = _Batch(writer)
        try:
            yield
        finally:
            del _batches[root]


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
        study, specs = scene_study(context.scene, folder_of(self.assets))
        if self.number > len(specs):
            self.report({"ERROR"}, f"view {self.number}: the study has {len(specs)} views")
            return {"CANCELLED"}
        require_denoiser(study)
        folder = folder_of(self.assets) or assets_dir(context)
        root = Path(bpy.path.abspath(self.output))
        view = set_up_view(study, specs[self.number - 1], folder)
        batch = _batches.get(root)
        if batch is None:
            init_dataset(root, dump_study(study))
            row, index = render_view(view, root)
            with PartWriter(root, _INTERACTIVE_PART) as writer:
                writer.write(row, index)
            return {"FINISHED"}
        if batch.study is not study:
            init_dataset(root, dump_study(study))
            batch.study = study
        batch.writer.write(*render_view(view, root))
        return {"FINISHED"}


CLASSES = (LIMEN_OT_render_view,)
