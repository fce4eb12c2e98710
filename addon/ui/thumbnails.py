"""Small pictures for galleries and panel headers: one preview collection for all of them.

Blender reads a thumbnail when it is first drawn, in a thread of its own: asking for its icon while
drawing costs nothing.
"""

from functools import lru_cache
from pathlib import Path

import bpy
import bpy.utils.previews
import numpy as np

__all__ = ["file_icon_id", "icon_id", "panel_icon_id", "register", "unregister"]

_DATA = Path(__file__).parent.parent / "data"
_THUMBNAILS = _DATA / "thumbnails"
_ICONS = _DATA / "icons"
_pictures: bpy.utils.previews.ImagePreviewCollection | None = None


def icon_id(kind: str, name: str, *, mirrored: bool = False) -> int:
    """Return the icon of a thumbnail of Limen's, 0 where there is none.

    Args:
        kind: ``poses``, ``textures``, ``lightings`` or ``sceneries``.
        name: Of the pose, texture, lighting or scenery.
        mirrored: Show it as in a mirror.
    """
    if mirrored and name in _names(_THUMBNAILS / kind):
        return _mirrored_icon_id(_THUMBNAILS / kind / f"{name}.png")
    return _icon_id(_THUMBNAILS / kind, name)


def panel_icon_id(name: str) -> int:
    """Return the icon of a panel's header, 0 where there is none."""
    return _icon_id(_ICONS, name)


def _icon_id(folder: Path, name: str) -> int:
    return file_icon_id(folder / f"{name}.png") if name in _names(folder) else 0


def file_icon_id(path: Path, changed_ns: int = 0) -> int:
    """Return the icon of a picture file; one that cannot be read is drawn empty.

    Args:
        path: The file.
        changed_ns: When it was written, where it may be written again.
    """
    if _pictures is None:  # not registered: nothing is drawn
        return 0
    key = f"{path} {changed_ns}" if changed_ns else str(path)
    picture = _pictures[key] if key in _pictures else _pictures.load(key, str(path), "IMAGE")
    return int(picture.icon_id)


def _mirrored_icon_id(path: Path) -> int:
    if _pictures is None:
        return 0
    key = f"{path} mirrored"
    if key not in _pictures:
        mirrored = _pictures.new(key)
        file_icon_id(path)
        width, height = mirrored.image_size = _pictures[str(path)].image_size  # reads the file
        pixels = np.empty(width * height * 4, np.float32)
        _pictures[str(path)].image_pixels_float.foreach_get(pixels)
        mirrored.image_pixels_float.foreach_set(pixels.reshape(height, width, 4)[:, ::-1].ravel())
    return int(_pictures[key].icon_id)


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
