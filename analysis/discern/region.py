"""The person and its surroundings: the piece of an image that features and observer look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mask", "Region", "band_width", "person_size", "surroundings"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Region:
    """A cut-out around a person.

    Attributes:
        place: Rows and columns of the cut-out in the image.
        mask: (h, w) the visible person in it.
        band: (h, w) pixels that are not the person and no further from it than the band is wide.
        size_px: The longer side of the person's box.
    """

    place: tuple[slice, slice]
    mask: Mask
    band: Mask
    size_px: int


def person_size(mask: Mask) -> int:
    """The longer side of the mask's box in pixels; 0 for an empty mask."""
    box = _box(mask)
    return 0 if box is None else max(box[1] - box[0], box[3] - box[2])


def band_width(size_px: int, least_px: float, share: float) -> int:
    """A width in pixels: a share of the person's size, and at least so many."""
    return max(1, round(max(least_px, share * size_px)))


def surroundings(mask: Mask, least_px: float, share: float, margin_px: int = 0) -> Region | None:
    """Cut out the person with the band around it; None for an empty mask.

    The band is what lies within its width of the person (Euclidean distance between pixel centres)
    and inside the image.

    Args:
        mask: (H, W) of the whole image.
        least_px: Least width of the band.
        share: Its width as a share of the person's size; the greater of the two counts.
        margin_px: So many pixels more around the band.
    """
    import cv2

    box = _box(mask)
    if box is None:
        return None
    top, bottom, left, right = box
    size = max(bottom - top, right - left)
    width = band_width(size, least_px, share)
    reach = width + margin_px
    height_px, width_px = mask.shape
    y0, y1 = max(0, top - reach), min(height_px, bottom + reach)
    x0, x1 = max(0, left - reach), min(width_px, right + reach)
    cut = np.ascontiguousarray(mask[y0:y1, x0:x1])
    away: Any = cv2.distanceTransform((~cut).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    band = ~cut & (away <= width + 1e-3)
    return Region((slice(y0, y1), slice(x0, x1)), cut, band, size)


def _box(mask: Mask) -> tuple[int, int, int, int] | None:
    rows = np.flatnonzero(mask.any(axis=1))
    if not rows.size:
        return None
    columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
