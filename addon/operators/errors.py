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


def reporting(function: Callable[..., set[str]]) -> Callable[..., set[str]]:
    """Turn the errors that Limen raises on purpose into the operator's error report.

    For ``execute`` and for ``invoke``: Blender counts their arguments.
    """

    def attempt(operator: bpy.types.Operator, *arguments: object) -> set[str]:
        try:
            return function(operator, *arguments)
        except EXPECTED as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    @functools.wraps(function)
    def run(self: bpy.types.Operator, context: bpy.types.Context) -> set[str]:
        return attempt(self, context)

    @functools.wraps(function)
    def run_event(
        self: bpy.types.Operator, context: bpy.types.Context, event: bpy.types.Event
    ) -> set[str]:
        return attempt(self, context, event)

    return run if function.__code__.co_argcount == 2 else run_event
