"""Zones on the ground. The law: where a zone is drawn, `class_of` of the density says its class."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from limen.addon.core.optics import Camera, CameraPose, density_at, look_at_pose, project
from limen.addon.core.standards import class_of, load_scales
from limen.addon.core.zones import (
    class_distances_m,
    class_seen_at,
    clip_convex,
    ground_zones,
    height_in_pixels,
    image_polygon,
    lens_for,
    point_density,
    zone_at,
)

PUBLISHED = Camera(16 / 3, 3.0, 2.8, 1.4, 1920, 1080)
DORI = load_scales()["dori-2014"]
SQUARE_M = 3.0


def turned(pose: CameraPose, pan_deg: float, tilt_deg: float, roll_deg: float) -> CameraPose:
    """The camera where it stands, turned about its own axes: it looks at the subject no more."""
    rotation = pose.R
    for axis, angle in ((1, pan_deg), (0, tilt_deg), (2, roll_deg)):
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        i, j = [k for k in range(3) if k != axis]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cos
        turn[i, j], turn[j, i] = -sin, sin
        rotation = turn @ rotation
    return CameraPose(rotation, -rotation @ pose.position_m, pose.position_m)


poses = st.builds(
    turned,
    st.builds(
        look_at_pose, st.floats(0, 360), st.floats(0, 90), st.floats(0.5, 60), st.floats(0.1, 3)
    ),
    st.floats(-60, 60),
    st.floats(-60, 60),
    st.floats(-180, 180),
)
cameras = st.builds(
    lambda lens, window: Camera(16 / 3, 3.0, lens, 1.4, 1920, 1080, window),
    st.floats(1.5, 60),
    st.sampled_from([None, (400, 360), (1920, 2)]),
)
scales = st.sampled_from(list(load_scales().values()))
shares = st.floats(0, 1)


def near_a_border(camera, pose, scale, point) -> bool:
    """Whether the class at a point hangs on the last digits."""
    density = point_density(camera, pose, point)
    if density is None or any(abs(density / c.px_per_m - 1) < 1e-9 for c in scale.classes):
        return True
    u, v = project(point, camera.K, pose.R, pose.t)
    width, height = camera.image_px
    far = 1e-6 * (1 + abs(u) + abs(v))
    return min(abs(u + 0.5), abs(u - width + 0.5), abs(v + 0.5), abs(v - height + 0.5)) < far


@given(cameras, poses, scales, shares, shares)
def test_a_ground_point_of_the_picture_lies_in_the_zone_of_the_class_that_it_has(
    camera, pose, scale, across, down
):
    width, height = camera.image_px
    pixel = (across * width - 0.5, down * height - 0.5)
    ray = pose.R.T @ [*((np.array(pixel) - camera.K[:2, 2]) / camera.focal_px), 1]
    assume(ray[2] < -1e-3)  # below the horizon
    point = pose.position_m - pose.position_m[2] / ray[2] * ray
    assume(not near_a_border(camera, pose, scale, point))
    zone = zone_at(ground_zones(camera, pose, scale), *point[:2])
    depth_m = pose.R[2] @ point + pose.t[2]
    assert (zone and zone.name) == class_of(density_at(camera, depth_m), scale)


@given(cameras, poses, scales, st.floats(-80, 80), st.floats(-80, 80))
def test_any_ground_point_is_in_the_zone_of_its_class_in_the_picture_and_in_none_outside(
    camera, pose, scale, x, y
):
    point = [x, y, 0]
    assume(not near_a_border(camera, pose, scale, point))
    zone = zone_at(ground_zones(camera, pose, scale), x, y)
    assert (zone and zone.name) == class_seen_at(camera, pose, scale, point)


@given(cameras, poses, scales, st.lists(st.floats(0.01, 1), min_size=12, max_size=12))
def test_every_place_inside_a_zones_polygon_has_its_class_and_is_in_the_picture(
    camera, pose, scale, weights
):
    width, height = camera.image_px
    for zone in ground_zones(camera, pose, scale):
        shares = np.array(weights[: len(zone.ground_m)])
        point = [*(shares @ zone.ground_m / shares.sum()), 0]
        if near_a_border(camera, pose, scale, point):  # a zone that is a sliver
            continue
        assert class_of(point_density(camera, pose, point), scale) == zone.name
        u, v = project(point, camera.K, pose.R, pose.t)
        assert -0.5 <= u <= width - 0.5 and -0.5 <= v <= height - 0.5


@given(cameras, poses, scales)
def test_zones_are_convex_and_turn_counter_clockwise(camera, pose, scale):
    for zone in ground_zones(camera, pose, scale):
        edges = np.roll(zone.ground_m, -1, axis=0) - zone.ground_m
        turn = edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)
        size = np.abs(zone.ground_m).max() + 1
        assert (turn >= -1e-9 * size**2).all()


@given(cameras, poses, scales)
def test_a_zone_in_the_picture_stays_in_the_picture(camera, pose, scale):
    width, height = camera.image_px
    for zone in ground_zones(camera, pose, scale):
        near_axis_m = pose.R[2] @ [*zone.ground_m.mean(axis=0), 0] + pose.t[2]
        assume(near_axis_m > 1e-3)
        u, v = image_polygon(zone, camera, pose).T
        assert np.all((u > -0.51) & (u < width - 0.49)) and np.all(
            (v > -0.51) & (v < height - 0.49)
        )


def test_straight_above_the_whole_picture_has_one_class_and_its_size_is_the_fields():
    # 8 m above the ground: 1008 / 8 = 126 px/m everywhere; the picture is 1920 / 126 m wide.
    pose = look_at_pose(0, 90, 8, 0)
    (zone,) = ground_zones(PUBLISHED, pose, DORI)
    assert zone.name == "recognise"
    assert np.ptp(zone.ground_m, axis=0) == pytest.approx([1920 / 126, 1080 / 126])


def test_a_level_camera_sees_its_classes_in_bands_that_end_at_their_distances():
    # f = 1008 px: 250, 125, 62.5 and 25 px/m are at 4.032, 8.064, 16.128 and 40.32 m.
    zones = ground_zones(PUBLISHED, look_at_pose(0, 0, 10, 1.5), DORI)
    assert [zone.name for zone in zones] == ["identify", "recognise", "observe", "detect"]
    far = [zone.ground_m[:, 1].max() + 10 for zone in zones]
    assert far == pytest.approx([4.032, 8.064, 16.128, 40.32])
    # Its lower edge meets the ground at 1.5 m x 1008 / 540.
    assert zones[0].ground_m[:, 1].min() + 10 == pytest.approx(1.5 * 1008 / 540)


def test_a_camera_that_looks_at_the_sky_or_lies_in_the_ground_has_no_zones():
    assert ground_zones(PUBLISHED, look_at_pose(0, -45, 1, 2), DORI) == ()
    assert ground_zones(PUBLISHED, look_at_pose(0, 0, 5, 0), DORI) == ()


def test_a_point_behind_the_camera_has_no_density_and_no_class():
    pose = look_at_pose(0, 0, 5, 0.9)
    assert point_density(PUBLISHED, pose, [0, -6, 0]) is None
    assert class_seen_at(PUBLISHED, pose, DORI, [0, -6, 0]) is None


def test_an_upright_person_is_as_tall_in_pixels_as_the_density_says_for_a_level_camera():
    # 1.7 m at 187.5 px/m
    pose = look_at_pose(0, 0, 5.376, 0.9)
    assert height_in_pixels(PUBLISHED, pose, [0, 0, 0], 1.7) == pytest.approx(318.75)


def test_seen_from_straight_above_a_person_on_the_axis_has_no_height():
    pose = look_at_pose(0, 90, 10, 0.9)
    assert height_in_pixels(PUBLISHED, pose, [0, 0, 0], 1.7) == pytest.approx(0, abs=1e-9)
    assert height_in_pixels(PUBLISHED, pose, [0, 0, 10], 1.7) is None


def test_the_lens_calculator_gives_the_published_distances_and_goes_back():
    distances = class_distances_m(PUBLISHED, DORI)
    assert distances == pytest.approx(
        {"detect": 40.32, "observe": 16.128, "recognise": 8.064, "identify": 4.032}
    )
    for name, distance_m in distances.items():
        density = next(c.px_per_m for c in DORI.classes if c.name == name)
        assert lens_for(PUBLISHED, density, distance_m) == pytest.approx(2.8)


@given(st.floats(1, 2000), st.floats(0.5, 500))
def test_a_fitted_lens_reaches_the_density_at_the_distance(density, distance_m):
    lens_mm = lens_for(PUBLISHED, density, distance_m)
    fitted = Camera(16 / 3, 3.0, lens_mm, 1.4, 1920, 1080)
    assert density_at(fitted, distance_m) == pytest.approx(density)


@pytest.mark.parametrize(("density", "distance_m"), [(0, 5), (125, 0), (125, math.inf)])
def test_a_lens_for_nothing_is_refused(density, distance_m):
    with pytest.raises(ValueError, match="greater than 0"):
        lens_for(PUBLISHED, density, distance_m)


def test_clipping_a_square_by_its_diagonal_leaves_a_triangle():
    square = [(0.0, 0.0), (SQUARE_M, 0.0), (SQUARE_M, SQUARE_M), (0.0, SQUARE_M)]
    corners = clip_convex(square, [(1, -1, 0)])  # x >= y
    assert sorted(set(corners)) == [(0, 0), (SQUARE_M, 0), (SQUARE_M, SQUARE_M)]
    assert clip_convex(square, [(1, 0, -2 * SQUARE_M)]) == []
