"""A user's mistake ends an operator with one clear message, never with a traceback."""

import functools
from collections.abc import Callable

import bpy

from ..core.assets import AssetError
from ..core.body import BodyError
from ..core.dataset import DatasetError
from ..core.image_io import ImageError
from ..core.lighting import LightingError
from ..core.poses import PoseError
from ..core.study import StudyError
from ..scene.compat import DeviceError
from ..scene.occluder import OccluderError
from ..scene.render import RenderError
from ..scene.scenery import SceneryError

__all__ = ["EXPECTED", "reporting"]

Execute = Callable[[bpy.types.Operator, bpy.types.Context], set[str]]

EXPECTED = (
    AssetError,
    BodyError,
    DatasetError,
    DeviceError,
    ImageError,
    LightingError,
    OSError,
    OccluderError,
    PoseError,
    RenderError,
    SceneryError,
    StudyError,
)


def reporting(execute: Execute) -> Execute:
    """Turn the errors that Limen raises on purpose into the operator's error report."""

    @functools.wraps(execute)
    def run(self: bpy.types.Operator, context: bpy.types.Context) -> set[str]:
        try:
            return execute(self, context)
        except EXPECTED as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    return run
