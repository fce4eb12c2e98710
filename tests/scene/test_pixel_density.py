"""Pixels per metre, measured in rendered pixels: 1 m spans what the published camera gives.

525 px/m at 1.92 m scales to 187.5, 93.75 and 43.75 px/m at 5.376, 10.752 and 23.040 m.
"""

import math

import numpy as np
import pytest
from limen.addon.core.optics import look_at_pose, project
from limen.addon.scene import camera_rig, render, stage

pytestmark = pytest.mark.render

PUBLISHED = [(5.376, 187.5), (10.752, 93.75), (23.040, 43.75)]
TOLERANCE_PX = 0.5
WINDOW = (240, 208)


def aimed(camera, azimuth_deg, elevation_deg, distance_m, look_at_height_m=0.9):
    pose = look_at_pose(azimuth_deg, elevation_deg, distance_m, look_at_height_m)
    stage.set_camera(camera, pose)
    return pose


@pytest.mark.parametrize(("distance_m", "px_per_m"), PUBLISHED)
@pytest.mark.parametrize("window", [None, WINDOW])
def test_a_ruler_of_1_m_spans_the_published_pixels(
    bare, published_camera, distance_m, px_per_m, window
):
    camera = published_camera(window)
    pose = aimed(camera, 0, 0, distance_m)
    measured = camera_rig.measure_density(bare, camera, pose, distance_m)
    assert measured == pytest.approx(px_per_m, abs=TOLERANCE_PX)


@pytest.mark.parametrize(
    ("azimuth_deg", "elevation_deg"), [(45, 22.5), (180, 45), (225, 67.5), (315, 90), (90, -30)]
)
def test_the_viewpoint_does_not_change_the_span(bare, published_camera, azimuth_deg, elevation_deg):
    camera = published_camera(WINDOW)
    pose = aimed(camera, azimuth_deg, elevation_deg, 10.752)
    measured = camera_rig.measure_density(bare, camera, pose, 10.752)
    assert measured == pytest.approx(93.75, abs=TOLERANCE_PX)


def test_where_1_m_does_not_fit_a_shorter_ruler_is_measured(bare, published_camera):
    camera = published_camera((100, 60))
    pose = aimed(camera, 0, 0, 5.376)
    measured = camera_rig.measure_density(bare, camera, pose, 5.376)
    assert measured == pytest.approx(187.5, abs=TOLERANCE_PX)


def test_measuring_leaves_nothing_behind(bare, published_camera):
    camera = published_camera(WINDOW)
    pose = aimed(camera, 0, 0, 10.752)
    before = set(bare.collection.all_objects)
    camera_rig.measure_density(bare, camera, pose, 10.752)
    assert set(bare.collection.all_objects) == before


# --- the same by other means: two marks, their places found by their centroids -------------------


def centroid_px(coverage) -> np.ndarray:
    """Where the middle of what is covered lies, in pixels with integer centres."""
    y, x = np.indices(coverage.shape)
    return np.array([(x * coverage).sum(), (y * coverage).sum()]) / coverage.sum()


@pytest.mark.parametrize(("distance_m", "px_per_m"), PUBLISHED)
@pytest.mark.parametrize(("azimuth_deg", "elevation_deg"), [(0, 0), (135, 22.5), (270, 45)])
def test_two_marks_1_m_apart_are_seen_as_many_pixels_apart(
    bare, published_camera, add_mark, distance_m, px_per_m, azimuth_deg, elevation_deg
):
    camera = published_camera(WINDOW)
    aimed(camera, azimuth_deg, elevation_deg, distance_m)
    # By the definition of azimuth, not by the camera's own axes: azimuth 0 is on the -Y side.
    a, e = math.radians(azimuth_deg), math.radians(elevation_deg)
    across = np.array([math.cos(a), math.sin(a), 0])
    down = np.array([math.sin(a) * math.sin(e), -math.cos(a) * math.sin(e), -math.cos(e)])
    for side in (-0.5, 0.5):
        add_mark(bare, [0, 0, 0.9] + side * across, 3 / px_per_m, across, down)
    coverage = render.render_passes(bare, render.Shot(64))["Combined.A"]
    half = WINDOW[0] // 2
    left, right = (centroid_px(part) for part in (coverage[:, :half], coverage[:, half:]))
    right += [half, 0]
    assert math.dist(left, right) == pytest.approx(px_per_m, abs=TOLERANCE_PX)
    np.testing.assert_allclose((left + right) / 2, [119.5, 103.5], atol=0.05)


@pytest.mark.parametrize("window", [None, WINDOW])
def test_a_point_is_seen_where_the_rows_matrices_project_it(
    bare, published_camera, add_mark, window
):
    camera = published_camera(window)
    pose = aimed(camera, 225, 22.5, 10.752)
    right, down, _ = pose.R
    for point in ([0.6, -0.4, 1.5], [-0.7, 0.3, 0.1], [0.2, 0.9, 0.8]):
        mark = add_mark(bare, point, 0.05, right, down)
        x, y = project(point, camera.K, pose.R, pose.t)
        box = (int(x) - 10, int(y) - 10, 21, 21)
        coverage = render.render_passes(bare, render.Shot(64, box=box))["Combined.A"]
        np.testing.assert_allclose(centroid_px(coverage) + box[:2], [x, y], atol=0.05)
        mark.hide_render = True
