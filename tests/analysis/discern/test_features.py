"""Features against an independent implementation, and the laws that they keep."""

import colorsys
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.photometry import to_srgb8
from limen.analysis.discern.features import (
    EXTRAS,
    FEATURES,
    FeatureSettings,
    FeatureSettingsError,
    area_share,
    chroma_points,
    image_features,
    ks_lightness,
    lightness,
    subsample,
    sw_chroma,
)
from limen.analysis.discern.region import surroundings
from scipy import ndimage, spatial, stats

ALL = FeatureSettings(extras=("weber", "michelson", "csf", "noise"))


def ellipse(height, width, cy, cx, ry, rx):
    y, x = np.mgrid[:height, :width]
    return ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 <= 1


def picture(seed, height=40, width=36, person=(150, 90, 60), ground=(90, 100, 80), noise=18):
    """A noisy person-like ellipse on noisy ground, and its mask."""
    rng = np.random.default_rng(seed)
    mask = ellipse(height, width, height / 2, width / 2, height / 3, width / 6)
    image = np.where(mask[..., None], person, ground) + rng.normal(0, noise, (height, width, 3))
    return np.clip(image, 0, 255).astype(np.uint8), mask


# --- brute force ---------------------------------------------------------------------------------


def brute_lightness(pixel):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in pixel / 255]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 216 / 24389 else y * 24389 / 27


def brute_distance(mask):
    """Distance of every pixel to the nearest one of the mask, by looking at each."""
    if not mask.any():
        return np.full(mask.shape, np.inf)
    places = np.argwhere(np.ones_like(mask))
    away = spatial.distance.cdist(places, np.argwhere(mask)).min(axis=1)
    return away.reshape(mask.shape)


def brute_band(mask, parameters):
    rows, columns = np.nonzero(mask)
    size = max(np.ptp(rows), np.ptp(columns)) + 1
    width = max(1, round(max(parameters.band_px, parameters.band_share * size)))
    away = brute_distance(mask)
    return (away > 0) & (away <= width), size


def brute_wasserstein(a, b, projections):
    """Sliced distance of order 2 from the quantile functions, step by step."""
    total = 0.0
    for k in range(projections):
        angle = math.pi * k / projections
        x, y = (np.sort(p @ [math.cos(angle), math.sin(angle)]) for p in (a, b))
        steps = sorted(
            {*(i / len(x) for i in range(len(x) + 1)), *(j / len(y) for j in range(len(y) + 1))}
        )
        for low, high in itertools.pairwise(steps):
            middle = (low + high) / 2
            total += (high - low) * (x[int(middle * len(x))] - y[int(middle * len(y))]) ** 2
    return math.sqrt(total / projections)


def brute_points(pixels):
    made = []
    for pixel in pixels / 255:
        hue, saturation, _ = colorsys.rgb_to_hsv(*pixel)
        made.append(
            (saturation * math.cos(2 * math.pi * hue), saturation * math.sin(2 * math.pi * hue))
        )
    return np.array(made)


def brute_features(image, mask, parameters):
    band, size = brute_band(mask, parameters)
    light = np.array([[brute_lightness(pixel) for pixel in row] for row in image])
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]) / 8
    along, down = (ndimage.convolve(light, k, mode="nearest") for k in (kernel, kernel.T))
    edges = np.hypot(along, down) >= max(parameters.edge_per_px, parameters.edge_per_size / size)
    reach = max(1, round(max(parameters.outline_px, parameters.outline_share * size)))
    near = brute_distance(mask) <= reach
    outline = near & (brute_distance(~mask) <= reach)
    edges &= near
    either = (edges | outline).sum()
    return {
        "area_share": sum(map(sum, mask.tolist())) / (mask.shape[0] * mask.shape[1]),
        "ks_lightness": stats.ks_2samp(light[mask], light[band]).statistic if band.any() else 0,
        "sw_chroma": brute_wasserstein(
            *(
                brute_points(subsample(image[part], parameters.samples, parameters.seed))
                for part in (mask, band)
            ),
            parameters.projections,
        )
        if band.any()
        else 0,
        "edge_iou": (edges & outline).sum() / either if either else 0,
    }


@pytest.mark.parametrize("seed", range(4))
def test_features_are_those_of_a_brute_force_implementation(seed):
    image, mask = picture(seed, noise=(18, 4, 40, 0)[seed])
    parameters = FeatureSettings(projections=7, outline_share=0.06)
    found, wanted = image_features(image, mask, parameters), brute_features(image, mask, parameters)
    assert found == pytest.approx(wanted, abs=1e-6)
    assert 0 < found["ks_lightness"] < 1 or seed == 3


def test_features_of_a_subsample_are_those_of_a_brute_force_implementation():
    image, mask = picture(5, 60, 50)
    parameters = FeatureSettings(samples=70, projections=5)
    assert image_features(image, mask, parameters) == pytest.approx(
        brute_features(image, mask, parameters), abs=1e-6
    )


