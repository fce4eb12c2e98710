"""The stage: the scenes in which everything of a study is built and measured.

``Limen`` holds scenery, light, subject and camera. ``Limen Bare`` shares camera, light and subject
and has no scenery: masks without occluders, rulers and unobstructed light are measured in it.
"""

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Vector

from ..core.lighting import Layer
from ..core.optics import Camera, CameraPose
from . import camera_rig, lighting, render, scenery
from .materials import diffuse_white
from .mesh import add_object, make_mesh
from .subject import subject_hidden

__all__ = [
    "bare_scene",
    "camera_is_buried",
    "measure_irradiance",
    "scenery_name",
    "set_camera",
    "set_scenery",
    "setup_stage",
    "stage_scene",
]

STAGE = "Limen"
BARE = "Limen Bare"
_PLATE_M = 0.4
_PLATE_HEIGHT_M = 1.0
_PLATE_PIXELS = 16
_PLATE_SAMPLES = 64


def setup_stage(device: str = "cpu") -> str:
    """Make the stage's scenes unless they are there; returns the render device in words.

    Raises:
        DeviceError: The device is not available.
    """
    if STAGE not in bpy.data.scenes:
        stage = bpy.data.scenes.new(STAGE)
        bare = bpy.data.scenes.new(BARE)
        camera = camera_rig.add_camera(stage)
        bare.collection.objects.link(camera)
        bare.camera = camera
        lighting.add_lights(stage)
        lighting.link_lights(bare)
    described = ""
    for scene in (stage_scene(), bare_scene()):
        described = render.configure(scene, device)
    return described


def stage_scene() -> bpy.types.Scene:
    """Return the scene with everything in it."""
    return bpy.data.scenes[STAGE]


def bare_scene() -> bpy.types.Scene:
    """Return the scene without scenery."""
    return bpy.data.scenes[BARE]


def set_scenery(name: str) -> None:
    """Build a scenery unless it is there already."""
    collection = bpy.data.collections.get(scenery.COLLECTION)
    if collection is None or collection.get("limen_scenery") != name:
        scenery.build_scenery(stage_scene(), name)


def scenery_name() -> str:
    """Return which scenery is built, "" for none."""
    collection = bpy.data.collections.get(scenery.COLLECTION)
    return "" if collection is None else str(collection.get("limen_scenery", ""))


def set_camera(camera: Camera, pose: CameraPose) -> None:
    """Aim the camera of both scenes."""
    camera_rig.aim_camera(stage_scene(), camera, pose)
    camera_rig.aim_camera(bare_scene(), camera, pose)
    lighting.aim_illuminator(stage_scene())


def camera_is_buried() -> bool:
    """Return whether the camera stands inside the ground or a rock, where it would see nothing.

    Seen from inside, what lies straight above shows its back.
    """
    scene = stage_scene()
    view_layer = scene.view_layers[0]
    with subject_hidden():
        view_layer.update()
        up = Vector((0.0, 0.0, 1.0))
        hit, _, normal, *_ = scene.ray_cast(
            view_layer.depsgraph, scene.camera.matrix_world.translation, up
        )
    return hit and normal.dot(up) > 0


def measure_irradiance(
    scene: bpy.types.Scene, layers: Sequence[Layer], samples: int = _PLATE_SAMPLES
) -> dict[str, float]:
    """Return layer name -> irradiance on a horizontal plate 1 m above the subject's place.

    The subject is left out. A white Lambert plate is seen from above; its radiance times pi is
    the irradiance. In the bare scene this is the unobstructed, nominal value.

    Args:
        scene: The stage's or the bare scene.
        layers: The unit lights to measure.
        samples: Per pixel of the small picture.
    """
    mesh = make_mesh(
        "Limen Plate",
        np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * _PLATE_M / 2
        + [0, 0, _PLATE_HEIGHT_M],
        np.array([[0, 1, 2, 3]]),
        smooth=False,
    )
    white = diffuse_white("Limen Plate")
    mesh.materials.append(white)
    plate = add_object("Limen Plate", mesh, scene.collection)
    looking_down = bpy.data.cameras.new("Limen Plate")
    looking_down.type = "ORTHO"
    looking_down.ortho_scale = _PLATE_M / 2
    eye = bpy.data.objects.new("Limen Plate Camera", looking_down)
    eye.location = (0, 0, _PLATE_HEIGHT_M + 1)
    scene.collection.objects.link(eye)
    size, camera = (scene.render.resolution_x, scene.render.resolution_y), scene.camera
    try:
        scene.camera = eye
        scene.render.resolution_x = scene.render.resolution_y = _PLATE_PIXELS
        measured = {}
        with subject_hidden():
            for layer in layers:
                lighting.light_layer(layer)
                passes = render.render_passes(scene, render.Shot(samples))
                measured[layer.name] = float(passes["Combined.G"].mean()) * np.pi
        return measured
    finally:
        scene.camera = camera
        scene.render.resolution_x, scene.render.resolution_y = size
        bpy.data.objects.remove(plate)
        bpy.data.meshes.remove(mesh)
        bpy.data.materials.remove(white)
        bpy.data.objects.remove(eye)
        bpy.data.cameras.remove(looking_down)
