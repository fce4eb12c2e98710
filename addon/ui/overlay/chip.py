"""The chip: a person in the camera's true pixels, 1:1 and enlarged, in the lower right corner.

Pictures are made by a timer, never while drawing.
"""

import math
from dataclasses import dataclass

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from numpy.typing import NDArray

from ...core.chip import person_chip
from ...core.photometry import srgb_decode
from ...preferences import in_feet
from ...properties import live
from ...scene.compat import linear_picture_shader
from ..readout import Reading, density_text
from .kept import once, shader
from .sheet import BOX, LINE, PAD, TEXT, Free, Sheet

__all__ = ["draw_picture", "forget", "is_made", "lay_out"]

_HIGH_PX = 190
_ENLARGED_WIDE_PX = 150
_STEP = 1.01  # densities nearer than this share a picture
_GREY = 18  # of the picture's background


@dataclass(frozen=True)
class _Chip:
    """What the chip shows: a density, with the height of the person and of the picture."""

    person_px: float
    height_px: int
    scale: float


_wanted: _Chip | None = None
_made: tuple[_Chip, NDArray[np.float32]] | None = None
_place: tuple[float, float] | None = None


def lay_out(context: bpy.types.Context, sheet: Sheet, free: Free, reading: Reading) -> float:
    """Lay the chip out in the lower right corner; returns its left edge."""
    global _wanted, _place
    _place = None
    density = reading.subject_density
    if density is None:
        return free.right
    height_m = context.scene.limen.overlay.test_height_m
    # One picture for densities that differ by less than 1 %.
    step = round(math.log(max(density * height_m, 1.0)) / math.log(_STEP))
    _wanted = _Chip(_STEP**step, round(_HIGH_PX * sheet.scale), sheet.scale)
    if _made is None or _made[0] != _wanted:
        if not bpy.app.timers.is_registered(_make):
            bpy.app.timers.register(_make, first_interval=0.02)
        if _made is None:
            return free.right
    height, width = _made[1].shape[:2]
    pad, line = PAD * sheet.scale, LINE * sheet.scale
    x, y = round(free.right - pad - width), round(free.bottom + pad)
    enlarged = _enlargement(_made[0])
    title = f"{density_text(density, in_feet(context))}   1:1   {enlarged}:1"
    sheet.boxes.append((x, y, width, height + line + pad / 2, BOX))
    sheet.texts.append((x + pad, y + height + pad, title, TEXT))
    _place = x, y
    return x


def _make() -> None:
    """Make the wanted picture, outside of drawing, and have it drawn."""
    global _made
    if _wanted is None:
        return
    _made = _wanted, _picture_of(_wanted)
    live.redraw("VIEW_3D")


def _picture_of(chip: _Chip) -> NDArray[np.float32]:
    """Return (h, w, 4), linear, the lowest row first: the person 1:1, and enlarged beside it.

    Where it does not fit, head and shoulders are shown.
    """
    true, times = person_chip(chip.person_px), _enlargement(chip)
    enlarged = true.repeat(times, axis=0).repeat(times, axis=1)
    wide = round(_ENLARGED_WIDE_PX * chip.scale)
    parts = [_cropped(true, chip.height_px, wide), _cropped(enlarged, chip.height_px, wide)]
    gap = round(PAD * chip.scale)
    width = sum(part.shape[1] for part in parts) + 3 * gap
    picture = np.full((chip.height_px, width, 3), _GREY, np.uint8)
    x = gap
    for part in parts:
        picture[len(picture) - len(part) :, x : x + part.shape[1]] = part
        x += part.shape[1] + gap
    rgba = np.ones((*picture.shape[:2], 4), np.float32)
    rgba[..., :3] = srgb_decode(picture[::-1] / 255)
    return rgba


def _enlargement(chip: _Chip) -> int:
    """Return how many pixels of the screen one of the enlarged picture takes, at least 2."""
    return max(2, round(chip.height_px / chip.person_px))


def _cropped(picture: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    left = max(0, (picture.shape[1] - width) // 2)
    return picture[:height, left : left + width]


def draw_picture() -> None:
    """Draw the picture where :func:`lay_out` has put it, if it did."""
    if _made is None or _place is None:
        return
    chip, pixels = _made
    height, width = pixels.shape[:2]
    texture = once(
        "chip",
        (id(pixels), chip),
        lambda: gpu.types.GPUTexture(
            (width, height),
            format="RGBA16F",
            data=gpu.types.Buffer("FLOAT", pixels.size, pixels.ravel()),
        ),
    )
    x, y = _place
    picture = shader(linear_picture_shader())
    batch = once(
        "chip corners",
        (x, y, width, height),
        lambda: batch_for_shader(
            picture,
            "TRI_FAN",
            {
                "pos": [(x, y), (x + width, y), (x + width, y + height), (x, y + height)],
                "texCoord": [(0, 0), (1, 0), (1, 1), (0, 1)],
            },
        ),
    )
    picture.bind()
    picture.uniform_sampler("image", texture)
    batch.draw(picture)


def is_made() -> bool:
    """Return whether there is a picture."""
    return _made is not None


def forget() -> None:
    """Let go of the picture, and of the timer that makes the next."""
    global _wanted, _made, _place
    if bpy.app.timers.is_registered(_make):
        bpy.app.timers.unregister(_make)
    _wanted = _made = _place = None
