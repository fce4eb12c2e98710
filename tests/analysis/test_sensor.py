"""The sensor model, against EMVA 1288's own evaluation, ISO 12232 and docs/sensor.md."""

import dataclasses
import logging
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.optics import load_sensors
from limen.addon.core.photometry import meter, plate_luminance, saturation_luminance
from limen.analysis.develop.lens import falloff
from limen.analysis.develop.sensor import (
    SPECTRA,
    TRANSMISSION,
    RawImage,
    SensorModel,
    demosaic,
    expose_raw,
    fixed_pattern,
    load_sensor_models,
    noise_model,
    photons_per_lux_s_m2,
    photons_per_pixel,
    saturation_iso,
    to_electrons,
)

MODELS = load_sensor_models()
STUDY = MODELS["cmos-1-2.8"]
DOCS = Path(__file__).parents[2] / "docs" / "sensor.md"
ISO, FNUMBER, SHUTTER_LIMIT_S = 250, 1.4, 1 / 25

models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def plate(luminance_cd_m2: float, side_px: int = 64) -> np.ndarray:
    return np.full((side_px, side_px, 3), luminance_cd_m2, np.float32)


def expose(image: np.ndarray, model: SensorModel = STUDY, **changes) -> RawImage:
    asked = {"exposure_s": 0.01, "fnumber": 2.0, "seed": 3, "image_id": "v0-noon"} | changes
    return expose_raw(image, model=model, **asked)


def luminance_for(photons: float, model: SensorModel) -> float:
    """The luminance that brings a mean number of photons to a pixel in 10 ms at f/2."""
    per_luminance = photons_per_pixel(1.0, 0.01, 2.0, model.pixel_pitch_um, spectrum=model.spectrum)
    return photons / float(per_luminance)


def without_noise(model: SensorModel) -> SensorModel:
    return dataclasses.replace(
        model, read_noise_e=0, dark_current_e_s=0, prnu=0, dsnu_e=0, black_level_dn=0
    )


# Photons


def test_a_lux_of_green_light_is_4_09e15_photons_a_second_and_square_metre():
    # 1 lm at 555 nm is 1/683 W, a photon hc / 555 nm = 3.579e-19 J
    assert photons_per_lux_s_m2("555nm") == pytest.approx(1 / (683 * 3.5791e-19), rel=1e-4)


def test_a_lux_of_daylight_is_18_micromole_of_photons_as_plant_lamps_are_sold():
    # 400 to 700 nm, 6.022e23 / mol; daylight is commonly given as 54 lx per umol/(m2 s)
    assert photons_per_lux_s_m2("daylight") / 6.022e17 == pytest.approx(1 / 54, rel=0.05)


def test_the_photon_budget_in_the_docs_is_what_the_code_counts():
    text = DOCS.read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `(\w+)` .*\| \*\*([\d.]+)\*\* \|$", text, re.MULTILINE))
    # by hand: 0.1 lx on 18 % grey; f/1.4; 1/25 s; 2.778 um
    grey_cd_m2 = 0.1 * 0.18 / math.pi
    lux_s_m2 = math.pi / 4 * grey_cd_m2 / 1.4**2 * 0.04 * (5.3333e-3 / 1920) ** 2
    by_hand = {
        "green_no_lens": lux_s_m2 * 4.0907e15,
        "daylight_no_lens": lux_s_m2 * 1.0855e16,
        "daylight": lux_s_m2 * 1.0855e16 * 0.8296,
        "electrons": lux_s_m2 * 1.0855e16 * 0.8296 * 0.265,
    }
    see = plate_luminance(0.1, 0.18), SHUTTER_LIMIT_S, FNUMBER, STUDY.pixel_pitch_um
    counted = {
        "green_no_lens": float(photons_per_pixel(*see, transmission=1, spectrum="555nm")),
        "daylight_no_lens": float(photons_per_pixel(*see, transmission=1)),
        "daylight": float(photons_per_pixel(*see)),
        "electrons": float(photons_per_pixel(*see)) * STUDY.quantum_efficiency[1],
    }
    assert counted == pytest.approx(by_hand, rel=1e-3)
    assert {name: float(value) for name, value in stated.items()} == pytest.approx(
        counted, abs=0.005
    )


