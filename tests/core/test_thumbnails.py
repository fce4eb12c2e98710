"""The pictures of the galleries: there is one of everything, and all of them together are small."""

from pathlib import Path

import cv2
import pytest
from limen.addon.core.poses import POSES_DIR, load_poses
from limen.addon.core.study import SCENERIES

DATA = Path(__file__).parents[2] / "addon" / "data"
MOST_BYTES = 1_500_000  # of an add-on that others download


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("poses", tuple(load_poses(POSES_DIR))),
        ("sceneries", SCENERIES),
        ("textures", tuple(f"limen-texture-{i:05d}" for i in range(24))),
    ],
)
def test_each_has_a_picture_of_its_own_that_is_not_empty(kind, names):
    folder = DATA / "thumbnails" / kind
    assert {path.stem for path in folder.glob("*.png")} == set(names)
    for name in names:
        picture = cv2.imread(str(folder / f"{name}.png"))
        assert picture.shape[0] == picture.shape[1] >= 96
        assert picture.std() > 10, name  # a person or a place, not a plain colour


def test_all_pictures_together_are_small():
    files = [*(DATA / "thumbnails").rglob("*.png"), *(DATA / "icons").glob("*.png")]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_the_icons_are_those_that_the_script_draws():
    from limen.batch.pictures.icons import ICONS, draw_icon

    assert {path.stem for path in (DATA / "icons").glob("*.png")} == set(ICONS)
    for name in ICONS:
        found = cv2.imread(str(DATA / "icons" / f"{name}.png"), cv2.IMREAD_UNCHANGED)
        assert (found[..., 3] == draw_icon(name)[..., 3]).all()
