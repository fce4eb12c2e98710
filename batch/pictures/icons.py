"""The icons of the sidebar's panels, drawn from shapes.

    python -m limen.batch.pictures.icons --out addon/data/icons

Each is a 32 x 32 PNG of one colour, light enough for dark themes and dark enough for light ones.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["ICONS", "main"]

_SIDE_PX = 32
_FINER = 8  # drawn so many times larger, then averaged
_COLOUR = (232, 150, 44)

Mask = NDArray[np.bool_]
_y, _x = (np.mgrid[0 : _SIDE_PX * _FINER, 0 : _SIDE_PX * _FINER] + 0.5) / _FINER


def _disc(x: float, y: float, radius: float) -> Mask:
    return np.hypot(_x - x, _y - y) <= radius


def _ring(x: float, y: float, radius: float, width: float = 2.4) -> Mask:
    return np.abs(np.hypot(_x - x, _y - y) - radius) <= width / 2


def _line(x0: float, y0: float, x1: float, y1: float, width: float = 2.4) -> Mask:
    """A line with round ends."""
    along = np.array([x1 - x0, y1 - y0])
    share = ((_x - x0) * along[0] + (_y - y0) * along[1]) / max(float(along @ along), 1e-9)
    share = np.clip(share, 0, 1)
    return np.hypot(_x - x0 - share * along[0], _y - y0 - share * along[1]) <= width / 2


def _box(x0: float, y0: float, x1: float, y1: float) -> Mask:
    return (_x >= x0) & (_x <= x1) & (_y >= y0) & (_y <= y1)


def _frame(x0: float, y0: float, x1: float, y1: float, width: float = 2.4) -> Mask:
    half = width / 2
    inner = _box(x0 + half, y0 + half, x1 - half, y1 - half)
    return _box(x0 - half, y0 - half, x1 + half, y1 + half) & ~inner


def _study() -> Mask:
    """A page with lines."""
    page = _frame(7, 4, 25, 28)
    return page | _line(12, 11, 20, 11) | _line(12, 16, 20, 16) | _line(12, 21, 17, 21)


def _rig() -> Mask:
    """A camera on a mast."""
    lens = _box(20, 5, 29, 17) & (np.abs(_y - 11) <= (_x - 20) * 0.42 + 2)
    mast = _line(12, 17, 12, 28) | _line(6, 28, 18, 28)
    return _box(4, 5.5, 19, 16.5) | lens | mast


def _zones() -> Mask:
    """Bands on the ground about a place."""
    away = np.hypot(_x - 16, (_y - 17) * 1.6)
    bands = (np.abs(away - 8) <= 1.5) | (np.abs(away - 13.6) <= 1.5)
    return bands | (away <= 3.6)


def _lighting() -> Mask:
    """A sun."""
    rays = np.zeros_like(_x, bool)
    for k in range(8):
        c, s = np.cos(k * np.pi / 4), np.sin(k * np.pi / 4)
        rays |= _line(16 + 9.6 * c, 16 + 9.6 * s, 16 + 13.2 * c, 16 + 13.2 * s)
    return _disc(16, 16, 6.2) | rays


def _subject() -> Mask:
    """A person."""
    body = _line(16, 14, 16, 19, 7) | _line(10.5, 20, 13, 12.8) | _line(21.5, 20, 19, 12.8)
    return _disc(16, 6, 3.8) | body | _line(14, 20, 12.6, 29, 3) | _line(18, 20, 19.4, 29, 3)


def _scenery() -> Mask:
    """Hills under a sun."""
    far = _y >= 27 - np.maximum(0, 13 - np.abs(_x - 12) * 1.25)
    near = _y >= 27 - np.maximum(0, 9 - np.abs(_x - 22) * 1.1)
    gap = (_y >= 25.2 - np.maximum(0, 9 - np.abs(_x - 22) * 1.1)) & ~near
    return (((far & ~gap) | near) & _box(3, 4, 29, 27)) | _disc(24, 9, 3.4)


def _factors() -> Mask:
    """A cross of levels, one of them out."""
    dots = np.zeros_like(_x, bool)
    for i, x in enumerate((7, 16, 25)):
        for j, y in enumerate((7, 16, 25)):
            dots |= _ring(x, y, 2.6, 1.8) if (i, j) == (2, 0) else _disc(x, y, 3.4)
    return dots


def _render() -> Mask:
    """A stack of pictures."""
    back = _frame(9, 5, 28, 20) & ~_box(2.5, 9.5, 24.5, 28)
    hill = _box(5, 13, 21, 25) & (_y >= 25 - np.maximum(0, 8 - np.abs(_x - 12)))
    return back | _frame(4, 11, 22, 26) | hill


ICONS: dict[str, Callable[[], Mask]] = {
    "factors": _factors,
    "lighting": _lighting,
    "render": _render,
    "rig": _rig,
    "scenery": _scenery,
    "study": _study,
    "subject": _subject,
    "zones": _zones,
}
"""Name -> what draws it, as a mask some times larger."""


def draw_icon(name: str) -> NDArray[np.uint8]:
    """Return an icon (32, 32, 4), sRGB and straight alpha."""
    mask = ICONS[name]().reshape(_SIDE_PX, _FINER, _SIDE_PX, _FINER)
    image = np.empty((_SIDE_PX, _SIDE_PX, 4), np.uint8)
    image[..., :3] = _COLOUR
    image[..., 3] = np.round(mask.mean(axis=(1, 3)) * 255)
    return image


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the icons; returns the exit status."""
    parser = argparse.ArgumentParser(prog="icons", description="Draw the icons of the panels.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    import OpenImageIO as oiio

    options.out.mkdir(parents=True, exist_ok=True)
    for name in ICONS:
        spec = oiio.ImageSpec(_SIDE_PX, _SIDE_PX, 4, "uint8")
        spec.attribute("oiio:UnassociatedAlpha", 1)
        picture = oiio.ImageBuf(spec)
        picture.set_pixels(oiio.ROI(), draw_icon(name))
        if not picture.write(str(options.out / f"{name}.png")):
            raise OSError(picture.geterror())
    return 0


if __name__ == "__main__":
    sys.exit(main())
