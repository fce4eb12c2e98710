"""Lamps of a scenery and the one at the camera shine with the power that a lighting states."""

import math

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import load_more_lightings, parse_layer
from limen.addon.core.optics import look_at_pose
from limen.addon.core.photometry import plate_illuminance
from limen.addon.core.study import parse_study
from limen.addon.scene import lighting, render, stage
from limen.addon.scene.materials import diffuse_white
from limen.addon.scene.mesh import add_object, make_mesh
from limen.addon.scene.scenery import SceneryError
from limen.addon.scene.view import find_parts

pytestmark = pytest.mark.render

TOLERANCE = 0.03


def add_plate(scene, centre_m, towards):
    """A white square of 0.4 m that faces along a direction."""
    towards = np.asarray(towards, float) / np.linalg.norm(towards)
    across = np.cross(towards, [0.3, 0.1, 0.9])
    across /= np.linalg.norm(across)
    down = np.cross(towards, across)
    corners = [
        np.asarray(centre_m) + 0.2 * (a * across + b * down)
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    mesh = make_mesh("White", np.array(corners), np.array([[0, 1, 2, 3]]), smooth=False)
    mesh.materials.append(diffuse_white("White"))
    return add_object("White", mesh, scene.collection)


def brightness_lx(scene) -> float:
    passes = render.render_passes(scene, render.Shot(64))
    middle = tuple(slice(side // 2 - 2, side // 2 + 2) for side in passes["Combined.G"].shape)
    assert passes["Combined.A"][middle].min() == 1
    return plate_illuminance(float(passes["Combined.G"][middle].mean()))


def test_a_lamp_of_1_lm_lights_what_is_below_as_a_lambertian_source_does(bare):
    lamp = lighting.Lamp((0, 0, 10), (0, 0, 0), size_m=0.3)
    lighting.add_lamp(bare.collection, lamp)
    lighting.light_layer(parse_layer("lamps"))
    add_plate(bare, (0, 0, 0), (0, 0, 1))
    camera = bpy.data.objects.new("Above", bpy.data.cameras.new("Above"))
    camera.location = (0, 0, 0.5)
    bare.collection.objects.link(camera)
    bare.camera = camera
    bare.render.resolution_x = bare.render.resolution_y = 8
    assert brightness_lx(bare) == pytest.approx(1 / (math.pi * 10**2), rel=TOLERANCE)


@pytest.mark.parametrize("distance_m", [5.376, 23.04])
def test_an_illuminator_of_1_cd_lights_the_subject_by_the_square_law(
    bare, published_camera, distance_m
):
    pose = look_at_pose(45, 22.5, distance_m, 0.9)
    stage.set_camera(published_camera((16, 16)), pose)
    lighting.light_layer(parse_layer("illuminator"))
    add_plate(bare, (0, 0, 0.9), -pose.R[2])
    assert brightness_lx(bare) == pytest.approx(1 / distance_m**2, rel=TOLERANCE)


def test_the_wharfs_lamps_light_the_subjects_place(blender):
    stage.set_scenery("wharf")
    unit = stage.measure_irradiance(stage.stage_scene(), [parse_layer("lamps")])["lamps"]
    lux = unit * load_more_lightings()["night_lamps"].lamps_lm
    assert 2 < lux < 30  # a lit quay: 5 to 20 lx


def test_a_scenery_without_lamps_stays_dark(blender):
    stage.set_scenery("desert")
    unit = stage.measure_irradiance(stage.stage_scene(), [parse_layer("lamps")], samples=1)
    assert unit == {"lamps": 0}


def test_lamps_that_no_scenery_has_are_refused(blender, small_study):
    text = small_study.read_text()
    lit = text.replace('name = "overcast"\n', 'name = "overcast"\nlamps_lm = 9.0\n')
    study = parse_study(lit)
    with pytest.raises(SceneryError, match=r"lighting overcast has lamps_lm and no scenery"):
        find_parts(study)
