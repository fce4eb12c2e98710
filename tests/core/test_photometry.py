"""Light, exposure and the view transform. Values: ISO 12232, IEC 61966-2-1, ITU-R BT.709."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.photometry import (
    expose,
    illuminance_text,
    luminance,
    meter,
    plate_illuminance,
    plate_luminance,
    read_illuminance_lx,
    saturation_luminance,
    srgb_decode,
    srgb_encode,
    to_srgb8,
)

CAMERA = {"fnumber": 1.4, "iso": 250, "shutter_limit_s": 0.04}


def mean_signal(pixels, exposure_s):
    return np.minimum(expose(pixels, exposure_s, 1.4, 250), 1).mean()


def test_luminance_weighs_channels_by_rec_709():
    assert luminance(np.eye(3)).tolist() == [0.2126, 0.7152, 0.0722]
    assert luminance(np.ones((2, 4, 3))) == pytest.approx(np.ones((2, 4)))


def test_a_white_plate_under_pi_lux_has_luminance_1():
    assert plate_luminance(math.pi) == 1
    assert plate_illuminance(1, reflectance=0.5) == 2 * math.pi


def test_saturation_is_120_n_squared_over_s_t():
    # ISO 12232: 78 / 0.65 = 120
    assert saturation_luminance(1 / 100, 2.0, 100) == pytest.approx(120 * 4)


def test_a_pixel_at_saturation_luminance_has_signal_1():
    assert expose(saturation_luminance(0.01, 1.4, 250), 0.01, 1.4, 250) == 1


def test_a_grey_card_is_exposed_to_the_target():
    exposure_s = meter(1000.0, **CAMERA)
    assert expose(1000.0, exposure_s, 1.4, 250) == pytest.approx(0.18)


def test_night_reaches_the_shutter_limit_and_stays_dark():
    # 0.2 lx on a ground of reflectance 0.3
    night = plate_luminance(0.2, 0.3)
    assert meter(night, **CAMERA) == 0.04
    assert expose(night, 0.04, 1.4, 250) < 0.001


def test_black_reaches_the_shutter_limit():
    assert meter(np.zeros((4, 4)), **CAMERA) == 0.04


def test_glare_is_held_at_the_shortest_time():
    assert meter(1e9, **CAMERA) == 1 / 50_000


def test_a_few_lamps_hardly_change_the_exposure():
    # A thousandth of the pixels is a million times as bright: the plain mean is 1000 times darker.
    scene = np.full(10_000, 1000.0)
    lamps = scene.copy()
    lamps[:10] = 1e9
    assert meter(lamps, **CAMERA) == pytest.approx(meter(scene, **CAMERA), rel=0.01)


pixel_sets = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=40).map(np.array)


@given(pixel_sets)
def test_the_recorded_mean_is_the_target_wherever_the_shutter_allows(pixels):
    exposure_s = meter(pixels, **CAMERA)
    signal = mean_signal(pixels, exposure_s)
    if exposure_s == 0.04:
        assert signal <= 0.18 + 1e-12
    elif exposure_s == 1 / 50_000:
        assert signal >= 0.18 - 1e-12
    else:
        assert signal == pytest.approx(0.18, rel=1e-9)


@given(pixel_sets, st.floats(1, 100))
def test_more_light_never_means_a_longer_exposure(pixels, factor):
    assert meter(pixels * factor, **CAMERA) <= meter(pixels, **CAMERA) * (1 + 1e-12)


@given(pixel_sets)
def test_metering_does_not_depend_on_where_pixels_are(pixels):
    assert meter(pixels[::-1], **CAMERA) == pytest.approx(meter(pixels, **CAMERA), rel=1e-12)


@pytest.mark.parametrize("bad", [[], [-1.0], [math.nan, 1.0], [math.inf]])
def test_metering_refuses_what_is_no_luminance(bad):
    with pytest.raises(ValueError, match="cannot meter"):
        meter(bad, **CAMERA)


@pytest.mark.parametrize(
    ("linear", "encoded"),
    [
        (0, 0),
        (0.0031308, 0.0404499),  # the standard's joint: 12.92 x 0.0031308
        (0.214041, 0.5),  # ((0.5 + 0.055) / 1.055)^2.4
        (0.18, 0.461356),  # middle grey
        (1, 1),
    ],
)
def test_the_srgb_curve_has_its_known_values(linear, encoded):
    assert srgb_encode(linear) == pytest.approx(encoded, abs=2e-6)


@given(st.floats(-1, 1))
def test_the_srgb_curve_is_undone(value):
    assert srgb_decode(srgb_encode(value)) == pytest.approx(value, abs=1e-6)


def test_every_8_bit_code_survives_a_round_trip():
    codes = np.arange(256)
    assert to_srgb8(srgb_decode(codes / 255)).tolist() == codes.tolist()


@given(st.lists(st.floats(-2, 4, width=32), min_size=1))
def test_8_bits_are_the_clipped_curve_with_halves_rounded_up(values):
    exact = np.floor(255 * srgb_encode(np.clip(np.array(values, float), 0, 1)) + 0.5)
    assert to_srgb8(values).tolist() == exact.tolist()


def test_8_bits_are_exact_on_both_sides_of_every_step():
    steps = srgb_decode((np.arange(255) + 0.5) / 255).astype(np.float32)
    around = np.concatenate([np.nextafter(steps, np.float32(s)) for s in (0, 1)] + [steps])
    exact = np.floor(255 * srgb_encode(around.astype(float)) + 0.5)
    assert to_srgb8(around).tolist() == exact.tolist()


def test_clipping_holds_at_both_ends():
    assert to_srgb8([-math.inf, -1, -0.0, 0, 1, 7, math.inf]).tolist() == [0] * 4 + [255] * 3


def test_8_bits_keep_the_shape():
    assert to_srgb8(np.zeros((2, 5, 3), np.float32)).shape == (2, 5, 3)
    assert to_srgb8(0.5).shape == ()


def test_an_image_with_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        to_srgb8([0.5, math.nan])


@pytest.mark.parametrize(
    ("illuminance_lx", "text"),
    [
        (90_000, "90,000 lx"),
        (8, "8 lx"),
        (0.065, "0.065 lx"),
        (1234.5, "1,230 lx"),
        (99.96, "100 lx"),
    ],
)
def test_an_illuminance_is_told_in_three_figures(illuminance_lx, text):
    assert illuminance_text(illuminance_lx) == text


@pytest.mark.parametrize("text", ["", "lx", "nan", "inf", "0", "-1 lx", "8 lm"])
def test_what_is_no_illuminance_is_refused(text):
    with pytest.raises(ValueError):
        read_illuminance_lx(text)


@given(st.floats(1e-6, 1e6))
def test_an_illuminance_is_read_as_it_is_told(illuminance_lx):
    told = illuminance_text(illuminance_lx, figures=6)
    assert read_illuminance_lx(told) == pytest.approx(illuminance_lx, rel=1e-5)
