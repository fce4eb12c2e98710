"""The person of a view: a posed, dressed body on the ground at the origin."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core import seeds
from ..core.body import (
    CLOTHING_REGIONS,
    Body,
    clothing_displacements_m,
    clothing_regions,
    ground_offset_m,
    load_body,
    pose_body,
    to_world,
)
from .materials import Grain, rough_material
from .mesh import make_mesh

__all__ = [
    "PASS_INDEX",
    "SUBJECT",
    "PlacedSubject",
    "body_model",
    "place_subject",
    "remove_subject",
    "subject_hidden",
]

SUBJECT = "Limen Subject"
PASS_INDEX = 1

# Reflectances, linear Rec. 709, after measured skin and common fabric colours.
_SKIN = (
    (0.60, 0.40, 0.30),
    (0.50, 0.31, 0.22),
    (0.36, 0.21, 0.14),
    (0.22, 0.12, 0.075),
    (0.09, 0.05, 0.034),
)
_HAIR = ((0.012, 0.009, 0.008), (0.035, 0.02, 0.012), (0.09, 0.055, 0.03), (0.25, 0.24, 0.23))
_FABRIC = (
    (0.03, 0.05, 0.12),
    (0.22, 0.05, 0.045),
    (0.35, 0.34, 0.31),
    (0.06, 0.10, 0.06),
    (0.10, 0.10, 0.105),
    (0.30, 0.22, 0.12),
    (0.05, 0.13, 0.22),
    (0.015, 0.015, 0.017),
)
_SHOES = ((0.02, 0.02, 0.02), (0.10, 0.06, 0.035), (0.45, 0.45, 0.43))


@dataclass(frozen=True)
class PlacedSubject:
    """A person in the world.

    Attributes:
        vertices_m: (V, 3) of the dressed surface.
        joints_m: (55, 3).
        location_m: (3,) of the ground point below.
    """

    vertices_m: NDArray[np.float64]
    joints_m: NDArray[np.float64]
    location_m: tuple[float, float, float]


@lru_cache(maxsize=8)
def body_model(path: Path) -> Body:
    """Return a body file's model; files are read once."""
    return load_body(path)


@lru_cache(maxsize=8)
def _dress(path: Path) -> tuple[NDArray, NDArray]:
    body = body_model(path)
    return clothing_regions(body), clothing_displacements_m(body)


def place_subject(
    scenes: Sequence[bpy.types.Scene],
    body_file: Path,
    betas: tuple[float, ...],
    axis_angle_rad: NDArray,
    yaw_deg: float,
    texture: str,
) -> PlacedSubject:
    """Put a person at the origin in place of the one before; its lowest point touches the ground.

    Args:
        scenes: The scenes to show it in.
        body_file: An SMPL-X body.
        betas: Shape coefficients.
        axis_angle_rad: (55, 3) pose.
        yaw_deg: Turned counter-clockwise seen from above; 0 faces -Y.
        texture: Its name decides the colours, so that one name always looks the same.

    Raises:
        BodyError: The body cannot be read, or has fewer shape coefficients.
    """
    remove_subject()
    body = body_model(body_file)
    regions, clothing = _dress(body_file)
    posed = pose_body(body, betas, axis_angle_rad, clothing_m=clothing)
    vertices, joints = to_world(posed.vertices_m), to_world(posed.joints_m)
    yaw = math.radians(yaw_deg)
    turn = np.array(
        [[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]]
    )
    # The middle of the figure, not its pelvis, is at the place: a lunge stays in the picture.
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    shift = np.array([-middle[0], -middle[1], ground_offset_m(vertices)])
    vertices, joints = (vertices + shift) @ turn.T, (joints + shift) @ turn.T
    mesh = make_mesh(SUBJECT, vertices, body.faces)
    for material in _materials(texture):
        mesh.materials.append(material)
    mesh.polygons.foreach_set("material_index", regions.astype(np.int32))
    item = bpy.data.objects.new(SUBJECT, mesh)
    item.pass_index = PASS_INDEX
    for scene in scenes:
        scene.collection.objects.link(item)
    return PlacedSubject(vertices, joints, (0.0, 0.0, 0.0))


def remove_subject() -> None:
    """Remove the person and all that is only its own."""
    subject = bpy.data.objects.get(SUBJECT)
    if subject is None:
        return
    mesh = subject.data
    materials = list(mesh.materials)
    bpy.data.objects.remove(subject)
    bpy.data.meshes.remove(mesh)
    for material in materials:
        if material is not None and material.users == 0:
            bpy.data.materials.remove(material)


@contextlib.contextmanager
def subject_hidden() -> Iterator[None]:
    """Leave the person, where there is one, out of renders and rays."""
    item = bpy.data.objects.get(SUBJECT)
    if item is None:
        yield
        return
    item.hide_render = item.hide_viewport = True
    try:
        yield
    finally:
        item.hide_render = item.hide_viewport = False


def _materials(texture: str) -> list[bpy.types.Material]:
    """Return the materials of ``CLOTHING_REGIONS``, in colours drawn from the texture's name."""

    def pick(region: str, palette: tuple) -> tuple[float, float, float]:
        return palette[seeds.choice_index(0, texture, region, len(palette))]

    weave = [Grain(0.25, 0.10, bump_m=0.006), Grain(0.012, 0.12, detail=1)]
    skin, shirt, trousers, shoes, hair = (f"{SUBJECT} {region}" for region in CLOTHING_REGIONS)
    fabric = pick("shirt", _FABRIC)
    others = tuple(colour for colour in _FABRIC if colour != fabric)
    return [
        rough_material(skin, pick("skin", _SKIN), [Grain(0.05, 0.06)], roughness=0.5, specular=0.4),
        rough_material(shirt, fabric, weave),
        rough_material(trousers, pick("trousers", others), weave),
        rough_material(shoes, pick("shoes", _SHOES), roughness=0.6, specular=0.3),
        rough_material(hair, pick("hair", _HAIR), [Grain(0.02, 0.5, bump_m=0.008)], roughness=0.6),
    ]