def test_a_dark_night_brings_the_photons_of_the_docs_to_the_sensor():
    night = plate(plate_luminance(0.1, 0.18), 512)
    raw = expose(night, exposure_s=SHUTTER_LIMIT_S, fnumber=FNUMBER)
    electrons = to_electrons(raw)[0::2, 1::2].mean()
    assert electrons == pytest.approx(1.69, rel=0.02)


def test_photons_grow_with_light_time_and_area_and_fall_with_the_square_of_the_fnumber():
    photons = photons_per_pixel(10.0, 0.01, 2.0, 3.0)
    assert photons_per_pixel(20.0, 0.02, 1.0, 6.0) == pytest.approx(photons * 2 * 2 * 4 * 4)


def test_the_lens_is_the_one_that_photometry_exposes_with():
    # photometry: H = 0.65 L t / N^2, rounded by ISO 12232 from pi/4 x 0.83
    assert math.pi / 4 * TRANSMISSION == pytest.approx(0.65, rel=0.003)


@pytest.mark.parametrize("wrong", [{"exposure_s": 0.0}, {"fnumber": 0.0}, {"spectrum": "moon"}])
def test_photons_of_no_exposure_or_an_unknown_light_are_refused(wrong):
    with pytest.raises(ValueError, match=r"greater than 0|daylight, 555nm, 850nm"):
        photons_per_pixel(1.0, **{"exposure_s": 1, "fnumber": 1, "pixel_pitch_um": 3} | wrong)


# Models


def test_the_presets_are_the_studys_two_larger_and_a_monochrome_one():
    assert list(MODELS) == ["cmos-1-2.8", "cmos-1-1.8", "cmos-1", "mono-ir"]
    assert all(model.source for model in MODELS.values())


@pytest.mark.parametrize(
    ("name", "sensor"),
    [("cmos-1-2.8", "syndorbench"), ("cmos-1-1.8", "1/1.8-inch"), ("cmos-1", "1-inch")],
)
def test_a_model_has_the_pixels_of_the_geometry_it_belongs_to(name, sensor):
    geometry = load_sensors()[sensor]
    pitch_um = geometry.width_mm / geometry.width_px * 1000
    assert MODELS[name].pixel_pitch_um == pytest.approx(pitch_um)


@models
def test_the_pixel_saturates_before_the_converter_does(model):
    assert model.saturation_e == model.full_well_e
    assert model.black_level_dn + model.gain_dn_per_e * model.full_well_e <= model.max_dn


def test_the_studys_sensor_saturates_where_metering_at_iso_250_says():
    assert saturation_iso(STUDY) == pytest.approx(ISO, rel=0.01)
    at_saturation = saturation_luminance(0.01, FNUMBER, ISO)
    electrons = photons_per_pixel(at_saturation, 0.01, FNUMBER, STUDY.pixel_pitch_um)
    assert electrons * STUDY.quantum_efficiency[1] == pytest.approx(STUDY.full_well_e, rel=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pixel_pitch_um": 0.0},
        {"full_well_e": math.nan},
        {"read_noise_e": -1.0},
        {"pixel_pitch_um": 1e-300},
        {"pixel_pitch_um": 1e6},
        {"full_well_e": 1e-3},
        {"full_well_e": 1e14},
        {"read_noise_e": 1e9},
        {"prnu": 2.0},
        {"gain_dn_per_e": 1e-300},
        {"gain_dn_per_e": 9999.0},  # an electron saturates it
        {"black_level_dn": 4095.0},  # no light is left to be counted
        {"bit_depth": 4},
        {"bit_depth": 12.5},
        {"filter": "xtrans"},
        {"quantum_efficiency": (0.5,)},
        {"quantum_efficiency": (0.5, 1.1, 0.5)},
        {"quantum_efficiency": (0.5, 1e-300, 0.5)},
        {"spectrum": "moon"},
    ],
)
def test_an_impossible_sensor_is_refused_by_the_name_of_the_value(wrong):
    with pytest.raises(ValueError, match=rf"'cmos-1-2.8': {next(iter(wrong))} is "):
        dataclasses.replace(STUDY, **wrong)


# EMVA 1288: the standard's reference evaluation finds the model's parameters in its frames