@pytest.mark.parametrize("side", ["top", "left", "corner"])
def test_a_person_at_the_edge_of_the_frame_is_measured_as_by_brute_force(side):
    image, _ = picture(6)
    mask = np.zeros(image.shape[:2], bool)
    mask[{"top": np.s_[:9, 10:16], "left": np.s_[12:30, :5], "corner": np.s_[-9:, -5:]}[side]] = (
        True
    )
    assert image_features(image, mask) == pytest.approx(
        brute_features(image, mask, FeatureSettings()), abs=1e-6
    )


# --- what is defined -----------------------------------------------------------------------------


def test_an_empty_mask_has_zero_of_everything():
    image, _ = picture(0)
    found = image_features(image, np.zeros(image.shape[:2], bool), ALL)
    assert set(found) == {*FEATURES, "weber", "michelson", "csf", "noise"}
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize("pixels", [1, 5])
@pytest.mark.parametrize("place", [(0, 0), (20, 18), (39, 31)])
def test_masks_of_few_pixels_are_measured_as_by_brute_force(pixels, place):
    image, mask = picture(1)
    mask[:] = False
    mask[place[0], place[1] : place[1] + pixels] = True
    found = image_features(image, mask, ALL)
    assert all(map(math.isfinite, found.values()))
    wanted = brute_features(image, mask, FeatureSettings())
    assert {name: found[name] for name in FEATURES} == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("code", [0, 255])
def test_a_black_or_saturated_image_shows_no_difference_and_no_edge(code):
    mask = ellipse(40, 36, 20, 18, 12, 6)
    found = image_features(np.full((40, 36, 3), code, np.uint8), mask, ALL)
    assert found.pop("area_share") == mask.mean()
    assert list(found.values()) == pytest.approx([0.0] * len(found), abs=1e-12)


def test_a_person_that_fills_the_image_has_no_surround_to_differ_from():
    image, mask = picture(2)
    found = image_features(image, np.ones_like(mask), ALL)
    assert found["area_share"] == 1
    assert found["ks_lightness"] == found["sw_chroma"] == found["weber"] == 0
    assert found["edge_iou"] == 0  # there is no outline inside the image


def test_a_person_of_one_colour_on_another_has_all_edges_on_its_outline():
    mask = ellipse(80, 60, 40, 30, 25, 12)
    image = np.where(mask[..., None], 200, 40).astype(np.uint8).repeat(3, axis=2)
    found = image_features(image, mask)
    assert found["ks_lightness"] == 1
    assert found["sw_chroma"] == 0
    assert found["edge_iou"] > 0.8  # but where the ring has a pixel more than the gradient


def test_opposite_hues_of_full_saturation_are_far_apart_and_hue_is_an_angle():
    def distance(person, band):
        pixels = (np.tile(np.uint8(colour), (50, 1)) for colour in (person, band))
        return sw_chroma(*pixels, FeatureSettings(projections=64))

    # Points of the unit disc: a distance d, projected on evenly spaced directions, is d / sqrt 2.
    assert distance((255, 0, 0), (0, 255, 255)) == pytest.approx(2 / math.sqrt(2), abs=1e-9)
    assert distance((255, 4, 0), (255, 0, 4)) < 0.03
    assert distance((10, 10, 10), (200, 200, 200)) == 0


# --- laws ----------------------------------------------------------------------------------------


@st.composite
def pictures(draw):
    seed, noise = draw(st.integers(0, 10**6)), draw(st.sampled_from([0, 3, 30]))
    height, width = draw(st.integers(6, 40)), draw(st.integers(6, 40))
    image, _ = picture(seed, height, width, noise=noise)
    rng = np.random.default_rng(seed)
    mask = ellipse(height, width, *rng.uniform(0, (height, width)), *rng.uniform(1, 15, 2))
    return image, mask


@settings(max_examples=40, deadline=None)
@given(pictures())
def test_a_flipped_image_has_the_same_values(made):
    image, mask = made
    parameters = FeatureSettings(samples=50, extras=ALL.extras)
    wanted = image_features(image, mask, parameters)
    for flip in (np.s_[:, ::-1], np.s_[::-1], np.s_[::-1, ::-1]):
        found = image_features(
            np.ascontiguousarray(image[flip]), np.ascontiguousarray(mask[flip]), parameters
        )
        assert {name: found[name] for name in FEATURES} == {name: wanted[name] for name in FEATURES}
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.0, 2.5))
def test_raising_the_exposure_of_a_clean_image_leaves_ks_as_it_was(seed, factor):
    rng = np.random.default_rng(seed)
    mask = ellipse(60, 50, 30, 25, 20, 9)
    smooth = ndimage.gaussian_filter(rng.normal(size=(60, 50)), 2)
    scene = 0.15 * np.exp(1.5 * smooth / smooth.std() * 0.3 + 0.4 * rng.uniform(-1, 1) * mask)
    scene *= min(1, 0.99 / (scene.max() * factor))  # nothing saturates
    values = [
        image_features(to_srgb8(np.repeat(scene[..., None] * gain, 3, axis=2)), mask)[
            "ks_lightness"
        ]
        for gain in (1.0, factor)
    ]
    assert abs(values[0] - values[1]) <= 0.02


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=60),
    st.lists(st.floats(0, 100), min_size=1, max_size=60),
)
def test_swapping_person_and_band_leaves_ks_as_it_was(person, band):
    a, b = np.array(person), np.array(band)
    assert ks_lightness(a, b) == ks_lightness(b, a)
    assert ks_lightness(a, a) == 0


