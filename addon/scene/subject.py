"""The person of a view: a posed, dressed body on the ground at the origin."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.appearance import Appearance, appearance, figure_of
from ..core.body import Body, ground_offset_m, load_body, pose_surface, to_world
from ..core.dress import Outfit, dress
from ..core.textures import Texture
from . import clothing
from .mesh import add_vectors, make_mesh
from .render import forget_pictures

__all__ = [
    "PASS_INDEX",
    "SUBJECT",
    "PlacedSubject",
    "body_model",
    "mark_person",
    "person_marks",
    "place_subject",
    "remove_subject",
    "subject_hidden",
]

SUBJECT = "Limen Subject"
PASS_INDEX = 1
_MARK = "limen_"


@dataclass(frozen=True)
class PlacedSubject:
    """A person in the world.

    Attributes:
        vertices_m: (V, 3) of the dressed surface.
        joints_m: (55, 3).
        location_m: (3,) of the ground point below.
        texture: What it wears.
    """

    vertices_m: NDArray[np.float64]
    joints_m: NDArray[np.float64]
    location_m: tuple[float, float, float]
    texture: Texture


@lru_cache(maxsize=8)
def body_model(path: Path) -> Body:
    """Return a body file's model; files are read once."""
    return load_body(path)


@lru_cache(maxsize=16)
def _outfit(path: Path, texture: str) -> Outfit:
    return dress(body_model(path), appearance(texture, figure_of(path.stem)))


def place_subject(
    scenes: Sequence[bpy.types.Scene],
    body_file: Path,
    betas: tuple[float, ...],
    axis_angle_rad: NDArray,
    yaw_deg: float,
    texture: Texture,
) -> PlacedSubject:
    """Put a person at the origin in place of the one before; its lowest point touches the ground.

    Args:
        scenes: The scenes to show it in.
        body_file: An SMPL-X body.
        betas: Shape coefficients.
        axis_angle_rad: (55, 3) pose.
        yaw_deg: Turned counter-clockwise seen from above; 0 faces -Y.
        texture: From `core.textures.find_texture`: an outfit, or an image to paint the body with.

    Raises:
        BodyError: The body cannot be read, or has fewer shape coefficients.
        AssetError: Blender cannot read the texture's image.
    """
    remove_subject()
    body = body_model(body_file)
    outfit = None if texture.image is not None else _outfit(body_file, texture.name)
    surface = body.surface() if outfit is None else outfit.surface
    posed = pose_surface(body, surface, betas, axis_angle_rad)
    vertices, joints = to_world(posed.vertices_m), to_world(posed.joints_m)
    yaw = math.radians(yaw_deg)
    turn = np.array(
        [[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]]
    )
    # The middle of the figure, not its pelvis, is at the place: a lunge stays in the picture.
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    shift = np.array([-middle[0], -middle[1], ground_offset_m(vertices)])
    vertices, joints = (vertices + shift) @ turn.T, (joints + shift) @ turn.T
    mesh = make_mesh(SUBJECT, vertices, surface.faces)
    if outfit is None:
        _paint(mesh, texture)
    else:
        _clothe(mesh, outfit, appearance(texture.name, figure_of(body_file.stem)))
    item = bpy.data.objects.new(SUBJECT, mesh)
    item.pass_index = PASS_INDEX
    for scene in scenes:
        scene.collection.objects.link(item)
    return PlacedSubject(vertices, joints, (0.0, 0.0, 0.0), texture)


def remove_subject() -> None:
    """Remove the person and all that is only its own."""
    subject = bpy.data.objects.get(SUBJECT)
    if subject is None:
        return
    mesh = subject.data
    materials = [material for material in mesh.materials if material is not None]
    images = [
        node.image
        for material in materials
        for node in material.node_tree.nodes
        if node.bl_idname == "ShaderNodeTexImage" and node.image is not None
    ]
    bpy.data.objects.remove(subject)
    bpy.data.meshes.remove(mesh)
    for material in materials:
        if material.users == 0:
            bpy.data.materials.remove(material)
    unused = [image for image in images if image.users == 0]
    for image in unused:
        bpy.data.images.remove(image)
    if unused:
        forget_pictures()


def mark_person(marks: Mapping[str, str]) -> None:
    """Note on the person who it is and what it does, so that undo and .blend files know it too."""
    item = bpy.data.objects[SUBJECT]
    for name, value in marks.items():
        item[_MARK + name] = value


def person_marks() -> dict[str, str]:
    """Return what was noted on the person that stands on the stage, {} where there is none."""
    item = bpy.data.objects.get(SUBJECT)
    if item is None:
        return {}
    return {
        name.removeprefix(_MARK): str(item[name])
        for name in item.keys()  # noqa: SIM118 (no dict)
        if name.startswith(_MARK)
    }


@contextlib.contextmanager
def subject_hidden() -> Iterator[None]:
    """Leave the person, where there is one, out of renders and rays."""
    item = bpy.data.objects.get(SUBJECT)
    if item is None:
        yield
        return
    hidden = item.hide_render
    item.hide_render = item.hide_viewport = True
    try:
        yield
    finally:
        item.hide_render = item.hide_viewport = hidden  # by another around it


def _paint(mesh: bpy.types.Mesh, texture: Texture) -> None:
    """Paint a mesh with an image."""
    assert texture.image is not None and texture.uv is not None
    layer = mesh.uv_layers.new(name=clothing.UV_MAP)
    layer.data.foreach_set("uv", texture.uv.uv[texture.uv.faces].astype(np.float32).ravel())
    mesh.materials.append(clothing.image_material(SUBJECT, texture.image))


def _clothe(mesh: bpy.types.Mesh, outfit: Outfit, looks: Appearance) -> None:
    """Give a mesh the outfit's materials and the attributes that they read."""
    cloths = {pattern.name: cloth for pattern, cloth in looks.garments}
    shade = np.ones_like(outfit.coordinates_m)
    index = np.repeat(np.arange(len(outfit.parts)), [part.faces for part in outfit.parts])
    first = 0
    for part in outfit.parts:
        name = f"{SUBJECT} {part.name}"
        if part.shade is not None:
            shade[first : first + part.vertices] = part.shade
        first += part.vertices
        if part.name == "skin":
            material = clothing.skin_material(name, looks.skin)
        elif part.name == "hair":
            material = clothing.hair_material(name, looks.hair_colour)
        elif part.name == "sole":
            material = clothing.plain_material(name, looks.sole)
        elif part.name in ("upper", "hat"):
            worn = looks.shoe_cloth if part.name == "upper" else looks.hat
            material = clothing.cloth_material(name, worn)
        else:
            material = clothing.cloth_material(name, cloths[part.name])
        mesh.materials.append(material)
    mesh.polygons.foreach_set("material_index", index.astype(np.int32))
    add_vectors(mesh, clothing.CLOTH_ATTRIBUTE, outfit.coordinates_m)
    around = np.zeros_like(outfit.coordinates_m)
    around[:, 0] = outfit.around_m
    add_vectors(mesh, clothing.AROUND_ATTRIBUTE, around)
    add_vectors(mesh, clothing.SHADE_ATTRIBUTE, shade)
