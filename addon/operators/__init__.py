"""Limen's operators: thin classes over ``scene``; batch runs and the sidebar call the same ones."""

import inspect

import bpy

from ..scene.compat import is_module
from . import (
    batch,
    estimate,
    factors,
    library,
    lighting,
    mend,
    preflight,
    preview,
    render,
    rig,
    scenery,
    study,
    subject,
    view,
)
from .render import writing

__all__ = ["estimate", "is_module", "register", "unregister", "writing"]

_CLASSES = (
    *study.CLASSES,
    *factors.CLASSES,
    *view.CLASSES,
    *rig.CLASSES,
    *library.CLASSES,
    *subject.CLASSES,
    *scenery.CLASSES,
    *render.CLASSES,
    *lighting.CLASSES,
    *preview.CLASSES,
    *preflight.CLASSES,
    *batch.CLASSES,
    *mend.CLASSES,
)


def register() -> None:
    """Add the operators."""
    for item in _CLASSES:
        if "bl_description" not in vars(item):  # the tooltip, to which Blender adds a full stop
            item.bl_description = inspect.cleandoc(item.__doc__).removesuffix(".")
        bpy.utils.register_class(item)
    library.register()
    preflight.register()
    batch.register()
    lighting.register()
    preview.register()


def unregister() -> None:
    """Remove the operators."""
    preview.unregister()
    batch.unregister()
    preflight.unregister()
    for item in reversed(_CLASSES):
        bpy.utils.unregister_class(item)