def evaluate_emva(model: SensorModel, monkeypatch: pytest.MonkeyPatch):
    """Run emva1288 on simulated frames: a pair at each of 22 illuminations, two stacks of 32."""
    if not hasattr(np, "asfarray"):  # gone from numpy 2, the package still calls it
        monkeypatch.setattr(
            np, "asfarray", lambda a, dtype=float: np.asarray(a, dtype), raising=False
        )
    from emva1288.process import routines
    from emva1288.process.data import Data1288
    from emva1288.process.results import Results1288

    efficiency = max(model.quantum_efficiency)
    saturation = model.full_well_e / efficiency
    frames = iter(range(10**6))

    def frame(photons: float) -> np.ndarray:
        scene = plate(luminance_for(photons, model), 384)
        raw = expose(scene, model, image_id=f"frame-{next(frames)}")
        return raw.dn[0::2, 1::2]

    def pair(photons: float) -> dict:
        sums = routines.get_int_imgs([frame(photons), frame(photons)])
        return {"sum": sums["sum"].sum(), "pvar": sums["pvar"].sum(), "dmean": sums["dmean"]}

    # Dense near saturation, where the package looks for the peak of the variance, from the bright
    # end; so none where all pixels are saturated and the variance is that of the dark.
    steps = np.r_[np.linspace(0.05, 0.9, 12), np.linspace(0.93, 1.02, 10)] * saturation
    half = saturation / 2
    exposure_ns = 1e7
    data = {
        "width": 192,
        "height": 192,
        "temporal": {exposure_ns: {0.0: pair(0.0), **{float(p): pair(p) for p in steps}}},
        "spatial": {
            exposure_ns: {
                p: routines.get_int_imgs([frame(p) for _ in range(32)]) for p in (0.0, half)
            }
        },
    }
    quiet = logging.WARNING
    return Results1288(Data1288(data, loglevel=quiet).data, loglevel=quiet)


@pytest.mark.parametrize(
    "name",
    ["cmos-1-2.8"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("mono-ir", "cmos-1-1.8", "cmos-1")],
)
def test_the_reference_evaluation_of_emva_1288_finds_the_parameters_again(name, monkeypatch):
    model = MODELS[name]
    found = evaluate_emva(model, monkeypatch)
    dark_noise = math.hypot(model.read_noise_e, math.sqrt(model.dark_current_e_s * 0.01))
    measured = {
        "K": found.K,
        "QE": found.QE / 100,
        "sigma_d": found.sigma_d,
        "PRNU": found.PRNU1288 / 100,
        "DSNU": found.DSNU1288,
    }
    assert measured == pytest.approx(
        {
            "K": model.gain_dn_per_e,
            "QE": max(model.quantum_efficiency),
            "sigma_d": dark_noise,
            "PRNU": model.prnu,
            "DSNU": model.dsnu_e,
        },
        rel=0.03,
    )
    # Its saturation is where the variance peaks: shot noise clips before the mean does.
    assert found.u_e_sat == pytest.approx(peak_of_variance_e(model.full_well_e), rel=0.01)
    assert found.u_e_sat == pytest.approx(model.full_well_e, rel=0.055)


def peak_of_variance_e(full_well_e: float) -> float:
    """The mean charge at which clipping at the full well takes as much variance as light adds."""
    charge = np.arange(full_well_e + 1)
    means = np.linspace(0.9 * full_well_e, full_well_e, 400)
    log_factorial = np.array([math.lgamma(n + 1) for n in charge])
    weights = np.exp(charge * np.log(means)[:, None] - means[:, None] - log_factorial)
    weights[:, -1] += 1 - weights.sum(axis=1)  # all that would be more
    mean = weights @ charge
    return float(means[np.argmax(weights @ charge**2 - mean**2)])


# Photon transfer and linearity


@models
def test_variance_grows_with_the_mean_at_the_gain(model):
    even = dataclasses.replace(model, prnu=0)
    levels = np.linspace(0.02, 0.6, 8) * model.full_well_e / max(model.quantum_efficiency)
    means, variances = [], []
    for photons in levels:
        raw = expose(plate(luminance_for(photons, model), 512), even, image_id=f"{photons}")
        pixels = raw.dn if model.filter == "mono" else raw.dn[0::2, 1::2]
        means.append(pixels.mean())
        variances.append(pixels.var())
    weights = 1 / np.array(variances)  # the spread of a variance grows with it
    slope, _ = np.polyfit(means, variances, 1, w=weights)
    assert slope == pytest.approx(model.gain_dn_per_e, rel=0.01)


