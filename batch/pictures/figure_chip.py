"""The picture of a standing person from which the viewport's chip is made.

    python -m limen.batch.pictures.figure_chip --out addon/data/figure.png

The person fills the picture but for a margin of ``core.chip.MARGIN_PX`` pixels above the crown
and below the soles.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ... import register
from ...addon.core.chip import MARGIN_PX
from ...addon.core.image_io import write_png
from ...addon.core.poses import load_poses
from ...addon.core.study import Subject

__all__ = ["main"]

_SIDE_PX = 720
_SAMPLES = 24
_YAW_DEG = 25.0
_PERSON = Subject("figure", textures=("limen-texture-00004",))
_LIKE = 8  # differs no more from what lies behind the person: it is that, as far as the person
_UNLIKE = 60  # what differs more from the floor, over the three channels, is the person
_SIDE_SHARE = 0.34  # of the picture: to its left and right stands nothing


def _cropped(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the person and a margin, before the floor's grey where there was sky."""
    side = int(_SIDE_SHARE * picture.shape[1])
    floor = np.median(picture[picture.shape[0] // 2 :, :side], axis=(0, 1)).astype(np.uint8)
    behind = np.median(picture[:, :side].astype(int), axis=1)[:, None]  # floor, or the black sky
    alike = np.abs(picture - behind).max(axis=2) <= _LIKE
    from_sides = np.logical_and.accumulate(alike, axis=1)
    from_sides |= np.logical_and.accumulate(alike[:, ::-1], axis=1)[:, ::-1]
    lit = np.where(from_sides[..., None], floor, picture)
    grey = behind.max(axis=2)
    horizon = np.flatnonzero((grey > _LIKE) & (grey < floor.min() / 2))  # partly floor, partly sky
    lit[horizon] = lit[horizon - 1]
    middle = lit[:, side:-side].astype(int)
    person = np.abs(middle - floor).sum(axis=2) > _UNLIKE
    # The shadow, too, is unlike the floor, but it lies beside the soles, not below them.
    rows = np.flatnonzero(person.any(axis=1))
    return lit[rows[0] - MARGIN_PX : rows[-1] + 1 + MARGIN_PX, side:-side].astype(np.uint8)


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the picture; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="figure_chip", description="Render the person of the viewport's chip."
    )
    parser.add_argument("--out", type=Path, required=True, metavar="PNG")
    options = parser.parse_args(arguments)
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        register()
    from ...addon.operators.figure import figure_picture

    pose = load_poses()["standing_relaxed"]
    write_png(options.out, _cropped(figure_picture(_PERSON, pose, _YAW_DEG, _SIDE_PX, _SAMPLES)))
    print(options.out, flush=True)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the bpy wheel may hang when it cleans up
