"""The fast method is held to the truth: 6 views of all sceneries under all 13 lightings.

Hours of rendering, once: truths are kept under .cache/truth. LIMEN_TRUTH=SAMPLES,WIDTH,LIGHTINGS
makes it smaller for a look, as LIMEN_TRUTH=64,1920,4; its bounds hold for 512 samples at 1920
pixels under all 13.
`PYTHONPATH=tests python tests/acceptance/test_fast_path.py FOLDER [VIEWS]` prints the table and
leaves the pictures there; VIEWS as 0,3 for the first and the fourth.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.study import load_study, resolve
from truth import REGIONS, ROOT, Compared, compare_view, table, view_like, with_fraction

pytestmark = [pytest.mark.acceptance, pytest.mark.render]

# Scenery, distance, elevation, action, share in sight. Low suns throw the shadows of those far from
# the middle of the picture over stones, tussocks and quay.
HELD = (
    ("desert", 5.376, 22.5, "stepping_over_something", 1.0),
    ("desert", 10.752, 0.0, "kicking", 1.0),
    ("desert", 10.752, 45.0, "guard_up", 0.6),
    ("field", 10.752, 22.5, "sneak", 1.0),
    ("field", 23.04, 67.5, "walking", 1.0),
    ("wharf", 23.04, 22.5, "dodging", 1.0),
    ("wharf", 10.752, 22.5, "choking", 0.6),
)


def held_set(pictures: Path, views: Sequence[int] = range(len(HELD))) -> list[Compared]:
    """Compare the held views."""
    asked = os.environ.get("LIMEN_TRUTH", "512,1920,13").split(",")
    samples, width, lightings = (*map(int, asked), 13)[:3]
    study = resolve(load_study(ROOT / "studies" / "paper-size.toml"))
    # One of each band before a second.
    kept = sorted(range(13), key=lambda i: (i % 4, i))[:lightings]
    study = replace(
        study,
        camera=replace(study.camera, resolution=(width, width * 9 // 16)),
        lightings=tuple(study.lightings[i] for i in sorted(kept)),
    )
    found = []
    for scenery, distance_m, elevation_deg, action, in_sight in (HELD[i] for i in views):
        spec = view_like(
            study,
            scenery=scenery,
            distance_m=distance_m,
            elevation_deg=elevation_deg,
            action=action,
        )
        of_view = with_fraction(study, in_sight)
        with tempfile.TemporaryDirectory(prefix="limen-truth-") as root:
            of_this = compare_view(of_view, spec, Path(root), samples, pictures)
        found += of_this
        if __name__ == "__main__":
            print(table(of_this), flush=True)
    return found


@pytest.fixture(scope="module")
def compared(blender):
    """What was found, its table written beside the pictures."""
    folder = ROOT / ".cache" / "acceptance" / "fast-path"
    found = held_set(folder)
    (folder / "table.md").write_text(table(found) + "\n")
    return found


@pytest.fixture(scope="module")
def blender():
    import bpy
    from limen.addon.scene import stage

    bpy.ops.wm.read_factory_settings(use_empty=True)
    stage.setup_stage()


def values(found: list[Compared], region: str, what: str) -> np.ndarray:
    return np.array([getattr(item, what)[region] for item in found if region in item.psnr_db])


@pytest.mark.parametrize(("region", "least_db"), [*zip(REGIONS, (40, 39, 38), strict=True)])
def test_each_region_is_as_near_to_the_truth_as_promised(compared, region, least_db):
    assert values(compared, region, "psnr_db").mean() >= least_db


def test_no_lighting_shows_a_worse_person(compared):
    for name in {item.lighting for item in compared}:
        of_lighting = [item for item in compared if item.lighting == name]
        assert values(of_lighting, "person", "psnr_db").mean() >= 38, name


@pytest.mark.parametrize(("region", "most"), [("person", 0.005), ("shadow", 0.015)])
def test_none_is_brighter_or_darker(compared, region, most):
    assert abs(values(compared, region, "bias").mean()) <= most


if __name__ == "__main__":
    import bpy
    from limen.addon.scene import stage

    bpy.ops.wm.read_factory_settings(use_empty=True)
    stage.setup_stage()
    chosen = map(int, sys.argv[2].split(",")) if len(sys.argv) > 2 else range(len(HELD))
    print(table(held_set(Path(sys.argv[1]), tuple(chosen))), flush=True)
    os._exit(0)
