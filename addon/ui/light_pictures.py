"""What the lighting panels draw: the last preview, small, and the gallery of presets."""

from typing import Any

import bpy
import bpy.utils.previews
import numpy as np
from numpy.typing import NDArray

from ..core.lighting import Lighting
from ..core.photometry import illuminance_text
from ..operators.lighting import all_presets, own_pictures, own_presets
from ..operators.preview import Shown, on_preview
from ..properties.words import marked, translated
from .thumbnails import file_icon_id, icon_id

__all__ = [
    "preset_icon_id",
    "preview_icon_id",
    "register",
    "shown_preset",
    "unregister",
]

_SIDE_PX = 256
_BANDS = {"day": marked("Day"), "evening": marked("Evening"), "night": marked("Night")}
_KEY = "preview {}"
_pictures: bpy.utils.previews.ImagePreviewCollection | None = None
_count = 0
_items: list[tuple[str, str, str, int, int]] = []


def preset_icon_id(name: str) -> int:
    """Return the icon of a lighting: its own picture, else one that has its light, else 0."""
    if name in own_pictures():
        path, changed_ns = own_pictures()[name]
        return file_icon_id(path, changed_ns)
    return icon_id("lightings", name) or icon_id("lightings", _like(name))


def _like(name: str) -> str:
    """Return the preset of Limen's that has the same light as an own one: its picture serves."""
    own = own_presets().get(name)
    if own is None:
        return ""
    layers = {part.layer for part in own.components}
    return next(
        (
            preset.name
            for preset in all_presets().values()
            if preset.band == own.band and layers == {part.layer for part in preset.components}
        ),
        "",
    )


# --- the last preview ----------------------------------------------------------------------------


def preview_icon_id() -> int:
    """Return the icon of the last preview, 0 where there is none."""
    key = _KEY.format(_count)
    return int(_pictures[key].icon_id) if _pictures is not None and key in _pictures else 0


def _follow_preview(shown: Shown | None) -> None:
    """Draw the preview into an icon, a new one each time: Blender keeps what it has drawn."""
    global _count
    if _pictures is None:
        return
    _pictures.clear()
    if shown is None:
        return
    _count += 1
    picture = _pictures.new(_KEY.format(_count))
    picture.image_size = (_SIDE_PX, _SIDE_PX)
    picture.image_pixels_float.foreach_set(_fitted(shown.picture.pixels).ravel())


def _fitted(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return a picture in the middle of a square (H, W, 4), rows from below."""
    height, width = pixels.shape[:2]
    scale = _SIDE_PX / max(height, width)
    h, w = max(1, round(height * scale)), max(1, round(width * scale))
    rows, columns = (np.arange(h) + 0.5) * height / h, (np.arange(w) + 0.5) * width / w
    small = pixels[rows.astype(int)][:, columns.astype(int)]
    square = np.zeros((_SIDE_PX, _SIDE_PX, 4), np.float32)
    y, x = (_SIDE_PX - h) // 2, (_SIDE_PX - w) // 2
    square[y : y + h, x : x + w, :3] = small[::-1] / np.float32(255)
    square[y : y + h, x : x + w, 3] = 1
    return square


# --- presets -------------------------------------------------------------------------------------


def _preset_items(_owner: object, _context: object) -> list[tuple[str, str, str, int, int]]:
    # Blender shows the texts from where they lie.
    _items[:] = [
        (name, _label(item), _description(item), preset_icon_id(name), number)
        for number, (name, item) in enumerate(all_presets().items())
    ]
    return _items


def _label(item: Lighting) -> str:
    return f"{item.name.replace('_', ' ')}, {illuminance_text(item.illuminance_lx)}"


def _description(item: Lighting) -> str:
    whose = marked("A preset of Limen's: {}, {}")
    if item.name in own_presets():
        whose = marked("Your preset: {}, {}")
    return translated(whose, translated(_BANDS[item.band]), illuminance_text(item.illuminance_lx))


class LimenLightPresets(bpy.types.PropertyGroup):
    """Which preset the gallery shows; no file keeps it."""

    preset: bpy.props.EnumProperty(
        name="Preset",
        description="Lighting presets of Limen's and of your own, evening and night brightened to "
        "be told apart",
        items=_preset_items,
    )


def shown_preset(context: bpy.types.Context) -> tuple[Any, Lighting | None]:
    """Return what holds the gallery's property ``preset``, and the preset that it shows."""
    gallery = context.window_manager.limen_light_presets
    return gallery, all_presets().get(gallery.preset)


def register() -> None:
    """Make the pictures' collection, and follow the previews."""
    global _pictures
    _pictures = bpy.utils.previews.new()
    on_preview(_follow_preview)
    bpy.utils.register_class(LimenLightPresets)
    bpy.types.WindowManager.limen_light_presets = bpy.props.PointerProperty(type=LimenLightPresets)


def unregister() -> None:
    """Remove them."""
    global _pictures
    del bpy.types.WindowManager.limen_light_presets
    bpy.utils.unregister_class(LimenLightPresets)
    if _pictures is not None:
        bpy.utils.previews.remove(_pictures)
        _pictures = None
