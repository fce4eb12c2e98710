"""Small pictures for galleries and panel headers: one preview collection for all of them.

Blender reads a thumbnail when it is first drawn, in a thread of its own: asking for its icon while
drawing costs nothing.
"""

from functools import lru_cache
from pathlib import Path

import bpy
import bpy.utils.previews

__all__ = ["file_icon_id", "icon_id", "panel_icon_id", "register", "unregister"]

_DATA = Path(__file__).parent.parent / "data"
_THUMBNAILS = _DATA / "thumbnails"
_ICONS = _DATA / "icons"
_pictures: bpy.utils.previews.ImagePreviewCollection | None = None


def icon_id(kind: str, name: str) -> int:
    """Return the icon of a thumbnail of Limen's, 0 where there is none.

    Args:
        kind: ``poses``, ``textures``, ``lightings`` or ``sceneries``.
        name: Of the pose, texture, lighting or scenery.
    """
    return _icon_id(_THUMBNAILS / kind, name)


def panel_icon_id(name: str) -> int:
    """Return the icon of a panel's header, 0 where there is none."""
    return _icon_id(_ICONS, name)


def _icon_id(folder: Path, name: str) -> int:
    return file_icon_id(folder / f"{name}.png") if name in _names(folder) else 0


def file_icon_id(path: Path) -> int:
    """Return the icon of a picture file; one that cannot be read is drawn empty."""
    if _pictures is None:  # not registered: nothing is drawn
        return 0
    key = str(path)
    picture = _pictures[key] if key in _pictures else _pictures.load(key, key, "IMAGE")
    return int(picture.icon_id)


@lru_cache(maxsize=8)
def _names(folder: Path) -> frozenset[str]:
    """Return the names of the pictures in one of the add-on's own folders."""
    return frozenset(path.stem for path in folder.glob("*.png"))


def register() -> None:
    """Make the collection, and read the panels' icons: a header shows no waiting sign."""
    global _pictures
    _pictures = bpy.utils.previews.new()
    for path in _ICONS.glob("*.png"):
        picture = _pictures.load(str(path), str(path), "IMAGE")
        _ = tuple(picture.icon_size), tuple(picture.image_size)  # asking reads the file


def unregister() -> None:
    """Remove it with all its pictures."""
    global _pictures
    if _pictures is not None:
        bpy.utils.previews.remove(_pictures)
        _pictures = None
    _names.cache_clear()