@models
def test_twice_the_exposure_is_twice_the_signal_up_to_saturation(model):
    start = 0.02 * model.full_well_e / max(model.quantum_efficiency)
    image = plate(luminance_for(start, model), 512)
    signals = [
        to_electrons(expose(image, model, exposure_s=0.01 * 2**stop))[0::2, 1::2].mean()
        for stop in range(6)
    ]
    ratios = np.array(signals[1:]) / signals[:-1]
    assert ratios == pytest.approx(np.full(5, 2), rel=0.005)


@models
def test_beyond_saturation_the_signal_stays(model):
    image = plate(luminance_for(3 * model.full_well_e / min(model.quantum_efficiency), model))
    raw = expose(image, model)
    white = model.black_level_dn + model.gain_dn_per_e * model.full_well_e
    assert raw.dn.mean() == pytest.approx(white, abs=1)
    assert raw.dn.max() <= model.max_dn


def test_a_lamp_saturates_however_bright_it_is():
    image = plate(0.0)
    image[10:20, 10:20] = 1e12
    raw = expose(image)
    assert raw.dn[10:20, 10:20].min() > 0.99 * (240 + 0.558 * 6900)


def test_the_noise_model_predicts_the_spread_of_a_mosaic():
    for share in (0.0, 0.05, 0.3):
        photons = share * STUDY.full_well_e / STUDY.quantum_efficiency[1]
        raw = expose(plate(luminance_for(photons, STUDY), 512), exposure_s=0.01)
        pixels = raw.dn[0::2, 1::2] - raw.black_dn
        gain, read_sigma = noise_model(raw)
        signal = pixels.mean()
        expected = gain * signal + read_sigma**2 + (STUDY.prnu * signal) ** 2
        assert pixels.var() == pytest.approx(expected, rel=0.02)


# Exposure


@pytest.mark.parametrize("illuminance_lx", [100_000, 20_000, 1_000, 150, 75])
def test_a_grey_plate_lands_on_the_metering_target_from_noon_to_the_shutter_limit(illuminance_lx):
    grey = plate_luminance(illuminance_lx, 0.18)
    exposure_s = meter(grey, FNUMBER, ISO, shutter_limit_s=SHUTTER_LIMIT_S)
    assert 1 / 50_000 < exposure_s < SHUTTER_LIMIT_S
    image = demosaic(expose(plate(grey, 256), exposure_s=exposure_s, fnumber=FNUMBER))
    assert image.mean(axis=(0, 1)) == pytest.approx(np.full(3, 0.18), rel=0.01)


def test_noon_is_taken_at_a_thirty_four_thousandth_and_the_limit_lies_at_74_lux():
    # t = 0.18 x 78 N^2 / (0.65 ISO L): both ends of the metered range, at f/1.4 and ISO 250
    noon_s = meter(plate_luminance(1e5, 0.18), FNUMBER, ISO, shutter_limit_s=SHUTTER_LIMIT_S)
    assert 1 / noon_s == pytest.approx(33_830, rel=1e-3)
    for illuminance_lx, metered in ((74.5, True), (73.5, False)):
        grey = plate_luminance(illuminance_lx, 0.18)
        exposure_s = meter(grey, FNUMBER, ISO, shutter_limit_s=SHUTTER_LIMIT_S)
        assert (exposure_s < SHUTTER_LIMIT_S) == metered


def test_below_the_shutter_limit_the_image_darkens_in_proportion():
    signals = []
    for illuminance_lx in (50, 5, 0.5):
        grey = plate_luminance(illuminance_lx, 0.18)
        exposure_s = meter(grey, FNUMBER, ISO, shutter_limit_s=SHUTTER_LIMIT_S)
        assert exposure_s == SHUTTER_LIMIT_S
        raw = expose(plate(grey, 512), exposure_s=exposure_s, fnumber=FNUMBER)
        signals.append(demosaic(raw, "bilinear").mean())
    assert signals[0] / signals[1] == pytest.approx(10, rel=0.01)
    assert signals[1] / signals[2] == pytest.approx(10, rel=0.01)


