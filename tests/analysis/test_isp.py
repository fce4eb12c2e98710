"""The neutral ISP: noise made even and undone exactly, gain, contrast and tone without banding."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.photometry import luminance
from limen.analysis.develop import denoise, isp
from limen.analysis.develop.mosaic import Mosaic
from limen.analysis.develop.sensor import expose_raw, load_sensor_models, photons_per_pixel

NEUTRAL = isp.load_isp_presets()["neutral-v1"]
NLM = replace(NEUTRAL, denoiser="nlm")
SENSOR = load_sensor_models()["cmos-1-2.8"]


def scene(lux: float, size: int = 320) -> np.ndarray:
    """A matt picture in cd/m2: a slope, a blue wall, dark and bright things on it."""
    y, x = np.mgrid[:size, :size] / size
    grey = 0.15 + 0.12 * x + 0.02 * np.sin(40 * x + 25 * y)
    image = grey[..., None] * np.array([1.2, 1.0, 0.8])
    image[y > 0.6] = np.array([0.10, 0.16, 0.34]) * (0.8 + 0.4 * x[y > 0.6])[:, None]
    image[(x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.03] = (0.35, 0.10, 0.08)
    image[(abs(x - 0.7) < 0.06) & (y > 0.2)] = 0.04
    return (image * lux / math.pi).astype(np.float32)


def raw_mosaic(image: np.ndarray, model=SENSOR) -> Mosaic:
    return isp.linearise(expose_raw(image, 0.04, 1.4, model, seed=3, image_id="test"))


def noise_free(image: np.ndarray) -> np.ndarray:
    """The linear signal that the sensor would record of an image without any noise."""
    electrons = photons_per_pixel(image, 0.04, 1.4, SENSOR.pixel_pitch_um) * max(
        SENSOR.quantum_efficiency
    )
    return electrons / SENSOR.saturation_e


def mosaic_of(image_e: np.ndarray, read_noise_e: float = 2.0) -> Mosaic:
    """A Bayer mosaic without noise of an image in electrons."""
    electrons = image_e[..., 1].astype(np.float32)
    electrons[0::2, 0::2] = image_e[0::2, 0::2, 0]
    electrons[1::2, 1::2] = image_e[1::2, 1::2, 2]
    return Mosaic(electrons, True, read_noise_e, 6900.0, (1.0, 1.0, 1.0))


def psnr_db(image: np.ndarray, truth: np.ndarray) -> float:
    """Over the truth's peak, after the gain that fits best."""
    gain = np.sum(image * truth) / np.sum(image * image)
    return 10 * math.log10(truth.max() ** 2 / np.mean((gain * image - truth) ** 2))


# --- noise made even, and undone -----------------------------------------------------------------


