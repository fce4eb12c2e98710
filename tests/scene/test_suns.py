"""Suns are lamps that stay where they are; which of them shines is a colour in their shader."""

import math

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import (
    SUN_ANGULAR_DIAMETER_DEG,
    direction,
    load_lightings,
    parse_layer,
)
from limen.addon.core.optics import look_at_pose
from limen.addon.scene import camera_rig, lighting, render, stage
from limen.addon.scene.materials import diffuse_white
from limen.addon.scene.mesh import add_object, make_mesh
from mathutils import Vector

pytestmark = pytest.mark.render

SHOT = render.Shot(4, seed=3)


@pytest.fixture
def lit(bare, published_camera):
    """A white step on a plane, which the sun throws a shadow from."""
    camera_rig.aim_camera(bare, published_camera((48, 32)), look_at_pose(30, 40, 6, 0.3))
    corners = np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], float)
    step = corners * (0.01, 0.05, 1) + (0, 0, 0.4)
    faces = np.array([[0, 1, 2, 3]])
    for vertices in (corners, step):
        mesh = make_mesh("Flat", vertices, faces, smooth=False)
        mesh.materials.append(diffuse_white("Flat"))
        add_object("Flat", mesh, bare.collection)
    return bare


def shine(scene, name):
    lighting.light_layer(parse_layer(name))
    return render.stacked(render.render_passes(scene, SHOT), "Combined", "RGB")


@pytest.mark.parametrize(
    ("preset", "towards"),
    [
        ("morning_east", (1, 0)),
        ("noon_south", (0, -1)),
        ("evening_west", (-1, 0)),  # its glow
    ],
)
def test_solid_shading_casts_shadows_away_from_the_light(lit, preset, towards):
    lighting.light_whole(load_lightings()[preset])
    # Blender's Y is up here, and its Z towards the south.
    x, y, z = stage.stage_scene().display.light_direction
    across = math.hypot(x, z)
    assert (x / across, -z / across) == pytest.approx(towards, abs=1e-6)
    assert 0 < y < 1


def test_a_sun_looks_the_same_whichever_suns_there_are(lit):
    before = shine(lit, "sun-90-30")
    for other in ("sun-10-30", "sun-200-60", "sun-270-5"):
        assert not np.array_equal(shine(lit, other), before)
    assert np.array_equal(shine(lit, "sun-90-30"), before)


def test_it_shines_as_a_plain_lamp_of_strength_1(lit):
    ours = shine(lit, "sun-110-25")
    lighting.light_layer(parse_layer("lamps"))  # there are none: all is dark
    lamp = bpy.data.lights.new("Plain", "SUN")
    lamp.angle = math.radians(SUN_ANGULAR_DIAMETER_DEG)
    lamp.energy = 1.0
    item = bpy.data.objects.new("Plain", lamp)
    item.rotation_mode = "QUATERNION"
    item.rotation_quaternion = Vector(direction(110, 25)).to_track_quat("Z", "Y")
    lit.collection.objects.link(item)
    plain = render.stacked(render.render_passes(lit, SHOT), "Combined", "RGB")
    assert ours.mean() > 0.05
    assert np.array_equal(ours, plain)


def test_a_sun_that_was_dark_leaves_no_light(lit):
    shine(lit, "sun-90-30")
    assert shine(lit, "lamps").max() == 0
