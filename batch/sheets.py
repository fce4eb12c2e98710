"""Contact sheets: what a scenery looks like, from all around, at all distances, in several lights.

    python -m limen.batch.sheets --scenery field --size 480x270 --out sheets

A sheet is one scenery under one lighting: a row for each distance and elevation, a column for each
azimuth. Every picture is what a dataset would hold: light layers, relit, metered, in sRGB.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import register
from ..addon.core.factors import ViewSpec, poses_by_action, sample_views
from ..addon.core.image_io import write_png
from ..addon.core.poses import load_poses
from ..addon.core.study import Study, parse_study, resolve

__all__ = ["main"]

_BORDER_PX = 4
_STUDY = """\
name = "sheets"
seed = 1
lightings = [{lightings}]
sceneries = [{sceneries}]
actions = ["walking"]

[camera]
sensor = "sheet"
sensor_width_mm = {width_mm}
sensor_height_mm = 3.0
lens_mm = 2.8
fnumber = 1.4
resolution = [{width}, {height}]
distances_m = [{distances}]
azimuths_deg = [{azimuths}]
elevations_deg = [{elevations}]

[[subject]]
name = "sam"

[sampling]
views = "all"
person_free = {person_free}

[render]
samples = {samples}
denoise = "{denoise}"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the sheets that the arguments ask for; returns the exit status."""
    options = _parse(arguments)
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        register()
    from ..addon.operators import look

    study = _study(options, "oidn" if look.can_denoise() else "none")
    tiles = _render_tiles(study, options)
    options.out.mkdir(parents=True, exist_ok=True)
    for scenery in study.sceneries:
        for item in study.lightings:
            rows = [
                [
                    tiles[scenery, item.name, distance, azimuth, elevation]
                    for azimuth in options.azimuths
                ]
                for elevation in options.elevations
                for distance in options.distances
            ]
            path = options.out / f"{scenery}-{item.name}.png"
            write_png(path, _sheet(rows))
            print(path, flush=True)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    def numbers(text: str) -> list[float]:
        return [float(part) for part in text.split(",")]

    def size(text: str) -> tuple[int, int]:
        width, _, height = text.partition("x")
        return int(width), int(height)

    parser = argparse.ArgumentParser(
        prog="sheets",
        description="Render contact sheets of sceneries.",
        epilog="Example: python -m limen.batch.sheets --scenery field --size 480x270 --out sheets",
    )
    parser.add_argument("--scenery", nargs="+", default=["desert", "field", "wharf"])
    parser.add_argument("--lighting", nargs="+", default=["noon_south", "evening_west", "night"])
    parser.add_argument("--azimuths", type=numbers, default=[0, 90, 180, 270], metavar="A,B,..")
    parser.add_argument("--elevations", type=numbers, default=[0], metavar="A,B,..")
    parser.add_argument(
        "--distances", type=numbers, default=[5.376, 10.752, 23.04], metavar="A,B,.."
    )
    parser.add_argument(
        "--size", type=size, default=(1920, 1080), metavar="WxH", help="of a picture"
    )
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--nobody", action="store_true", help="leave the person out")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    return parser.parse_args(arguments)


def _study(options: argparse.Namespace, denoise: str) -> Study:
    width, height = options.size

    def listed(values: Sequence[object]) -> str:
        return ", ".join(f'"{v}"' if isinstance(v, str) else f"{v}" for v in values)

    text = _STUDY.format(
        lightings=listed(options.lighting),
        sceneries=listed(options.scenery),
        width_mm=3.0 * width / height,
        width=width,
        height=height,
        distances=listed(options.distances),
        azimuths=listed(options.azimuths),
        elevations=listed(options.elevations),
        person_free='"all"' if options.nobody else 0,
        samples=options.samples,
        denoise=denoise,
    )
    return resolve(parse_study(text, "sheets"))


def _render_tiles(
    study: Study, options: argparse.Namespace
) -> dict[tuple[str, str, float, float, float], NDArray[np.uint8]]:
    """Return (scenery, lighting, distance, azimuth, elevation) -> picture."""
    from ..addon.operators import look

    poses = {name: pose.action for name, pose in load_poses().items()}
    first: dict[tuple, ViewSpec] = {}
    for spec in sample_views(study, poses_by_action(study, poses)):
        if spec.target_present != options.nobody:
            factors = spec.factors
            place = tuple(factors[k] for k in ("distance_m", "azimuth_deg", "elevation_deg"))
            first.setdefault((factors["scenery"], *place), spec)
    tiles = {}
    for (scenery, *place), spec in first.items():
        started = time.process_time()
        for name, picture in look.view_pictures(study, spec).items():
            tiles[scenery, name, *place] = picture
        sys.stderr.write(f"{scenery} {place}: {time.process_time() - started:.1f} CPU-seconds\n")
    return tiles


def _sheet(rows: Sequence[Sequence[NDArray[np.uint8]]]) -> NDArray[np.uint8]:
    height, width, _ = rows[0][0].shape
    step_y, step_x = height + _BORDER_PX, width + _BORDER_PX
    sheet = np.full(
        (len(rows) * step_y - _BORDER_PX, len(rows[0]) * step_x - _BORDER_PX, 3), 255, np.uint8
    )
    for y, row in enumerate(rows):
        for x, tile in enumerate(row):
            sheet[y * step_y : y * step_y + height, x * step_x : x * step_x + width] = tile
    return sheet


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the bpy wheel's own clean-up may hang
