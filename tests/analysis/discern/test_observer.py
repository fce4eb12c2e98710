"""The simulated observer: its parts have their published values, and it obeys their laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.analysis.discern.observer import (
    Observer,
    ObserverError,
    Viewing,
    answer,
    barten_sensitivity,
    display_luminance,
    probability_seen,
    repeat_consistency,
    visibility_level,
)


def disc(radius_px, person=140, ground=128, size=161):
    y, x = np.mgrid[:size, :size] - size // 2
    mask = np.hypot(y, x) <= radius_px
    image = np.where(mask[..., None], person, ground).astype(np.uint8).repeat(3, axis=2)
    return image, mask


def test_contrast_sensitivity_is_that_of_bartens_formula():
    # 4 cycles per degree, 100 cd/m2, 10 degrees: computed by hand from Barten (2004), eq. 11.
    optics = 5200 * math.exp(-0.0016 * 16 * 2**0.08)
    noise = 63 / 100**0.83 + 1 / (1 - math.exp(-0.02 * 16))
    by_hand = optics / math.sqrt((1 + 144 / 100 + 0.64 * 16) * noise)
    assert barten_sensitivity(4, 100, 10) == pytest.approx(by_hand, rel=1e-12)
    assert 600 < by_hand < 650
    assert barten_sensitivity(0, 100, 10) == 0


def test_thresholds_of_discs_fall_with_size_as_blackwells_do():
    # Blackwell, J. Opt. Soc. Am. 36 (1946) 624, table 8, at 34 cd/m2: threshold contrasts of discs
    # of 9.68, 55.2 and 121 minutes of arc are about as 4.1 : 1.25 : 1.
    viewing = Viewing()
    thresholds = []
    for minutes in (9.68, 55.2, 121.0):
        image, mask = disc(minutes / 120 * viewing.px_per_deg, size=241)
        light = display_luminance(image, viewing)
        contrast = light[120, 120] / light[0, 0] - 1
        thresholds.append(contrast / visibility_level(image, mask, viewing))
    ratios = np.array(thresholds) / thresholds[-1]
    assert ratios == pytest.approx([4.1, 1.25, 1], rel=0.25)
    # Trained observers with all the time they want need less: the field factor begins there.
    assert 0.005 < thresholds[-1] < 0.02


def test_a_screen_shows_black_white_and_the_room():
    viewing = Viewing(white_cd_m2=100, black_cd_m2=0.1, reflected_cd_m2=0.4)
    shown = display_luminance(np.uint8([[[0] * 3, [255] * 3]]), viewing)
    assert shown[0] == pytest.approx([0.5, 100.4])
    assert Viewing(distance_m=1, pixel_pitch_mm=0.25).px_per_deg == pytest.approx(69.81, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 60))
def test_more_contrast_is_never_seen_less(radius, less, more):
    less, more = sorted((less, more))
    levels = [visibility_level(*disc(radius, 128 + step)) for step in (less, more)]
    assert levels[0] <= levels[1] + 1e-9


def test_a_larger_disc_of_the_same_contrast_is_seen_better():
    levels = [visibility_level(*disc(radius)) for radius in (1, 3, 8, 20)]
    assert levels == sorted(levels) and levels[0] < levels[-1] / 3


def test_clutter_around_hides_and_nobody_is_not_visible():
    image, mask = disc(8)
    rng = np.random.default_rng(0)
    cluttered = np.clip(image + rng.normal(0, 30, (161, 161, 1)), 0, 255).astype(np.uint8)
    cluttered[mask] = image[mask]
    far = Observer().clutter_weight
    assert visibility_level(cluttered, mask) < 5 * visibility_level(image, mask)
    assert visibility_level(cluttered, mask, None, 10 * far) < visibility_level(cluttered, mask)
    assert visibility_level(image, np.zeros_like(mask)) == 0


def test_someone_who_looks_like_the_ground_is_not_visible():
    rng = np.random.default_rng(1)
    image = rng.integers(90, 150, (161, 161, 1)).astype(np.uint8).repeat(3, axis=2)
    _, mask = disc(20)
    assert probability_seen(visibility_level(image, mask)) < 0.1


def test_the_probability_is_a_half_at_the_threshold_and_small_for_nobody():
    keen = Observer(field_factor=2.5, lapse=0.0, criterion_noise=0.0)
    assert probability_seen(2.5, keen) == pytest.approx(0.5)
    # The criterion stands three standard deviations above nothing: 0.135 % false alarms.
    assert probability_seen(0, keen) == pytest.approx(0.00135, abs=1e-5)
    tired = Observer(lapse=0.1)
    assert probability_seen(0, tired) > 0.05 and probability_seen(1e6, tired) == pytest.approx(0.95)


def test_answers_are_drawn_anew_at_each_showing_and_alike_in_each_run():
    key = ("v000000000001-night", "nv")
    draws = [answer(0.3, key, n) for n in range(2000)]
    assert draws == [answer(0.3, key, n) for n in range(2000)]
    assert np.mean(draws) == pytest.approx(0.3, abs=0.03)
    assert draws != [answer(0.3, key, n, seed=1) for n in range(2000)]
    assert draws != [answer(0.3, (key[0], "camera"), n) for n in range(2000)]


def test_repeat_consistency_is_the_chance_of_two_equal_answers():
    assert repeat_consistency([0.0, 1.0, 0.5]) == pytest.approx((1 + 1 + 0.5) / 3)


def test_black_saturated_and_tiny_images_have_a_level():
    for code in (0, 255):
        image, mask = np.full((1, 1, 3), code, np.uint8), np.ones((1, 1), bool)
        assert visibility_level(image, mask) == 0
    image, mask = disc(0)
    assert math.isfinite(visibility_level(image, mask))


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Viewing, {"distance_m": 0}),
        (Viewing, {"reflected_cd_m2": -1}),
        (Viewing, {"black_cd_m2": 0, "reflected_cd_m2": 0}),
        (Observer, {"field_factor": 0}),
        (Observer, {"lapse": 1}),
        (Observer, {"criterion_noise": math.nan}),
    ],
)
def test_impossible_conditions_are_refused(kind, wrong):
    with pytest.raises(ObserverError):
        kind(**wrong)
