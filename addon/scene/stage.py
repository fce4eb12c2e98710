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
from .occluder import OCCLUDER
from .subject import SUBJECT, subject_hidden

__all__ = [
    "bare_scene",
    "camera_is_buried",
    "is_whole",
    "measure_irradiance",
    "mend_stage",
    "scenery_name",
    "set_camera",
    "set_scenery",
    "setup_stage",
    "shows_study",
    "stage_scene",
]

STAGE = "Limen"
BARE = "Limen Bare"
_MARK = "limen_stage"  # by which a scene is known that the user has renamed
_OBJECTS = "limen_objects"  # how many a scenery has
_NAMES = (camera_rig.CAMERA, lighting.CAMERA_LAMP, SUBJECT, OCCLUDER)
_PLATE_M = 0.4
_PLATE_HEIGHT_M = 1.0
_PLATE_PIXELS = 16
_PLATE_SAMPLES = 64


def setup_stage(device: str = "cpu") -> str:
    """Make what is missing of the stage's scenes; returns the render device in words.

    Raises:
        DeviceError: The device is not available.
    """
    mend_stage()
    described = ""
    for scene in (stage_scene(), bare_scene()):
        described = render.configure(scene, device)
    return described


def mend_stage() -> None:
    """Make what is missing of the stage: a user may have deleted or renamed any of it."""
    _name_again()
    if is_whole():
        return
    stage, bare = _found(STAGE) or _new_scene(STAGE), _found(BARE) or _new_scene(BARE)
    if not _has_camera(stage):
        if (before := bpy.data.objects.get(camera_rig.CAMERA)) is not None:
            bpy.data.objects.remove(before)
        camera_rig.add_camera(stage)
    if bare.camera != stage.camera:
        if stage.camera.name not in bare.collection.objects:
            bare.collection.objects.link(stage.camera)
        bare.camera = stage.camera
    if not all(lighting.is_lit(scene) for scene in (stage, bare)):
        lighting.remove_lights()
        lighting.add_lights(stage)
        lighting.link_lights(bare)


def _name_again() -> None:
    """Give renamed objects and collections their names back, by which they are found."""
    stage = _found(STAGE)
    if stage is None:
        return
    for item in stage.collection.all_objects:
        name = item.data.name if item.data is not None else ""
        if name in _NAMES and name not in bpy.data.objects:
            item.name = name
    for collection in stage.collection.children:
        if "limen_scenery" in collection and scenery.COLLECTION not in bpy.data.collections:
            collection.name = scenery.COLLECTION


def is_whole() -> bool:
    """Return whether scenes, camera and lights of the stage are there."""
    stage, bare = _found(STAGE), _found(BARE)
    return (
        stage is not None
        and bare is not None
        and _has_camera(stage)
        and bare.camera == stage.camera
        and lighting.is_lit(stage)
        and lighting.is_lit(bare)
    )


def _has_camera(scene: bpy.types.Scene) -> bool:
    return scene.camera is not None and scene.camera.type == "CAMERA"


def _found(name: str) -> bpy.types.Scene | None:
    """Return a scene of the stage, also one that was renamed; a copy of it comes after it."""
    scenes = bpy.data.scenes
    return scenes.get(name) or next((item for item in scenes if item.get(_MARK) == name), None)


def _new_scene(name: str) -> bpy.types.Scene:
    scene = bpy.data.scenes.new(name)
    scene[_MARK] = name
    render.configure(scene)
    return scene


def stage_scene() -> bpy.types.Scene:
    """Return the scene with everything in it."""
    return _found(STAGE) or bpy.data.scenes[STAGE]


def bare_scene() -> bpy.types.Scene:
    """Return the scene without scenery."""
    return _found(BARE) or bpy.data.scenes[BARE]


def shows_study(scene: bpy.types.Scene) -> bool:
    """Return whether a scene is the stage's, rather than a copy of it."""
    return _found(STAGE) in (None, scene)


def set_scenery(name: str) -> None:
    """Build a scenery unless it is there already."""
    collection = bpy.data.collections.get(scenery.COLLECTION)
    if (
        collection is None
        or collection.name not in stage_scene().collection.children
        or collection.get("limen_scenery") != name
        or collection.get(_OBJECTS, 0) > len(collection.all_objects)  # the user deleted some
    ):
        scenery.build_scenery(stage_scene(), name)
        collection = bpy.data.collections[scenery.COLLECTION]
        collection[_OBJECTS] = len(collection.all_objects)


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
