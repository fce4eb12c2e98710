"""Limen's sidebar."""

from . import panels

__all__ = ["register", "unregister"]


def register() -> None:
    """Add the panels."""
    panels.register()


def unregister() -> None:
    """Remove the panels."""
    panels.unregister()
