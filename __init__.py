"""Limen: at which physical limit of imaging does a vision-language model stop seeing?

This directory is one package in three guises: a Blender extension, a pip package named ``limen``,
and the tree from which ``batch/render_grid.py`` runs. Blender calls :func:`register` and
:func:`unregister`; nothing here imports ``bpy`` before that.
"""

from .addon.core.version import __version__

__all__ = ["__version__", "register", "unregister"]


def register() -> None:
    """Register Limen's properties, operators and panels with Blender."""
    from . import addon

    addon.register()


def unregister() -> None:
    """Remove what :func:`register` added."""
    from . import addon

    addon.unregister()
