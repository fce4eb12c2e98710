"""Limen's sidebar."""

from . import compass, galleries, light_pictures, overlay, panels, thumbnails, translations

__all__ = ["register", "unregister"]


def register() -> None:
    """Add the galleries, the panels, the viewport's overlay, and their other languages."""
    translations.register()
    thumbnails.register()
    galleries.register()
    compass.register()
    light_pictures.register()
    panels.register()
    overlay.register()


def unregister() -> None:
    """Remove them."""
    overlay.unregister()
    panels.unregister()
    light_pictures.unregister()
    compass.unregister()
    galleries.unregister()
    thumbnails.unregister()
    translations.unregister()
