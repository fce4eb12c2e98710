"""Lightings as data, and the unit layers that they are sums of. Formulas: docs/dataset.md."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.lighting import (
    Component,
    Lighting,
    LightingError,
    all_layers,
    direction,
    horizontal_irradiance,
    layer_weights,
    layers_of,
    load_lightings,
    make_lighting,
    parse_layer,
    sky_pattern,
)
from limen.addon.core.photometry import luminance

PRESETS = load_lightings()
COMPASS = {"north": 0, "east": 90, "south": 180, "west": 270}
GOOD = {
    "name": "dusk",
    "band": "evening",
    "illuminance_lx": 8,
    "components": [{"layer": "dome-uniform", "share": 1}],
}


def illuminance_lx(lighting: Lighting) -> float:
    """What the weighted unit layers give to a horizontal plate."""
    return sum(
        float(luminance(weight)) * horizontal_irradiance(parse_layer(name))
        for name, weight in layer_weights(lighting).items()
    )


# --- the presets ---------------------------------------------------------------------------------


def test_the_presets_are_the_13_published_labels():
    times = ("morning", "noon", "evening")
    assert list(PRESETS) == [f"{time}_{side}" for time in times for side in COMPASS] + ["night"]


def test_15_layers_make_up_every_preset():
    # Two domes, four morning suns, four noon suns, four glows, one moon.
    names = [layer.name for layer in all_layers()]
    assert len(names) == len(set(names)) == 2 + 4 + 4 + 4 + 1
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("band", "low_lx", "high_lx"),
    [("day", 10_000, 130_000), ("evening", 1, 20), ("night", 0.05, 0.3)],
)
def test_a_bands_illuminance_is_that_of_its_time_of_day(band, low_lx, high_lx):
    levels = [preset.illuminance_lx for preset in PRESETS.values() if preset.band == band]
    assert levels
    assert low_lx <= min(levels) <= max(levels) <= high_lx


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "night"])
def test_the_light_comes_from_the_direction_in_the_name(name):
    side = name.rpartition("_")[2]
    layers = [parse_layer(part.layer) for part in PRESETS[name].components]
    (directed,) = (layer for layer in layers if layer.kind in ("sun", "glow"))
    assert directed.azimuth_deg == COMPASS[side]


def test_lightings_of_one_time_differ_in_direction_alone():
    for time in ("morning", "noon", "evening"):
        north, *others = (preset for name, preset in PRESETS.items() if name.startswith(time))
        for other in others:
            assert replace(other, name=north.name, components=()) == replace(north, components=())
            for a, b in zip(north.components, other.components, strict=True):
                assert (a.share, a.colour) == (b.share, b.colour)


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_weighted_layers_give_its_illuminance(name):
    assert illuminance_lx(PRESETS[name]) == pytest.approx(PRESETS[name].illuminance_lx, rel=1e-5)


def test_changing_the_loaded_presets_does_not_change_them_for_others():
    load_lightings().clear()
    assert load_lightings() == PRESETS


# --- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "azimuth_deg", "elevation_deg"),
    [
        ("dome-uniform", "uniform", 0, 90),
        ("dome-horizon", "horizon", 0, 90),
        ("glow-270", "glow", 270, 0),
        ("sun-180-60", "sun", 180, 60),
        ("sun-22.5-7.5", "sun", 22.5, 7.5),
    ],
)
def test_a_layers_name_says_what_shines(name, kind, azimuth_deg, elevation_deg):
    layer = parse_layer(name)
    assert (layer.name, layer.kind) == (name, kind)
    assert (layer.azimuth_deg, layer.elevation_deg) == (azimuth_deg, elevation_deg)


@pytest.mark.parametrize(
    "name",
    ["", "sun", "dome", "dome-", "dome-vertical", "glow", "glow-360", "glow--1", "glow-nan",
     "sun-180", "sun-180-0", "sun-180-91", "sun-360-10", "sun-1-2-3", "sun-a-b", "alpha",
     "sun-1e2-60", "sun- 10-60", "sun-1_0-60", "sun-010-60", "sun-10-60.0", "glow-+10",
     "glow-\u0661"],
)  # fmt: skip
def test_a_name_of_no_layer_is_an_error_that_says_what_is_allowed(name):
    with pytest.raises(LightingError, match=re.escape(f"'{name}' is no light layer: allowed are")):
        parse_layer(name)


@pytest.mark.parametrize(
    ("azimuth_deg", "elevation_deg", "towards"),
    [
        (0, 0, (0, 1, 0)),  # north is +Y
        (90, 0, (1, 0, 0)),  # east is +X
        (180, 0, (0, -1, 0)),
        (270, 0, (-1, 0, 0)),
        (123, 90, (0, 0, 1)),
        (90, 30, (math.sqrt(0.75), 0, 0.5)),
    ],
)
def test_azimuths_are_compass_bearings(azimuth_deg, elevation_deg, towards):
    np.testing.assert_allclose(direction(azimuth_deg, elevation_deg), towards, atol=1e-15)


@pytest.fixture(scope="module")
def hemisphere():
    """Directions of equal solid angle over the upper hemisphere, and that solid angle."""
    z = (np.arange(500) + 0.5) / 500
    azimuth = (np.arange(720) + 0.5) / 720 * 2 * np.pi
    z, azimuth = np.meshgrid(z, azimuth)
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.sin(azimuth), r * np.cos(azimuth), z], axis=-1), 2 * np.pi / z.size


@pytest.mark.parametrize("layer", all_layers(), ids=lambda layer: layer.name)
def test_horizontal_irradiance_is_the_integral_of_radiance_times_cosine(layer, hemisphere):
    if layer.kind == "sun":  # normal irradiance 1 from one direction
        expected = direction(layer.azimuth_deg, layer.elevation_deg)[2]
    else:
        directions, solid_angle = hemisphere
        expected = (sky_pattern(layer, directions) * directions[..., 2]).sum() * solid_angle
    assert horizontal_irradiance(layer) == pytest.approx(expected, rel=1e-4)


def test_the_units_of_the_domes_are_pi_and_a_tenth_of_it():
    # docs/dataset.md, "The light stack"
    assert horizontal_irradiance(parse_layer("dome-uniform")) == math.pi
    assert horizontal_irradiance(parse_layer("dome-horizon")) == pytest.approx(math.pi / 10)


@pytest.mark.parametrize("name", ["dome-uniform", "dome-horizon", "glow-90"])
def test_the_sky_ends_at_the_horizon(name):
    below = np.array([direction(azimuth, -1) for azimuth in range(0, 360, 30)])
    assert not sky_pattern(parse_layer(name), below).any()


def test_the_glow_is_brightest_at_its_azimuth_and_absent_behind():
    glow = parse_layer("glow-90")
    around = np.array([direction(azimuth, 0) for azimuth in range(360)])
    radiance = sky_pattern(glow, around)
    assert radiance.argmax() == 90
    assert radiance.max() == pytest.approx(1)
    assert radiance[180:] == pytest.approx(np.zeros(180), abs=1e-9)


def test_a_sun_is_no_part_of_the_visible_sky():
    with pytest.raises(LightingError, match=r"sun-180-60 is not part of the sky"):
        sky_pattern(parse_layer("sun-180-60"), np.array([[0.0, 0.0, 1.0]]))


# --- weights -------------------------------------------------------------------------------------


@st.composite
def lightings(draw):
    layers = draw(
        st.lists(
            st.sampled_from([layer.name for layer in all_layers()]), min_size=1, max_size=6
        )  # also one layer twice
    )
    parts = draw(
        st.lists(st.floats(0.01, 1), min_size=len(layers), max_size=len(layers)).map(
            lambda parts: [part / sum(parts) for part in parts]
        )
    )
    channel = st.floats(0, 3)
    colour = st.tuples(channel, channel, channel).filter(lambda rgb: max(rgb) > 0.01)
    return make_lighting(
        {
            "name": "any",
            "band": "day",
            "illuminance_lx": draw(st.floats(1e-6, 1e6)),
            "components": [
                {"layer": name, "share": part, "colour": list(draw(colour))}
                for name, part in zip(layers, parts, strict=True)
            ],
        },
        "here",
    )


@given(lightings())
def test_weighted_layers_give_the_illuminance_of_any_lighting(lighting):
    assert illuminance_lx(lighting) == pytest.approx(lighting.illuminance_lx, rel=1e-5)


@given(lightings(), st.floats(0.001, 1000))
def test_weights_are_proportional_to_the_illuminance(lighting, factor):
    brighter = replace(lighting, illuminance_lx=lighting.illuminance_lx * factor)
    for name, weight in layer_weights(lighting).items():
        np.testing.assert_allclose(layer_weights(brighter)[name], weight * factor)


@given(lightings())
def test_colours_are_normalised_once_and_then_read_back_unchanged(lighting):
    table = vars(lighting) | {"components": [vars(part) for part in lighting.components]}
    assert all(luminance(part.colour) == pytest.approx(1) for part in lighting.components)
    assert make_lighting(table, "frozen study") == lighting


def test_layers_that_lightings_share_are_listed_once():
    names = [layer.name for layer in layers_of([PRESETS["noon_south"], PRESETS["noon_west"]])]
    assert names == ["dome-horizon", "dome-uniform", "sun-180-60", "sun-270-60"]


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": None}, r"lighting name is None"),
        ({"name": "dusk-1"}, r"lighting name is 'dusk-1': letters, digits and underscores"),
        ({"name": "dämmerung"}, r"lighting name is 'dämmerung'"),
        ({"band": "dawn"}, r"dusk\.band is 'dawn': allowed are day, evening, night"),
        ({"illuminance_lx": "8"}, r"dusk\.illuminance_lx is '8': a finite number"),
        ({"illuminance_lx": True}, r"dusk\.illuminance_lx is True"),
        ({"illuminance_lx": math.inf}, r"dusk\.illuminance_lx is inf"),
        ({"illuminance_lx": 0}, r"dusk\.illuminance_lx is 0: between 1e-6 and 1e6"),
        ({"components": []}, r"dusk\.components must list at least one"),
        ({"components": ["dome-uniform"]}, r"components\[0\] is 'dome-uniform': a table"),
        ({"components": [{"layer": "dome", "share": 1}]}, r"\[0\]\.layer: 'dome' is no light"),
        ({"components": [{"share": 1}]}, r"'None' is no light layer"),
        ({"components": [{"layer": "dome-uniform"}]}, r"components\[0\]\.share is None"),
        ({"components": [{"layer": "dome-uniform", "share": 2}]}, r"share is 2: .* between 0 and"),
        ({"components": [{"layer": "dome-uniform", "share": 0.9}]}, r"shares of dusk sum to 0\.9"),
        (
            {"components": [{"layer": "dome-uniform", "share": 1, "color": [1, 1, 1]}]},
            r"components\[0\] has unknown color: allowed are layer, share, colour",
        ),
        (
            {"components": [{"layer": "dome-uniform", "share": 1, "colour": [1, 1]}]},
            r"colour is \[1, 1\]: three numbers",
        ),
        (
            {"components": [{"layer": "dome-uniform", "share": 1, "colour": [2, -1, 1]}]},
            r"colour is \[2, -1, 1\]: no channel below 0",
        ),
        (
            {"components": [{"layer": "dome-uniform", "share": 1, "colour": [0, 0, 0]}]},
            r"not all 0",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_place(change, says):
    with pytest.raises(LightingError, match=rf"^mine\.toml: .*{says}"):
        make_lighting(GOOD | change, "mine.toml")


def test_components_may_be_values_already():
    part = Component("dome-uniform", 1.0)
    assert make_lighting(GOOD | {"components": [part]}, "here").components == (part,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lighting = 3", r"presets\.toml.*\[\[lighting\]\]"),
        ("not toml", r"presets\.toml: cannot be read as lighting presets: .*line 1"),
        ("[[lighting]]\nname = 'a b'", r"presets\.toml: lighting name is 'a b'"),
        (
            "\n".join(
                ["[[lighting]]\nname='x'\nband='day'\nilluminance_lx=1\n"
                 "components=[{layer='dome-uniform', share=1}]"] * 2
            ),
            r"presets\.toml: lighting x is defined twice",
        ),
    ],
)  # fmt: skip
def test_a_faulty_presets_file_is_named(tmp_path, text, says):
    path = tmp_path / "presets.toml"
    path.write_text(text)
    with pytest.raises(LightingError, match=says):
        load_lightings(path)


def test_a_missing_presets_file_is_named(tmp_path):
    with pytest.raises(LightingError, match=r"none\.toml: cannot be read"):
        load_lightings(tmp_path / "none.toml")


# --- lamps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lamps", "illuminator"])
def test_a_lamps_layer_is_no_sky_and_has_no_irradiance_of_its_own(name):
    layer = parse_layer(name)
    assert not layer.is_sky
    with pytest.raises(LightingError, match="depends on the place"):
        horizontal_irradiance(layer)


@pytest.mark.parametrize("name", ["lamps", "illuminator"])
def test_a_lamp_has_no_share_of_the_illuminance(name):
    table = {
        "name": "lit",
        "band": "night",
        "illuminance_lx": 1.0,
        "components": [{"layer": name, "share": 1.0}],
    }
    with pytest.raises(LightingError, match="has no share of the illuminance: give lamps_lm"):
        make_lighting(table, "study.toml")


def test_the_weights_of_lamps_are_their_flux_and_intensity():
    lit = replace(
        PRESETS["night"], lamps_lm=1000.0, lamps_colour=(1.2, 1.0, 0.5), illuminator_cd=7.0
    )
    weights = layer_weights(lit)
    assert weights["lamps"] == pytest.approx([1200, 1000, 500])
    assert weights["illuminator"] == pytest.approx([7, 7, 7])


@pytest.mark.parametrize(
    ("key", "value"),
    [("lamps_lm", -1.0), ("illuminator_cd", 1e9), ("stars", 1), ("lamps_colour", [0, 0, 0])],
)
def test_an_impossible_lamp_is_refused_with_its_key(key, value):
    table = {**vars(PRESETS["night"]), key: value}
    with pytest.raises(LightingError, match=rf"night\.{key} is "):
        make_lighting(table, "study.toml")


def test_the_unit_of_the_glow_is_pi_over_132():
    # docs/dataset.md, "The light stack"
    assert horizontal_irradiance(parse_layer("glow-90")) == pytest.approx(math.pi / 132)