# Colour


def test_the_mosaic_begins_with_red():
    raw = expose(plate(0.0, 4) + np.float32([0, 0, 1e6]), without_noise(STUDY))
    blue = np.zeros((4, 4), bool)
    blue[1::2, 1::2] = True
    assert ((raw.dn > 0) == blue).all()


@pytest.mark.parametrize("method", ["edge-aware", "bilinear"])
def test_daylight_grey_is_neutral_after_white_balance(method):
    photons = 0.3 * STUDY.full_well_e / STUDY.quantum_efficiency[1]
    image = demosaic(expose(plate(luminance_for(photons, STUDY), 512)), method)
    assert image.mean(axis=(0, 1)) == pytest.approx(np.full(3, 0.3), rel=0.005)


@pytest.mark.parametrize("method", ["edge-aware", "bilinear"])
def test_a_colour_comes_back_as_it_was(method):
    luminance = luminance_for(6900 / 0.265, STUDY) * np.float32([0.5, 0.2, 0.1])
    image = demosaic(expose(plate(1.0, 256) * luminance), method)
    assert image.mean(axis=(0, 1)) == pytest.approx([0.5, 0.2, 0.1], rel=0.01)


def test_an_edge_stays_in_its_place_through_the_mosaic():
    scene = plate(luminance_for(0.02 * 6900 / 0.265, STUDY), 64)
    scene[:, 32:] *= 40
    image = demosaic(expose(scene, without_noise(STUDY)))
    across = image.mean(axis=(0, 2))
    assert (across[:31] < 0.1).all()
    assert (across[33:] > 0.7).all()


@models
def test_what_saturates_is_white(model):
    bright = luminance_for(5 * model.full_well_e / min(model.quantum_efficiency), model)
    image = demosaic(expose(plate(bright), dataclasses.replace(model, read_noise_e=0, dsnu_e=0)))
    assert image == pytest.approx(np.ones_like(image), abs=0.002)


def test_darkness_has_mean_zero_with_values_on_both_sides():
    image = demosaic(expose(plate(0.0, 512), exposure_s=0.04), "bilinear")
    assert image.min() < 0 < image.max()
    electrons = to_electrons(expose(plate(0.0, 512), exposure_s=0.04))
    assert electrons.mean() == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5), (64, 1)])
def test_a_mosaic_of_any_size_becomes_an_image(shape):
    assert demosaic(expose(np.ones((*shape, 3)))).shape == (*shape, 3)


def test_a_monochrome_sensor_sees_luminance_in_three_equal_channels():
    mono = without_noise(MODELS["mono-ir"])
    scene = np.zeros((2, 2, 3), np.float32)
    scene[0, 0], scene[0, 1], scene[1, 0] = np.eye(3) * luminance_for(2000 / 0.4, mono)
    quiet = [demosaic(expose(scene, mono, image_id=f"{n}")) for n in range(400)]
    image = np.mean(quiet, axis=0)
    assert (image[..., 0] == image[..., 1]).all() and (image[..., 1] == image[..., 2]).all()
    expected = np.array([[0.2126, 0.7152], [0.0722, 0]]) * 2000 / 6900
    assert image[..., 0] == pytest.approx(expected, rel=0.02)


# Optics and the sensor's place


def test_light_falls_off_with_cos_4_from_the_axis():
    photons = 0.5 * STUDY.full_well_e / STUDY.quantum_efficiency[1]
    flat = plate(luminance_for(photons, STUDY), 512)
    raw = expose(flat, focal_px=256.0)
    electrons = to_electrons(raw)[0::2, 1::2]
    axis = electrons[120:136, 120:136].mean()
    # on the axis the lens lets 0.90 through, the whole field on average 0.83
    assert axis == pytest.approx(0.5 * 6900 * 0.90 / TRANSMISSION, rel=0.01)
    expected = falloff(512, 512, 256.0)[0::2, 1::2][:16, 120:136].mean()
    assert electrons[:16, 120:136].mean() / axis == pytest.approx(expected, rel=0.02)


