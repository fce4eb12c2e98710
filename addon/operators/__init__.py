"""Limen's operators: thin classes over ``scene``; batch runs and the sidebar call the same ones."""

import bpy

from . import estimate, factors, preview, render, study, view
from .render import writing

__all__ = ["estimate", "register", "unregister", "writing"]

_CLASSES = (
    *study.CLASSES,
    *factors.CLASSES,
    *view.CLASSES,
    *render.CLASSES,
    *preview.CLASSES,
)


def register() -> None:
    """Add the operators."""
    for item in _CLASSES:
        bpy.utils.register_class(item)


def unregister() -> None:
    """Remove the operators."""
    for item in reversed(_CLASSES):
        bpy.utils.unregister_class(item)
