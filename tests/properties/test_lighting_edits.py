"""Edits of a lighting in the sidebar: whatever the sliders say can be saved and read back."""

from dataclasses import asdict

import bpy
import limen
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.lighting import make_lighting
from limen.addon.core.study.reading import lighting_presets
from limen.addon.properties.convert import (
    add_lighting,
    direct_light,
    is_edited,
    lighting_of,
    reset_lighting,
)

pytestmark = pytest.mark.render  # it needs the bpy wheel

EXAMPLES = settings(deadline=None, max_examples=200)
PRESETS = lighting_presets()


@pytest.fixture(scope="module", autouse=True)
def blender():
    """An empty Blender with Limen in it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        limen.register()


def shown(preset):
    """The properties of a lighting that was just added."""
    study = bpy.context.scene.limen.study
    study.lightings.clear()
    return add_lighting(study, preset)


presets = st.sampled_from(list(PRESETS.values()))


@pytest.mark.parametrize("name", PRESETS)
def test_an_untouched_lighting_comes_back_exactly(name):
    item = shown(PRESETS[name])
    assert lighting_of(item) == PRESETS[name] and not is_edited(item)


@EXAMPLES
@given(presets, st.floats(0, 100), st.floats(1e-6, 1e6))
def test_an_edited_lighting_is_one_that_can_be_read_back(preset, percent, illuminance_lx):
    item = shown(preset)
    item.sun_percent, item.illuminance_lx = percent, illuminance_lx
    edited = lighting_of(item)
    table = asdict(edited)
    for part in table["components"]:
        part["colour"] = list(part["colour"])
    assert make_lighting(table, "edited") == edited
    assert edited.illuminance_lx == pytest.approx(illuminance_lx, rel=1e-6)
    if direct_light(preset):
        share = sum(part.share for part in edited.components if part.layer in layers(preset))
        assert share == pytest.approx(item.sun_percent / 100, abs=1e-6)


def layers(preset) -> set[str]:
    return {part.layer for part in direct_light(preset)}


@EXAMPLES
@given(presets, st.floats(0, 100), st.floats(-6, 6))
def test_edits_are_taken_back_exactly(preset, percent, stops):
    item = shown(preset)
    item.sun_percent, item.stops = percent, stops
    reset_lighting(item)
    assert lighting_of(item) == preset


def test_an_illuminance_is_shown_with_the_digits_that_it_has_and_taken_as_it_is_typed():
    item = shown(PRESETS["noon_south"])
    assert item.illuminance == "90,000 lx"
    for typed, lux, said in (
        ("1500", 1500, "1,500 lx"),
        ("0.3 lx", 0.3, "0.3 lx"),
        ("12,345.6", 12345.6, "12,345.6 lx"),
        ("much", 12345.6, "12,345.6 lx"),  # is no illuminance
        ("-3", 12345.6, "12,345.6 lx"),
    ):
        item.illuminance = typed
        assert lighting_of(item).illuminance_lx == pytest.approx(lux)
        assert item.illuminance == said


def test_an_illuminance_that_is_confirmed_keeps_the_digits_that_are_not_shown():
    item = shown(PRESETS["noon_south"])
    item.illuminance_lx = 1234.5678
    before = lighting_of(item)
    item.illuminance = str(item.illuminance)
    assert lighting_of(item) == before


def test_a_stop_more_is_twice_the_light():
    item = shown(PRESETS["night"])
    item.stops = 1
    assert lighting_of(item).illuminance_lx == pytest.approx(2 * PRESETS["night"].illuminance_lx)


def test_twilight_has_a_glow_to_share_and_a_moonless_night_has_nothing():
    assert [part.layer for part in direct_light(PRESETS["evening_west"])] == ["glow-270"]
    assert direct_light(PRESETS["night_infrared"]) == ()
