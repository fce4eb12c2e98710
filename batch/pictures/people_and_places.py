"""The small pictures of poses, textures and sceneries; ``thumbnails`` writes them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...addon.core.factors import poses_by_action, sample_views
from ...addon.core.poses import load_poses
from ...addon.core.study import SCENERIES, Subject, parse_study, resolve
from ...addon.core.study.reading import library_poses

__all__ = ["KINDS"]

_SIDE_PX = 96
_SCENERY_PX = 128
_SAMPLES = 16
_YAW_DEG = 30.0
_TEXTURES = 24
_PERSON = Subject("thumbnail", textures=("limen-texture-00005",))
_STANDING = "standing_relaxed"
_PLACE = """\
name = "thumbnail"
seed = 1
lightings = ["noon_south"]
sceneries = ["{scenery}"]
actions = ["standing"]
poses = ["standing_relaxed"]

[camera]
sensor = "thumbnail"
sensor_width_mm = 3.0
sensor_height_mm = 3.0
lens_mm = 2.4
fnumber = 1.4
resolution = [{pixels}, {pixels}]
distances_m = [8.0]
azimuths_deg = [20.0]
elevations_deg = [8.0]
look_at_height_m = 1.2

[[subject]]
name = "thumbnail"
textures = ["limen-texture-00005"]

[sampling]
views = 1
person_free = 0

[render]
samples = 16
denoise = "{denoise}"
"""


def _pose(name: str) -> NDArray[np.uint8]:
    from ...addon.operators.figure import figure_picture

    return figure_picture(_PERSON, load_poses()[name], _YAW_DEG, _SIDE_PX, _SAMPLES, fill=True)


def _texture(name: str) -> NDArray[np.uint8]:
    from ...addon.operators.figure import figure_picture

    who = Subject("thumbnail", textures=(name,))
    return figure_picture(who, load_poses()[_STANDING], _YAW_DEG, _SIDE_PX, _SAMPLES, fill=True)


def _scenery(name: str) -> NDArray[np.uint8]:
    from ...addon.operators import look

    text = _PLACE.format(
        scenery=name, pixels=_SCENERY_PX, denoise="oidn" if look.can_denoise() else "none"
    )
    study = resolve(parse_study(text, "thumbnail"))
    (spec,) = sample_views(study, poses_by_action(study, library_poses()))
    (picture,) = look.view_pictures(study, spec).values()
    return picture


KINDS: dict[str, tuple[Callable[[], Sequence[str]], Callable[[str], NDArray[np.uint8]]]] = {
    "poses": (lambda: tuple(load_poses()), _pose),
    "textures": (
        lambda: tuple(f"limen-texture-{i:05d}" for i in range(_TEXTURES)),
        _texture,
    ),
    "sceneries": (lambda: SCENERIES, _scenery),
}
"""Kind -> the names that have a picture, and what draws one (H, W, 3), sRGB."""
