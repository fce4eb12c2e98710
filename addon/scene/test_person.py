"""A test person: a figure to drag about the ground, to see what the camera makes of it.

It stands in a collection of its own and is in no render.
"""

import bpy
import numpy as np

from ..core.assets import find_body
from ..core.body import ground_offset_m, pose_surface, to_world
from ..core.poses import load_poses
from ..core.study import Subject
from .materials import rough_material
from .mesh import add_object, make_mesh
from .subject import body_model

__all__ = [
    "TEST_PERSON",
    "add_test_person",
    "find_test_person",
    "remove_test_person",
    "set_test_height",
]

TEST_PERSON = "Limen Test Person"
_BODY = Subject("test person", body="neutral")
_POSE = "standing_relaxed"
_COLOUR = (0.80, 0.16, 0.02)  # of no ground and no plant


def find_test_person(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """Return the test person of a scene, None where there is none."""
    return scene.objects.get(TEST_PERSON)


def add_test_person(
    scene: bpy.types.Scene, height_m: float, place_m: tuple[float, float]
) -> bpy.types.Object:
    """Put a test person into a scene in place of the one before.

    Args:
        scene: The scene.
        height_m: Sole to crown.
        place_m: (x, y) on the ground.

    Raises:
        AssetError: The body has not been built.
        BodyError: It cannot be read.
    """
    remove_test_person(scene)
    body = body_model(find_body(_BODY, None))
    surface = body.surface()
    posed = pose_surface(body, surface, (), load_poses()[_POSE].axis_angle_rad)
    vertices = to_world(posed.vertices_m)
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    vertices = vertices + np.array([-middle[0], -middle[1], ground_offset_m(vertices)])
    mesh = make_mesh(TEST_PERSON, vertices / vertices[:, 2].max(), surface.faces)
    material = rough_material(TEST_PERSON, _COLOUR)
    material.diffuse_color = (*_COLOUR, 1.0)
    mesh.materials.append(material)
    collection = bpy.data.collections.new(TEST_PERSON)
    collection.hide_render = True
    scene.collection.children.link(collection)
    item = add_object(TEST_PERSON, mesh, collection)
    item.hide_render = True
    item.location = (*place_m, 0.0)
    set_test_height(item, height_m)
    item.lock_location[2] = True  # it is dragged on the ground
    item.lock_rotation[0] = item.lock_rotation[1] = True
    item.lock_scale = (True,) * 3  # its height is a property
    return item


def set_test_height(item: bpy.types.Object, height_m: float) -> None:
    """Make a test person so tall: its mesh is 1 m tall, so that its scale is its height."""
    item.scale = (height_m,) * 3


def remove_test_person(scene: bpy.types.Scene) -> None:
    """Remove the test person and all that is only its own."""
    item = find_test_person(scene)
    if item is None:
        return
    mesh, collections = item.data, list(item.users_collection)
    materials = list(mesh.materials)
    bpy.data.objects.remove(item)
    bpy.data.meshes.remove(mesh)
    for block in filter(None, materials):  # a deleted one leaves its slot empty
        bpy.data.materials.remove(block)
    for collection in collections:
        if collection.name.startswith(TEST_PERSON):
            bpy.data.collections.remove(collection)
