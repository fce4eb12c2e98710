"""Blender in the test process: one stage for all tests of the scene."""

import bpy
import limen
import numpy as np
import pytest
from limen.addon.core.optics import Camera, load_sensors
from limen.addon.scene import stage as stages
from limen.addon.scene.materials import emission_white
from limen.addon.scene.mesh import add_object, make_mesh
from limen.addon.scene.render import forget_pictures
from limen.addon.scene.subject import remove_subject


@pytest.fixture(scope="module")
def blender():
    """An empty Blender with Limen in it, whatever the module before has left."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        limen.register()
    stages.setup_stage()


@pytest.fixture
def bare(blender):
    """The scene without scenery, empty but for camera and light; what is added is removed."""
    remove_subject()
    scene = stages.bare_scene()
    camera, size = scene.camera, (scene.render.resolution_x, scene.render.resolution_y)
    before = set(bpy.data.objects)
    yield scene
    scene.camera = camera
    scene.render.resolution_x, scene.render.resolution_y = size
    for item in set(bpy.data.objects) - before:
        bpy.data.objects.remove(item)
    bpy.data.orphans_purge(do_recursive=True)
    forget_pictures()


@pytest.fixture(scope="session")
def published_camera():
    """Return a function that gives the published camera, on request a window of it."""
    sensor = load_sensors()["syndorbench"]

    def camera(window_px=None) -> Camera:
        return Camera(
            sensor.width_mm,
            sensor.height_mm,
            sensor.lens_mm,
            sensor.fnumber,
            sensor.width_px,
            sensor.height_px,
            window_px,
        )

    return camera


@pytest.fixture(scope="session")
def add_mark():
    """Return a function that adds a small square of radiance 1, facing along a direction."""

    def add(scene, centre_m, size_m, across, down):
        corners = [
            np.asarray(centre_m) + size_m / 2 * (sx * np.asarray(across) + sy * np.asarray(down))
            for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        mesh = make_mesh("Mark", np.array(corners), np.array([[0, 1, 2, 3]]))
        mesh.materials.append(emission_white("Mark"))
        return add_object("Mark", mesh, scene.collection)

    return add
