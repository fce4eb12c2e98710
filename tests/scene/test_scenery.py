"""The ground a study is set on, and the cameras that may stand on it."""

from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from limen.addon.core.optics import look_at_pose
from limen.addon.core.study import load_study
from limen.addon.operators.study import open_study
from limen.addon.scene import stage
from limen.addon.scene.scenery import SceneryError
from limen.addon.scene.view import place_camera

pytestmark = pytest.mark.render

CI = Path(__file__).parents[2] / "studies" / "ci.toml"


@pytest.fixture
def desert(blender):
    stage.set_scenery("desert")
    return stage.stage_scene()


@pytest.mark.parametrize("name", ["Limen Ground", "Limen Ground Middle"])
def test_the_ground_faces_up(desert, name):
    polygons = bpy.data.objects[name].data.polygons
    normals = np.empty(3 * len(polygons))
    polygons.foreach_get("normal", normals)
    assert (normals.reshape(-1, 3)[:, 2] > 0).all()


@pytest.mark.parametrize("azimuth_deg", range(0, 360, 45))
@pytest.mark.parametrize("distance_m", [5.376, 10.752, 23.04])
def test_the_published_cameras_stand_in_the_open(desert, published_camera, distance_m, azimuth_deg):
    stage.set_camera(published_camera(), look_at_pose(azimuth_deg, 0, distance_m, 0.9))
    assert not stage.camera_is_buried()


def test_a_camera_inside_a_dune_is_refused_and_says_where(desert):
    _, specs = open_study(str(CI))
    factors = {**specs[0].factors, "distance_m": 201.6, "azimuth_deg": 240.0, "elevation_deg": 0.0}
    with pytest.raises(SceneryError, match=r"201\.6 m, azimuth 240, elevation 0 .*desert"):
        place_camera(load_study(CI), replace(specs[0], factors=factors))
