"""Distortion against OpenCV and against itself, fall-off of light, motion blur."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.analysis.develop.lens import (
    Distortion,
    distort_image,
    distort_mask,
    distort_points,
    falloff,
    motion_blur,
    motion_kernel,
    resampling,
)

WIDTH, HEIGHT, MARGIN = 192, 108, 24
K = np.array([[120.0, 0, 95.5], [0, 118.0, 53.5], [0, 0, 1]])
BARREL = Distortion(-0.18, 0.03, 0.002, -0.001, -0.004)
PINCUSHION = Distortion(0.08, -0.01, 0.001, 0.002, 0.0)

lenses = pytest.mark.parametrize("lens", [BARREL, PINCUSHION], ids=["barrel", "pincushion"])

coefficients = st.builds(
    Distortion,
    k1=st.floats(-0.1, 0.2),
    k2=st.floats(-0.02, 0.02),
    p1=st.floats(-0.005, 0.005),
    p2=st.floats(-0.005, 0.005),
    k3=st.floats(-0.005, 0.005),
)
points = st.tuples(st.floats(0, WIDTH - 1), st.floats(0, HEIGHT - 1))


def disk(centre_px: tuple[float, float], radius_px: float, margin_px: int = MARGIN) -> np.ndarray:
    """A disk with soft edges on an ideal image with its margin."""
    shape = HEIGHT + 2 * margin_px, WIDTH + 2 * margin_px
    y, x = np.indices(shape, np.float32) - margin_px
    return np.clip(radius_px + 0.5 - np.hypot(x - centre_px[0], y - centre_px[1]), 0, 1)


def centroid(image: np.ndarray) -> np.ndarray:
    y, x = np.indices(image.shape)
    return np.array([(x * image).sum(), (y * image).sum()]) / image.sum()


# Points


@given(coefficients, points)
def test_points_go_where_opencv_projects_them(lens, point):
    ray = [(point[0] - K[0, 2]) / K[0, 0], (point[1] - K[1, 2]) / K[1, 1], 1.0]
    given = np.array([lens.k1, lens.k2, lens.p1, lens.p2, lens.k3])
    expected, _ = cv2.projectPoints(np.array([ray]), np.zeros(3), np.zeros(3), K, given)
    assert distort_points(point, K, lens) == pytest.approx(expected[0, 0], abs=1e-6)


def test_without_distortion_points_stay():
    joints = np.array([[10.0, 20.0], [-5.0, 200.0]])
    assert distort_points(joints, K, Distortion()) == pytest.approx(joints)


def test_a_point_beyond_the_fold_has_no_place():
    # r - 0.18 r^3 turns back at r = sqrt(1 / 0.54) = 1.36 focal lengths: 163 px from the middle
    lens = Distortion(-0.18)
    assert lens.fold_radius == pytest.approx(1.3608, abs=1e-4)
    places = distort_points([[95.5 + 160, 53.5], [95.5 + 170, 53.5]], K, lens)
    assert np.isnan(places).all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("k3", [0.0, 2e-308, 0.01])
def test_a_lens_without_a_turning_point_never_folds(k3):
    assert Distortion(0.1, k3=k3).fold_radius == math.inf
    assert Distortion(k3=k3).fold_radius == math.inf


def test_a_joint_without_an_image_stays_without():
    joints = np.array([[[np.nan, np.nan], [50.0, 50.0]]])
    places = distort_points(joints, K, BARREL)
    assert np.isnan(places[0, 0]).all() and np.isfinite(places[0, 1]).all()


# Images, masks and points stay on each other


@lenses
@pytest.mark.parametrize("centre", [(96.0, 54.0), (30.3, 20.6), (160.5, 88.2), (20.0, 90.0)])
def test_image_and_mask_of_a_disk_lie_where_its_centre_goes(lens, centre):
    sampled = resampling(K, lens, (WIDTH, HEIGHT), margin_px=MARGIN)
    ideal = disk(centre, 4.0)
    expected = distort_points(centre, K, lens)
    light = distort_image(ideal, sampled)
    mask = distort_mask((ideal > 0.5).astype(np.uint8) * 255, sampled)
    assert centroid(light) == pytest.approx(expected, abs=0.1)
    assert centroid(mask) == pytest.approx(expected, abs=0.5)
    assert set(np.unique(mask)) == {0, 255}


@settings(max_examples=15, deadline=None)
@given(coefficients)
def test_a_pixel_comes_from_where_a_point_goes_to_it(lens):
    sampled = resampling(K, lens, (WIDTH, HEIGHT), margin_px=60)
    sources = np.stack([sampled.x, sampled.y], axis=-1)[::9, ::9] - 60
    inside = sampled.valid[::9, ::9]
    y, x = np.mgrid[0:HEIGHT:9, 0:WIDTH:9]
    goes_to = distort_points(sources, K, lens)
    assert goes_to[inside] == pytest.approx(np.stack([x, y], axis=-1)[inside], abs=0.02)


def test_without_distortion_the_image_stays():
    image = np.random.default_rng(0).random((HEIGHT, WIDTH, 3)).astype(np.float32)
    sampled = resampling(K, Distortion(), (WIDTH, HEIGHT))
    assert sampled.missing_px == 0
    assert distort_image(image, sampled) == pytest.approx(image, abs=1e-6)
    labels = (image[..., 0] * 1000).astype(np.int32)
    assert (distort_mask(labels, sampled) == labels).all()


def test_a_margin_is_cut_off_around_the_middle():
    image = disk((40.0, 30.0), 5.0)
    sampled = resampling(K, Distortion(), (WIDTH, HEIGHT), margin_px=MARGIN)
    assert (distort_image(image, sampled) == image[MARGIN:-MARGIN, MARGIN:-MARGIN]).all()


def test_a_barrel_image_says_how_much_more_it_needs_and_that_is_enough():
    sampled = resampling(K, BARREL, (WIDTH, HEIGHT))
    image = np.ones((HEIGHT, WIDTH), np.float32)
    with pytest.raises(ValueError, match=rf"render {sampled.missing_px} more pixels"):
        distort_image(image, sampled)
    with pytest.raises(ValueError, match="or give a fill value"):
        distort_mask(image, sampled)
    assert resampling(K, BARREL, (WIDTH, HEIGHT), margin_px=sampled.missing_px).valid.all()


def test_an_image_without_its_margin_is_refused():
    sampled = resampling(K, BARREL, (WIDTH, HEIGHT), margin_px=MARGIN)
    with pytest.raises(ValueError, match="192x108 pixels is not the ideal image of 240x156"):
        distort_image(np.ones((HEIGHT, WIDTH), np.float32), sampled)


def test_what_the_ideal_image_lacks_is_filled_on_request():
    sampled = resampling(K, BARREL, (WIDTH, HEIGHT))
    image = distort_image(np.ones((HEIGHT, WIDTH), np.float32), sampled, fill=7)
    assert (image[~sampled.valid] == 7).all()
    assert (image[sampled.valid] == 1).all()


def test_a_lens_that_folds_within_the_image_is_refused():
    with pytest.raises(ValueError, match="turns back within an image of 192x108"):
        resampling(K, Distortion(-0.6), (WIDTH, HEIGHT))


# Fall-off


def test_light_falls_off_with_the_fourth_power_of_the_cosine():
    light = falloff(201, 101, 100.0)
    assert light.shape == (101, 201)
    assert light[50, 100] == 1
    assert light[50, 0] == pytest.approx(math.cos(math.radians(45)) ** 4)
    assert light == pytest.approx(light[::-1, ::-1])


def test_another_power_is_another_lens():
    assert falloff(201, 101, 100.0, power=3)[50, 0] == pytest.approx(math.sqrt(0.5) ** 3)


# Motion


@given(st.floats(0, 0.1), st.floats(-300, 300), st.floats(-300, 300))
def test_a_motion_kernel_keeps_light_and_place(exposure_s, right, down):
    kernel = motion_kernel(exposure_s, (right, down))
    assert (kernel >= 0).all()
    assert kernel.sum() == pytest.approx(1)
    assert centroid(kernel) == pytest.approx(np.array(kernel.shape) // 2, abs=1e-9)


@pytest.mark.parametrize("angle_deg", [0, 30, 90, 135])
def test_a_motion_kernel_is_as_long_as_the_path(angle_deg):
    # an even path of length l has the variance l^2 / 12; sharing between pixels adds 1/6 at most
    along = np.array([math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))])
    kernel = motion_kernel(0.04, tuple(500 * along))
    y, x = np.indices(kernel.shape) - kernel.shape[0] // 2
    on_path = x * along[0] + y * along[1]
    variance = (kernel * on_path**2).sum()
    assert 20**2 / 12 <= variance <= 20**2 / 12 + 0.34


def test_no_motion_is_no_blur():
    image = np.random.default_rng(0).random((8, 9, 3)).astype(np.float32)
    assert (motion_blur(image, 0.04, (0.0, 0.0)) == image).all()


def test_a_moving_point_becomes_a_line_of_the_same_light():
    image = np.zeros((21, 61), np.float32)
    image[10, 30] = 1
    blurred = motion_blur(image, 0.04, (500.0, 0.0))
    assert blurred.sum() == pytest.approx(1)
    assert blurred[10, 22:39] == pytest.approx(np.full(17, 1 / 20), rel=1e-3)
    assert blurred[9].max() < 1e-9


def test_blur_leaves_no_negative_light_beside_a_lamp():
    scene = np.zeros((64, 64), np.float32)
    scene[32, 32] = 1e9
    assert motion_blur(scene, 0.04, (700.0, 300.0)).min() == 0
