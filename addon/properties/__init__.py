"""What a scene remembers of the study that is open in it.

``groups`` are Blender's properties, ``convert`` makes a :class:`~limen.addon.core.study.Study` of
them and fills them with one, ``exact`` keeps the digits that they lack, ``live`` works out what the
study amounts to while it is edited.
"""

import bpy

from . import groups, live

__all__ = ["register", "unregister"]


def register() -> None:
    """Add Limen's settings to scenes."""
    for item in groups.CLASSES:
        bpy.utils.register_class(item)
    bpy.types.Scene.limen = bpy.props.PointerProperty(type=groups.LimenSettings)
    live.register()


def unregister() -> None:
    """Remove them."""
    live.unregister()
    del bpy.types.Scene.limen
    for item in reversed(groups.CLASSES):
        bpy.utils.unregister_class(item)
