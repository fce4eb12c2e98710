"""Two small views of what ``make acceptance`` does in full: the fast method against the truth."""

from dataclasses import replace

import numpy as np
import pytest
from limen.addon.core.image_io import read_png
from limen.addon.core.study import load_study, resolve
from truth import ROOT, compare_view, table, view_like, with_fraction

pytestmark = [pytest.mark.render, pytest.mark.slow]

SAMPLES = 64
# Less is asked of so few pixels and samples than of the held set (tests/acceptance).
LEAST_DB = {"person": 34, "shadow": 33, "rest": 33}


@pytest.fixture(scope="module")
def compared(blender, tmp_path_factory):
    """Someone in the open and someone behind a thing; a low sun and a glow."""
    study = resolve(load_study(ROOT / "studies" / "paper-size.toml"))
    study = replace(
        study,
        camera=replace(study.camera, window=(160, 120)),
        lightings=tuple(
            item for item in study.lightings if item.name in ("morning_east", "evening_west")
        ),
    )
    found = []
    for name, in_sight in (("open", 1.0), ("hidden", 0.6)):
        spec = view_like(study, scenery="desert", distance_m=23.04, elevation_deg=22.5)
        root = tmp_path_factory.mktemp(name)
        of_view = with_fraction(study, in_sight)
        found += compare_view(of_view, spec, root, SAMPLES, root / "pictures")
        assert len(list((root / "pictures").glob("*.png"))) == len(study.lightings)
        shown = read_png(next((root / "pictures").glob("*.png")))
        assert shown[:, : shown.shape[1] // 3].std() > 5
    return found


@pytest.mark.parametrize("region", LEAST_DB)
def test_it_is_near_the_truth(compared, region):
    values = [item.psnr_db[region] for item in compared if region in item.psnr_db]
    assert len(values) >= 2
    assert min(values) >= LEAST_DB[region], table(compared)


@pytest.mark.parametrize(("region", "most"), [("person", 0.02), ("shadow", 0.03)])
def test_it_is_as_bright(compared, region, most):
    values = [item.bias[region] for item in compared if region in item.bias]
    assert abs(np.mean(values)) < most, table(compared)


def test_what_features_measure_is_what_they_would_measure_in_truth(compared):
    for item in compared:
        assert item.features["area_share"] == 0  # the mask is the same
        assert abs(item.features["ks_lightness"]) < 0.1, table(compared)
