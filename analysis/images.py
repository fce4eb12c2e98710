"""Reading the 8-bit images of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_image"]

PIXELS_MOST = 1 << 28

Image = NDArray[np.uint8]


def read_image(path: Path, *, grey: bool = False) -> Image | None:
    """Read a PNG: (height, width, 3) in OpenCV's order blue, green, red, or (height, width).

    None where it is missing, no PNG or damaged, or where its header asks for more than
    ``PIXELS_MOST``: a few bytes would fill the memory.
    """
    import cv2

    if not path.is_file() or not _is_png(path):
        return None
    try:
        image: Any = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE if grey else cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.asarray(image, np.uint8)


def _is_png(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(24)
    width, height = (int.from_bytes(head[at : at + 4], "big") for at in (16, 20))
    return head[:8] == b"\x89PNG\r\n\x1a\n" and 0 < width * height <= PIXELS_MOST
