"""A dataset at a glance: some of its views, each under every lighting, in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .dataset import Dataset, DatasetError, open_dataset
from .image_io import read_png, write_png

__all__ = ["FILE_NAME", "contact_sheet", "make_contact_sheet", "some_views"]

FILE_NAME = "contact-sheet.png"
"""Where :func:`make_contact_sheet` puts it, in the dataset's folder."""

_BORDER_PX = 4
_BORDER_VALUE = 40
_TILE_WIDTH_PX = 320
_SHEET_HEIGHT_PX = 2400
_ROWS_MOST = 24

Picture = npt.NDArray[np.uint8]


def make_contact_sheet(root: Path, lightings: Sequence[str]) -> Path:
    """Write ``contact-sheet.png`` into a dataset's folder, from its clean images.

    Rows are views, from the nearest to the farthest, columns lightings.

    Args:
        root: The dataset.
        lightings: Names of the columns, in their order.

    Returns:
        Its path.

    Raises:
        DatasetError: No dataset, or none of its images is there yet.
        ImageError: An image cannot be read or the sheet cannot be written.
    """
    dataset = open_dataset(root)
    rows = []
    for view_id in some_views(dataset, lightings):
        paths = [_clean(dataset, f"{view_id}-{name}") for name in lightings]
        rows.append([read_png(dataset.root / path) for path in paths if path])
    if not rows:
        raise DatasetError(
            f"{root} has no clean images yet: render some views with the output 'Clean images' on"
        )
    path = dataset.root / FILE_NAME
    write_png(path, contact_sheet(rows))
    return path


def some_views(dataset: Dataset, lightings: Sequence[str], most: int = _ROWS_MOST) -> list[str]:
    """Return the ids of some views whose clean images are there under all lightings, by distance.

    They are taken evenly from all of them, and as many as fit a sheet.
    """
    index = dataset.index
    whole = [
        view_id
        for view_id in dataset.views
        if all(_clean(dataset, f"{view_id}-{name}") for name in lightings)
    ]

    def key(view_id: str) -> tuple[float, str, bool, str]:
        row = index[f"{view_id}-{lightings[0]}"]
        return row["distance_m"], row["scenery"], not row["target_present"], view_id

    whole.sort(key=key)
    if not whole:
        return []
    camera = dataset.views[whole[0]]["camera"]
    tile_height = min(1.0, _TILE_WIDTH_PX / camera["width"]) * camera["height"] + _BORDER_PX
    most = max(1, min(most, int(_SHEET_HEIGHT_PX / tile_height)))
    step = max(1.0, len(whole) / most)
    return [whole[int(i * step)] for i in range(min(most, len(whole)))]


def _clean(dataset: Dataset, media_id: str) -> str | None:
    """Return the path of a clean image in its dataset, None where there is none."""
    row = dataset.index.get(media_id)
    clean = row["media"]["clean"] if row else None
    return str(clean["path"]) if clean else None


def contact_sheet(rows: Sequence[Sequence[Picture]]) -> Picture:
    """Return pictures of one size side by side, made smaller where they are wide.

    Args:
        rows: (h, w, 3) or (h, w) uint8 pictures, as many in each row.
    """
    tiles = [[_smaller(_colour(picture)) for picture in row] for row in rows]
    height, width, _ = tiles[0][0].shape
    down, across = height + _BORDER_PX, width + _BORDER_PX
    size = (len(tiles) * down + _BORDER_PX, len(tiles[0]) * across + _BORDER_PX, 3)
    sheet = np.full(size, _BORDER_VALUE, np.uint8)
    for i, row in enumerate(tiles):
        for j, tile in enumerate(row):
            y, x = _BORDER_PX + i * down, _BORDER_PX + j * across
            sheet[y : y + height, x : x + width] = tile
    return sheet


def _colour(picture: Picture) -> Picture:
    return picture if picture.ndim == 3 else np.repeat(picture[:, :, None], 3, axis=2)


def _smaller(picture: Picture) -> Picture:
    """Return a picture at most as wide as a tile: whole blocks of pixels averaged."""
    block = -(-picture.shape[1] // _TILE_WIDTH_PX)
    height, width = picture.shape[0] // block * block, picture.shape[1] // block * block
    blocks = picture[:height, :width].reshape(height // block, block, width // block, block, 3)
    smaller: Picture = blocks.mean(axis=(1, 3)).round().astype(np.uint8)
    return smaller