@pytest.mark.parametrize("read_noise_e", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("electrons", [4.0, 20.0, 500.0])
def test_stabilised_noise_has_unit_variance_at_every_brightness(electrons, read_noise_e):
    rng = np.random.default_rng(0)
    noisy = rng.poisson(electrons, 200_000) + rng.normal(0, read_noise_e, 200_000)
    assert np.std(denoise.stabilise(noisy, read_noise_e)) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("read_noise_e", [0.0, 2.0])
@pytest.mark.parametrize("electrons", [2.0, 5.0, 20.0, 500.0])
def test_the_inverse_of_a_mean_is_the_mean_of_the_electrons(electrons, read_noise_e):
    rng = np.random.default_rng(1)
    noisy = rng.poisson(electrons, 1_000_000) + rng.normal(0, read_noise_e, 1_000_000)
    mean = denoise.stabilise(noisy, read_noise_e).mean(dtype=float)
    undone = float(denoise.inverse_anscombe(np.float32(mean), read_noise_e))
    assert undone == pytest.approx(electrons, rel=0.01, abs=0.04)
    algebraic = (mean / 2) ** 2 - 3 / 8 - read_noise_e**2
    assert algebraic < electrons - 0.15  # what the exact inverse is for


@given(st.floats(0, 400), st.floats(0, 400), st.floats(0, 5))
def test_the_inverse_keeps_the_order_of_brightness_and_is_never_negative(a, b, read_noise_e):
    low, high = denoise.inverse_anscombe(np.array(sorted((a, b)), np.float32), read_noise_e)
    assert 0 <= low <= high


def test_pixels_are_added_up_where_their_mean_is_too_small_for_the_transform():
    means = (10.0, 4.0, 3.9, 1.0, 0.9, 0.01)
    assert [denoise.binning_for(mean, 4.0) for mean in means] == [1, 1, 2, 2, 4, 4]


@given(st.integers(3, 20), st.integers(3, 20), st.sampled_from([2, 4]))
def test_added_up_squares_hold_every_electron_of_theirs(height, width, side):
    electrons = np.arange(height * width, dtype=np.float32).reshape(height, width)
    sums = denoise.add_up(electrons, side)
    assert sums.shape == (-(-height // side), -(-width // side))
    whole = sums[: height // side, : width // side]
    inside = electrons[: height // side * side, : width // side * side]
    assert whole.sum() == inside.sum()


def test_the_luma_of_a_coloured_surface_has_no_mosaic_pattern_left():
    stable = mosaic_of(np.full((32, 32, 3), (3.0, 11.0, 29.0))).electrons
    taps = denoise._LUMA_TAPS
    luma = cv2.sepFilter2D(stable, -1, taps, taps, borderType=cv2.BORDER_REFLECT_101)
    assert luma == pytest.approx((3 + 2 * 11 + 29) / 4, rel=1e-5)


# --- denoise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("denoiser", ["nlm", "none"])
@pytest.mark.parametrize("lux", [8.0, 0.3, 0.05, 0.01])
def test_denoising_keeps_brightness_and_colour(denoiser, lux):
    image = scene(lux)
    mosaic = raw_mosaic(image)
    clean = denoise.denoise(mosaic, replace(NEUTRAL, denoiser=denoiser))
    signal = clean / mosaic.saturation_e * np.array(mosaic.white_balance)
    expected = noise_free(image).mean(axis=(0, 1))
    # 320 x 320 pixels with 2 e of read noise: the mean of red is known to 0.03 e.
    assert signal.mean(axis=(0, 1)) == pytest.approx(expected, rel=0.02, abs=0.1 / 6900)


@pytest.mark.slow  # BM3D
def test_bm3d_gains_8_db_at_0_3_lux_and_its_free_stand_in_7():
    pytest.importorskip("bm3d", reason="the extra `bm3d` is not installed")
    image = scene(0.3, 192)
    mosaic, truth = raw_mosaic(image), noise_free(image)

    def psnr(denoiser):
        preset = replace(NEUTRAL, denoiser=denoiser)
        return psnr_db(isp.night_vision(mosaic, preset, keep_stages=True).stages["denoised"], truth)

    none, nlm, bm3d = psnr("none"), psnr("nlm"), psnr("bm3d")
    assert bm3d > none + 8
    assert none + 7 < nlm < bm3d


@pytest.mark.parametrize("denoiser", ["nlm", "bm3d"])
def test_denoising_twice_gives_the_same_bits(denoiser):
    if denoiser == "bm3d":
        pytest.importorskip("bm3d", reason="the extra `bm3d` is not installed")
    mosaic = raw_mosaic(scene(0.3, 96))
    preset = replace(NEUTRAL, denoiser=denoiser)
    assert np.array_equal(denoise.denoise(mosaic, preset), denoise.denoise(mosaic, preset))


def test_colour_follows_the_edges_of_the_luma():
    """Blocks of colour are wider than this bar, and its colour does not spill over them."""
    image = np.full((96, 96, 3), 400.0)
    image[:, 40:56] = (300.0, 60.0, 40.0)
    rng = np.random.default_rng(4)
    noisy = mosaic_of(rng.poisson(image).astype(np.float32), read_noise_e=0.0)
    clean = denoise.denoise(noisy, NLM)
    redness = clean[..., 0] / clean[..., 2]
    assert redness[:, 48].mean() > 5
    assert redness[:, 28].mean() == pytest.approx(1, abs=0.15)


def test_a_dark_edge_between_blue_and_sand_has_no_colour_that_is_nowhere():
    """Narrow dark things before two colours were amber: the line between both went on too far."""
    image = np.empty((192, 192, 3))
    image[:96], image[96:] = (30.0, 40.0, 64.0), (24.0, 18.0, 11.0)
    image[:, 80:84] = 2.0
    image[60:130, 120:124] = 2.0
    noisy = mosaic_of(np.random.default_rng(6).poisson(image).astype(np.float32))
    clean = denoise.denoise(noisy, NLM)
    dark = image[..., 1] == 2.0
    redness = clean[dark][:, 0] / clean[dark][:, 2]
    assert redness.min() > 0.8 * 30 / 64
    assert redness.max() < 1.2 * 24 / 11


def test_a_missing_bm3d_is_an_error_that_names_its_licence_and_the_free_way(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(denoise.DenoiserMissingError, match=r"non-commercial.*limen\[bm3d\].*nlm"):
        isp.night_vision(raw_mosaic(scene(1, 32)), replace(NEUTRAL, denoiser="bm3d"))


# --- gain ----------------------------------------------------------------------------------------


@given(st.floats(1e-5, 0.1))
def test_gain_brings_the_mean_to_the_target(mean):
    gain = isp.automatic_gain(np.full((4, 4), mean, np.float32), 0.18, 120)
    assert gain * mean == pytest.approx(0.18, rel=1e-5)


def test_gain_ends_at_its_cap_and_never_darkens():
    assert isp.automatic_gain(np.full(4, 1e-6), 0.18, 40) == pytest.approx(100)
    assert isp.automatic_gain(np.full(4, 0.9), 0.18, 40) == 1


def test_a_lamp_counts_as_white_in_the_gain_however_bright_it_is():
    lamp = np.full(100, 0.001, np.float32)
    lamp[0] = 1.0
    assert isp.automatic_gain(lamp, 0.18, 60) == pytest.approx((18 - 1) / (99 * 0.001), rel=1e-4)


# --- contrast and tone ---------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(9, 50), st.integers(9, 50), st.floats(0.01, 3.0))  # 1 to 3 tiles a side
def test_contrast_with_slope_1_changes_nothing(height, width, level):
    y, x = np.mgrid[:height, :width]
    image = (level * (0.2 + 0.8 * (x + y) / (height + width)))[..., None] * np.array([1.1, 1, 0.7])
    image = image.astype(np.float32)
    equal = isp.equalise(image, replace(NEUTRAL, clahe_slope=1.0, clahe_tile_px=16))
    assert equal == pytest.approx(image, rel=2e-3, abs=1e-4)


def test_the_contrast_of_texture_rises_by_no_more_than_the_slope():
    y, x = np.mgrid[:400, :400]
    faint = (0.45 + 0.01 * np.sin(x / 3) * np.sin(y / 4)).astype(np.float32)  # on the curves' scale
    steepness = np.ptp(isp._clahe(faint, 100, 2.0)) / np.ptp(faint)
    assert 1.8 < steepness < 2.1


@pytest.mark.parametrize(
    "stage", [lambda i: isp.equalise(i, NEUTRAL), lambda i: isp.tone_map(i, 4)]
)
def test_contrast_and_tone_keep_the_ratios_of_colours(stage):
    image = scene(8, 64) / scene(8, 64).max() * np.float32(0.6)
    shown = stage(image)
    assert shown / luminance(shown)[..., None] == pytest.approx(
        image / luminance(image)[..., None], rel=1e-4
    )


def test_the_tone_map_shows_white_as_1_and_leaves_the_shadows():
    white = np.full((1, 1, 3), 4.0, np.float32)
    shadow = np.full((1, 1, 3), 0.001, np.float32)
    assert isp.tone_map(white, 4) == pytest.approx(1)
    assert isp.tone_map(shadow, 4) == pytest.approx(0.001, rel=2e-3)


def test_a_dark_sky_from_1_to_3_keeps_64_levels_and_no_step_shows():
    height, width = 540, 480
    sky_e = np.repeat(np.geomspace(2, 6, height)[:, None], width, axis=1)
    mosaic = mosaic_of(np.repeat(sky_e[..., None], 3, axis=2))
    image = isp.night_vision(mosaic, NLM).image
    levels = np.unique(image[..., 1])
    assert len(levels) >= 64
    column = image[:, width // 2, 1].astype(int)
    assert np.abs(np.diff(column)).max() <= 2


def test_a_flat_scene_stays_flat():
    mosaic = mosaic_of(np.full((200, 200, 3), 5.0))
    assert np.ptp(isp.night_vision(mosaic, NLM).image.astype(int), axis=(0, 1)).max() <= 1


# --- the chain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lux", [8.0, 0.1, 0.01])
@pytest.mark.parametrize("size", [(45, 61), (64, 48)])
def test_every_size_and_binning_gives_an_image_of_that_size(size, lux):
    image = scene(lux, 64)[: size[0], : size[1]]
    vision = isp.night_vision(raw_mosaic(image), NLM)
    assert vision.image.shape == (*image.shape[:2], 3)
    assert vision.image.dtype == np.uint8
    assert vision.binning == {8.0: 1, 0.1: 2, 0.01: 4}[lux]


def test_a_monochrome_sensor_gives_a_grey_image():
    model = load_sensor_models()["mono-ir"]
    image = isp.night_vision(raw_mosaic(scene(1.0, 64), model), NLM).image
    assert np.array_equal(image[..., 0], image[..., 1])
    assert np.array_equal(image[..., 0], image[..., 2])
    assert np.ptp(image) > 50


def test_stages_are_kept_on_request_only_and_end_in_the_image():
    mosaic = raw_mosaic(scene(0.3, 64))
    assert isp.night_vision(mosaic, NLM).stages == {}
    vision = isp.night_vision(mosaic, NLM, keep_stages=True)
    assert tuple(vision.stages) == isp.STAGES
    gain = 10 ** (vision.gain_db / 20)
    assert vision.stages["gain"] == pytest.approx(vision.stages["linear"] * gain, rel=1e-5)
    assert np.array_equal(isp.to_srgb8(vision.stages["toned"]), vision.image)


def test_night_vision_of_a_night_is_as_bright_as_its_target_and_beyond_the_cap_dark():
    night = isp.night_vision(raw_mosaic(scene(0.3, 128)), NLM, keep_stages=True)
    assert luminance(night.stages["denoised"]).mean() == pytest.approx(NLM.agc_target, rel=0.05)
    darker = isp.night_vision(raw_mosaic(scene(0.005, 128)), NLM, keep_stages=True)
    assert darker.gain_db == pytest.approx(NLM.agc_cap_db)
    assert luminance(darker.stages["denoised"]).mean() < 0.05


# --- presets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [("agc_target", 0), ("denoiser", "magic"), ("clahe_slope", 0.5), ("chroma_block_e", -1)],
)
def test_an_impossible_value_is_named_with_what_is_allowed(key, value):
    with pytest.raises(isp.IspPresetError, match=f"'neutral-v1': {key} is {value!r}: "):
        replace(NEUTRAL, **{key: value})


def test_a_preset_file_with_an_unknown_key_is_refused(tmp_path):
    text = Path(isp.__file__).with_name("isp_presets.toml").read_text()
    path = tmp_path / "presets.toml"
    path.write_text(text + "magic = 1\n")
    with pytest.raises(
        isp.IspPresetError, match=r"presets\.toml:\d+: magic is unknown: allowed: name, agc_target"
    ):
        isp.load_isp_presets(path)


@pytest.mark.parametrize("value", ["'x'", "true", "1e300", "9" * 20, "9" * 400, "nan", "[1]"])
def test_a_preset_file_holds_numbers_where_numbers_belong(tmp_path, value):
    lines = Path(isp.__file__).with_name("isp_presets.toml").read_text().splitlines()
    new = [f"agc_cap_db = {value}" if x.startswith("agc_cap_db") else x for x in lines]
    path = tmp_path / "presets.toml"
    path.write_text("\n".join(new))
    with pytest.raises(isp.IspPresetError, match="agc_cap_db"):
        isp.load_isp_presets(path)


def written(tmp_path, *replacements: tuple[str, str]) -> Path:
    """Write the presets of the package with lines replaced; returns the file."""
    text = Path(isp.__file__).with_name("isp_presets.toml").read_text()
    for key, new in replacements:
        text = "\n".join(new if x.startswith(f"{key} =") else x for x in text.splitlines())
    path = tmp_path / "presets.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("key", "line", "said"),
    [
        ("clahe_tile_px", "clahe_tile_px = 160.5", "clahe_tile_px is 160.5: a whole number"),
        ("name", "name = ['x']", "name is .*: a text is needed"),
        ("name", "name = ' '", 'name is " ": 1 to 64'),
        ("name", 'name = "a\\nb"', r"name is .a\\nb.: 1 to 64"),
        ("name", "", "name is missing"),
        ("white", "", "preset 'neutral-v1': white is missing"),
        ("white", "wihte = 4.0", "wihte is unknown: did you mean white"),
    ],
)
def test_a_wrong_line_of_a_preset_file_is_said_with_its_number(tmp_path, key, line, said):
    path = written(tmp_path, (key, line))
    with pytest.raises(isp.IspPresetError, match=said) as caught:
        isp.load_isp_presets(path)
    number = int(str(caught.value).split(":")[1])
    lines = path.read_text().splitlines()
    assert lines[number - 1] == (line or "[[preset]]")


@pytest.mark.parametrize("value", ["9" * 6000, "2026-02-30", "[" * 5000])
def test_a_value_that_python_cannot_read_is_an_error_in_words(tmp_path, value):
    with pytest.raises(isp.IspPresetError, match="File of presets"):
        isp.load_isp_presets(written(tmp_path, ("white", f"white = {value}")))


def test_a_preset_file_may_begin_with_the_byte_order_mark_of_windows(tmp_path):
    path = written(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert isp.load_isp_presets(path) == isp.load_isp_presets()