@pytest.mark.parametrize("seed", range(5))
def test_equal_distributions_give_nought_within_sampling_error(seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(60, 120, (200, 160, 3)).astype(np.uint8)
    mask = ellipse(200, 160, 100, 80, 60, 30)
    found = image_features(image, mask)
    region = surroundings(mask, 4, 0.25)
    n, m = region.mask.sum(), region.band.sum()
    # The two-sample statistic's 99.9 % quantile, Smirnov's asymptotic.
    assert found["ks_lightness"] < 1.95 * math.sqrt((n + m) / (n * m))
    assert found["sw_chroma"] < 0.03


def test_the_band_is_as_wide_as_its_pixels_or_its_share_whichever_is_more():
    mask = np.zeros((200, 200), bool)
    mask[60:140, 90:110] = True
    for least, share, width in ((4, 0.25, 20), (30, 0.25, 30), (4, 0.0, 4)):
        band = surroundings(mask, least, share).band
        rows = np.flatnonzero(band.any(axis=1))
        assert np.ptp(rows) + 1 == 80 + 2 * width


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_a_subsample_does_not_depend_on_the_order_of_pixels(n, most, seed):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (n, 3)).astype(np.uint8)
    taken = subsample(pixels, most, seed)
    assert len(taken) == min(n, most)
    mixed = subsample(rng.permutation(pixels), most, seed)
    assert sorted(map(tuple, taken)) == sorted(map(tuple, mixed))
    assert set(map(tuple, taken)) <= set(map(tuple, pixels))


# --- single values and settings ------------------------------------------------------------------


def test_lightness_of_grey_119_is_50():
    # CIE L* of sRGB (119, 119, 119): 50.03 (Lindbloom's calculator, D65).
    assert lightness(np.uint8([[[119] * 3]]))[0, 0] == pytest.approx(50.03, abs=0.01)
    assert lightness(np.uint8([[[0] * 3, [255] * 3]]))[0] == pytest.approx([0, 100], abs=1e-9)


def test_chroma_points_are_those_of_colorsys():
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (500, 3)).astype(np.uint8)
    assert chroma_points(pixels) == pytest.approx(brute_points(pixels), abs=1e-12)


def test_area_share_is_of_the_whole_image():
    mask = np.zeros((10, 20), bool)
    mask[:, :3] = True
    assert area_share(mask) == 0.15


def test_weber_and_michelson_contrast_have_their_textbook_values():
    mask = ellipse(60, 60, 30, 30, 15, 8)
    image = to_srgb8(np.repeat(np.where(mask, 0.6, 0.2)[..., None], 3, axis=2))
    found = image_features(image, mask, ALL)
    assert found["weber"] == pytest.approx(2.0, rel=0.02)
    assert found["michelson"] == pytest.approx(0.5, rel=0.02)


def test_noise_is_measured_and_structure_is_not():
    rng = np.random.default_rng(0)
    mask = ellipse(120, 120, 60, 60, 30, 12)
    slope = np.linspace(60, 160, 120)[None].repeat(120, axis=0)
    noisy, clean = (slope + rng.normal(0, s, slope.shape) for s in (6, 0))
    images = [np.clip(x, 0, 255).astype(np.uint8)[..., None].repeat(3, 2) for x in (noisy, clean)]
    light = lightness(images[0]) - lightness(images[1])
    found = [image_features(image, mask, ALL)["noise"] for image in images]
    assert found[0] == pytest.approx(light.std(), rel=0.1)
    assert found[1] < 0.2


@pytest.mark.parametrize(
    "wrong",
    [
        {"band_px": 0},
        {"band_share": -1},
        {"samples": 0},
        {"edge_per_px": math.nan},
        {"extras": ("x",)},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(
        FeatureSettingsError, match=next(iter(wrong)) if "extras" not in wrong else "x"
    ):
        FeatureSettings(**wrong)


def test_a_mask_of_another_size_is_refused():
    with pytest.raises(FeatureSettingsError, match="no mask"):
        image_features(np.zeros((4, 5, 3), np.uint8), np.zeros((5, 4), bool))


def test_extras_leave_the_comparable_hash_alone_and_parameters_do_not():
    plain = FeatureSettings()
    assert FeatureSettings(extras=EXTRAS).hash() == plain.hash()
    assert FeatureSettings(band_px=5).hash() != plain.hash()
