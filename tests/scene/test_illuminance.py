"""A white Lambert plate measures the lux that a lighting states: E = pi L, nothing around it."""

from dataclasses import replace

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import (
    Component,
    Lighting,
    all_layers,
    horizontal_irradiance,
    layer_weights,
    load_lightings,
    load_more_lightings,
)
from limen.addon.core.photometry import luminance, plate_illuminance
from limen.addon.scene import lighting, render, stage
from limen.addon.scene.materials import diffuse_white
from limen.addon.scene.mesh import add_object, make_mesh

pytestmark = pytest.mark.render

PRESETS = load_lightings()
WITH_LAMPS = {**PRESETS, **load_more_lightings()}
TOLERANCE = 0.03


@pytest.fixture
def plate(bare):
    """A white plate that fills the picture; returns a function that measures it in lux."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    mesh = make_mesh("White", corners, np.array([[0, 1, 2, 3]]), smooth=False)
    mesh.materials.append(diffuse_white("White"))
    add_object("White", mesh, bare.collection)
    camera = bpy.data.objects.new("Above", bpy.data.cameras.new("Above"))
    camera.location = (0, 0, 2)  # a lens of 50 mm sees 1.4 m of it
    bare.collection.objects.link(camera)
    bare.camera = camera
    bare.render.resolution_x = bare.render.resolution_y = 12

    def measure_lx() -> float:
        passes = render.render_passes(bare, render.Shot(64))
        assert passes["Combined.A"].min() == 1
        return plate_illuminance(float(luminance(render.stacked(passes, "Combined", "RGB")).mean()))

    return measure_lx


@pytest.mark.parametrize("name", WITH_LAMPS)
def test_a_plate_under_a_whole_lighting_measures_its_lux_without_lamps(plate, name):
    unlit = replace(WITH_LAMPS[name], lamps_lm=0.0, illuminator_cd=0.0)
    lighting.light_whole(unlit)  # scaled to 1 lx
    assert plate() == pytest.approx(1, rel=TOLERANCE)


@pytest.fixture(scope="module")
def units(blender):
    """What each unit layer gives to a plate in the scene without scenery."""
    return stage.measure_irradiance(stage.bare_scene(), all_layers())


@pytest.mark.parametrize("layer", all_layers(), ids=lambda layer: layer.name)
def test_a_plate_under_a_unit_layer_measures_the_layers_unit(units, layer):
    assert units[layer.name] == pytest.approx(horizontal_irradiance(layer), rel=TOLERANCE)


@pytest.mark.parametrize("name", PRESETS)
def test_the_weighted_unit_layers_measure_the_lightings_lux(units, name):
    measured = sum(
        float(luminance(weight)) * units[layer]
        for layer, weight in layer_weights(PRESETS[name]).items()
    )
    assert measured == pytest.approx(PRESETS[name].illuminance_lx, rel=TOLERANCE)


def test_measuring_leaves_nothing_behind(bare):
    before = (set(bare.collection.all_objects), bare.camera, bare.render.resolution_x)
    stage.measure_irradiance(bare, all_layers()[:1], samples=1)
    after = (set(bare.collection.all_objects), bare.camera, bare.render.resolution_x)
    assert after == before


@pytest.mark.parametrize(("layer", "what"), [("sun-{}-60", "suns"), ("glow-{}", "glows")])
def test_two_of_a_kind_are_too_many_for_one_render(blender, layer, what):
    two = tuple(Component(layer.format(azimuth), 0.5) for azimuth in (0, 90))
    with pytest.raises(ValueError, match=f"lighting both has two {what}: method exact"):
        lighting.light_whole(Lighting("both", "day", 1, two))
