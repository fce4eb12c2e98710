"""Something that stands before a person and hides as much of it as a study wants.

It is wider than the person and as high as the wanted fraction needs, which is found on the pixels
of the person's own mask; so a view has its own, and a background plate of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ..core.optics import Camera, CameraPose
from ..core.relight import pixel_directions
from .materials import Grain, painted_material, rough_material
from .mesh import add_object, icosphere, make_mesh
from .scenery.land import Part, merge

__all__ = ["OCCLUDER", "Occluder", "OccluderError", "place_occluder", "remove_occluder"]

OCCLUDER = "Limen Occluder"
_GAP_M = 0.3  # between the person's reach and the thing
_MARGIN_M = 0.45  # it is wider than the person by this to each side
_DEPTH_M = 0.6
_HIGHEST_M = 6.0
_TOLERANCE = 0.02
_PIXELS = 1500  # of the person's mask that are tried
_STEPS = 14


class OccluderError(ValueError):
    """A fraction that nothing on the ground can leave in sight; the message says why."""


@dataclass(frozen=True)
class Occluder:
    """What was placed.

    Attributes:
        kind: ``boulder``, ``bales``, ``crates`` or ``wall``.
        location_m: (3,) the ground point below its middle.
        size_m: Width across the line of sight, depth along it, height.
        turn_rad: About the vertical.
        fraction: What it leaves in sight, by the pixels tried.
    """

    kind: str
    location_m: tuple[float, float, float]
    size_m: tuple[float, float, float]
    turn_rad: float
    fraction: float


def place_occluder(
    scene: bpy.types.Scene,
    scenery: str,
    body_m: NDArray[np.float64],
    full_mask: NDArray[np.bool_],
    camera: Camera,
    pose: CameraPose,
    wanted: float,
) -> Occluder:
    """Put a thing between camera and person that leaves a fraction of the person in sight.

    Args:
        scene: Where it is shown; never the bare scene, which has no occluders.
        scenery: Decides what it is.
        body_m: (V, 3) the person's surface.
        full_mask: (H, W) the person's pixels without occluders.
        camera: The optics.
        pose: Where the camera stands.
        wanted: The fraction, 0.1 up to 1.

    Raises:
        OccluderError: The person is out of the picture, or the camera looks down so steeply, or
            stands so near, that nothing can hide it so far.
    """
    remove_occluder()
    rays = _rays(full_mask, camera, pose)
    towards = pose.position_m[:2] / max(float(np.linalg.norm(pose.position_m[:2])), 1e-9)
    across = np.array([-towards[1], towards[0]])
    along_body, across_body = body_m[:, :2] @ towards, body_m[:, :2] @ across
    width_m = float(np.ptp(across_body)) + 2 * _MARGIN_M
    distance_m = float(along_body.max()) + _GAP_M + _DEPTH_M / 2
    middle = towards * distance_m + across * (across_body.max() + across_body.min()) / 2
    horizontal_m = float(np.linalg.norm(pose.position_m[:2]))
    if horizontal_m < distance_m + _DEPTH_M:
        raise OccluderError(
            f"there is no room between the person and a camera that is {horizontal_m:.1f} m away "
            "on the ground: unoccluded_fractions need lower elevations or larger distances"
        )
    kind = _KINDS.get(scenery.partition("-")[0], "wall")
    shape = _SHAPES[kind]()
    turn = math.atan2(across[1], across[0])

    def solid(height_m: float) -> Matrix:
        size = Matrix.Diagonal((width_m, _DEPTH_M, height_m, 1))
        return Matrix.Translation((*middle, 0.0)) @ Matrix.Rotation(turn, 4, "Z") @ size

    def in_sight(height_m: float) -> float:
        return _share_in_sight(shape, solid(height_m), pose, rays)

    low, high = 0.02, _HIGHEST_M
    if in_sight(high) > wanted + _TOLERANCE:
        raise OccluderError(
            f"nothing up to {_HIGHEST_M:g} m high hides the person down to {wanted:g} from this "
            "camera: unoccluded_fractions need lower elevations"
        )
    for _ in range(_STEPS):
        height_m = (low + high) / 2
        if in_sight(height_m) > wanted:
            low = height_m
        else:
            high = height_m
    mesh = make_mesh(OCCLUDER, *shape, smooth=kind == "boulder")
    mesh.materials.append(_MATERIALS[kind]())
    item = add_object(OCCLUDER, mesh, scene.collection)
    item.matrix_world = solid(high)
    return Occluder(
        kind,
        (round(float(middle[0]), 4), round(float(middle[1]), 4), 0.0),
        (round(width_m, 4), _DEPTH_M, round(high, 4)),
        round(turn, 6),
        round(in_sight(high), 4),
    )


def remove_occluder() -> None:
    """Remove the thing, if there is one, and all that is only its own."""
    item = bpy.data.objects.get(OCCLUDER)
    if item is None:
        return
    mesh, materials = item.data, list(item.data.materials)
    bpy.data.objects.remove(item)
    bpy.data.meshes.remove(mesh)
    for material in filter(None, materials):  # a deleted one leaves its slot empty
        bpy.data.materials.remove(material)


def _rays(mask: NDArray[np.bool_], camera: Camera, pose: CameraPose) -> list[Vector]:
    y, x = np.nonzero(mask)
    if not len(x):
        raise OccluderError(
            "the person is not in the picture: nothing of it can be hidden; turn or move the camera"
        )
    some = np.unique(np.linspace(0, len(x) - 1, min(_PIXELS, len(x))).astype(int))
    directions = pixel_directions(camera.K, pose.R, *camera.image_px)
    return [Vector(d) for d in directions[y[some], x[some]].astype(float)]


def _share_in_sight(shape: Part, matrix: Matrix, pose: CameraPose, rays: list[Vector]) -> float:
    vertices, faces = shape
    world = vertices @ np.array(matrix)[:3, :3].T + np.array(matrix)[:3, 3]
    tree = BVHTree.FromPolygons(world.tolist(), faces.tolist())
    eye = Vector(pose.position_m)
    return sum(tree.ray_cast(eye, ray)[0] is None for ray in rays) / len(rays)


def _box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Part:
    corners = np.array([low, high])
    vertices = np.array(
        [
            [corners[i, 0], corners[j, 1], corners[k, 2]]
            for k in (0, 1)
            for j in (0, 1)
            for i in (0, 1)
        ]
    )
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return vertices, np.array(sides)


def _wall() -> Part:
    return _box((-0.5, -0.5, 0), (0.5, 0.5, 1))


def _bales() -> Part:
    """Return three courses of straw bales, a unit wide, deep and high."""
    parts = []
    for course in range(3):
        for column in range(2 + course % 2):
            count = 2 + course % 2
            left, right = column / count - 0.5, (column + 1) / count - 0.5
            low, high = course / 3 + 0.004, (course + 1) / 3 - 0.004
            parts.append(_box((left + 0.006, -0.5, low), (right - 0.006, 0.5, high)))
    return merge(parts)


def _crates() -> Part:
    """Return a crate of boards between battens."""
    parts = [_box((-0.485, -0.47, 0), (0.485, 0.47, 0.985))]
    for x in (-0.5, -0.03, 0.44):
        parts.append(_box((x, -0.5, 0), (x + 0.06, 0.5, 1)))
    for z in (0.0, 0.46, 0.94):
        parts.append(_box((-0.5, -0.5, z), (0.5, 0.5, z + 0.06)))
    return merge(parts)


def _boulder() -> Part:
    """Return a blunt boulder, nearly as high at its sides as in its middle."""
    vertices, faces = icosphere(3)
    blunt = np.sign(vertices) * np.abs(vertices) ** 0.45
    rng = np.random.default_rng(20260915)
    for octave in range(1, 5):
        wave = np.sin(vertices @ rng.normal(0, 2.2 * octave, 3) + rng.uniform(0, 2 * np.pi))
        blunt *= 1 + (0.05 / octave * wave)[:, None]
    blunt /= np.abs(blunt).max(axis=0)
    return blunt * [0.5, 0.5, 1.0], faces  # its lower half is in the ground


_KINDS = {"desert": "boulder", "field": "bales", "wharf": "crates"}
_SHAPES: dict[str, Callable[[], Part]] = {
    "boulder": _boulder,
    "bales": _bales,
    "crates": _crates,
    "wall": _wall,
}
_MATERIALS: dict[str, Callable[[], bpy.types.Material]] = {
    "boulder": lambda: rough_material(
        OCCLUDER, (0.25, 0.185, 0.135), [Grain(0.5, 0.25, bump_m=0.03), Grain(0.07, 0.3)]
    ),
    "bales": lambda: rough_material(
        OCCLUDER,
        (0.30, 0.235, 0.10),
        [Grain(0.25, 0.2), Grain(0.02, 0.35, bump_m=0.008, stretch=(4.0, 1.0, 1.0))],
    ),
    "crates": lambda: rough_material(
        OCCLUDER, (0.34, 0.25, 0.15), [Grain(0.06, 0.25, stretch=(8.0, 1.0, 1.0))]
    ),
    "wall": lambda: painted_material(OCCLUDER, (0.3, 0.3, 0.29)),
}
