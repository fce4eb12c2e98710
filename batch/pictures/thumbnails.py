"""The small pictures of the sidebar: lightings, poses, textures and sceneries.

    python -m limen.batch.pictures.thumbnails --out addon/data/thumbnails

Each is a file KIND/NAME.png, rendered by Limen's own code.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ... import register
from ...addon.core import photometry
from ...addon.core.factors import poses_by_action, sample_views
from ...addon.core.image_io import write_png
from ...addon.core.study import parse_study, resolve
from ...addon.core.study.reading import library_poses, lighting_presets
from . import people_and_places

__all__ = ["KINDS", "main"]

# Metered with as much gain as it takes, then darker by band: true exposures of night are black,
# equal ones all look like day.
_BAND_SIGNAL = {"day": 1.0, "evening": 0.45, "night": 0.22}
_LIGHT_STUDY = """\
name = "thumbnail"
seed = 1
lightings = [{names}]
sceneries = ["wharf"]
actions = ["standing"]
poses = ["standing_relaxed"]

[camera]
sensor = "thumbnail"
sensor_width_mm = 3.0
sensor_height_mm = 3.0
lens_mm = 2.2
fnumber = 1.4
resolution = [96, 96]
distances_m = [3.3]
azimuths_deg = [20.0]
elevations_deg = [9.0]
look_at_height_m = 1.1
shutter_limit_s = 60.0
iso = 100.0

[[subject]]
name = "thumbnail"
textures = ["limen-texture-00005"]

[sampling]
views = 1
person_free = 0

[render]
samples = 64
denoise = "{denoise}"
"""


def _lighting(name: str) -> NDArray[np.uint8]:
    signal = photometry.srgb_decode(_light_pictures()[name] / 255)
    return photometry.to_srgb8(signal * _BAND_SIGNAL[lighting_presets()[name].band])


@lru_cache
def _light_pictures() -> dict[str, NDArray[np.uint8]]:
    """Return one view under every preset, each metered to middle grey."""
    from ...addon.operators import look

    text = _LIGHT_STUDY.format(
        names=", ".join(f'"{name}"' for name in lighting_presets()),
        denoise="oidn" if look.can_denoise() else "none",
    )
    study = resolve(parse_study(text, "thumbnail"))
    (spec,) = sample_views(study, poses_by_action(study, library_poses()))
    return dict(look.view_pictures(study, spec))


KINDS: dict[str, tuple[Callable[[], Sequence[str]], Callable[[str], NDArray[np.uint8]]]] = {
    "lightings": (lambda: tuple(lighting_presets()), _lighting),
    **people_and_places.KINDS,
}
"""Kind -> the names that have a picture, and what draws one (H, W, 3), sRGB."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the pictures that the arguments ask for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="thumbnails", description="Render the small pictures of the sidebar."
    )
    parser.add_argument("--kind", nargs="*", choices=[*KINDS], default=[*KINDS])
    parser.add_argument("--missing", action="store_true", help="only those that are not there")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        register()
    for kind in options.kind:
        names, draw = KINDS[kind]
        (options.out / kind).mkdir(parents=True, exist_ok=True)
        for name in names():
            path = options.out / kind / f"{name}.png"
            if options.missing and path.exists():
                continue
            write_png(path, draw(name))
            print(path, flush=True)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the bpy wheel may hang when it cleans up