def test_a_window_has_the_middle_of_the_sensors_fixed_pattern():
    dark = dataclasses.replace(STUDY, read_noise_e=0, dark_current_e_s=0, dsnu_e=40)
    whole = expose(plate(0.0, 64), dark).dn
    window = expose(plate(0.0, 32), dark, sensor_px=(64, 64)).dn
    assert (window == whole[16:48, 16:48]).all()


def test_a_window_larger_than_its_sensor_is_refused():
    with pytest.raises(ValueError, match="no part of a sensor with 32x64"):
        expose(plate(1.0, 64), sensor_px=(32, 64))


# Randomness


def test_an_image_alone_is_the_same_as_in_a_run():
    scene = plate(luminance_for(500, STUDY))
    run = {name: expose(scene, image_id=name).dn for name in ("a", "b", "c")}
    assert (expose(scene, image_id="b").dn == run["b"]).all()
    assert (run["a"] != run["b"]).any()


def test_another_seed_is_another_noise():
    scene = plate(luminance_for(500, STUDY))
    assert (expose(scene, seed=3).dn != expose(scene, seed=4).dn).any()


def test_the_fixed_pattern_belongs_to_the_camera_and_not_to_the_image():
    patterned = dataclasses.replace(STUDY, read_noise_e=0, dark_current_e_s=0, dsnu_e=40)
    dark = plate(0.0)
    first = expose(dark, patterned, image_id="a").dn
    assert (first == expose(dark, patterned, image_id="b").dn).all()
    assert (first != expose(dark, patterned, seed=4).dn).any()
    renamed = dataclasses.replace(patterned, name="other")
    assert (first != expose(dark, renamed).dn).any()


def test_a_pattern_of_any_strength_leaves_no_negative_light():
    raw = expose(plate(luminance_for(500, STUDY)), dataclasses.replace(STUDY, prnu=1.0))
    assert raw.dn.min() < STUDY.black_level_dn + 10 < raw.dn.mean()


def test_the_fixed_pattern_has_the_spread_of_the_model():
    sensitivity, offset_e = fixed_pattern(STUDY, 3, (512, 512))
    assert (sensitivity.mean(), sensitivity.std()) == pytest.approx((1, STUDY.prnu), rel=0.01)
    assert offset_e.std() == pytest.approx(STUDY.dsnu_e, rel=0.01)


# Laws


@settings(max_examples=40, deadline=None)
@given(
    luminance=st.floats(0, 1e7, width=32),
    exposure_s=st.floats(1e-6, 1.0),
    fnumber=st.floats(0.9, 22),
    name=st.sampled_from(sorted(MODELS)),
)
def test_digital_numbers_stay_in_their_range_and_signals_below_white(
    luminance, exposure_s, fnumber, name
):
    model = MODELS[name]
    raw = expose(plate(luminance, 8), model, exposure_s=exposure_s, fnumber=fnumber)
    assert raw.dn.dtype == np.uint16
    assert raw.dn.max() <= model.max_dn
    image = demosaic(raw)
    assert image.max() <= 1
    assert np.isfinite(image).all()


@settings(max_examples=40, deadline=None)
@given(
    dim=st.floats(0, 1e4, width=32),
    factor=st.floats(1.2, 10),
    name=st.sampled_from(sorted(MODELS)),
)
def test_more_light_is_never_less_signal(dim, factor, name):
    model = MODELS[name]
    darker, brighter = (
        expose(plate(value, 64), model, image_id=f"{value}").dn.mean()
        for value in (dim, dim * factor)
    )
    # the spread of a mean of 4096 pixels is a hundredth of a pixel's at most
    assert brighter >= darker - 3 * model.gain_dn_per_e * math.sqrt(model.full_well_e) / 64


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_luminance_is_refused(value):
    image = plate(1.0)
    image[3, 4, 1] = value
    with pytest.raises(ValueError, match="finite and not negative"):
        expose(image)


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 4), (0, 8, 3)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ValueError, match=r"it is \(H, W, 3\)"):
        expose(np.ones(shape))


def test_every_spectrum_counts_photons():
    assert all(photons_per_lux_s_m2(spectrum) > 1e15 for spectrum in SPECTRA)
