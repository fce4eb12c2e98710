"""The pinhole camera. Exact values: SynDORBench's published geometry and hand-made triangles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.optics import (
    Camera,
    density_at,
    distance_for,
    load_sensors,
    look_at_pose,
    project,
    viewpoint_of,
)

PUBLISHED = Camera(16 / 3, 3.0, 2.8, 1.4, 1920, 1080)


@pytest.mark.parametrize(
    ("density_px_per_m", "distance_m"), [(187.5, 5.376), (93.75, 10.752), (43.75, 23.040)]
)
def test_the_published_camera_has_the_published_distances(density_px_per_m, distance_m):
    assert distance_for(PUBLISHED, density_px_per_m) == distance_m
    assert density_at(PUBLISHED, distance_m) == pytest.approx(density_px_per_m, rel=1e-15)


def test_the_published_camera_has_the_published_field_of_view():
    # VFOV = 2 atan(3.0 / 5.6), HFOV = 2 atan(5.333 / 5.6)
    horizontal, vertical = PUBLISHED.fov_deg
    assert vertical == pytest.approx(56.36, abs=0.005)
    assert horizontal == pytest.approx(87.2, abs=0.05)


def test_focal_length_and_pixel_pitch_follow_from_the_sensor():
    assert PUBLISHED.focal_px == 1008.0  # 2.8 / 3.0 x 1080
    assert PUBLISHED.pixel_pitch_um == pytest.approx(3000 / 1080)


def test_a_person_is_as_tall_as_the_density_says():
    # 1.7 m at 187.5 px/m, level camera: 318.75 px
    pose = look_at_pose(0, 0, 5.376, 0.85)
    feet, head = project([[0, 0, 0], [0, 0, 1.7]], PUBLISHED.K, pose.R, pose.t)
    assert feet[1] - head[1] == pytest.approx(318.75)


def test_the_principal_point_lies_between_the_middle_pixels():
    assert PUBLISHED.K.tolist() == [[1008, 0, 959.5], [0, 1008, 539.5], [0, 0, 1]]


def test_a_window_keeps_the_density_and_moves_the_principal_point():
    window = Camera(16 / 3, 3.0, 2.8, 1.4, 1920, 1080, (400, 360))
    assert window.focal_px == PUBLISHED.focal_px
    assert window.K[:2, 2].tolist() == [199.5, 179.5]
    assert window.image_px == (400, 360)
    assert window.fov_deg == PUBLISHED.fov_deg
    assert window.image_fov_deg[0] == pytest.approx(math.degrees(2 * math.atan(200 / 1008)))


@pytest.mark.parametrize("window", [(401, 360), (400, 361), (1922, 360), (0, 360), (400, 1082)])
def test_a_window_off_the_pixel_grid_or_off_the_sensor_is_refused(window):
    with pytest.raises(ValueError, match="no centre crop"):
        Camera(16 / 3, 3.0, 2.8, 1.4, 1920, 1080, window)


def test_a_sensor_without_square_pixels_is_refused_with_the_width_it_needs():
    with pytest.raises(ValueError, match=r"no square pixels.*5\.3333 mm wide"):
        Camera(5.37, 3.0, 2.8, 1.4, 1920, 1080)


def test_sizes_rounded_as_in_catalogues_pass_as_square():
    Camera(5.333, 3.0, 2.8, 1.4, 1920, 1080)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_a_length_that_is_not_positive_is_refused(bad):
    with pytest.raises(ValueError, match="lens_mm"):
        Camera(16 / 3, 3.0, bad, 1.4, 1920, 1080)


def test_azimuth_0_stands_in_front_and_looks_north():
    pose = look_at_pose(0, 0, 5, 0.9)
    assert pose.position_m == pytest.approx([0, -5, 0.9])
    assert pytest.approx(np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])) == pose.R


def test_azimuth_grows_counter_clockwise_seen_from_above():
    assert look_at_pose(90, 0, 5, 0.9).position_m == pytest.approx([5, 0, 0.9])


def test_elevation_lifts_the_camera_around_the_look_at_point():
    # 3-4-5: sin e = 0.6
    pose = look_at_pose(0, math.degrees(math.asin(0.6)), 5, 0.9)
    assert pose.position_m == pytest.approx([0, -4, 3.9])


def test_straight_above_the_top_of_the_image_points_away_from_the_azimuth():
    pose = look_at_pose(0, 90, 5, 0.9)
    north, east = project([[0, 1, 0.9], [1, 0, 0.9]], np.eye(3), pose.R, pose.t)
    assert north == pytest.approx([0, -0.2])
    assert east == pytest.approx([0.2, 0])


angles = st.floats(-720, 720)
elevations = st.floats(-90, 90)
distances = st.floats(0.1, 1000)


@given(angles, elevations, distances, st.floats(0, 10))
def test_every_pose_is_a_rotation_that_looks_at_the_point_from_its_distance(a, e, d, h):
    pose = look_at_pose(a, e, d, h)
    assert pytest.approx(np.eye(3), abs=1e-12) == pose.R @ pose.R.T
    assert np.linalg.det(pose.R) == pytest.approx(1)
    assert pose.R @ np.array([0, 0, h]) + pose.t == pytest.approx([0, 0, d], abs=1e-9 * (d + h + 1))
    assert np.linalg.norm(pose.position_m - [0, 0, h]) == pytest.approx(d)


@given(st.floats(0, 359.9), st.floats(-89, 89), distances, st.floats(0, 10))
def test_the_viewpoint_of_a_pose_is_the_one_that_it_was_made_from(a, e, d, h):
    azimuth, elevation, distance, past = viewpoint_of(look_at_pose(a, e, d, h), h)
    assert abs((azimuth - a + 180) % 360 - 180) < 1e-6
    assert (elevation, distance) == pytest.approx((e, d))
    assert past < 1e-3


def test_a_camera_that_looks_past_the_point_says_by_how_much():
    pose = look_at_pose(0, 0, 5, 2)
    *_, past = viewpoint_of(pose, 2 + 5 * math.tan(math.radians(30)))
    assert past == pytest.approx(30)


@given(angles, elevations, distances)
def test_one_metre_across_the_axis_at_the_look_at_point_spans_the_nominal_density(a, e, d):
    pose = look_at_pose(a, e, d, 0.9)
    ends = np.array([0, 0, 0.9]) + np.outer([-0.5, 0.5], pose.R[0])
    left, right = project(ends, PUBLISHED.K, pose.R, pose.t)
    assert right[0] - left[0] == pytest.approx(density_at(PUBLISHED, d))


@given(st.floats(0.01, 1e5))
def test_distance_and_density_are_inverse(density):
    assert density_at(PUBLISHED, distance_for(PUBLISHED, density)) == pytest.approx(density)


def test_projection_keeps_leading_axes():
    pose = look_at_pose(0, 0, 5, 0.9)
    assert project(np.zeros((4, 55, 3)), PUBLISHED.K, pose.R, pose.t).shape == (4, 55, 2)


def test_a_point_behind_the_camera_has_no_image():
    pose = look_at_pose(0, 0, 5, 0.9)
    assert np.isnan(project([0, -6, 0.9], PUBLISHED.K, pose.R, pose.t)).all()


def test_every_sensor_preset_has_square_pixels_and_a_source():
    for sensor in load_sensors().values():
        Camera(sensor.width_mm, sensor.height_mm, 2.8, 1.4, sensor.width_px, sensor.height_px)
        assert sensor.source


def test_the_published_preset_is_the_published_camera():
    s = load_sensors()["syndorbench"]
    camera = Camera(s.width_mm, s.height_mm, s.lens_mm, s.fnumber, s.width_px, s.height_px)
    assert camera == PUBLISHED
