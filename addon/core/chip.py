"""A person as a camera has it: a sharp picture, resampled to a height in pixels."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .image_io import read_png
from .photometry import srgb_decode, to_srgb8

__all__ = ["MARGIN_PX", "area_resample", "figure_px", "person_chip"]

MARGIN_PX = 16  # above the crown and below the soles, in the sharp picture
_FIGURE = Path(__file__).parent.parent / "data" / "figure.png"


@lru_cache(maxsize=1)
def _figure() -> NDArray[np.float64]:
    """Return the sharp picture (H, W, 3), linear 0..1."""
    return srgb_decode(read_png(_FIGURE) / 255.0)


def figure_px() -> int:
    """Return the height in pixels of the person in the sharp picture.

    Raises:
        ImageError: The picture cannot be read.
    """
    return len(_figure()) - 2 * MARGIN_PX


def person_chip(height_px: float) -> NDArray[np.uint8]:
    """Return a picture (h, w, 3), sRGB, in which a standing person is so many pixels tall.

    Each pixel is the mean light of the area that it sees, as a sensor's is. A person taller than in
    the sharp picture is shown as tall as there.

    Args:
        height_px: Crown to sole, greater than 0; fractions count.

    Raises:
        ImageError: The sharp picture cannot be read.
    """
    return to_srgb8(area_resample(_figure(), min(height_px / figure_px(), 1.0)))


def area_resample(image: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return an image (h, w, c) smaller by a scale of 0..1, each pixel the mean of its area.

    The middle stays in the middle; a last pixel that the image does not fill repeats its edge.
    """
    down, across = (_weights(side, scale) for side in image.shape[:2])
    return np.asarray(np.einsum("ij,jkc,lk->ilc", down, image, across, optimize=True))


def _weights(pixels: int, scale: float) -> NDArray[np.float64]:
    """Return (new, pixels): the share of each old pixel in each new one; rows sum to 1."""
    new = max(1, round(pixels * scale))
    # New pixel i sees old ones from (i - new / 2) / scale + pixels / 2 on, 1 / scale of them.
    edges = (np.arange(new + 1) - new / 2) / scale + pixels / 2
    edges = np.clip(edges, 0, pixels)
    old = np.arange(pixels)
    overlap = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)
    shares = np.clip(overlap, 0, None)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
