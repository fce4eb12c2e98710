"""From unit layers to images: the law of the light stack, docs/dataset.md."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.image_io import LayerImage
from limen.addon.core.lighting import Component, Lighting, layer_weights, load_lightings
from limen.addon.core.optics import Camera, look_at_pose, project
from limen.addon.core.relight import (
    FEATHER_PX,
    RelightError,
    Stack,
    changed_box,
    compose,
    paste,
    pixel_directions,
    stack_from_layers,
    stack_in_box,
    whole_layer,
)
from limen.addon.core.sky import seen_sky, sky_luminance

PRESETS = load_lightings()
NOON = PRESETS["noon_south"]
EVENING = PRESETS["evening_west"]
SIZE = (24, 16)  # width, height
CAMERA = Camera(5.3333, 3.0, 2.8, 1.4, 1920, 1080, SIZE)


def directions(elevation_deg=0.0):
    pose = look_at_pose(0, elevation_deg, 10, 0.9)
    return pixel_directions(CAMERA.K, pose.R, *SIZE)


def random_stack(*names, alpha=None) -> Stack:
    rng = np.random.default_rng(7)
    shape = SIZE[::-1]
    layers = {name: rng.random((*shape, 3), np.float32) for name in names}
    cover = rng.random(shape, np.float32) if alpha is None else np.full(shape, alpha, np.float32)
    return Stack(layers, cover, directions())


STACK = random_stack(*{**layer_weights(NOON), **layer_weights(EVENING)})


def whole(value, channels=3, dtype=np.float32) -> LayerImage:
    width, height = SIZE
    return LayerImage(np.full((height, width, channels), value, dtype), (0, 0, width, height))


# --- directions ----------------------------------------------------------------------------------


@given(st.floats(0, 359), st.floats(-80, 90), st.floats(0.5, 500))
def test_a_point_along_a_pixels_direction_is_seen_in_that_pixel(azimuth, elevation, depth_m):
    pose = look_at_pose(azimuth, elevation, 10, 0.9)
    towards = pixel_directions(CAMERA.K, pose.R, *SIZE).astype(float)
    pixels = project(pose.position_m + depth_m * towards, CAMERA.K, pose.R, pose.t)
    x, y = np.meshgrid(range(SIZE[0]), range(SIZE[1]))
    np.testing.assert_allclose(pixels, np.stack([x, y], axis=-1), atol=1e-3)


# --- pasting -------------------------------------------------------------------------------------


def test_a_crop_fades_in_over_the_feather():
    canvas = np.zeros((16, 40, 1), np.float32)
    paste(canvas, np.ones((16, 20, 1), np.float32), (10, 0, 20, 16))
    row = canvas[8, :, 0]
    steps = np.arange(1, FEATHER_PX + 1) / (FEATHER_PX + 1)
    assert row[10 : 10 + FEATHER_PX] == pytest.approx(steps)
    assert (row[10 + FEATHER_PX : 30 - FEATHER_PX] == 1).all()
    assert row[30 - FEATHER_PX : 30] == pytest.approx(steps[::-1])
    assert not row[:10].any() and not row[30:].any()


def test_there_is_no_feather_at_the_border_of_the_image():
    canvas = np.zeros((16, 24, 1), np.float32)
    paste(canvas, np.ones((16, 24, 1), np.float32), (0, 0, 24, 16))
    assert (canvas == 1).all()


boxes = st.tuples(
    st.integers(0, 23), st.integers(0, 15), st.integers(1, 24), st.integers(1, 16)
).map(lambda b: (b[0], b[1], min(b[2], 24 - b[0]), min(b[3], 16 - b[1])))


@given(boxes, st.floats(0, 10, width=32))
def test_what_is_equal_to_the_plate_leaves_no_seam(box, value):
    _, _, width, height = box
    canvas = np.full((16, 24, 3), value, np.float32)
    paste(canvas, np.full((height, width, 3), value, np.float32), box)
    assert (canvas == np.float32(value)).all()


@given(boxes)
def test_pasted_pixels_lie_between_plate_and_crop(box):
    x, y, width, height = box
    canvas = np.ones((16, 24, 1), np.float32)
    paste(canvas, np.full((height, width, 1), 3, np.float32), box)
    region = canvas[y : y + height, x : x + width].copy()
    assert ((region > 1) & (region <= 3)).all()
    canvas[y : y + height, x : x + width] = 1
    assert (canvas == 1).all()


def test_a_crop_that_is_not_as_large_as_its_box_is_an_error():
    canvas = np.zeros((16, 24, 1), np.float32)
    with pytest.raises(RelightError, match=r"a crop of 3x5 px has the box \(0, 0, 5, 3\)"):
        paste(canvas, np.zeros((5, 3, 1), np.float32), (0, 0, 5, 3))


@pytest.mark.parametrize(
    ("box", "channels"),
    [((-1, 0, 5, 3), 1), ((20, 0, 5, 3), 1), ((0, 14, 5, 3), 1), ((0, 0, 5, 3), 3)],
)
def test_a_crop_that_leaves_the_image_or_has_other_channels_is_an_error(box, channels):
    canvas = np.zeros((16, 24, 1), np.float32)
    with pytest.raises(RelightError, match="does not fit into an image"):
        paste(canvas, np.zeros((3, 5, channels), np.float32), box)


# --- stacking ------------------------------------------------------------------------------------


def test_pixels_outside_a_crop_come_from_the_plate():
    plate = {"sun-180-60": whole(1), "alpha": whole(1, 1)}
    crops = {"sun-180-60": LayerImage(np.full((10, 12, 3), 5, np.float32), (8, 4, 12, 10))}
    layer = stack_from_layers(plate, crops, directions()).layers["sun-180-60"]
    assert (layer[:, :8] == 1).all() and (layer[:4] == 1).all()
    assert layer[9, 14] == pytest.approx([5, 5, 5])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_plate_is_left_as_it_is_for_the_next_view(dtype):
    plate = {"sun-180-60": whole(1, dtype=dtype), "alpha": whole(1, 1, dtype)}
    crops = {"sun-180-60": whole(5)}
    stack_from_layers(plate, crops, directions())
    assert (plate["sun-180-60"].pixels == 1).all()


def test_a_view_without_a_target_is_its_plate():
    plate = {"dome-uniform": whole(2), "alpha": whole(0.5, 1)}
    stack = stack_from_layers(plate, {}, directions())
    assert (stack.layers["dome-uniform"] == 2).all()
    assert stack.alpha.shape == SIZE[::-1] and (stack.alpha == 0.5).all()


def test_a_crop_of_the_whole_image_needs_no_plate():
    stack = stack_from_layers(None, {"lighting-x": whole(3), "alpha": whole(1, 1)}, directions())
    assert (stack.layers["lighting-x"] == 3).all()


def test_a_smaller_crop_without_a_plate_is_an_error():
    crops = {"sun-180-60": LayerImage(np.ones((2, 3, 3), np.float32), (1, 1, 3, 2))}
    with pytest.raises(RelightError, match=r"sun-180-60 covers \(1, 1, 3, 2\) of a 24x16 image"):
        stack_from_layers(None, crops, directions())


def test_a_plate_of_another_size_than_the_image_is_an_error():
    plate = {"alpha": LayerImage(np.ones((8, 12, 1), np.float32), (0, 0, 12, 8))}
    with pytest.raises(RelightError, match="alpha of the plate has 12x8 pixels, its image 24x16"):
        stack_from_layers(plate, {}, directions())


def test_a_stack_without_alpha_is_an_error():
    with pytest.raises(RelightError, match="no alpha"):
        stack_from_layers({"dome-uniform": whole(1)}, {}, directions())


# --- composing -----------------------------------------------------------------------------------


def test_an_image_is_the_weighted_sum_of_its_layers():
    stack = random_stack(*layer_weights(NOON), alpha=1)
    expected = sum(weight * stack.layers[name] for name, weight in layer_weights(NOON).items())
    np.testing.assert_allclose(compose(stack, NOON), expected, rtol=1e-5)


@given(st.floats(1e-3, 1e3))
def test_twice_the_lux_is_twice_the_light(factor):
    brighter = replace(NOON, illuminance_lx=NOON.illuminance_lx * factor)
    np.testing.assert_allclose(compose(STACK, brighter), compose(STACK, NOON) * factor, rtol=1e-4)


@given(st.floats(0.01, 0.99))
def test_a_mix_of_two_lightings_is_the_sum_of_their_images(share):
    def part(lighting, its_share):
        return [replace(c, share=c.share * its_share) for c in lighting.components]

    mix = Lighting("mix", "day", 100, (*part(NOON, share), *part(EVENING, 1 - share)))
    expected = compose(STACK, replace(NOON, illuminance_lx=100 * share)) + compose(
        STACK, replace(EVENING, illuminance_lx=100 * (1 - share))
    )
    np.testing.assert_allclose(compose(STACK, mix), expected, rtol=1e-4)


def test_composing_changes_no_layer():
    before = {name: layer.copy() for name, layer in STACK.layers.items()}
    compose(STACK, NOON)
    for name, layer in STACK.layers.items():
        assert (layer == before[name]).all()


def test_a_layer_of_a_whole_lighting_is_used_alone_and_scaled_to_its_lux():
    stack = random_stack(whole_layer("noon_south"), alpha=1)
    expected = stack.layers["lighting-noon_south"] * NOON.illuminance_lx
    np.testing.assert_allclose(compose(stack, NOON), expected)


def test_a_missing_layer_is_named_with_those_there_are():
    stack = random_stack("dome-uniform", "sun-180-60")
    with pytest.raises(
        RelightError,
        match=r"noon_south needs the layer dome-horizon and there are dome-uniform, sun-180-60: "
        "render the study with this lighting",
    ):
        compose(stack, NOON)


# --- the visible sky -----------------------------------------------------------------------------


def test_the_sky_shows_where_the_scene_covers_nothing():
    stack = random_stack(*layer_weights(EVENING), alpha=0)
    black = replace(stack, layers={name: 0 * layer for name, layer in stack.layers.items()})
    expected = sky_luminance(layer_weights(EVENING), stack.directions)
    np.testing.assert_array_equal(compose(black, EVENING), expected)


def test_a_half_covered_pixel_shows_half_the_sky():
    names = tuple(layer_weights(EVENING))
    dark = {name: np.zeros((*SIZE[::-1], 3), np.float32) for name in names}
    half, none = (replace(random_stack(*names, alpha=a), layers=dark) for a in (0.5, 0))
    np.testing.assert_allclose(compose(half, EVENING), compose(none, EVENING) / 2, rtol=1e-6)


def test_a_uniform_sky_of_pi_lux_has_luminance_1():
    overcast = Lighting("overcast", "day", np.pi, (Component("dome-uniform", 1.0),))
    sky = sky_luminance(layer_weights(overcast), directions(-30))
    assert sky == pytest.approx(np.ones_like(sky))


def test_a_sun_does_not_show_in_the_sky():
    weights = {"sun-180-60": np.full(3, 1e5)}
    assert not sky_luminance(weights, directions(-30)).any()


def test_past_the_end_of_the_ground_the_horizons_colour_goes_on():
    weights = layer_weights(EVENING)
    low = np.array([[[0.0, 1.0, -0.2]]]) / np.hypot(1, 0.2)
    level = np.array([[[0.0, 1.0, 0.0]]])
    np.testing.assert_allclose(sky_luminance(weights, low), sky_luminance(weights, level))
    assert (sky_luminance(weights, level) > 0).all()


def test_the_directions_are_left_as_they_are():
    below = directions(40)
    before = below.copy()
    sky_luminance(layer_weights(EVENING), below)
    assert (below == before).all()


def test_a_monochrome_lighting_is_seen_in_the_reflectances_of_red_light():
    grey = replace(NOON, monochrome=True)
    colour, seen = compose(STACK, NOON), compose(STACK, grey)
    for channel in range(3):
        np.testing.assert_array_equal(seen[..., channel], colour[..., 0])


def test_lamps_and_an_illuminator_add_their_power_times_their_layers():
    stack = random_stack(*layer_weights(NOON), "lamps", "illuminator")
    lit = replace(NOON, lamps_lm=500.0, lamps_colour=(1.1, 1.0, 0.7), illuminator_cd=30.0)
    added = compose(stack, lit) - compose(stack, NOON)
    expected = 500 * stack.layers["lamps"] * np.float32([1.1, 1.0, 0.7])
    expected += 30 * stack.layers["illuminator"]
    np.testing.assert_allclose(added, expected, rtol=2e-3, atol=0.5)


# --- where a person changes an image -------------------------------------------------------------


@st.composite
def boxes(draw):
    x, y = (draw(st.integers(0, side - 1)) for side in SIZE)
    return (x, y, draw(st.integers(1, SIZE[0] - x)), draw(st.integers(1, SIZE[1] - y)))


@pytest.mark.parametrize("name", ["noon_south", "evening_west", "night"])
@given(of_alpha=boxes(), of_others=st.lists(boxes(), max_size=2), seed=st.integers(0, 99))
def test_a_box_of_an_image_is_what_the_whole_shows_there(name, of_alpha, of_others, seed):
    lighting, rng = PRESETS[name], np.random.default_rng(seed)
    names = ["alpha", *layer_weights(lighting)]

    def drawn(layer, box):
        channels = 1 if layer == "alpha" else 3
        return LayerImage(rng.random((box[3], box[2], channels), np.float32), box)

    plate = {layer: drawn(layer, (0, 0, *SIZE)) for layer in names}
    crops = {
        layer: drawn(layer, box) for layer, box in zip(names, [of_alpha, *of_others], strict=False)
    }
    towards = directions()
    expected = compose(stack_from_layers(plate, crops, towards), lighting)
    image = compose(stack_from_layers(plate, {}, towards), lighting)
    x, y, width, height = changed_box(crops, lighting, SIZE[::-1])
    part = (slice(y, y + height), slice(x, x + width))
    light = stack_in_box(plate, crops, towards, lighting, (x, y, width, height))
    image[part] = compose(light, lighting, seen_sky(lighting, towards)[part])
    np.testing.assert_array_equal(image, expected)


def test_crops_that_a_lighting_does_not_use_change_nothing():
    crops = {"sun-90-15": LayerImage(np.ones((2, 2, 3), np.float32), (4, 4, 2, 2))}
    assert changed_box(crops, NOON, SIZE[::-1]) is None
    assert changed_box({}, NOON, SIZE[::-1]) is None
