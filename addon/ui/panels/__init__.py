"""The Limen tab of the 3D view's sidebar, in the order of work: a file for each step."""

import bpy

from . import camera, factors, lighting, render, scenery, study, subject, zones

__all__ = ["register", "unregister"]

# Panels stand in this order; parents before their sub-panels.
_CLASSES = (
    *study.CLASSES,
    *camera.CLASSES,
    *zones.CLASSES,
    *lighting.CLASSES,
    *subject.CLASSES,
    *scenery.CLASSES,
    *factors.CLASSES,
    *render.CLASSES,
)


def register() -> None:
    """Add the panels."""
    for item in _CLASSES:
        bpy.utils.register_class(item)
    render.register()


def unregister() -> None:
    """Remove the panels."""
    render.unregister()
    for item in reversed(_CLASSES):
        bpy.utils.unregister_class(item)
